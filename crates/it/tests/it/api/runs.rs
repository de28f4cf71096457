//! Every route for runs keeps its promise, and a run's JSON has every field.

use serde_json::{Value, json};
use tenure_it::api::{Api, text};
use tenure_it::install::Install;
use tenure_it::{eventually, proc};

fn daemon() -> (Install, Api) {
    let install = Install::new().with_daemon();
    let api = Api::of(&install);
    (install, api)
}

const FIELDS: [&str; 29] = [
    "runId",
    "sessionId",
    "backendId",
    "scope",
    "label",
    "command",
    "cwd",
    "pty",
    "state",
    "pid",
    "processGroupId",
    "identity",
    "exe",
    "commandHash",
    "boundary",
    "keeperPid",
    "leaseId",
    "leaseState",
    "ownerInstanceId",
    "leaseEpoch",
    "leaseExpiresAtMs",
    "createdAtMs",
    "startedAtMs",
    "updatedAtMs",
    "lastOutputAtMs",
    "endedAtMs",
    "output",
    "termination",
    "envNames",
];

#[track_caller]
fn assert_whole(run: &Value) {
    let fields = run.as_object().expect("a run");
    for name in FIELDS {
        assert!(fields.contains_key(name), "{name} is missing: {run}");
    }
    assert!(run["output"]["bytes"].is_u64() && run["output"]["droppedBytes"].is_u64(), "{run}");
    if run["identity"].is_object() {
        for name in ["bootId", "pidNamespace", "startTime"] {
            assert!(!run["identity"][name].is_null(), "{name}: {run}");
        }
    }
    if let Some(how) = run["termination"].as_object() {
        for name in
            ["reason", "exitCode", "signal", "confirmed", "survivors", "leftovers", "escapees", "detail"]
        {
            assert!(how.contains_key(name), "termination.{name} is missing: {run}");
        }
    }
}

#[test]
fn a_run_is_started_shown_listed_waited_for_and_removed() {
    let (install, api) = daemon();
    let dir = install.dir().to_str().expect("UTF-8");
    let run = api.run(&json!({
        "command": ["sh", "-c", "printf '%s %s' \"$PWD\" \"$GREETING\"; echo oops >&2; read line; exit 7"],
        "cwd": dir, "env": {"GREETING": "hello"}, "stdin": "open", "label": "greeter", "session": "agent:a:main",
        "scope": "lint", "timeoutMs": 60000, "noOutputTimeoutMs": 50000, "graceMs": 1000, "orphanGraceMs": 2000,
        "onEscape": "reap", "orphan": "keep", "activity": "output",
    }));
    assert_whole(&run);
    let id = text(&run["runId"]);
    assert_eq!(run["state"], "running", "{run}");
    assert!(run["pid"].as_i64() > Some(1) && run["keeperPid"].as_i64() > Some(1), "{run}");
    assert_eq!(run["processGroupId"], run["pid"]);
    for (name, value) in [
        ("label", json!("greeter")),
        ("sessionId", json!("agent:a:main")),
        ("scope", json!("lint")),
        ("cwd", json!(dir)),
        ("pty", json!(false)),
        ("envNames", json!(["GREETING"])),
        ("backendId", json!("run")),
        ("leaseState", json!("open")),
        ("termination", Value::Null),
    ] {
        assert_eq!(run[name], value, "{name}");
    }
    let limits = &run["limits"];
    assert_eq!((&limits["timeoutMs"], &limits["graceMs"]), (&json!(60000), &json!(1000)), "{limits}");
    assert!(run["leaseExpiresAtMs"].as_u64() > run["createdAtMs"].as_u64(), "{run}");

    let shown = api.get(&format!("/v1/runs/{}", &id[..8])).is(200).json();
    assert_whole(&shown);
    assert_eq!(shown["runId"], run["runId"], "a unique prefix of an id suffices");
    let list = api.get("/v1/runs").is(200).json();
    assert_eq!((list["runs"].as_array().map(Vec::len), &list["next"]), (Some(1), &Value::Null));
    assert_whole(&list["runs"][0]);

    let soon = api.post(&format!("/v1/runs/{id}/wait"), &json!({"timeoutMs": 1})).is(200).json();
    assert_ne!(soon["state"], "exited");
    let taken = api.post(&format!("/v1/runs/{id}/stdin"), &json!({"data": "go\n"}));
    assert_eq!((taken.head.status, taken.body.len()), (204, 0));
    let ended = api.wait(&id);
    assert_whole(&ended);
    let how = &ended["termination"];
    assert_eq!(
        (&how["reason"], &how["exitCode"], &how["confirmed"]),
        (&json!("exit"), &json!(7), &json!(true))
    );
    assert_eq!((&ended["leaseState"], &ended["leaseExpiresAtMs"]), (&json!("closed"), &Value::Null));
    assert_eq!(ended["output"], json!({"bytes": dir.len() + 6 + 5, "droppedBytes": 0}));
    assert!(ended["lastOutputAtMs"].as_u64() <= ended["endedAtMs"].as_u64(), "{ended}");
    assert_eq!(api.get(&format!("/v1/runs/{id}")).is(200).json(), ended, "all interfaces show the same");

    assert_eq!(api.get("/v1/runs").is(200).json()["runs"], json!([]));
    assert_eq!(api.get("/v1/runs?all=true").is(200).json()["runs"], json!([ended]));
    let _ = api.delete(&format!("/v1/runs/{id}")).is(204);
    api.get(&format!("/v1/runs/{id}")).refused(404, "no-such-run");
    assert!(!install.state().join("runs").join(&id).exists(), "its files are gone");
    assert_eq!(api.get("/v1/runs?all=true").is(200).json()["runs"], json!([]));
}

#[test]
fn no_shell_stays_above_a_pty_command_that_is_one_simple_command() {
    let (_install, api) = daemon();
    for line in ["sleep 600", "exec sleep 600", "A=1 sleep $((300 + 300)) 2> /dev/null"] {
        let run = api.run(&json!({"ptyCommand": line}));
        assert_eq!(run["command"], json!(["/bin/sh", "-c", line]), "unchanged");
        let pid = |name: &str| i32::try_from(run[name].as_i64().expect("a pid")).expect("a pid");
        eventually("the command itself", || (proc::name(pid("pid")) == "sleep").then_some(()));
        assert_eq!(proc::descendants(pid("keeperPid")), [pid("pid")], "{line}");
    }
    for (line, code) in [("no-such-program", 127), ("/etc/passwd", 126), ("sh -c 'exit 4' > /dev/null", 4)] {
        let id = api.start(&json!({"ptyCommand": line}));
        assert_eq!(api.wait(&id)["termination"]["exitCode"], code, "{line}");
    }
}

#[test]
fn a_pty_command_reaches_the_shell_verbatim() {
    let (_install, api) = daemon();
    let line = r#"printf '%s|' "a  b" 'c$d' \\ ; stty size; [ -t 0 ] && echo "$TERM""#;
    let run =
        api.run(&json!({"ptyCommand": line, "ptySize": {"cols": 77, "rows": 22}, "env": {"TERM": "vt100"}}));
    assert_eq!((&run["pty"], &run["command"][2]), (&json!(true), &json!(line)));
    let id = text(&run["runId"]);
    api.wait(&id);
    let output = api.get(&format!("/v1/runs/{id}/output")).is(200).text();
    assert_eq!(output, "a  b|c$d|\\|22 77\r\nvt100\r\n");
}

#[test]
fn a_command_that_cannot_be_executed_is_a_run_that_says_so() {
    let (_install, api) = daemon();
    for (request, code) in [
        (json!({"command": ["/no/such/program"]}), 127),
        (json!({"command": ["/tmp"]}), 126),
        (json!({"command": ["true"], "cwd": "/no/such/place"}), 126),
    ] {
        let id = api.start(&request);
        let run = api.wait(&id);
        assert_whole(&run);
        let how = &run["termination"];
        assert_eq!((&how["reason"], &how["exitCode"]), (&json!("spawn-error"), &json!(code)), "{run}");
        assert!(how["detail"].is_string(), "{run}");
    }
}

#[test]
fn lists_are_filtered_and_paged() {
    let (_install, api) = daemon();
    let start = |session: &str| api.start(&json!({"command": ["true"], "session": session}));
    let mut ids: Vec<String> =
        (0..7).map(|n| start(if n % 2 == 0 { "agent:a:x" } else { "agent:b:y" })).collect();
    ids.iter().for_each(|id| drop(api.wait(id)));
    let live = api.start(&json!({"command": ["sleep", "1000"], "scope": "only"}));
    ids.push(live.clone());
    ids.reverse();
    let listed = |query: &str| -> Vec<String> {
        let list = api.get(&format!("/v1/runs?{query}")).is(200).json();
        list["runs"].as_array().expect("runs").iter().map(|run| text(&run["runId"])).collect()
    };
    assert_eq!(listed("all=true"), ids, "the newest first");
    assert_eq!(listed("session=agent%3Aa%3Ax&all=true").len(), 4);
    assert_eq!(listed("agent=b&all=true").len(), 3);
    assert_eq!(listed("scope=only"), [live.as_str()]);
    assert_eq!(listed("state=exited").len(), 7);
    assert_eq!(listed("state=exited,running").len(), 8);
    assert_eq!(listed("state=starting"), [""; 0]);
    let (mut paged, mut after) = (Vec::new(), String::new());
    loop {
        let page = api.get(&format!("/v1/runs?all=true&limit=3{after}")).is(200).json();
        paged.extend(page["runs"].as_array().expect("runs").iter().map(|run| text(&run["runId"])));
        assert!(page["runs"].as_array().map(Vec::len) <= Some(3));
        let Some(next) = page["next"].as_str() else { break };
        after = format!("&after={next}");
    }
    assert_eq!(paged, ids, "every run once");
    for query in ["state=dead", "after=x", "after=1-zz", "limit=-1", "limit=x", "all=perhaps", "colour=red"] {
        api.get(&format!("/v1/runs?{query}")).refused(400, "bad-request");
    }
}

#[test]
fn removing_a_live_run_hides_it_at_once_and_stops_it() {
    let (install, api) = daemon();
    let witness = tenure_it::witness::Witness::new(install.dir());
    let id = api.start(&json!({"command": [install.actor(), "--witness", witness.path(), "tree"]}));
    let _ = api.delete(&format!("/v1/runs/{id}")).is(204);
    api.get(&format!("/v1/runs/{id}")).refused(404, "no-such-run");
    assert_eq!(api.get("/v1/runs?all=true").is(200).json()["runs"], json!([]));
    witness.wait_nobody(tenure_it::WAIT_LIMIT);
    eventually("its files are gone", || install.runs().is_empty().then_some(()));
    api.delete(&format!("/v1/runs/{id}")).refused(404, "no-such-run");
}

#[test]
fn runs_are_cancelled_by_id_at_once_and_by_scope_session_and_agent() {
    let (install, api) = daemon();
    let stubborn = json!({"command": [install.actor(), "ignore-term", "sleep"], "graceMs": 600_000});
    let id = api.start(&stubborn);
    install.wait_for_output(&id, "ready");
    let _ = api.post(&format!("/v1/runs/{id}/cancel"), &json!({})).is(202);
    eventually("it is stopping", || {
        let run = api.get(&format!("/v1/runs/{id}")).is(200).json();
        (run["state"] == "exiting" && run["leaseState"] == "closing").then_some(())
    });
    let _ = api.post(&format!("/v1/runs/{id}/cancel"), &json!({"now": true})).is(202);
    let how = api.wait(&id)["termination"].clone();
    assert_eq!((&how["reason"], &how["confirmed"]), (&json!("manual-cancel"), &json!(true)), "{how}");
    // A cancel of an ended run succeeds without effect.
    let _ = api.post(&format!("/v1/runs/{id}/cancel"), &json!({})).is(202);

    let sleeper = |more: Value| {
        let mut request = json!({"command": ["sleep", "1000"]});
        request.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        api.start(&request)
    };
    let spared = sleeper(json!({}));
    let ours = [
        (sleeper(json!({"scope": "s"})), json!({"scope": "s"})),
        (sleeper(json!({"session": "agent:z:one"})), json!({"session": "agent:z:one"})),
        (sleeper(json!({"session": "agent:z:two"})), json!({"agent": "z"})),
        (sleeper(json!({})), json!({})),
    ];
    for (id, which) in &ours[..3] {
        let ended = api.post("/v1/cancel", &json!({"which": which})).is(202).json();
        assert_eq!(ended, json!([id]), "{which}");
        assert_eq!(api.wait(id)["termination"]["reason"], "manual-cancel");
        assert_eq!(api.post("/v1/cancel", &json!({"which": which})).is(202).json(), json!([]));
    }
    let ended =
        api.post("/v1/cancel", &json!({"which": {"run": &ours[3].0[..10]}, "now": true})).is(202).json();
    assert_eq!(ended, json!([ours[3].0]));
    api.post("/v1/cancel", &json!({})).refused(422, "invalid");
    api.post("/v1/cancel", &json!({"which": {"scope": "s", "agent": "z"}})).refused(422, "invalid");
    assert_eq!(api.get(&format!("/v1/runs/{spared}")).is(200).json()["state"], "running");
}

#[test]
fn health_describes_the_daemon() {
    let (_install, api) = daemon();
    let health = api.get("/v1/health").is(200).json();
    assert_eq!((&health["status"], &health["liveRuns"]), (&json!("ok"), &json!(0)), "{health}");
    for name in ["version", "instanceId", "pid", "startedAtMs", "registry", "queuedRuns", "leaseExpiresAtMs"]
    {
        assert!(!health[name].is_null(), "{name}: {health}");
    }
    assert_eq!(health["listen"], Value::Null);
}
