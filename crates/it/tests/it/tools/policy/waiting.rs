//! Questions between asking and running: what is closed is asked again, what is allowed waits for a place, what cannot be
//! read hides nothing, and what a client asked goes with the client.

use super::desk::Desk;
use serde_json::{Value, json};
use std::process::Stdio;
use tenure_it::api::text;
use tenure_it::eventually;
use tenure_it::started::Started;

/// Changes the record of a question, as another daemon of the registry, or time, would.
#[track_caller]
fn change(desk: &Desk, id: &str, what: &str) {
    let registry = desk.served.install.state().join("tenure.db");
    let db = rusqlite::Connection::open(registry).expect("the registry");
    db.busy_timeout(std::time::Duration::from_secs(10)).expect("a timeout");
    let changed = db.execute(&format!("UPDATE approvals SET {what} WHERE id = ?1"), [id]).expect("update");
    assert_eq!(changed, 1, "{id}");
}

/// A client of `tenure mcp`, which lends its directory and limits to what it asks for.
fn client(desk: &Desk) -> Started {
    let mut command = desk.served.install.command(&["mcp"]);
    command.stdin(Stdio::piped());
    let mut bridge = Started::new(command);
    let who = json!({"name": "it", "version": "0"});
    let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": who});
    said(&mut bridge, 1, "initialize", &hello);
    bridge.write(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n");
    bridge
}

/// Sends a request; returns its answer.
#[track_caller]
fn said(bridge: &mut Started, id: u64, method: &str, params: &Value) -> Value {
    let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
    bridge.write(format!("{message}\n").as_bytes());
    eventually(&format!("an answer to {method}"), || {
        let out = bridge.out();
        let whole = out.rsplit_once('\n').map_or("", |(whole, _)| whole);
        let messages = whole.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        messages.into_iter().find(|message| message["id"] == id && message.get("method").is_none())
    })
}

/// Has a client ask about a command; returns its id.
#[track_caller]
fn asks(bridge: &mut Started, id: u64, command: &str) -> String {
    let call = json!({"name": "exec", "arguments": {"command": command}});
    let reply = said(bridge, id, "tools/call", &call)["result"]["structuredContent"].clone();
    assert_eq!(reply["status"], "approval-pending", "{reply}");
    text(&reply["runId"])
}

/// Allows a command that finds no place, and hangs up; returns what takes the place.
#[track_caller]
fn allow_without_a_place(desk: &Desk, id: &str) -> String {
    let first = desk.api.start(&json!({"command": ["sleep", "1000"]}));
    let mut person = desk.api.connect();
    person.request("POST", &format!("/v1/approvals/{id}/allow-once"), &[], b"{}");
    eventually("that the answer is recorded", || desk.told(id, "approval-answered").first().map(drop));
    first
}

#[track_caller]
fn make_place(desk: &Desk, run: &str) {
    let _ = desk.api.post(&format!("/v1/runs/{run}/cancel"), &json!({"now": true})).is(202);
    desk.api.wait(run);
}

#[test]
fn a_client_that_leaves_takes_its_questions_and_what_was_allowed_of_them_and_has_not_begun() {
    let desk = Desk::with(&[("TENURE_EXEC_MODE", "ask"), ("TENURE_RUNS_MAX", "1")]);
    desk.program("tool", "tool");
    let others = desk.asks("tool of another");
    let mut bridge = client(&desk);
    let open = asks(&mut bridge, 2, "tool open");
    let allowed = asks(&mut bridge, 3, "tool allowed");
    let first = allow_without_a_place(&desk, &allowed);
    bridge.close_input();
    assert_eq!(bridge.code(), 0, "{}", bridge.err());
    eventually("that its question is closed", || (desk.questions().len() == 1).then_some(()));
    eventually("that what was allowed is withdrawn", || {
        desk.told(&allowed, "approval-failed").first().map(drop)
    });
    assert_eq!(desk.questions()[0]["id"], json!(others));
    desk.answer(&open, "allow-once").refused(409, "wrong-state");
    let all = desk.api.get("/v1/approvals?all=true").is(200).json();
    let closed = all["approvals"].as_array().expect("a list").iter().find(|it| it["id"] == json!(open));
    let closed = closed.expect("the question");
    assert_eq!((&closed["state"], &closed["answeredBy"]), (&json!("denied"), &json!("its client has left")));
    make_place(&desk, &first);
    let _ = desk.answer(&others, "allow-once").is(200);
    desk.output(&others);
    assert_eq!(desk.notes(), ["tool: of another"]);
}

#[test]
fn a_question_that_is_closed_behind_our_back_is_asked_again() {
    let desk = Desk::asking();
    desk.program("tool", "tool");
    let mut before = desk.asks("tool");
    for closing in ["state = 'denied', answered_at_ms = created_at_ms", "expires_at_ms = created_at_ms"] {
        change(&desk, &before, closing);
        let again = desk.asks("tool");
        assert_ne!(again, before, "{closing}");
        before = again;
    }
    assert_eq!(desk.asks("tool"), before, "this one waits");
    let _ = desk.answer(&before, "allow-once").is(200);
    desk.output(&before);
}

#[test]
fn what_is_allowed_and_waits_for_a_place_is_about_to_start_however_long_that_takes() {
    let desk = Desk::with(&[("TENURE_EXEC_MODE", "ask"), ("TENURE_RUNS_MAX", "1")]);
    desk.program("tool", "tool");
    let (stays, goes) = (desk.asks("tool stays"), desk.asks("tool goes"));
    let first = allow_without_a_place(&desk, &goes);
    let mut person = desk.api.connect();
    person.request("POST", &format!("/v1/approvals/{stays}/allow-once"), &[], b"{}");
    eventually("that the answer is recorded", || desk.told(&stays, "approval-answered").first().map(drop));
    for id in [&stays, &goes] {
        change(&desk, id, "answered_at_ms = answered_at_ms - 600000, expires_at_ms = created_at_ms");
        let polled = desk.poll(id, 0).is(200).json();
        assert_eq!(polled["status"], "approval-pending", "{polled}");
        assert!(text(&polled["message"]).contains("allowed"), "{polled}");
        let log = desk.api.post("/v1/process", &json!({"action": "log", "runId": id}));
        let why = log.refused(409, "wrong-state");
        assert!(why.contains("its start") && !why.contains("person"), "{why}");
    }
    let _ = desk.api.post("/v1/process", &json!({"action": "kill", "runId": goes})).is(200);
    eventually("that it is withdrawn", || desk.told(&goes, "approval-failed").first().map(drop));
    let why = desk.poll(&goes, 10_000).refused(409, "wrong-state");
    assert!(why.contains("withdrawn") && why.contains("again"), "{why}");
    make_place(&desk, &first);
    desk.output(&stays);
    assert_eq!(desk.notes(), ["tool: stays"]);
}

#[test]
fn the_limits_of_a_caller_are_not_recorded_so_after_a_restart_it_is_said_what_to_do() {
    let mut desk = Desk::asking();
    desk.program("tool", "tool");
    let mut bridge = client(&desk);
    let id = asks(&mut bridge, 2, "tool");
    assert_eq!(desk.questions().len(), 1);
    desk.crash();
    let why = desk.answer(&id, "allow-once").refused(409, "wrong-state");
    assert!(why.contains("limits of its caller") && why.contains("deny this"), "{why}");
    let _ = desk.answer(&id, "deny").is(200);
    assert!(desk.notes().is_empty());
}

#[test]
fn an_answer_is_not_spent_on_what_cannot_start() {
    let desk =
        Desk::with(&[("TENURE_EXEC_MODE", "ask"), ("TENURE_RUNS_MAX", "1"), ("TENURE_RUNS_QUEUE", "0")]);
    desk.program("tool", "tool");
    let id = desk.asks("tool");
    let first = desk.api.start(&json!({"command": ["sleep", "1000"]}));
    desk.answer(&id, "allow-always").refused(429, "too-many-runs");
    assert_eq!(desk.questions()[0]["state"], "pending");
    assert_eq!(desk.api.get("/v1/allowlist").is(200).json()["entries"], json!([]));
    make_place(&desk, &first);
    let _ = desk.answer(&id, "allow-once").is(200);
    desk.output(&id);
}

#[test]
fn a_question_that_cannot_be_read_hides_no_other_and_can_be_denied() {
    let desk = Desk::asking();
    desk.program("tool", "tool");
    let (odd, newer, good) = (desk.asks("tool odd"), desk.asks("tool newer"), desk.asks("tool good"));
    change(&desk, &odd, "asked = '[]'");
    change(&desk, &newer, "asked = json_set(asked, '$.version', 99)");
    assert_eq!(desk.questions().iter().map(|it| text(&it["id"])).collect::<Vec<_>>(), [good]);
    for (id, word) in [(odd, "cannot be read"), (newer, "newer Tenure")] {
        let why = desk.answer(&id, "allow-once").refused(409, "wrong-state");
        assert!(why.contains(word) && why.contains("deny it"), "{why}");
        assert_eq!(desk.answer(&id, "deny").is(200).json()["state"], "denied");
    }
    assert!(desk.notes().is_empty());
}
