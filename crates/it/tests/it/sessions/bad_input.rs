//! Invalid requests about sessions are reported and have no effect; and simultaneous requests have one effect.

use serde_json::{Value, json};
use std::collections::BTreeSet;
use tenure_it::api::{Answer, Api, text};
use tenure_it::install::Install;

const KEY: &str = "agent:a:main";

fn daemon() -> (Install, Api) {
    of(Install::new().with_daemon())
}

fn of(install: Install) -> (Install, Api) {
    let api = Api::of(&install);
    (install, api)
}

#[track_caller]
fn act(api: &Api, body: &Value) -> Answer {
    api.post("/v1/sessions", body)
}

#[track_caller]
fn spawn(api: &Api, key: &str) {
    let _ = act(api, &json!({"sessionKey": key, "backend": "exec"})).is(201);
}

/// Asserts that a request is refused with these words.
#[track_caller]
fn refused(answer: Answer, status: u16, code: &str, words: &[&str]) {
    let why = answer.refused(status, code);
    assert!(why.len() < 2_000, "{} bytes of refusal", why.len());
    for word in words {
        assert!(why.contains(word), "{word}: {why}");
    }
}

/// Sends a message, and waits for the end of the turn.
#[track_caller]
fn turn(api: &Api, key: &str, message: &str) -> Value {
    let sent = act(api, &json!({"action": "send", "sessionKey": key, "text": message})).is(200).json();
    let wait = json!({"action": "wait", "sessionKey": key, "turnId": sent["sent"]["turnId"]});
    act(api, &wait).is(200).json()["turn"].clone()
}

#[track_caller]
fn status(api: &Api, key: &str) -> Value {
    act(api, &json!({"action": "status", "sessionKey": key})).is(200).json()["session"].clone()
}

#[track_caller]
fn count(api: &Api) -> usize {
    let reply = act(api, &json!({"action": "list", "limit": 500})).is(200).json();
    reply["sessions"].as_array().expect("a list").len()
}

#[test]
fn an_invalid_key_is_refused_in_every_field() {
    let (_install, api) = daemon();
    spawn(&api, KEY);
    let long = "k".repeat(513);
    for (bad, word) in [
        ("", "empty"),
        ("   ", "empty"),
        ("a\u{7}b", "\\u{7}"),
        ("a\nb", "\\n"),
        ("a\u{200b}b", "\\u{200b}"),
        ("a\u{202e}b", "\\u{202e}"),
        ("a\0b", "\\u{0}"),
        ("../x", "path"),
        ("/etc", "path"),
        ("a\\b", "path"),
        ("a:..:b", "path"),
        (&long, "513 bytes"),
        ("agent::x", "names no agent"),
        ("agent:", "names no agent"),
        ("agent:a b:x", "names no agent"),
        ("agent:-a:x", "names no agent"),
    ] {
        for body in [
            json!({"sessionKey": bad, "backend": "exec"}),
            json!({"backend": "exec", "parent": bad}),
            json!({"action": "list", "parent": bad}),
            json!({"action": "list", "as": bad}),
            json!({"action": "history", "sessionKey": bad}),
            json!({"action": "status", "sessionKey": bad}),
            json!({"action": "send", "sessionKey": bad, "text": "true"}),
            json!({"action": "wait", "sessionKey": bad}),
            json!({"action": "cancel", "sessionKey": bad}),
            json!({"action": "close", "sessionKey": bad}),
        ] {
            refused(act(&api, &body), 422, "invalid", &[word]);
        }
    }
    for (path, word) in [("a%00b", "\\u{0}"), ("..%2Fx", "path"), ("%20", "empty"), ("a%0Ab", "\\n")] {
        refused(api.get(&format!("/v1/sessions/{path}")), 422, "invalid", &[word]);
    }
    for action in ["history", "status", "send", "wait", "cancel", "close"] {
        refused(act(&api, &json!({"action": action, "text": "x"})), 422, "invalid", &["sessionKey"]);
    }
    assert_eq!(count(&api), 1);
}

#[test]
fn every_action_names_an_unknown_session() {
    let (_install, api) = daemon();
    spawn(&api, KEY);
    for who in [Value::Null, KEY.into()] {
        for action in ["history", "status", "send", "wait", "cancel", "close"] {
            let body = json!({"action": action, "sessionKey": "agent:b:nobody", "text": "true", "as": who});
            refused(act(&api, &body), 404, "no-such-session", &["agent:b:nobody"]);
        }
    }
    let body = json!({"sessionKey": "x", "backend": "exec", "parent": "agent:b:nobody"});
    refused(act(&api, &body), 404, "no-such-session", &["agent:b:nobody"]);
    assert_eq!(count(&api), 1);
}

#[test]
fn no_session_is_its_own_ancestor_or_a_child_of_a_closed_one() {
    let (_install, api) = daemon();
    let below =
        |key: &str, parent: &str| act(&api, &json!({"sessionKey": key, "parent": parent, "backend": "exec"}));
    refused(below("x", "x"), 404, "no-such-session", &["x"]);
    spawn(&api, KEY);
    refused(below(KEY, KEY), 422, "invalid", &["own ancestor"]);
    let _ = below("child", KEY).is(201);
    refused(below(KEY, "child"), 422, "invalid", &["own ancestor"]);
    refused(below("child", KEY), 409, "wrong-state", &["child exists already", "idle"]);
    let as_itself = json!({"sessionKey": KEY, "as": KEY, "backend": "exec"});
    refused(act(&api, &as_itself), 422, "invalid", &["own ancestor"]);
    let _ = act(&api, &json!({"action": "close", "sessionKey": "child"})).is(200);
    refused(below("grandchild", "child"), 409, "session-closed", &["closed", "name a parent that is open"]);
    refused(below("child", KEY), 409, "wrong-state", &["child exists already", "closed"]);
    let elsewhere = json!({"sessionKey": "y", "as": "child", "parent": KEY, "backend": "exec"});
    refused(act(&api, &elsewhere), 403, "forbidden", &["only below itself"]);
    assert_eq!(count(&api), 2);
}

#[test]
fn the_settings_bound_the_number_and_depth_of_sessions() {
    let install = Install::new()
        .with_daemon()
        .with_env("TENURE_SESSIONS_DEPTH", "2")
        .with_env("TENURE_SESSIONS_CHILDREN", "2");
    let (_install, api) = of(install);
    spawn(&api, "s0");
    let below =
        |key: &str, parent: &str| act(&api, &json!({"sessionKey": key, "parent": parent, "backend": "exec"}));
    let _ = below("s1", "s0").is(201);
    let _ = below("s2", "s1").is(201);
    refused(below("s3", "s2"), 422, "invalid", &["2 levels deep", "raise"]);
    let _ = below("t1", "s0").is(201);
    refused(below("u1", "s0"), 409, "wrong-state", &["2 open children", "close one"]);
    let _ = act(&api, &json!({"action": "close", "sessionKey": "t1"})).is(200);
    let _ = below("u1", "s0").is(201);
    // A session with no row yet counts as well.
    let by_nobody =
        |key: &str| act(&api, &json!({"sessionKey": key, "as": "agent:z:new", "backend": "exec"}));
    let _ = (by_nobody("z1").is(201), by_nobody("z2").is(201));
    refused(by_nobody("z3"), 409, "wrong-state", &["2 open children"]);
}

#[test]
fn the_agent_in_the_key_must_match_the_named_agent() {
    let (_install, api) = daemon();
    let body = json!({"sessionKey": "agent:a:x", "agent": "b", "backend": "exec"});
    refused(act(&api, &body), 422, "invalid", &["agent a", "not to b"]);
    refused(act(&api, &json!({"agent": "../b", "backend": "exec"})), 422, "invalid", &["not an agent name"]);
    refused(act(&api, &json!({"agent": "nobody"})), 422, "invalid", &["claude", "[agents.nobody]"]);
    refused(act(&api, &json!({"backend": "cli"})), 422, "invalid", &["agent is missing"]);
    refused(
        act(&api, &json!({"backend": "acp", "agent": "a"})),
        422,
        "invalid",
        &["ACP", "claude", "[agents.a.acp]"],
    );
    assert_eq!(count(&api), 0);
}

#[test]
fn a_wrong_word_or_number_names_the_valid_values() {
    let (_install, api) = daemon();
    spawn(&api, KEY);
    for (body, words) in [
        (json!({"action": "fly"}), &["spawn", "list", "history", "close"][..]),
        (json!({"kind": "boss"}), &["main", "subagent"]),
        (json!({"mode": "x"}), &["persistent", "oneshot"]),
        (json!({"interaction": "x"}), &["interactive", "parent-owned-background"]),
        (
            json!({"action": "send", "sessionKey": KEY, "text": "x", "whenBusy": "x"}),
            &["queue", "steer", "refuse"],
        ),
        (json!({"action": "list", "visibility": "x"}), &["self", "tree", "agent", "all"]),
        (json!({"action": "list", "states": ["x"]}), &["idle", "busy", "closing", "closed"]),
        (json!({"action": "list", "limit": -1}), &["limit", "-1"]),
        (json!({"action": "list", "limit": 1.5}), &["limit"]),
        (json!({"action": "history", "sessionKey": KEY, "maxBytes": -1}), &["maxBytes", "-1"]),
        (json!({"origin": {"channel": "c", "peer": "p"}}), &["peer", "channel", "thread"]),
    ] {
        refused(act(&api, &body), 400, "bad-request", words);
    }
    for (body, words) in [
        (json!({"action": "list", "limit": 0}), &["limit is 1 to 500"][..]),
        (json!({"action": "list", "after": "garbage"}), &["after", "next"]),
        (json!({"action": "list", "after": "1:../x"}), &["after", "next"]),
        (json!({"action": "history", "sessionKey": KEY, "after": "1:x"}), &["after", "number"]),
        (json!({"action": "history", "sessionKey": KEY, "limit": 0}), &["limit"]),
        (json!({"action": "wait", "sessionKey": KEY, "turnId": "x"}), &["x"]),
        (json!({"action": "list", "visibility": "all"}), &["as"]),
        (json!({"action": "list", "sandboxed": false}), &["as"]),
    ] {
        refused(act(&api, &body), 422, "invalid", words);
    }
    for body in [
        json!({"action": "list", "limit": u64::MAX}),
        json!({"action": "list", "after": format!("{}:zzz", u64::MAX)}),
        json!({"action": "list", "prefix": "%_'\"\u{0}"}),
        json!({"action": "history", "sessionKey": KEY, "maxBytes": u64::MAX, "limit": u64::MAX}),
        json!({"action": "history", "sessionKey": KEY, "after": u64::MAX.to_string()}),
        json!({"action": "history", "sessionKey": KEY, "after": "0", "newestFirst": true}),
        json!({"action": "history", "sessionKey": KEY, "after": u64::MAX.to_string(), "newestFirst": true}),
    ] {
        let _ = act(&api, &body).is(200);
    }
    assert_eq!(count(&api), 1);
}

#[test]
fn a_prefix_is_taken_literally() {
    let (_install, api) = daemon();
    ["a%b", "aXb", "a_b", "A%b"].iter().for_each(|key| spawn(&api, key));
    let listed = |prefix: &str| {
        let reply = act(&api, &json!({"action": "list", "prefix": prefix})).is(200).json();
        let keys = reply["sessions"].as_array().expect("a list").iter().map(|it| text(&it["key"]));
        keys.collect::<BTreeSet<_>>()
    };
    assert_eq!(listed("a%"), BTreeSet::from(["a%b".to_owned()]));
    assert_eq!(listed("a_"), BTreeSet::from(["a_b".to_owned()]));
    assert_eq!(listed("A"), BTreeSet::from(["A%b".to_owned()]));
}

#[test]
fn an_empty_or_oversized_message_is_refused() {
    let (_install, api) = daemon();
    spawn(&api, KEY);
    let send = |text: &Value| act(&api, &json!({"action": "send", "sessionKey": KEY, "text": text}));
    refused(send(&Value::Null), 422, "invalid", &["text is missing"]);
    for blank in ["", " \n\t "] {
        refused(send(&blank.into()), 422, "invalid", &["empty"]);
        let body = json!({"sessionKey": "new", "backend": "exec", "task": blank});
        refused(act(&api, &body), 422, "invalid", &["empty"]);
    }
    refused(send(&"echo a\0b".into()), 422, "invalid", &["NUL"]);
    let body = json!({"sessionKey": "new", "backend": "exec", "task": "echo a\0b"});
    refused(act(&api, &body), 422, "invalid", &["NUL"]);
    refused(send(&"x".repeat(10 << 20).into()), 413, "too-large", &["1048576", "file"]);
    let body = json!({"sessionKey": "new", "backend": "exec", "task": "x".repeat(10 << 20)});
    refused(act(&api, &body), 413, "too-large", &["1048576"]);
    let raw = [br#"{"action": "send", "sessionKey": "agent:a:main", "text": ""#, &b"\xff\xfe"[..], br#""}"#]
        .concat();
    api.ask("POST", "/v1/sessions", &[], &raw).refused(400, "bad-request");
    assert_eq!((&status(&api, KEY)["turns"], count(&api)), (&json!(0), 1));
    // The longest message is too long for a command line, and the turn says so.
    let ended = turn(&api, KEY, &format!("true {}", "x".repeat((1 << 20) - 5)));
    assert_eq!(ended["state"], "failed", "{}", ended["error"]);
    let why = text(&ended["error"]);
    assert!(why.len() < 2_000 && why.contains("write it to a file"), "{why}");
    assert_eq!(turn(&api, KEY, "echo 'ä\u{1F980}'")["text"], "ä\u{1F980}\n");
}

#[test]
fn a_zero_turn_timeout_is_off_and_a_zero_wait_returns_at_once() {
    let (_install, api) = daemon();
    let body = json!({"sessionKey": KEY, "backend": "exec", "timeoutMs": 0, "task": "sleep 1000"});
    let sent = act(&api, &body).is(201).json();
    assert!(sent["session"]["work"]["timeoutMs"].is_null(), "zero is no limit: {sent}");
    let wait = |ms: u64| json!({"action": "wait", "sessionKey": KEY, "timeoutMs": ms});
    assert_eq!(act(&api, &wait(0)).is(200).json()["turn"]["state"], "running");
    let _ = act(&api, &json!({"action": "cancel", "sessionKey": KEY})).is(200);
    assert_eq!(act(&api, &wait(u64::MAX)).is(200).json()["turn"]["state"], "cancelled");
    spawn(&api, "other");
    refused(act(&api, &json!({"action": "wait", "sessionKey": "other"})), 409, "wrong-state", &["no turn"]);
    refused(
        act(&api, &json!({"action": "cancel", "sessionKey": "other"})),
        409,
        "wrong-state",
        &["no running turn"],
    );
    let others = json!({"action": "wait", "sessionKey": "other", "turnId": sent["sent"]["turnId"]});
    refused(act(&api, &others), 422, "invalid", &["session other has no turn"]);
    let long = json!({"sessionKey": "long", "backend": "exec", "timeoutMs": u64::MAX, "task": "echo done"});
    let _ = act(&api, &long).is(201);
    let ended = act(&api, &json!({"action": "wait", "sessionKey": "long"})).is(200).json()["turn"].clone();
    assert_eq!((&ended["state"], &ended["text"]), (&json!("done"), &json!("done\n")), "{ended}");
}

#[test]
fn an_invalid_directory_fails_the_turn() {
    let (install, api) = daemon();
    for bad in ["relative", "", "./x", "~", "/a\0b"] {
        let body = json!({"backend": "exec", "cwd": bad});
        refused(act(&api, &body), 422, "invalid", &["cwd", "absolute"]);
    }
    let gone = install.dir().join("gone");
    let _ = act(&api, &json!({"sessionKey": KEY, "backend": "exec", "cwd": gone})).is(201);
    let ended = turn(&api, KEY, "pwd");
    assert_eq!(ended["state"], "failed", "{ended}");
    assert!(text(&ended["error"]).contains(gone.to_str().expect("UTF-8")), "{ended}");
    std::fs::create_dir(&gone).expect("a directory");
    let ended = turn(&api, KEY, "pwd");
    assert_eq!(
        (&ended["state"], &ended["error"]),
        (&json!("done"), &Value::Null),
        "the next turn runs: {ended}"
    );
}

#[test]
fn names_for_people_are_one_short_line() {
    let (_install, api) = daemon();
    spawn(&api, KEY);
    for bad in ["a\nb".to_owned(), "\u{1b}[31m".to_owned(), String::new(), "x".repeat(1 << 20)] {
        refused(act(&api, &json!({"backend": "exec", "label": bad})), 422, "invalid", &["label", "one line"]);
        let close = json!({"action": "close", "sessionKey": KEY, "reason": bad});
        refused(act(&api, &close), 422, "invalid", &["reason", "one line"]);
        let model = json!({"backend": "exec", "model": bad});
        refused(act(&api, &model), 422, "invalid", &["model"]);
        let origin = json!({"backend": "exec", "origin": {"channel": bad, "to": "x"}});
        refused(act(&api, &origin), 422, "invalid", &["origin"]);
    }
    refused(act(&api, &json!({"agent": "claude", "model": "--yolo"})), 422, "invalid", &["model", "--yolo"]);
    assert_eq!((count(&api), &status(&api, KEY)["state"]), (1, &json!("idle")));
}

#[test]
fn a_forbidden_command_is_not_executed_in_a_turn() {
    for (mode, words) in [
        ("deny", &["deny"][..]),
        ("ask", &["tenure exec", "tenure allowlist add"]),
        ("allowlist", &["allowlist"]),
    ] {
        let (install, api) = of(Install::new().with_daemon().with_env("TENURE_EXEC_MODE", mode));
        let file = install.dir().join("touched");
        spawn(&api, KEY);
        let ended = turn(&api, KEY, &format!("touch {}", file.display()));
        assert_eq!(ended["state"], "failed", "{mode}: {ended}");
        let why = text(&ended["error"]);
        assert!(words.iter().all(|word| why.contains(word)), "{mode}: {why}");
        assert!(!file.exists() && install.runs().is_empty(), "{mode}: {:?}", install.runs());
        assert_eq!(status(&api, KEY)["state"], "idle");
        let asked = install.tenure(&["approvals", "--json"]);
        assert!(!String::from_utf8_lossy(&asked.stdout).contains("touch"), "no question is asked: {asked:?}");
    }
}

#[test]
fn a_session_run_by_another_program_takes_no_messages() {
    let (install, api) = daemon();
    let run = install.start_in_background(&["--session", KEY], &["sleep", "1000"]);
    let send = json!({"action": "send", "sessionKey": KEY, "text": "true"});
    for when in ["queue", "steer", "refuse"] {
        let mut send = send.clone();
        send["whenBusy"] = when.into();
        refused(act(&api, &send), 409, "wrong-state", &[KEY, "takes no messages"]);
    }
    let body = json!({"sessionKey": "r", "backend": "run", "task": "true"});
    refused(act(&api, &body), 409, "wrong-state", &["takes no messages"]);
    assert_eq!(status(&api, KEY)["liveRuns"], json!([run]));
    assert_eq!(count(&api), 1, "nothing was created for an impossible task");
    let closed = act(&api, &json!({"action": "close", "sessionKey": KEY})).is(200).json();
    assert_eq!(closed["closed"]["runs"], json!([run]), "{closed}");
    refused(act(&api, &send), 409, "wrong-state", &[]);
}
