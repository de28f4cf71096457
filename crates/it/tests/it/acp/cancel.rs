//! Cancelling a turn of an ACP agent: by the protocol alone, so the same process continues with the next turn. An agent
//! that ignores it is killed, and the session stays usable.

use serde_json::{Value, json};
use tenure_it::acp_fixture::{AcpFixture, KEY};
use tenure_it::api::text;
use tenure_it::proc;

/// Cancels the current turn; returns it after its end.
#[track_caller]
fn cancel(acp: &AcpFixture, turn: &Value) -> Value {
    let _ = acp.expect_ok("cancel", KEY, &json!({}));
    let turn = acp.end_of(KEY, &turn["turnId"]);
    assert_eq!(
        (&turn["state"], &turn["stop"]),
        (&"cancelled".into(), &"cancelled".into()),
        "{turn}\n{}",
        acp.log()
    );
    turn
}

#[test]
fn a_cancelled_turn_leaves_the_agent_as_it_was() {
    let acp = AcpFixture::with(&["--ignore-term"], "permissions = 'approve-all'", "");
    acp.open(KEY);
    let before = acp.describe_itself(KEY);
    let adapter = acp.adapter(KEY);
    for (words, sign) in [
        ("!say streaming \n!chatter", "streaming"),
        ("!tool one execute Builds\n!tool-text one working\n!say building \n!await never", "building"),
        ("!say hanging \n!hang", "hanging"),
        ("!say waiting \n!terminal exec sleep 1000\n!say started \n!await never", "started"),
    ] {
        let sent = acp.send(KEY, words);
        acp.wait_text(KEY, sign);
        let turn = cancel(&acp, &sent);
        assert!(text(&turn["text"]).contains(sign), "its output so far: {turn}");
        assert_eq!(proc::pending(acp.pid(0)), Vec::<u32>::new(), "it got no signal");
        let after = acp.describe_itself(KEY);
        assert_eq!((&after["pid"], &after["session"]), (&before["pid"], &before["session"]));
    }
    assert_eq!(acp.adapter(KEY), adapter, "one run for all turns");
    assert_eq!((acp.starts().len(), acp.times("session/cancel")), (1, 4));
    acp.finish();
}

#[test]
fn a_tool_call_of_a_cancelled_turn_gets_no_further_entry() {
    let acp = AcpFixture::new(&[]);
    acp.open(KEY);
    let sent = acp.send(KEY, "!tool one execute Builds\n!tool-text one working\n!say building\n!hang");
    acp.wait_text(KEY, "building");
    let _ = cancel(&acp, &sent);
    let tools = acp.bodies(KEY, "tool");
    assert_eq!(tools.len(), 1, "{tools:?}");
    assert_eq!(acp.status(KEY)["state"], "idle");
    acp.finish();
}

/// Agents get some time to stop, so this takes long.
#[test]
fn an_agent_that_ignores_a_cancel_is_replaced_by_the_next_turn() {
    let acp = AcpFixture::with(&["--load"], "", "[run]\ngrace = '200ms'");
    acp.open(KEY);
    let before = acp.describe_itself(KEY);
    let sent = acp.send(KEY, "!say deaf \n!deaf");
    acp.wait_text(KEY, "deaf");
    let first = acp.process(0);
    let _ = cancel(&acp, &sent);
    assert!(!first.is_dead(), "a cancel ends no process");
    let after = acp.describe_itself(KEY);
    assert!(first.is_dead(), "an unresponsive agent is not asked again");
    assert_eq!((&after["session"], &after["loaded"]), (&before["session"], &true.into()), "{after}");
    assert_eq!(acp.starts().len(), 2);
    acp.assert_never_two();
    acp.finish();
}

#[test]
fn an_agent_that_answers_late_after_a_cancel_is_kept() {
    let acp = AcpFixture::new(&[]);
    acp.open(KEY);
    let sent = acp.send(KEY, "!say busy \n!late free");
    acp.wait_text(KEY, "busy");
    let _ = acp.expect_ok("cancel", KEY, &json!({}));
    acp.release("free");
    let turn = acp.end_of(KEY, &sent["turnId"]);
    assert!(turn["state"] == "cancelled" || turn["state"] == "done", "{turn}");
    assert_eq!(
        (acp.describe_itself(KEY)["turn"].clone(), acp.starts().len()),
        (2.into(), 1),
        "the same process"
    );
    acp.finish();
}

#[test]
fn a_turn_that_times_out_is_first_cancelled_by_the_protocol() {
    let acp = AcpFixture::with(&[], "timeout = '5s'", "");
    acp.open(KEY);
    let turn = acp.turn(KEY, "!say so far\n!hang");
    assert_eq!((&turn["state"], &turn["stop"]), (&"timed-out".into(), &"timed-out".into()), "{turn}");
    assert_eq!(turn["text"], "so far");
    assert_eq!(acp.times("session/cancel"), 1);
    assert_eq!(
        (acp.describe_itself(KEY)["turn"].clone(), acp.starts().len()),
        (2.into(), 1),
        "the same process"
    );
    acp.finish();
}

#[test]
fn an_agent_that_never_answers_times_out_and_is_stopped() {
    let acp = AcpFixture::with(&["--load"], "", "[run]\ngrace = '200ms'");
    acp.open_with(KEY, json!({"timeoutMs": 5000}));
    let turn = acp.turn(KEY, "!say so far\n!deaf");
    assert_eq!((&turn["state"], &turn["stop"]), (&"timed-out".into(), &"timed-out".into()), "{turn}");
    assert!(!text(&turn["error"]).is_empty(), "{turn}");
    assert_eq!(acp.describe_itself(KEY)["loaded"], true);
    acp.finish();
}

#[test]
fn queued_messages_continue_after_a_cancel_and_can_be_withdrawn() {
    let acp = AcpFixture::new(&[]);
    acp.open(KEY);
    let first = acp.send(KEY, "!say hanging \n!hang");
    acp.wait_text(KEY, "hanging");
    let second = acp.send(KEY, "hello");
    assert_eq!((&second["delivery"], &second["ahead"]), (&"queued".into(), &0.into()), "{second}");
    let _ = cancel(&acp, &first);
    assert_eq!(acp.end_of(KEY, &second["turnId"])["stop"], "end-turn");
    assert_eq!(acp.times("session/prompt"), 2);
    acp.finish();
}

#[test]
fn a_cancel_without_a_turn_sends_the_agent_nothing() {
    let acp = AcpFixture::new(&[]);
    acp.open(KEY);
    let _ = acp.describe_itself(KEY);
    let _ = acp.ask("cancel", KEY, &json!({}));
    let _ = acp.describe_itself(KEY);
    assert_eq!(acp.times("session/cancel"), 0);
    acp.finish();
}

#[test]
fn the_notice_of_a_cancelled_turn_contains_no_agent_text() {
    let acp = AcpFixture::new(&[]);
    acp.open(KEY);
    let child = "agent:helper:child";
    acp.open_with(child, json!({"parent": KEY}));
    let sent = acp.send(child, "!say tick 0 tick 1 \n!hang");
    acp.wait_text(child, "tick 1");
    let _ = acp.expect_ok("cancel", child, &json!({}));
    let turn = acp.end_of(child, &sent["turnId"]);
    assert!(text(&turn["text"]).contains("tick"), "the history has it: {turn}");
    let waiting = acp.expect_ok("history", KEY, &json!({}))["notices"].clone();
    assert!(text(&waiting[0]["text"]).contains("was cancelled"), "{waiting}");
    assert!(!waiting.to_string().contains("tick"), "{waiting}");
    acp.finish();
}
