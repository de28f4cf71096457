//! Live updates of an ACP agent's session; and a child's turn as progress of its task.

use serde_json::{Value, json};
use tenure_it::acp_fixture::{AcpFixture, KEY};
use tenure_it::api::{Body, text};
use tenure_it::eventually;
use tenure_it::tasks::{of_turn, wait_status};

/// The received events: name, number and data of each.
fn events(bytes: &[u8]) -> Vec<(String, Option<u64>, Value)> {
    let text = String::from_utf8_lossy(bytes).into_owned();
    let told = text.split("\n\n").filter_map(|event| {
        let field = |name: &str| event.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
        let data = serde_json::from_str(field("data:")?).expect("JSON");
        Some((field("event:")?.to_owned(), field("id:").and_then(|id| id.parse().ok()), data))
    });
    told.collect()
}

fn follow(acp: &AcpFixture, more: &str) -> Body {
    acp.api.follow(&format!("/v1/sessions/{KEY}/updates{more}"), &[])
}

/// The last version of each entry, in the order of their numbers.
fn last_told(events: &[(String, Option<u64>, Value)]) -> Vec<Value> {
    let mut last = std::collections::BTreeMap::new();
    for (name, number, data) in events {
        if name == "entry" {
            assert_eq!(data["number"].as_u64(), *number, "{data}");
            last.insert(*number, data.clone());
        }
    }
    last.into_values().collect()
}

#[test]
fn a_follower_sees_a_turn_from_start_to_end() {
    let acp = AcpFixture::new(&[]);
    acp.open(KEY);
    let sent =
        acp.send(KEY, "!say before \n!await go\n!count 1 50\n!tool one edit Mends\n!tool-end one completed");
    let turn = text(&sent["turnId"]);
    let mut body = follow(&acp, &format!("?since=0&turn={turn}"));
    let mut seen = body.wait_for("before");
    acp.release("go");
    seen.extend(body.rest());
    let told = events(&seen);
    assert_eq!(last_told(&told), acp.entries(KEY), "all entries, the last version as recorded");
    let turns: Vec<&Value> =
        told.iter().filter(|(name, ..)| name == "turn").map(|(_, _, data)| data).collect();
    assert_eq!((&turns[0]["turnId"], &turns[0]["state"]), (&turn.as_str().into(), &"running".into()));
    let (name, _, end) = told.last().expect("an end");
    assert_eq!((name.as_str(), &end["stop"]), ("turn", &"end-turn".into()), "the end comes last");
    acp.finish();
}

#[test]
fn a_late_follower_gets_the_end_at_once() {
    let acp = AcpFixture::new(&[]);
    acp.open(KEY);
    let turn = acp.turn_ok(KEY, "!say over");
    let id = text(&turn["turnId"]);
    let told = events(&follow(&acp, &format!("?since=0&turn={id}")).rest());
    assert_eq!(last_told(&told), acp.entries(KEY));
    assert_eq!(told.last().expect("an end").2["stop"], "end-turn");
    let told = events(&follow(&acp, &format!("?since=1&turn={id}")).rest());
    assert_eq!(last_told(&told).len(), 1, "only new entries");
    acp.finish();
}

#[test]
fn a_follower_of_a_queued_message_waits_for_its_turn() {
    let acp = AcpFixture::new(&[]);
    acp.open(KEY);
    let _ = acp.send(KEY, "!say first \n!await go");
    acp.wait_text(KEY, "first");
    let second = text(&acp.send(KEY, "!say second")["turnId"]);
    let mut body = follow(&acp, &format!("?turn={second}"));
    acp.release("go");
    let mut seen = body.wait_for("second");
    seen.extend(body.rest());
    let told = events(&seen);
    let (name, _, end) = told.last().expect("an end");
    assert_eq!(
        (name.as_str(), &end["turnId"], &end["stop"]),
        ("turn", &second.as_str().into(), &"end-turn".into())
    );
    acp.finish();
}

#[test]
fn several_clients_follow_at_once_and_a_disconnect_affects_no_other() {
    let acp = AcpFixture::new(&[]);
    acp.open(KEY);
    let sent = acp.send(KEY, "!say begun \n!await go\n!count 1 200");
    let turn = text(&sent["turnId"]);
    let mut bodies: Vec<Body> = (0..4).map(|_| follow(&acp, &format!("?since=0&turn={turn}"))).collect();
    let mut seen: Vec<Vec<u8>> = bodies.iter_mut().map(|body| body.wait_for("begun")).collect();
    drop((bodies.pop(), seen.pop()));
    acp.release("go");
    for (body, mut seen) in bodies.into_iter().zip(seen) {
        seen.extend(body.rest());
        assert_eq!(last_told(&events(&seen)), acp.entries(KEY));
    }
    acp.finish();
}

#[test]
fn updates_of_a_child_become_its_tasks_progress() {
    let acp = AcpFixture::new(&[]);
    acp.open(KEY);
    let child = "agent:helper:child";
    acp.open_with(child, json!({"parent": KEY}));
    let status = acp.status(child);
    assert_eq!(status["interaction"], "parent-owned-background", "{status}");
    let sent =
        acp.send(child, "!say looking around\n!tool one execute Builds the house\n!await go\n!say all done");
    let progress = eventually(&format!("progress\n{}", acp.log()), || {
        let task = of_turn(&acp.api, &sent["turnId"]);
        let summary = task["progressSummary"].as_str()?.to_owned();
        (summary.contains("Builds the house") || summary.contains("looking around")).then_some(task)
    });
    assert_eq!(progress["status"], "running", "{progress}");
    acp.release("go");
    let task = wait_status(&acp.api, &text(&progress["taskId"]), "succeeded");
    assert_eq!(task["turnId"], sent["turnId"], "{task}");
    acp.finish();
}

#[test]
fn a_task_ends_as_its_turn_does() {
    let acp = AcpFixture::new(&["--load"]);
    acp.open(KEY);
    let child = "agent:helper:child";
    acp.open_with(child, json!({"parent": KEY}));
    for (words, status) in [
        ("!say fine", "succeeded"),
        ("!stop refusal", "failed"),
        ("!error -32603 broke", "failed"),
        ("!exit 3 x", "failed"),
    ] {
        let sent = acp.send(child, words);
        let _ = acp.end_of(child, &sent["turnId"]);
        let task = of_turn(&acp.api, &sent["turnId"]);
        let task = wait_status(&acp.api, &text(&task["taskId"]), status);
        assert_eq!(task["status"], status, "{words}");
    }
    let sent = acp.send(child, "!say hanging \n!hang");
    acp.wait_text(child, "hanging");
    let task = text(&of_turn(&acp.api, &sent["turnId"])["taskId"]);
    let said = acp.tenure(&["tasks", "cancel", &task]);
    assert!(said.status.success(), "{said:?}");
    let _ = wait_status(&acp.api, &task, "cancelled");
    assert_eq!(acp.end_of(child, &sent["turnId"])["stop"], "cancelled");
    acp.finish();
}
