//! The session of an MCP client: it is a child of its creator's, sees what that session's agent may, and ends with its
//! client.

use serde_json::{Value, json};
use tenure_it::api::{Api, text};
use tenure_it::daemon_fixture::DaemonFixture;
use tenure_it::eventually;
use tenure_it::install::Install;
use tenure_it::mcp_client::Client;

const MINE: &str = "agent:a:main";
const OTHER: &str = "agent:a:other";
const THEIRS: &str = "agent:b:main";

/// A daemon with three sessions without a parent.
fn fixture(visibility: &str, sandbox: bool) -> (DaemonFixture, Api) {
    let install = Install::new().with_daemon();
    let settings = format!("[sessions]\nvisibility = '{visibility}'\n");
    std::fs::write(install.config(), settings).expect("a configuration");
    let fixture = DaemonFixture::of(install);
    fixture.start_daemon();
    let api = Api::of(&fixture);
    for (key, sandbox) in [(MINE, sandbox), (OTHER, false), (THEIRS, false)] {
        let body = json!({"sessionKey": key, "backend": "exec", "sandbox": sandbox});
        let _ = api.post("/v1/sessions", &body).is(201);
    }
    (fixture, api)
}

/// The keys in a list.
fn keys(reply: &Value) -> Vec<String> {
    let sessions = reply["sessions"].as_array().unwrap_or_else(|| panic!("no list: {reply}"));
    let mut keys: Vec<String> = sessions.iter().map(|session| text(&session["key"])).collect();
    keys.sort();
    keys
}

#[track_caller]
fn all(api: &Api) -> Vec<String> {
    keys(&api.get("/v1/sessions?limit=500").is(200).json())
}

#[test]
fn sessions_spawned_by_a_client_in_a_run_are_its_children_and_end_with_it() {
    let (fixture, api) = fixture("agent", false);
    let mut client = Client::inside(&fixture, MINE, &[]);
    let spawned =
        client.call("sessions", &json!({"action": "spawn", "backend": "exec", "task": "sleep 1000"}));
    let child = text(&spawned["session"]["key"]);
    let own = text(&spawned["session"]["parentSessionKey"]);
    assert!(own.starts_with("mcp:"), "{spawned}");
    assert_eq!(spawned["session"]["lineage"], json!([own, MINE]), "{spawned}");
    assert_eq!(
        (&spawned["session"]["spawnedBy"], &spawned["session"]["agentId"]),
        (&json!(own), &json!("a"))
    );
    let status = client.call("sessions", &json!({"action": "status", "sessionKey": own}));
    assert_eq!(status["session"]["parentSessionKey"], MINE, "{status}");
    for (asked, words) in [
        (json!({"action": "spawn", "backend": "exec", "parent": MINE}), "only below itself"),
        (json!({"action": "spawn", "backend": "exec", "parent": OTHER}), "only below itself"),
        (json!({"action": "close", "sessionKey": MINE}), "was not spawned by"),
        (json!({"action": "cancel", "sessionKey": OTHER}), "was not spawned by"),
        (json!({"action": "status", "sessionKey": THEIRS}), "visibility is agent"),
        (
            json!({"action": "spawn", "backend": "exec", "sessionKey": "agent:b:mine"}),
            "execute commands as agent b",
        ),
    ] {
        let why = client.refused("sessions", &asked);
        assert!(why.contains(words), "{asked}: {why}");
    }
    assert_eq!(api.get(&format!("/v1/sessions/{child}")).is(200).json()["session"]["state"], "busy");
    client.leave();
    eventually("the end of its session", || (!all(&api).contains(&own)).then_some(()));
    let answer = api.get(&format!("/v1/sessions/{child}"));
    let is_over = answer.head.status == 404 || answer.json()["session"]["state"] == "closed";
    assert!(is_over, "{}", answer.text());
    assert_eq!(api.get(&format!("/v1/sessions/{MINE}")).is(200).json()["session"]["state"], "idle");
    fixture.finish();
}

#[test]
fn a_client_sees_the_same_sessions_before_and_after_its_first_action() {
    for sandbox in [false, true] {
        let (fixture, api) = fixture("all", sandbox);
        let mut client = Client::inside(&fixture, MINE, &[]);
        let list = json!({"action": "list", "limit": 500});
        let before = keys(&client.call("sessions", &list));
        let expected: &[&str] = if sandbox { &[] } else { &[MINE, OTHER] };
        assert_eq!(before, expected, "sandboxed: {sandbox}");
        let spawned = client.call("sessions", &json!({"action": "spawn", "backend": "exec"}));
        let (child, own) = (text(&spawned["session"]["key"]), text(&spawned["session"]["parentSessionKey"]));
        assert_eq!(spawned["session"]["sandboxed"] == true, sandbox, "{spawned}");
        let mut after = keys(&client.call("sessions", &list));
        after.retain(|key| *key != child && *key != own);
        assert_eq!(after, before, "sandboxed: {sandbox}");
        client.leave();
        eventually("the end of its session", || (!all(&api).contains(&own)).then_some(()));
        fixture.finish();
    }
}

#[test]
fn a_named_session_stays_when_its_client_leaves() {
    let (fixture, api) = fixture("tree", false);
    let mut client = Client::of(&fixture, &["--session", "agent:c:named"]);
    let run = client.start();
    let spawned = client.call("sessions", &json!({"action": "spawn", "backend": "exec"}));
    let child = text(&spawned["session"]["key"]);
    let why = client.refused("sessions", &json!({"action": "status", "sessionKey": MINE}));
    assert!(why.contains("visibility is tree"), "{why}");
    client.leave();
    eventually("the end of its run", || (fixture.show(&run)["state"] == "exited").then_some(()));
    for key in ["agent:c:named", &child] {
        assert_eq!(
            api.get(&format!("/v1/sessions/{key}")).is(200).json()["session"]["state"],
            "idle",
            "{key}"
        );
    }
    let mut client = Client::of(&fixture, &["--session", "agent:c:named"]);
    let listed = keys(&client.call("sessions", &json!({"action": "list"})));
    assert_eq!(listed.len(), 2, "{listed:?}");
    client.leave();
    fixture.finish();
}

#[test]
fn a_client_that_closed_its_own_session_starts_nothing_more() {
    let (fixture, _api) = fixture("tree", false);
    let mut client = Client::inside(&fixture, MINE, &[]);
    let spawned = client.call("sessions", &json!({"action": "spawn", "backend": "exec"}));
    let own = spawned["session"]["parentSessionKey"].clone();
    let closed = client.call("sessions", &json!({"action": "close", "sessionKey": own}));
    assert_eq!(closed["closed"]["closed"].as_array().map(Vec::len), Some(2), "{closed}");
    let why = client.refused("sessions", &json!({"action": "spawn", "backend": "exec"}));
    assert!(why.contains("closed"), "{why}");
    let why = client.refused("exec", &json!({"command": "true"}));
    assert!(why.contains("closed"), "{why}");
    client.leave();
    fixture.finish();
}
