//! Odd agents, and daemons that come and go: a turn still ends once and truly.

use serde_json::{Value, json};
use std::time::Duration;
use tenure_it::api::text;
use tenure_it::cli_agent_fixture::{CliAgentFixture, answer_of};
use tenure_it::install::Install;
use tenure_it::{eventually, lateness};

const KEY: &str = "agent:fake:main";

#[test]
fn an_agent_that_does_not_read_its_prompt_can_still_answer() {
    let fixture = CliAgentFixture::with("", "[agents.deaf]\ncommand = 'echo'\nfresh = ['hello']\n");
    fixture.spawn_with("agent:deaf:1", json!({}));
    for words in ["short", &"long ".repeat(180_000)] {
        let turn = fixture.turn("agent:deaf:1", words);
        assert_eq!((&turn["state"], &turn["text"]), (&json!("done"), &json!("hello")), "{}", turn["error"]);
    }
    fixture.finish();
}

#[test]
fn a_prompt_is_written_as_soon_as_the_agent_starts() {
    let fixture = CliAgentFixture::new();
    fixture.spawn(KEY);
    let took = |turn: &Value| {
        let run = fixture.show(&text(&turn["runId"]));
        let ms = |field: &str| run[field].as_u64().expect("a time");
        Duration::from_millis(ms("endedAtMs") - ms("startedAtMs"))
    };
    let mut turns = 0;
    // A busy machine is slow now and then, not always.
    eventually("a turn without a pause", || {
        turns += 1;
        (took(&fixture.turn(KEY, "message")) < lateness() + Duration::from_millis(400)).then_some(())
    });
    let metrics = String::from_utf8_lossy(&fixture.tenure(&["metrics"]).stdout).into_owned();
    let measured = format!("tenure_run_start_seconds_count {turns}\n");
    assert!(metrics.contains(&measured), "each start is measured: {metrics}");
    fixture.finish();
}

#[test]
fn an_agent_on_a_terminal_gets_its_prompt_as_an_argument() {
    let terminal = "[agents.tty]\ncommand = 'sh'\nprompt = 'argument'\nterminal = 'pty'\n\
         fresh = ['-c', 'test -t 1 && printf \"got %s\" \"$1\"', 'sh', '{prompt}']\n";
    let fixture = CliAgentFixture::with("", terminal);
    fixture.spawn_with("agent:tty:1", json!({}));
    let turn = fixture.turn("agent:tty:1", "two words; and 'more'");
    assert_eq!(
        (&turn["state"], &turn["text"]),
        (&json!("done"), &json!("got two words; and 'more'")),
        "{turn}"
    );
    let turn = fixture.turn("agent:tty:1", "-x");
    assert_eq!(turn["state"], "failed", "{turn}");
    assert!(text(&turn["error"]).contains("begins with a dash"), "{turn}");
    let turn = fixture.turn("agent:tty:1", &"x".repeat(200 << 10));
    assert!(text(&turn["error"]).contains("agents.tty.prompt"), "{}", turn["error"]);
    assert_eq!(fixture.runs().len(), 1, "an impossible agent is not started");
    fixture.finish();
}

#[test]
fn a_conversation_id_that_looks_like_an_option_is_not_passed_as_one() {
    let fixture = CliAgentFixture::new();
    fixture.spawn(KEY);
    for name in ["--dangerously-skip-permissions", "two words", "\u{1b}[31m"] {
        let _ = fixture.turn(KEY, &format!("!rename {name}"));
        assert_eq!(fixture.status(KEY)["agentSessionId"], Value::Null, "{name:?}");
    }
    assert!(fixture.starts().iter().all(|start| start["argv"] == json!(["fresh"])), "{:?}", fixture.starts());
    fixture.finish();
}

#[test]
fn a_turn_survives_a_daemon_stop() {
    let fixture = CliAgentFixture::without_daemon(Install::new(), "", "");
    fixture.start_daemon();
    fixture.spawn(KEY);
    let first = fixture.send(KEY, "!say here\n!await go");
    fixture.wait_agent_text(KEY, "here");
    let second = fixture.send(KEY, "after");
    let stopped = fixture.tenure(&["daemon", "stop"]);
    assert!(stopped.status.success(), "{stopped:?}");
    fixture.start_daemon();
    assert_eq!(fixture.status(KEY)["activeTurn"]["turnId"], first["turnId"]);
    fixture.release("go");
    let _ = answer_of(&fixture.end_of(KEY, &first["turnId"]));
    assert_eq!(answer_of(&fixture.end_of(KEY, &second["turnId"]))["prompt"], "after");
    assert_eq!(fixture.starts().len(), 2);
    fixture.finish();
}

#[test]
fn a_daemon_stop_with_cancel_cancels_the_turn_and_keeps_the_queue() {
    let fixture = CliAgentFixture::without_daemon(Install::new(), "", "[run]\ngrace = '200ms'");
    fixture.start_daemon();
    fixture.spawn(KEY);
    let first = fixture.send(KEY, "!say here\n!become ignore-term tree");
    fixture.wait_agent_text(KEY, "ready ignore-term");
    let second = fixture.send(KEY, "after");
    let stopped = fixture.tenure(&["daemon", "stop", "--cancel-runs"]);
    assert!(stopped.status.success(), "{stopped:?}");
    fixture.wait_nobody(tenure_it::WAIT_LIMIT);
    fixture.start_daemon();
    let turn = fixture.end_of(KEY, &first["turnId"]);
    assert_eq!((&turn["state"], &turn["text"]), (&json!("cancelled"), &json!("here")), "{turn}");
    assert_eq!(answer_of(&fixture.end_of(KEY, &second["turnId"]))["prompt"], "after");
    fixture.finish();
}

#[test]
fn a_turn_whose_run_is_cancelled_is_cancelled() {
    let fixture = CliAgentFixture::with("", "[run]\ngrace = '200ms'");
    fixture.spawn(KEY);
    let first = fixture.send(KEY, "!say here\n!become ignore-term tree");
    let run = fixture.wait_agent_text(KEY, "ready ignore-term");
    let second = fixture.send(KEY, "after");
    fixture.cancel(&run);
    let turn = fixture.end_of(KEY, &first["turnId"]);
    assert_eq!((&turn["state"], &turn["text"]), (&json!("cancelled"), &json!("here")), "{turn}");
    assert_eq!(answer_of(&fixture.end_of(KEY, &second["turnId"]))["prompt"], "after");
    fixture.finish();
}

#[test]
fn a_turn_whose_run_is_removed_ends_and_the_session_continues() {
    let fixture = CliAgentFixture::new();
    fixture.spawn(KEY);
    let first = fixture.send(KEY, "!say here\n!silent");
    let run = fixture.wait_agent_text(KEY, "here");
    let removed = fixture.tenure(&["rm", &run]);
    assert!(removed.status.success(), "{removed:?}");
    let turn = fixture.end_of(KEY, &first["turnId"]);
    assert_eq!(turn["state"], "cancelled", "{turn}");
    assert_eq!(fixture.answer(KEY, "still there")["prompt"], "still there");
    // Removed runs are counted and not recorded, so the metrics are not compared.
    let stopped = fixture.tenure(&["daemon", "stop"]);
    assert!(stopped.status.success(), "{stopped:?}");
    fixture.assert_nothing_left();
}

#[test]
fn a_failed_command_turn_is_reported_with_its_code_and_output() {
    let fixture = CliAgentFixture::new();
    fixture.spawn_exec("shell");
    let turn = fixture.turn("shell", "echo out; echo err >&2; exit 3");
    assert_eq!((&turn["state"], &turn["text"]), (&json!("failed"), &json!("out\nerr\n")), "{turn}");
    assert!(text(&turn["error"]).contains('3'), "{turn}");
    let turn = fixture.turn("shell", "kill -9 $$");
    assert_eq!(turn["state"], "failed", "{turn}");
    let turn = fixture.turn("shell", "pwd");
    assert_eq!(turn["text"], format!("{}\n", fixture.dir().canonicalize().expect("a path").display()));
    fixture.finish();
}
