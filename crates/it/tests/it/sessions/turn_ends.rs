//! Failed turns of a CLI agent, and their error texts: which agent, what it did, and what to check.

use serde_json::{Value, json};
use tenure_it::api::text;
use tenure_it::cli_agent_fixture::{CliAgentFixture, answer_of};

const KEY: &str = "agent:fake:main";

/// The state and the error of a turn.
#[track_caller]
fn ended(turn: &Value, state: &str) -> String {
    assert_eq!(turn["state"], state, "{turn}");
    text(&turn["error"])
}

#[test]
fn a_silent_agent_times_out_with_its_name_its_limit_and_a_remedy() {
    let fixture = CliAgentFixture::with("no-output-timeout = '5s'", "");
    fixture.spawn(KEY);
    let turn = fixture.turn(KEY, "!silent");
    let error = ended(&turn, "timed-out");
    for words in ["fake gave no output for 5.0 s", "logged in", "permission", "agents.fake.no-output-timeout"]
    {
        assert!(error.contains(words), "{words}: {error}");
    }
    assert_eq!(fixture.termination(&turn)["reason"], "no-output-timeout");
    // The limit is on silence: an agent that keeps printing is no problem.
    let sent = fixture.send(KEY, "!chatter");
    fixture.wait_agent_text(KEY, "delta");
    let _ = fixture.expect_ok("cancel", KEY, &json!({}));
    let _ = ended(&fixture.end_of(KEY, &sent["turnId"]), "cancelled");
    let _ = fixture.answer(KEY, "again");
    fixture.finish();
}

#[test]
fn an_unknown_conversation_restarts_only_if_it_has_no_answered_turn() {
    let fixture = CliAgentFixture::new();
    fixture.spawn(KEY);
    let _ = ended(&fixture.turn(KEY, "!begin\n!exit 9 killed early"), "failed");
    assert!(fixture.status(KEY)["agentSessionId"].is_string(), "the conversation may exist");
    let error = ended(&fixture.turn(KEY, "!exit 1 No conversation found"), "failed");
    assert!(error.contains("No conversation found") && error.contains("begins a new one"), "{error}");
    let answer = fixture.answer(KEY, "again");
    assert_eq!(answer["resumed"], false);
    // The conversation must not be lost because of a failed agent.
    let error = ended(&fixture.turn(KEY, "!exit 1 no network"), "failed");
    assert!(error.contains("no network") && error.contains("spawn a new session"), "{error}");
    let answer = fixture.answer(KEY, "and again");
    assert_eq!(answer["resumed"], true);
    fixture.finish();
}

#[test]
fn a_turn_that_takes_too_long_is_ended_even_if_it_keeps_printing() {
    let fixture = CliAgentFixture::new();
    fixture.spawn_with(KEY, json!({"agent": "fake", "timeoutMs": 5000}));
    let turn = fixture.turn(KEY, "!say so far\n!chatter");
    assert!(!ended(&turn, "timed-out").is_empty());
    assert_eq!(turn["text"], "so far", "its output so far");
    assert_eq!(fixture.termination(&turn)["reason"], "overall-timeout");
    fixture.finish();
}

#[test]
fn an_agent_that_is_not_installed_is_named_with_the_setting_to_change() {
    let fixture = CliAgentFixture::with("", "[agents.gone]\ncommand = 'no-such-agent'\nfresh = []\n");
    fixture.spawn_with("agent:gone:1", json!({}));
    let turn = fixture.turn("agent:gone:1", "one");
    let error = ended(&turn, "failed");
    for words in ["gone could not be started", "no-such-agent", "PATH", "agents.gone.command"] {
        assert!(error.contains(words), "{words}: {error}");
    }
    let asked = json!({"agent": "nobody"});
    let why = fixture.ask("spawn", "agent:nobody:1", &asked).refused(422, "invalid");
    assert!(why.contains("nobody") && why.contains("fake") && why.contains("[agents.nobody]"), "{why}");
    fixture.finish();
}

#[test]
fn a_failed_agent_is_reported_with_its_code_and_last_stderr() {
    let fixture = CliAgentFixture::new();
    fixture.spawn(KEY);
    let turn = fixture.turn(KEY, "!say half\n!exit 3 no credit left");
    let error = ended(&turn, "failed");
    assert!(error.contains('3') && error.contains("no credit left"), "{error}");
    assert_eq!(turn["text"], "half", "its earlier output");
    let turn = fixture.turn(KEY, "!error quota exceeded\n!unfinished");
    assert!(ended(&turn, "failed").contains("fake said: quota exceeded"), "{turn}");
    let turn = fixture.turn(KEY, "!exit 0 went away");
    let error = ended(&turn, "failed");
    assert!(error.contains("without an answer") && error.contains("went away"), "{error}");
    let turn = fixture.turn(KEY, "!become die 9");
    assert!(ended(&turn, "failed").contains("SIGKILL"), "{turn}");
    let _ = fixture.answer(KEY, "well again");
    fixture.finish();
}

#[test]
fn an_answer_is_found_among_junk_and_in_the_last_message() {
    let fixture = CliAgentFixture::new();
    fixture.spawn(KEY);
    let first = fixture.answer(KEY, "!junk");
    assert_eq!(first["prompt"], "!junk");
    let second = fixture.answer(KEY, "!unfinished");
    assert_eq!((&second["prompt"], &second["session"]), (&"!unfinished".into(), &first["session"]));
    fixture.finish();
}

#[test]
fn a_leftover_process_of_an_answered_turn_is_ended_and_counted() {
    let fixture = CliAgentFixture::new();
    fixture.spawn(KEY);
    let turn = fixture.turn(KEY, "!actor leave ignore-term sleep");
    assert_eq!(turn["state"], "done", "{turn}");
    let ending = fixture.termination(&turn);
    assert_eq!((&ending["reason"], &ending["leftovers"]), (&"exit".into(), &1.into()), "{ending}");
    let _ = fixture.answer(KEY, "after");
    fixture.finish();
}

#[test]
fn an_escapee_of_an_answered_turn_is_ended_and_named() {
    let fixture = CliAgentFixture::new();
    fixture.spawn(KEY);
    let turn = fixture.turn(KEY, "!actor daemon --exit 0 ignore-term sleep");
    let error = ended(&turn, "done");
    let ending = fixture.termination(&turn);
    assert_eq!((&ending["reason"], &ending["confirmed"]), (&"exit".into(), &true.into()), "{ending}");
    let escapees = ending["escapees"].as_array().expect("escapees");
    assert!(escapees.len() == 1 && text(&escapees[0]["exe"]).contains("actor"), "{ending}");
    let pid = escapees[0]["pid"].to_string();
    assert!(error.contains("actor") && error.contains(&pid), "the note names it: {error}");
    assert!(error.contains("were ended"), "{error}");
    assert!(text(&turn["text"]).contains("daemon --exit 0"), "it was answered: {turn}");
    fixture.wait_nobody(tenure_it::WAIT_LIMIT);
    let _ = fixture.answer(KEY, "after");
    fixture.finish();
}

#[test]
fn a_long_message_arrives_complete_and_an_oversized_one_is_refused() {
    let fixture = CliAgentFixture::new();
    fixture.spawn(KEY);
    let words: String =
        (0..900_u32 << 10).map(|n| char::from(b'a' + u8::try_from(n % 23).expect("small"))).collect();
    let turn = fixture.turn(KEY, &words);
    let _ = answer_of(&turn);
    assert!(
        fixture.prompt() == words.as_bytes(),
        "{} bytes arrived of {}",
        fixture.prompt().len(),
        words.len()
    );
    assert_eq!(text(&turn["message"]), words);
    for megabytes in [2_usize, 10] {
        let asked = fixture.ask("send", KEY, &json!({"text": "x".repeat(megabytes << 20)}));
        let why = asked.refused(413, "too-large");
        assert!(!why.is_empty(), "{why}");
    }
    let empty = fixture.ask("send", KEY, &json!({"text": " \n"})).refused(422, "invalid");
    assert!(empty.contains("empty"), "{empty}");
    assert_eq!(fixture.history(KEY).len(), 1);
    fixture.finish();
}
