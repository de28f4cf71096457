//! Sessions over HTTP: the tool's URL and the URLs of sessions make the same calls, and invalid requests are refused by
//! name.

use serde_json::{Value, json};
use tenure_it::api::{Answer, Api, text};
use tenure_it::install::Install;

/// A key with every character that a URL must not interpret.
const KEY: &str = "team/one:a b?c#d%2Fe";

fn daemon() -> (Install, Api) {
    let install = Install::new().with_daemon();
    let api = Api::of(&install);
    (install, api)
}

/// The URL of a session, or of a part of it.
fn at(key: &str, tail: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    let encode = |byte: u8| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    format!("/v1/sessions/{}{tail}", key.bytes().map(encode).collect::<String>())
}

#[track_caller]
fn spawn(api: &Api, body: &Value) -> Value {
    api.post("/v1/sessions", body).is(201).json()
}

/// Waits for the end of a session's turn.
#[track_caller]
fn answered(api: &Api, key: &str, turn: &Value) -> Value {
    let reply = api.post(&at(key, "/wait"), &json!({"turnId": turn, "timeoutMs": 30_000})).is(200).json();
    assert_eq!(reply["turn"]["turnId"], *turn, "{reply}");
    reply["turn"].clone()
}

/// The keys of a list, in order.
#[track_caller]
fn keys(answer: Answer) -> Vec<String> {
    let reply = answer.is(200).json();
    let sessions = reply["sessions"].as_array().unwrap_or_else(|| panic!("no list: {reply}"));
    sessions.iter().map(|session| text(&session["key"])).collect()
}

#[test]
fn a_post_without_an_action_spawns_a_session_with_its_own_url() {
    let (_install, api) = daemon();
    let reply = spawn(&api, &json!({"sessionKey": KEY, "task": "echo one", "label": "counts"}));
    assert_eq!(reply["session"]["key"], KEY, "{reply}");
    assert_eq!(reply["sent"]["delivery"], "started", "{reply}");
    let turn = answered(&api, KEY, &reply["sent"]["turnId"]);
    assert_eq!((&turn["state"], &turn["text"]), (&json!("done"), &json!("one\n")), "{turn}");
    let status = api.get(&at(KEY, "")).is(200).json();
    assert_eq!(status["session"]["key"], KEY, "{status}");
    assert_eq!((&status["session"]["label"], &status["session"]["turns"]), (&json!("counts"), &json!(1)));
    let sent = api.post(&at(KEY, "/send"), &json!({"text": "echo two", "whenBusy": "queue"})).is(200).json();
    assert_eq!(answered(&api, KEY, &sent["sent"]["turnId"])["text"], "two\n");
    let said = |query: &str| {
        let reply = api.get(&at(KEY, &format!("/history{query}"))).is(200).json();
        let turns = reply["turns"].as_array().unwrap_or_else(|| panic!("no turns: {reply}"));
        turns.iter().map(|turn| text(&turn["message"])).collect::<Vec<_>>()
    };
    assert_eq!(said(""), ["echo one", "echo two"]);
    assert_eq!(said("?newestFirst=true&limit=1&maxBytes=1000"), ["echo two"]);
    let closed = api.post(&at(KEY, "/close"), &json!({"reason": "done", "discard": true})).is(200).json();
    assert_eq!(closed["closed"]["closed"], json!([KEY]), "{closed}");
    api.get(&at(KEY, "")).refused(404, "no-such-session");
}

#[test]
fn the_url_and_the_tool_make_the_same_call() {
    let (_install, api) = daemon();
    spawn(&api, &json!({"action": "spawn", "sessionKey": KEY}));
    let tool = |body: &Value| api.post("/v1/sessions", body).is(200).json();
    assert_eq!(tool(&json!({"action": "status", "sessionKey": KEY})), api.get(&at(KEY, "")).is(200).json());
    assert_eq!(tool(&json!({"action": "list"})), api.get("/v1/sessions").is(200).json());
    let history = tool(&json!({"action": "history", "sessionKey": KEY}));
    assert_eq!(history, api.get(&at(KEY, "/history")).is(200).json());
    let sent = tool(&json!({"action": "send", "sessionKey": KEY, "text": "exec sleep 1000"}));
    let waited = api.post(&at(KEY, "/wait"), &json!({"timeoutMs": 0})).is(200).json();
    assert_eq!(waited["turn"]["state"], "running", "{waited}");
    let _ = api.ask("POST", &at(KEY, "/cancel"), &[], b"").is(200);
    assert_eq!(answered(&api, KEY, &sent["sent"]["turnId"])["state"], "cancelled");
}

#[test]
fn a_query_filters_the_list() {
    let (_install, api) = daemon();
    spawn(&api, &json!({"sessionKey": "agent:a:main", "backend": "exec", "kind": "main"}));
    spawn(&api, &json!({"sessionKey": "agent:b:main", "backend": "exec"}));
    spawn(&api, &json!({"sessionKey": "agent:a:child", "backend": "exec", "parent": "agent:a:main"}));
    let listed = |query: &str| {
        let mut keys = keys(api.get(&format!("/v1/sessions{query}")));
        keys.sort();
        keys
    };
    assert_eq!(listed("").len(), 3);
    assert_eq!(listed("?agent=b"), ["agent:b:main"]);
    assert_eq!(listed("?kind=main"), ["agent:a:main"]);
    assert_eq!(listed("?backend=cli"), [""; 0]);
    assert_eq!(listed("?parent=agent:a:main"), ["agent:a:child"]);
    assert_eq!(listed("?prefix=agent:a:"), ["agent:a:child", "agent:a:main"]);
    assert_eq!(listed("?state=busy,closed"), [""; 0]);
    assert_eq!(listed("?state=busy,idle").len(), 3);
    assert_eq!(listed("?as=agent:a:main&visibility=tree"), ["agent:a:child", "agent:a:main"]);
    assert_eq!(listed("?as=agent:a:main&visibility=self"), ["agent:a:main"]);
    assert_eq!(listed("?as=agent:a:main&visibility=all&sandboxed=true"), ["agent:a:child", "agent:a:main"]);
    let page = api.get("/v1/sessions?limit=2").is(200).json();
    let next = text(&page["next"]).replace('%', "%25").replace('&', "%26");
    let rest = api.get(&format!("/v1/sessions?limit=2&after={next}")).is(200).json();
    assert_eq!((page["sessions"].as_array().map(Vec::len), rest["next"].is_null()), (Some(2), true));
    assert_eq!(rest["sessions"].as_array().map(Vec::len), Some(1), "{rest}");
    api.get(&at("agent:b:main", "?as=agent:a:main&visibility=self")).refused(403, "forbidden");
    let said = api.post(&at("agent:b:main", "/send?as=agent:a:main&visibility=tree"), &json!({"text": "x"}));
    said.refused(403, "forbidden");
}

#[test]
fn an_invalid_request_is_refused_and_names_the_field() {
    let (_install, api) = daemon();
    spawn(&api, &json!({"sessionKey": KEY}));
    let refused = |answer: Answer, words: &str| {
        let why = answer.refused(400, "bad-request");
        assert!(why.contains(words), "{words}: {why}");
    };
    let ask = |body: &[u8]| api.ask("POST", "/v1/sessions", &[], body);
    refused(ask(b"{\"sesionKey\": \"x\"}"), "`sesionKey`");
    refused(ask(b"{\"action\": \"fly\"}"), "`fly`");
    refused(ask(b"{\"action\": \"list\", \"action\": \"close\"}"), "`action`");
    refused(ask(b"{\"label\": 7}"), "label");
    refused(ask(b"{\"label\": \"x\""), "EOF");
    refused(ask(b"[]"), "line 1");
    refused(ask(b"null"), "null");
    for (tail, body, words) in [
        ("/send", json!({"text": "x", "action": "close"}), "`action`"),
        ("/send", json!({"text": "x", "sessionKey": "y"}), "`sessionKey`"),
        ("/send", json!({"text": "x", "when_busy": "queue"}), "`when_busy`"),
        ("/send", json!({"text": "x", "whenBusy": "shout"}), "`shout`"),
        ("/send", json!({}), "`text`"),
        ("/wait", json!({"turn": "x"}), "`turn`"),
        ("/wait", json!({"timeoutMs": -1}), "-1"),
        ("/cancel", json!({"now": true}), "`now`"),
        ("/close", json!({"discrad": true}), "`discrad`"),
    ] {
        refused(api.post(&at(KEY, tail), &body), words);
    }
    for (path, words) in [
        ("/v1/sessions?states=idle".to_owned(), "`states`"),
        ("/v1/sessions?state=asleep".to_owned(), "\"asleep\""),
        ("/v1/sessions?kind=boss".to_owned(), "`boss`"),
        ("/v1/sessions?limit=many".to_owned(), "limit"),
        (at(KEY, "?As=x"), "`As`"),
        (at(KEY, "?visibility=none"), "`none`"),
        (at(KEY, "/history?offset=1"), "`offset`"),
    ] {
        refused(api.get(&path), words);
    }
    refused(api.post(&at(KEY, "/close?force=true"), &json!({})), "`force`");
    assert_eq!(keys(api.get("/v1/sessions?state=idle")), [KEY], "none of these had an effect");
}

#[test]
fn an_unknown_session_is_not_found() {
    let (_install, api) = daemon();
    for key in ["nobody", "no/body", "agent:main:1"] {
        api.get(&at(key, "")).refused(404, "no-such-session");
        api.get(&at(key, "/history")).refused(404, "no-such-session");
        api.post(&at(key, "/send"), &json!({"text": "x"})).refused(404, "no-such-session");
        for tail in ["/wait", "/cancel", "/close"] {
            api.post(&at(key, tail), &json!({})).refused(404, "no-such-session");
        }
    }
    api.get("/v1/sessions/%FF").refused(404, "no-such-session");
    api.get("/v1/sessions/nobody/no-such").refused(404, "no-such-route");
    api.ask("PUT", "/v1/sessions", &[], b"{}").refused(405, "method-not-allowed");
    api.ask("DELETE", "/v1/sessions/nobody", &[], b"").refused(405, "method-not-allowed");
}

#[test]
fn an_oversized_message_is_refused_and_names_the_limit() {
    let (_install, api) = daemon();
    spawn(&api, &json!({"sessionKey": KEY}));
    let mut wire = api.connect();
    wire.request("POST", &at(KEY, "/send"), &[("Content-Length", "99999999999")], b"{}");
    let why = wire.answer().refused(413, "too-large");
    assert!(why.contains("25165824"), "{why}");
    let mut wire = api.connect();
    wire.request("POST", &at(KEY, "/send"), &[("Transfer-Encoding", "chunked")], b"");
    let chunk = [b"100000\r\n".to_vec(), vec![b' '; 0x10_0000], b"\r\n".to_vec()].concat();
    // The body is refused while it is sent, so the write may fail.
    let _ = (0..30).try_for_each(|_| wire.send(&chunk)).and_then(|()| wire.send(b"0\r\n\r\n"));
    let why = wire.answer().refused(413, "too-large");
    assert!(why.contains("25165824"), "{why}");
    let long = json!({"text": "x".repeat(2 << 20)});
    api.post(&at(KEY, "/send"), &long).refused(413, "too-large");
    assert_eq!(api.get(&at(KEY, "")).is(200).json()["session"]["turns"], 0);
}
