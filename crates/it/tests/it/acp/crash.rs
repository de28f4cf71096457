//! kill -9 of the daemon in the middle of an ACP agent's turn. The next daemon continues the very same turn: the same
//! process of the agent, no entry lost or repeated in the history, and no message sent to the agent twice, as its own
//! records prove.

use serde_json::{Value, json};
use tenure_it::acp_fixture::{AcpFixture, KEY, counted};
use tenure_it::api::text;
use tenure_it::install::Install;
use tenure_it::{WAIT_LIMIT, eventually};

/// Asserts that the turn ends as if nothing had happened.
#[track_caller]
fn ends_well(acp: &AcpFixture, sent: &Value) -> Value {
    let turn = acp.end_of(KEY, &sent["turnId"]);
    let how = (&turn["state"], &turn["stop"], &turn["error"]);
    assert_eq!(how, (&"done".into(), &"end-turn".into(), &Value::Null), "{turn}\n{}", acp.log());
    acp.assert_nothing_twice();
    assert_eq!((acp.starts().len(), acp.times("session/prompt")), (1, 1));
    turn
}

#[test]
fn a_turn_survives_a_daemon_killed_while_the_agent_streams() {
    let acp = AcpFixture::to_crash();
    acp.open(KEY);
    let sent = acp.send(KEY, "!count 1 2000");
    for sign in ["1 ", "300 ", "700 "] {
        acp.wait_text(KEY, sign);
        acp.kill();
        acp.start_daemon();
    }
    let turn = ends_well(&acp, &sent);
    assert_eq!(acp.agent_text(KEY), counted(2000), "nothing is lost or repeated");
    assert_eq!(text(&turn["text"]), counted(2000));
    acp.finish();
}

#[test]
fn the_next_daemon_reads_a_turn_that_ended_without_a_daemon() {
    let acp = AcpFixture::to_crash();
    acp.open(KEY);
    let sent = acp.send(
        KEY,
        "!count 1 5\n!await go\n!tool one edit Mends\n!tool-end one completed\n!count 6 400\n!touch ended",
    );
    acp.wait_text(KEY, "5 ");
    acp.kill();
    acp.release("go");
    acp.wait_file("ended");
    acp.start_daemon();
    let _ = ends_well(&acp, &sent);
    assert_eq!(acp.agent_text(KEY), counted(400));
    let tools = acp.bodies(KEY, "tool");
    assert_eq!((tools.len(), &tools[0]["status"]), (1, &"completed".into()), "{tools:?}");
    acp.finish();
}

#[test]
fn a_tool_call_open_at_a_daemon_crash_stays_one_history_entry() {
    let acp = AcpFixture::to_crash();
    acp.open(KEY);
    let sent = acp.send(
        KEY,
        "!plan pending:look\n!tool one edit Mends\n!tool-text one half\n!say before \n!await go\n\
         !tool-diff one a.txt old new\n!tool-end one completed\n!plan completed:look\n!say after",
    );
    acp.wait_text(KEY, "before");
    acp.kill();
    acp.start_daemon();
    acp.release("go");
    let _ = ends_well(&acp, &sent);
    let kinds: Vec<String> = acp.entries(KEY).iter().map(|entry| text(&entry["kind"])).collect();
    assert_eq!(kinds, ["user", "plan", "tool", "agent", "agent"], "{:#?}", acp.entries(KEY));
    let tool = acp.bodies(KEY, "tool").remove(0);
    assert_eq!(
        (&tool["status"], &tool["content"][0]["newText"]),
        (&"completed".into(), &"new".into()),
        "{tool}"
    );
    assert_eq!(acp.bodies(KEY, "plan")[0]["entries"][0]["status"], "completed");
    acp.finish();
}

const OPTIONS: &str = "once:allow_once|no:reject_once";

#[test]
fn a_question_survives_a_daemon_crash_and_its_answer_is_sent_once() {
    let acp = AcpFixture::to_crash();
    acp.open_with(KEY, json!({"permissions": "ask"}));
    let sent = acp.send(KEY, &format!("!ask edit mend|{OPTIONS}\n!say on it goes"));
    let before = acp.question();
    acp.kill();
    acp.start_daemon();
    let question = acp.question();
    assert_eq!((&question["id"], acp.questions().len()), (&before["id"], 1), "the same question");
    let _ = acp.choose(&question, "once");
    let _ = ends_well(&acp, &sent);
    assert_eq!(
        acp.answers("mend"),
        [json!({"result": {"outcome": {"outcome": "selected", "optionId": "once"}}})]
    );
    let told = acp.bodies(KEY, "permission");
    assert_eq!((told.len(), &told[0]["outcome"]), (1, &"once".into()), "{told:?}");
    acp.finish();
}

#[test]
fn the_next_daemon_answers_requests_made_while_no_daemon_ran() {
    let acp = AcpFixture::to_crash();
    std::fs::write(acp.dir().join("there"), "words").expect("a file");
    acp.open_with(KEY, json!({"permissions": "ask"}));
    let sent = acp.send(
        KEY,
        &format!("!say ready \n!await go\n!ask edit mend|{OPTIONS}\n!read there\n!say on it goes"),
    );
    acp.wait_text(KEY, "ready");
    acp.kill();
    acp.release("go");
    acp.start_daemon();
    let _ = acp.choose(&acp.question(), "no");
    let _ = ends_well(&acp, &sent);
    assert_eq!(acp.answers("mend")[0]["result"]["outcome"]["optionId"], "no");
    assert_eq!(acp.answers("read there")[0]["result"]["content"], "words");
    acp.finish();
}

#[test]
fn a_terminal_wait_survives_a_daemon_crash_and_starts_one_terminal() {
    let acp = AcpFixture::to_crash();
    acp.open(KEY);
    let sent = acp.send(
        KEY,
        "!terminal echo line >> began; echo begun; while [ ! -e go ]; do sleep 0.01; done; echo over; exit 4\n!say made \n\
         !exited\n!output\n!release",
    );
    acp.wait_text(KEY, "made");
    acp.wait_file("began");
    acp.kill();
    acp.start_daemon();
    acp.release("go");
    let _ = ends_well(&acp, &sent);
    assert_eq!(acp.answers("exited")[0]["result"]["exitCode"], 4);
    let output = text(&acp.answers("output")[0]["result"]["output"]);
    assert_eq!(output.split_whitespace().collect::<Vec<_>>(), ["begun", "over"]);
    assert_eq!(std::fs::read_to_string(acp.dir().join("began")).expect("a file"), "line\n", "it ran once");
    acp.finish();
}

#[test]
fn the_next_daemon_carries_out_an_accepted_cancel() {
    let acp = AcpFixture::to_crash();
    acp.open(KEY);
    let sent = acp.send(KEY, "!say busy \n!await free\n!say too late");
    acp.wait_text(KEY, "busy");
    acp.kill();
    acp.start_daemon();
    let _ = acp.expect_ok("cancel", KEY, &json!({}));
    let turn = acp.end_of(KEY, &sent["turnId"]);
    assert_eq!((&turn["state"], &turn["stop"]), (&"cancelled".into(), &"cancelled".into()), "{turn}");
    assert_eq!(acp.times("session/cancel"), 1);
    assert_eq!(
        (acp.describe_itself(KEY)["turn"].clone(), acp.starts().len()),
        (2.into(), 1),
        "the same process"
    );
    acp.finish();
}

#[test]
fn an_agent_that_dies_without_a_daemon_is_reported_with_its_true_exit() {
    let acp = AcpFixture::to_crash();
    acp.open(KEY);
    let sent = acp.send(KEY, "!say before \n!await go\n!say after\n!exit 3 gone for good");
    acp.wait_text(KEY, "before");
    let process = acp.process(0);
    acp.kill();
    acp.release("go");
    process.wait_dead(WAIT_LIMIT);
    acp.start_daemon();
    let turn = acp.end_of(KEY, &sent["turnId"]);
    assert_eq!((&turn["state"], &turn["stop"]), (&"failed".into(), &"crashed".into()), "{turn}");
    let error = text(&turn["error"]);
    assert!(error.contains('3') && error.contains("gone for good"), "{error}");
    assert_eq!(acp.agent_text(KEY), "before after");
    assert_eq!(acp.describe_itself(KEY)["loaded"], true);
    acp.finish();
}

#[test]
fn an_answer_counts_even_if_its_agent_exited_before_it_was_read() {
    let acp = AcpFixture::to_crash();
    acp.open(KEY);
    let sent = acp.send(KEY, "!say before \n!await go\n!count 1 9\n!answered\n!exit 3 bye");
    acp.wait_text(KEY, "before");
    let process = acp.process(0);
    acp.kill();
    acp.release("go");
    process.wait_dead(WAIT_LIMIT);
    acp.start_daemon();
    let _ = ends_well(&acp, &sent);
    assert_eq!(acp.agent_text(KEY), format!("before {}", counted(9)));
    assert_eq!(acp.describe_itself(KEY)["loaded"], true);
    acp.finish();
}

#[test]
fn queued_messages_reach_the_same_process_in_order_after_a_daemon_crash() {
    let acp = AcpFixture::to_crash();
    acp.open(KEY);
    let _ = acp.send(KEY, "!say here \n!await go");
    acp.wait_text(KEY, "here");
    for n in 1..=3 {
        assert_eq!(acp.send(KEY, &format!("!say message {n} "))["delivery"], "queued");
    }
    acp.kill();
    acp.start_daemon();
    acp.release("go");
    eventually(&format!("four turns\n{}", acp.log()), || {
        let turns = acp.history(KEY);
        (turns.len() == 4 && turns.iter().all(|turn| turn["stop"] == "end-turn")).then_some(())
    });
    assert_eq!(acp.agent_text(KEY), "here message 1 message 2 message 3 ");
    assert_eq!((acp.starts().len(), acp.times("session/prompt")), (1, 4));
    acp.finish();
}

#[test]
fn a_half_written_prompt_is_completed_and_no_byte_is_written_twice() {
    let acp = AcpFixture::to_crash();
    acp.open(KEY);
    let _ = acp.describe_itself(KEY);
    acp.release("hold");
    // The agent records its input before it holds the next line.
    let words: String = (0..90_000_u32).fold(String::new(), |words, n| words + &format!("{n:09} "));
    let first = acp.send(KEY, "!say held ");
    let sent = acp.send(KEY, &format!("!say first \n{words}"));
    acp.kill();
    acp.start_daemon();
    std::fs::remove_file(acp.dir().join("hold")).expect("released");
    for turn in [&first, &sent] {
        assert_eq!(acp.end_of(KEY, &turn["turnId"])["stop"], "end-turn");
    }
    let heard = acp.received();
    let prompt = &heard.last().expect("a prompt")["params"]["prompt"][0]["text"];
    assert!(text(prompt).ends_with(&words), "it arrived complete");
    assert_eq!((acp.times("session/prompt"), acp.starts().len()), (3, 1));
    acp.finish();
}

#[test]
fn an_adapter_start_interrupted_by_a_daemon_crash_is_completed() {
    let acp = AcpFixture::without_daemon(Install::new(), &["--slow"], "", "[run]\ngrace = '200ms'");
    acp.start_daemon();
    acp.open(KEY);
    let sent = acp.send(KEY, "hello");
    acp.wait_starts(1);
    acp.kill();
    acp.start_daemon();
    acp.release("started");
    assert_eq!(acp.end_of(KEY, &sent["turnId"])["stop"], "end-turn");
    assert_eq!((acp.times("session/prompt"), acp.times("session/new")), (1, 1));
    assert_eq!(acp.history(KEY).len(), 1);
    acp.finish();
}

#[test]
fn settings_survive_a_daemon_crash() {
    let acp = AcpFixture::without_daemon(
        Install::new(),
        &["--modes", "--options"],
        "mode = 'act'\nmodel = 'large'",
        "",
    );
    acp.start_daemon();
    acp.open(KEY);
    let _ = acp.describe_itself(KEY);
    let _ = acp.expect_ok("set-mode", KEY, &json!({"agentMode": "ask"}));
    let _ = acp.expect_ok("set-option", KEY, &json!({"option": "model", "value": "small"}));
    let sent = acp.send(KEY, "!say busy \n!await go");
    acp.wait_text(KEY, "busy");
    acp.kill();
    acp.start_daemon();
    acp.release("go");
    assert_eq!(acp.end_of(KEY, &sent["turnId"])["stop"], "end-turn");
    let answer = acp.describe_itself(KEY);
    assert_eq!((&answer["mode"], &answer["options"]["model"]), (&"ask".into(), &"small".into()), "{answer}");
    let adapter = acp.adapter(KEY);
    assert_eq!(adapter["mode"], "ask", "{adapter}");
    assert_eq!((acp.times("session/set_mode"), acp.times("session/set_config_option")), (2, 2));
    acp.finish();
}

#[test]
fn an_idle_adapter_outlives_the_daemon() {
    let acp = AcpFixture::to_crash();
    acp.open(KEY);
    let before = acp.describe_itself(KEY);
    acp.kill();
    acp.start_daemon();
    let after = acp.describe_itself(KEY);
    assert_eq!((&after["pid"], &after["turn"]), (&before["pid"], &2.into()));
    assert_eq!(acp.starts().len(), 1);
    acp.finish();
}
