//! Agents that are not as one would have them, and daemons that come and go: a turn ends all the same, once and truly.

use serde_json::{Value, json};
use std::time::Duration;
use tenure_it::api::text;
use tenure_it::conversation::{Talks, answered};
use tenure_it::install::Install;
use tenure_it::{eventually, lateness};

const KEY: &str = "agent:fake:main";

#[test]
fn an_agent_that_does_not_read_its_prompt_is_heard_all_the_same() {
    let talks = Talks::with("", "[agents.deaf]\ncommand = 'echo'\nfresh = ['hello']\n");
    talks.spawn_with("agent:deaf:1", json!({}));
    for words in ["short", &"long ".repeat(180_000)] {
        let turn = talks.turn("agent:deaf:1", words);
        assert_eq!((&turn["state"], &turn["text"]), (&json!("done"), &json!("hello")), "{}", turn["error"]);
    }
    talks.finish();
}

#[test]
fn a_prompt_is_given_as_soon_as_the_agent_is_there() {
    let talks = Talks::new();
    talks.spawn(KEY);
    let took = |turn: &Value| {
        let run = talks.show(&text(&turn["runId"]));
        let ms = |field: &str| run[field].as_u64().expect("a time");
        Duration::from_millis(ms("endedAtMs") - ms("startedAtMs"))
    };
    let mut turns = 0;
    // A busy machine is slow now and then, not always.
    eventually("a turn without a pause", || {
        turns += 1;
        (took(&talks.turn(KEY, "message")) < lateness() + Duration::from_millis(400)).then_some(())
    });
    let metrics = String::from_utf8_lossy(&talks.tenure(&["metrics"]).stdout).into_owned();
    let measured = format!("tenure_run_start_seconds_count {turns}\n");
    assert!(metrics.contains(&measured), "each start is measured: {metrics}");
    talks.finish();
}

#[test]
fn an_agent_on_a_terminal_gets_its_prompt_as_an_argument() {
    let terminal = "[agents.tty]\ncommand = 'sh'\nprompt = 'argument'\nterminal = 'pty'\n\
         fresh = ['-c', 'test -t 1 && printf \"got %s\" \"$1\"', 'sh', '{prompt}']\n";
    let talks = Talks::with("", terminal);
    talks.spawn_with("agent:tty:1", json!({}));
    let turn = talks.turn("agent:tty:1", "two words; and 'more'");
    assert_eq!(
        (&turn["state"], &turn["text"]),
        (&json!("done"), &json!("got two words; and 'more'")),
        "{turn}"
    );
    let turn = talks.turn("agent:tty:1", "-x");
    assert_eq!(turn["state"], "failed", "{turn}");
    assert!(text(&turn["error"]).contains("begins with a dash"), "{turn}");
    let turn = talks.turn("agent:tty:1", &"x".repeat(200 << 10));
    assert!(text(&turn["error"]).contains("agents.tty.prompt"), "{}", turn["error"]);
    assert_eq!(talks.runs().len(), 1, "what cannot be started is not");
    talks.finish();
}

#[test]
fn what_an_agent_calls_the_conversation_is_not_taken_for_an_option() {
    let talks = Talks::new();
    talks.spawn(KEY);
    for name in ["--dangerously-skip-permissions", "two words", "\u{1b}[31m"] {
        let _ = talks.turn(KEY, &format!("!rename {name}"));
        assert_eq!(talks.status(KEY)["agentSessionId"], Value::Null, "{name:?}");
    }
    assert!(talks.starts().iter().all(|start| start["argv"] == json!(["fresh"])), "{:?}", talks.starts());
    talks.finish();
}

#[test]
fn a_turn_outlives_a_daemon_that_is_told_to_leave() {
    let talks = Talks::without_daemon(Install::new(), "", "");
    talks.begin();
    talks.spawn(KEY);
    let first = talks.send(KEY, "!say here\n!await go");
    talks.wait_said(KEY, "here");
    let second = talks.send(KEY, "after");
    let stopped = talks.tenure(&["daemon", "stop"]);
    assert!(stopped.status.success(), "{stopped:?}");
    talks.begin();
    assert_eq!(talks.status(KEY)["activeTurn"]["turnId"], first["turnId"]);
    talks.let_go("go");
    let _ = answered(&talks.end_of(KEY, &first["turnId"]));
    assert_eq!(answered(&talks.end_of(KEY, &second["turnId"]))["prompt"], "after");
    assert_eq!(talks.starts().len(), 2);
    talks.finish();
}

#[test]
fn a_daemon_that_leaves_with_its_runs_leaves_a_cancelled_turn_and_what_waits_comes_next() {
    let talks = Talks::without_daemon(Install::new(), "", "[run]\ngrace = '200ms'");
    talks.begin();
    talks.spawn(KEY);
    let first = talks.send(KEY, "!say here\n!become ignore-term tree");
    talks.wait_said(KEY, "ready ignore-term");
    let second = talks.send(KEY, "after");
    let stopped = talks.tenure(&["daemon", "stop", "--cancel-runs"]);
    assert!(stopped.status.success(), "{stopped:?}");
    talks.wait_nobody(tenure_it::PATIENCE);
    talks.begin();
    let turn = talks.end_of(KEY, &first["turnId"]);
    assert_eq!((&turn["state"], &turn["text"]), (&json!("cancelled"), &json!("here")), "{turn}");
    assert_eq!(answered(&talks.end_of(KEY, &second["turnId"]))["prompt"], "after");
    talks.finish();
}

#[test]
fn a_turn_whose_run_somebody_else_ends_is_cancelled() {
    let talks = Talks::with("", "[run]\ngrace = '200ms'");
    talks.spawn(KEY);
    let first = talks.send(KEY, "!say here\n!become ignore-term tree");
    let run = talks.wait_said(KEY, "ready ignore-term");
    let second = talks.send(KEY, "after");
    talks.cancel(&run);
    let turn = talks.end_of(KEY, &first["turnId"]);
    assert_eq!((&turn["state"], &turn["text"]), (&json!("cancelled"), &json!("here")), "{turn}");
    assert_eq!(answered(&talks.end_of(KEY, &second["turnId"]))["prompt"], "after");
    talks.finish();
}

#[test]
fn a_turn_whose_run_is_removed_ends_and_the_session_goes_on() {
    let talks = Talks::new();
    talks.spawn(KEY);
    let first = talks.send(KEY, "!say here\n!silent");
    let run = talks.wait_said(KEY, "here");
    let removed = talks.tenure(&["rm", &run]);
    assert!(removed.status.success(), "{removed:?}");
    let turn = talks.end_of(KEY, &first["turnId"]);
    assert_eq!(turn["state"], "cancelled", "{turn}");
    assert_eq!(talks.answer(KEY, "still there")["prompt"], "still there");
    // What was removed is counted and not recorded, so the books are not compared.
    let stopped = talks.tenure(&["daemon", "stop"]);
    assert!(stopped.status.success(), "{stopped:?}");
    talks.find_nothing();
}

#[test]
fn a_command_that_fails_in_a_session_of_commands_is_told_with_its_code_and_output() {
    let talks = Talks::new();
    talks.spawn_exec("shell");
    let turn = talks.turn("shell", "echo out; echo err >&2; exit 3");
    assert_eq!((&turn["state"], &turn["text"]), (&json!("failed"), &json!("out\nerr\n")), "{turn}");
    assert!(text(&turn["error"]).contains('3'), "{turn}");
    let turn = talks.turn("shell", "kill -9 $$");
    assert_eq!(turn["state"], "failed", "{turn}");
    let turn = talks.turn("shell", "pwd");
    assert_eq!(turn["text"], format!("{}\n", talks.dir().canonicalize().expect("a path").display()));
    talks.finish();
}
