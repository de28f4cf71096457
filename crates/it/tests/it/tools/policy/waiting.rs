//! Questions between request and run: a closed one is asked again, an allowed command queues, an unreadable one hides
//! no other, and a client's questions end with it.

use super::fixture::PolicyFixture;
use serde_json::{Value, json};
use std::process::Stdio;
use tenure_it::api::text;
use tenure_it::child_program::ChildProgram;
use tenure_it::eventually;

/// Changes the record of a question, as another daemon of the registry, or time, would.
#[track_caller]
fn change(fixture: &PolicyFixture, id: &str, what: &str) {
    let registry = fixture.served.install.state().join("tenure.db");
    let db = rusqlite::Connection::open(registry).expect("the registry");
    db.busy_timeout(std::time::Duration::from_secs(10)).expect("a timeout");
    let changed = db.execute(&format!("UPDATE approvals SET {what} WHERE id = ?1"), [id]).expect("update");
    assert_eq!(changed, 1, "{id}");
}

/// A client of `tenure mcp`, whose directory and limits apply to its requests.
fn client(fixture: &PolicyFixture) -> ChildProgram {
    let mut command = fixture.served.install.command(&["mcp"]);
    command.stdin(Stdio::piped());
    let mut bridge = ChildProgram::new(command);
    let who = json!({"name": "it", "version": "0"});
    let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": who});
    said(&mut bridge, 1, "initialize", &hello);
    bridge.write(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n");
    bridge
}

/// Sends a request; returns its answer.
#[track_caller]
fn said(bridge: &mut ChildProgram, id: u64, method: &str, params: &Value) -> Value {
    let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
    bridge.write(format!("{message}\n").as_bytes());
    eventually(&format!("an answer to {method}"), || {
        let out = bridge.out();
        let whole = out.rsplit_once('\n').map_or("", |(whole, _)| whole);
        let messages = whole.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        messages.into_iter().find(|message| message["id"] == id && message.get("method").is_none())
    })
}

/// Has a client request a command that needs an answer; returns its id.
#[track_caller]
fn asks(bridge: &mut ChildProgram, id: u64, command: &str) -> String {
    let call = json!({"name": "exec", "arguments": {"command": command}});
    let reply = said(bridge, id, "tools/call", &call)["result"]["structuredContent"].clone();
    assert_eq!(reply["status"], "approval-pending", "{reply}");
    text(&reply["runId"])
}

/// Allows a command that finds no capacity, and hangs up; returns the run that occupies it.
#[track_caller]
fn allow_without_a_place(fixture: &PolicyFixture, id: &str) -> String {
    let first = fixture.api.start(&json!({"command": ["sleep", "1000"]}));
    let mut person = fixture.api.connect();
    person.request("POST", &format!("/v1/approvals/{id}/allow-once"), &[], b"{}");
    eventually("the answer is recorded", || fixture.events_of(id, "approval-answered").first().map(drop));
    first
}

#[track_caller]
fn make_place(fixture: &PolicyFixture, run: &str) {
    let _ = fixture.api.post(&format!("/v1/runs/{run}/cancel"), &json!({"now": true})).is(202);
    fixture.api.wait(run);
}

#[test]
fn a_client_that_leaves_withdraws_its_questions_and_unstarted_commands() {
    let fixture = PolicyFixture::with(&[("TENURE_EXEC_MODE", "ask"), ("TENURE_RUNS_MAX", "1")]);
    fixture.program("tool", "tool");
    let others = fixture.asks("tool of another");
    let mut bridge = client(&fixture);
    let open = asks(&mut bridge, 2, "tool open");
    let allowed = asks(&mut bridge, 3, "tool allowed");
    let first = allow_without_a_place(&fixture, &allowed);
    bridge.close_input();
    assert_eq!(bridge.code(), 0, "{}", bridge.err());
    eventually("its question is closed", || (fixture.questions().len() == 1).then_some(()));
    eventually("the allowed command is withdrawn", || {
        fixture.events_of(&allowed, "approval-failed").first().map(drop)
    });
    assert_eq!(fixture.questions()[0]["id"], json!(others));
    fixture.answer(&open, "allow-once").refused(409, "wrong-state");
    let all = fixture.api.get("/v1/approvals?all=true").is(200).json();
    let closed = all["approvals"].as_array().expect("a list").iter().find(|it| it["id"] == json!(open));
    let closed = closed.expect("the question");
    assert_eq!((&closed["state"], &closed["answeredBy"]), (&json!("denied"), &json!("its client has left")));
    make_place(&fixture, &first);
    let _ = fixture.answer(&others, "allow-once").is(200);
    fixture.output(&others);
    assert_eq!(fixture.notes(), ["tool: of another"]);
}

#[test]
fn a_question_closed_in_the_registry_is_asked_again() {
    let fixture = PolicyFixture::asking();
    fixture.program("tool", "tool");
    let mut before = fixture.asks("tool");
    for closing in ["state = 'denied', answered_at_ms = created_at_ms", "expires_at_ms = created_at_ms"] {
        change(&fixture, &before, closing);
        let again = fixture.asks("tool");
        assert_ne!(again, before, "{closing}");
        before = again;
    }
    assert_eq!(fixture.asks("tool"), before, "this one is pending");
    let _ = fixture.answer(&before, "allow-once").is(200);
    fixture.output(&before);
}

#[test]
fn an_allowed_command_in_the_queue_counts_as_about_to_start() {
    let fixture = PolicyFixture::with(&[("TENURE_EXEC_MODE", "ask"), ("TENURE_RUNS_MAX", "1")]);
    fixture.program("tool", "tool");
    let (stays, goes) = (fixture.asks("tool stays"), fixture.asks("tool goes"));
    let first = allow_without_a_place(&fixture, &goes);
    let mut person = fixture.api.connect();
    person.request("POST", &format!("/v1/approvals/{stays}/allow-once"), &[], b"{}");
    eventually("the answer is recorded", || fixture.events_of(&stays, "approval-answered").first().map(drop));
    for id in [&stays, &goes] {
        change(&fixture, id, "answered_at_ms = answered_at_ms - 600000, expires_at_ms = created_at_ms");
        let polled = fixture.poll(id, 0).is(200).json();
        assert_eq!(polled["status"], "approval-pending", "{polled}");
        assert!(text(&polled["message"]).contains("approved"), "{polled}");
        let log = fixture.api.post("/v1/process", &json!({"action": "log", "runId": id}));
        let why = log.refused(409, "wrong-state");
        assert!(why.contains("its start") && !why.contains("person"), "{why}");
    }
    let _ = fixture.api.post("/v1/process", &json!({"action": "kill", "runId": goes})).is(200);
    eventually("it is withdrawn", || fixture.events_of(&goes, "approval-failed").first().map(drop));
    let why = fixture.poll(&goes, 10_000).refused(409, "wrong-state");
    assert!(why.contains("withdrawn") && why.contains("again"), "{why}");
    make_place(&fixture, &first);
    fixture.output(&stays);
    assert_eq!(fixture.notes(), ["tool: stays"]);
}

#[test]
fn unrecorded_caller_limits_after_a_restart_are_reported_with_a_remedy() {
    let mut fixture = PolicyFixture::asking();
    fixture.program("tool", "tool");
    let mut bridge = client(&fixture);
    let id = asks(&mut bridge, 2, "tool");
    assert_eq!(fixture.questions().len(), 1);
    fixture.crash();
    let why = fixture.answer(&id, "allow-once").refused(409, "wrong-state");
    assert!(why.contains("limits of its caller") && why.contains("deny this"), "{why}");
    let _ = fixture.answer(&id, "deny").is(200);
    assert!(fixture.notes().is_empty());
}

#[test]
fn an_answer_is_not_used_up_by_a_failed_start() {
    let fixture = PolicyFixture::with(&[
        ("TENURE_EXEC_MODE", "ask"),
        ("TENURE_RUNS_MAX", "1"),
        ("TENURE_RUNS_QUEUE", "0"),
    ]);
    fixture.program("tool", "tool");
    let id = fixture.asks("tool");
    let first = fixture.api.start(&json!({"command": ["sleep", "1000"]}));
    fixture.answer(&id, "allow-always").refused(429, "too-many-runs");
    assert_eq!(fixture.questions()[0]["state"], "pending");
    assert_eq!(fixture.api.get("/v1/allowlist").is(200).json()["entries"], json!([]));
    make_place(&fixture, &first);
    let _ = fixture.answer(&id, "allow-once").is(200);
    fixture.output(&id);
}

#[test]
fn an_unreadable_question_hides_no_other_and_can_be_denied() {
    let fixture = PolicyFixture::asking();
    fixture.program("tool", "tool");
    let (odd, newer, good) =
        (fixture.asks("tool odd"), fixture.asks("tool newer"), fixture.asks("tool good"));
    change(&fixture, &odd, "asked = '[]'");
    change(&fixture, &newer, "asked = json_set(asked, '$.version', 99)");
    assert_eq!(fixture.questions().iter().map(|it| text(&it["id"])).collect::<Vec<_>>(), [good]);
    for (id, word) in [(odd, "cannot be read"), (newer, "newer version of Tenure")] {
        let why = fixture.answer(&id, "allow-once").refused(409, "wrong-state");
        assert!(why.contains(word) && why.contains("deny it"), "{why}");
        assert_eq!(fixture.answer(&id, "deny").is(200).json()["state"], "denied");
    }
    assert!(fixture.notes().is_empty());
}
