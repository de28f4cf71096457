//! Tasks over HTTP: the tool's URL and the URLs of tasks make the same calls, and invalid requests are refused by name.

use serde_json::{Value, json};
use tenure_it::api::{Answer, Api, text};
use tenure_it::eventually;
use tenure_it::install::Install;

/// A session's key with every character that a URL must not interpret.
const KEY: &str = "team/one:a b?c#d%2Fe";

fn daemon() -> (Install, Api) {
    let install = Install::new().with_daemon();
    let api = Api::of(&install);
    (install, api)
}

/// The URL of a task, or of a part of it.
fn at(lookup: &str, tail: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    let encode = |byte: u8| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    format!("/v1/tasks/{}{tail}", lookup.bytes().map(encode).collect::<String>())
}

/// Starts a run that lasts until it is ended; returns its id.
#[track_caller]
fn start(api: &Api) -> String {
    api.start(&json!({"command": ["sleep", "1000"]}))
}

/// Waits until a task has this status.
#[track_caller]
fn wait_status(api: &Api, lookup: &str, status: &str) -> Value {
    eventually(&format!("{lookup} is {status}"), || {
        let task = api.get(&at(lookup, "")).is(200).json()["task"].clone();
        (task["status"] == status).then_some(task)
    })
}

/// The runs of a list, in order.
#[track_caller]
fn runs(answer: Answer) -> Vec<String> {
    let reply = answer.is(200).json();
    let tasks = reply["tasks"].as_array().unwrap_or_else(|| panic!("no list: {reply}"));
    tasks.iter().map(|task| text(&task["runId"])).collect()
}

#[test]
fn a_task_has_a_url_by_each_of_its_ids() {
    let (_install, api) = daemon();
    let run = start(&api);
    let task = api.get(&at(&run, "")).is(200).json()["task"].clone();
    assert_eq!((&task["runId"], &task["status"]), (&json!(run), &json!("running")), "{task}");
    let id = text(&task["taskId"]);
    for name in [&id[..], &id[..10], &run[..10]] {
        assert_eq!(api.get(&at(name, "")).is(200).json()["task"]["taskId"], id, "{name}");
    }
    let spawn = json!({"sessionKey": KEY, "task": "exec sleep 1000"});
    let _ = api.post("/v1/sessions", &spawn).is(201);
    let turn = wait_status(&api, KEY, "running");
    assert_eq!(turn["childSessionKey"], KEY, "{turn}");
    let notified = api.post(&at(KEY, "/notify"), &json!({"policy": "state_changes"})).is(200).json();
    assert_eq!(notified["task"]["notifyPolicy"], "state_changes", "{notified}");
    let _ = api.ask("POST", &at(KEY, "/cancel"), &[], b"").is(200);
    assert_eq!(wait_status(&api, KEY, "cancelled")["taskId"], turn["taskId"]);
    assert_eq!(
        api.get(&at(&run, "")).is(200).json()["task"]["status"],
        "running",
        "another session's task continues"
    );
}

#[test]
fn the_url_and_the_tool_make_the_same_call() {
    let (_install, api) = daemon();
    let run = start(&api);
    let tool = |body: &Value| api.post("/v1/tasks", body).is(200).json();
    assert_eq!(tool(&json!({})), api.get("/v1/tasks").is(200).json(), "without an action it is the list");
    assert_eq!(tool(&json!({"action": "list"})), api.get("/v1/tasks").is(200).json());
    let show = json!({"action": "show", "lookup": run});
    assert_eq!(tool(&show), api.get(&at(&run, "")).is(200).json());
    assert_eq!(tool(&show), tool(&show), "a query changes nothing");
    assert_eq!(tool(&json!({"action": "audit"})), api.get("/v1/tasks/audit").is(200).json());
    let due = api.ask("POST", "/v1/tasks/maintenance", &[], b"").is(200).json();
    assert_eq!(tool(&json!({"action": "maintenance"})), due);
    assert_eq!(due["maintenance"]["applied"], false, "{due}");
    let applied = api.post("/v1/tasks/maintenance", &json!({"apply": true})).is(200).json();
    assert_eq!(applied["maintenance"]["applied"], true, "{applied}");
    let policy = tool(&json!({"action": "notify", "lookup": run, "policy": "silent"}));
    assert_eq!(policy["task"]["notifyPolicy"], "silent", "{policy}");
    let _ = tool(&json!({"action": "cancel", "lookup": run}));
    wait_status(&api, &run, "cancelled");
    let why = api.ask("POST", &at(&run, "/cancel"), &[], b"").refused(409, "wrong-state");
    assert!(why.contains("cancelled"), "{why}");
}

#[test]
fn a_query_filters_the_list() {
    let (_install, api) = daemon();
    let done = api.start(&json!({"command": ["true"]}));
    wait_status(&api, &done, "succeeded");
    let live = [start(&api), start(&api)];
    let listed = |query: &str| runs(api.get(&format!("/v1/tasks{query}")));
    let newest_first = [live[1].clone(), live[0].clone(), done.clone()];
    assert_eq!(listed(""), newest_first);
    assert_eq!(listed("?status=running"), newest_first[..2]);
    assert_eq!(listed("?status=succeeded,lost"), [done.as_str()]);
    assert_eq!(listed("?kind=run"), newest_first);
    assert_eq!(listed("?kind=acp"), [""; 0]);
    assert_eq!(listed("?owner=agent:nobody:1"), [""; 0]);
    let page = api.get("/v1/tasks?limit=2").is(200).json();
    let next = text(&page["next"]).replace('%', "%25").replace('&', "%26").replace('+', "%2B");
    let rest = api.get(&format!("/v1/tasks?limit=2&after={next}")).is(200).json();
    assert_eq!((page["tasks"].as_array().map(Vec::len), rest["next"].is_null()), (Some(2), true));
    assert_eq!(rest["tasks"][0]["runId"], done, "{rest}");
}

#[test]
fn an_invalid_request_is_refused_and_names_the_field() {
    let (_install, api) = daemon();
    let run = start(&api);
    let refused = |answer: Answer, words: &str| {
        let why = answer.refused(400, "bad-request");
        assert!(why.contains(words), "{words}: {why}");
    };
    let ask = |body: &[u8]| api.ask("POST", "/v1/tasks", &[], body);
    refused(ask(b"{\"lokup\": \"x\"}"), "`lokup`");
    refused(ask(b"{\"action\": \"fly\"}"), "`fly`");
    refused(ask(b"{\"action\": \"list\", \"action\": \"cancel\"}"), "`action`");
    refused(ask(b"{\"action\": \"notify\", \"lookup\": \"x\", \"policy\": \"loud\"}"), "`state_changes`");
    refused(ask(b"{\"statuses\": [\"done\"]}"), "`timed_out`");
    refused(ask(b"[]"), "line 1");
    for (tail, body, words) in [
        ("/notify", json!({"policy": "loud"}), "`loud`"),
        ("/notify", json!({"policy": "loud"}), "`done_only`, `state_changes`, `silent`"),
        ("/notify", json!({}), "`policy`"),
        ("/notify", json!({"policy": "silent", "lookup": "y"}), "`lookup`"),
        ("/cancel", json!({"now": true}), "`now`"),
        ("/retry", json!({"again": true}), "`again`"),
    ] {
        refused(api.post(&at(&run, tail), &body), words);
    }
    refused(api.post("/v1/tasks/maintenance", &json!({"applied": true})), "`applied`");
    for (path, words) in [
        ("/v1/tasks?statuses=lost".to_owned(), "`statuses`"),
        ("/v1/tasks?status=done".to_owned(), "queued, running, succeeded"),
        ("/v1/tasks?status=lost,".to_owned(), "\"\""),
        ("/v1/tasks?kind=exec".to_owned(), "`exec`"),
        ("/v1/tasks?limit=many".to_owned(), "limit"),
        ("/v1/tasks/audit?deep=true".to_owned(), "`deep`"),
        (at(&run, "?As=x"), "`As`"),
        (at(&run, "?visibility=none"), "`none`"),
    ] {
        refused(api.get(&path), words);
    }
    let task = api.get(&at(&run, "")).is(200).json()["task"].clone();
    assert_eq!((&task["status"], &task["notifyPolicy"]), (&json!("running"), &json!("done_only")), "{task}");
}

#[test]
fn an_unknown_task_is_not_found() {
    let (_install, api) = daemon();
    for name in ["nobody", "no/body", "agent:main:1", "0000dead"] {
        api.get(&at(name, "")).refused(404, "no-such-task");
        api.post(&at(name, "/notify"), &json!({"policy": "silent"})).refused(404, "no-such-task");
        for tail in ["/cancel", "/retry"] {
            api.post(&at(name, tail), &json!({})).refused(404, "no-such-task");
        }
    }
    api.get("/v1/tasks/%FF").refused(404, "no-such-task");
    api.get("/v1/tasks/nobody/no-such").refused(404, "no-such-route");
    api.ask("PUT", "/v1/tasks", &[], b"{}").refused(405, "method-not-allowed");
    api.ask("DELETE", "/v1/tasks/nobody", &[], b"").refused(405, "method-not-allowed");
}
