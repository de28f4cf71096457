//! How the turns of a CLI agent end when they do not end well, and what is said of it: which agent, what it did, and what
//! to check.

use serde_json::{Value, json};
use tenure_it::api::text;
use tenure_it::conversation::{Talks, answered};

const KEY: &str = "agent:fake:main";

/// The state and the error of a turn.
#[track_caller]
fn ended(turn: &Value, state: &str) -> String {
    assert_eq!(turn["state"], state, "{turn}");
    text(&turn["error"])
}

#[test]
fn a_silent_agent_is_ended_and_told_by_name_with_its_limit_and_what_to_check() {
    let talks = Talks::with("no-output-timeout = '5s'", "");
    talks.spawn(KEY);
    let turn = talks.turn(KEY, "!silent");
    let error = ended(&turn, "timed-out");
    for words in ["fake gave no output for 5.0 s", "logged in", "permission", "agents.fake.no-output-timeout"]
    {
        assert!(error.contains(words), "{words}: {error}");
    }
    assert_eq!(talks.termination(&turn)["reason"], "no-output-timeout");
    // The limit is on silence: one that says something every moment has no trouble.
    let sent = talks.send(KEY, "!chatter");
    talks.wait_said(KEY, "delta");
    let _ = talks.does("cancel", KEY, &json!({}));
    let _ = ended(&talks.end_of(KEY, &sent["turnId"]), "cancelled");
    let _ = talks.answer(KEY, "again");
    talks.finish();
}

#[test]
fn a_conversation_that_the_agent_does_not_know_is_begun_anew_only_if_nothing_was_answered_in_it() {
    let talks = Talks::new();
    talks.spawn(KEY);
    let _ = ended(&talks.turn(KEY, "!begin\n!exit 9 killed early"), "failed");
    assert!(talks.status(KEY)["agentSessionId"].is_string(), "it may be known all the same");
    let error = ended(&talks.turn(KEY, "!exit 1 No conversation found"), "failed");
    assert!(error.contains("No conversation found") && error.contains("begins a new one"), "{error}");
    let answer = talks.answer(KEY, "again");
    assert_eq!(answer["resumed"], false);
    // What was said must not be lost for an agent that had a bad day.
    let error = ended(&talks.turn(KEY, "!exit 1 no network"), "failed");
    assert!(error.contains("no network") && error.contains("spawn a new session"), "{error}");
    let answer = talks.answer(KEY, "and again");
    assert_eq!(answer["resumed"], true);
    talks.finish();
}

#[test]
fn a_turn_that_takes_too_long_is_ended_however_much_it_says() {
    let talks = Talks::new();
    talks.spawn_with(KEY, json!({"agent": "fake", "timeoutMs": 5000}));
    let turn = talks.turn(KEY, "!say so far\n!chatter");
    assert!(!ended(&turn, "timed-out").is_empty());
    assert_eq!(turn["text"], "so far", "what it said until then");
    assert_eq!(talks.termination(&turn)["reason"], "overall-timeout");
    talks.finish();
}

#[test]
fn an_agent_that_is_not_installed_is_named_with_what_to_set() {
    let talks = Talks::with("", "[agents.gone]\ncommand = 'no-such-agent'\nfresh = []\n");
    talks.spawn_with("agent:gone:1", json!({}));
    let turn = talks.turn("agent:gone:1", "one");
    let error = ended(&turn, "failed");
    for words in ["gone could not be started", "no-such-agent", "PATH", "agents.gone.command"] {
        assert!(error.contains(words), "{words}: {error}");
    }
    let asked = json!({"agent": "nobody"});
    let why = talks.ask("spawn", "agent:nobody:1", &asked).refused(422, "invalid");
    assert!(why.contains("nobody") && why.contains("fake") && why.contains("[agents.nobody]"), "{why}");
    talks.finish();
}

#[test]
fn an_agent_that_fails_is_told_with_its_code_and_its_last_words() {
    let talks = Talks::new();
    talks.spawn(KEY);
    let turn = talks.turn(KEY, "!say half\n!exit 3 no credit left");
    let error = ended(&turn, "failed");
    assert!(error.contains('3') && error.contains("no credit left"), "{error}");
    assert_eq!(turn["text"], "half", "what it said before");
    let turn = talks.turn(KEY, "!error quota exceeded\n!unfinished");
    assert!(ended(&turn, "failed").contains("fake said: quota exceeded"), "{turn}");
    let turn = talks.turn(KEY, "!exit 0 went away");
    let error = ended(&turn, "failed");
    assert!(error.contains("without an answer") && error.contains("went away"), "{error}");
    let turn = talks.turn(KEY, "!become die 9");
    assert!(ended(&turn, "failed").contains("SIGKILL"), "{turn}");
    let _ = talks.answer(KEY, "well again");
    talks.finish();
}

#[test]
fn an_answer_is_found_among_junk_and_in_a_last_message() {
    let talks = Talks::new();
    talks.spawn(KEY);
    let first = talks.answer(KEY, "!junk");
    assert_eq!(first["prompt"], "!junk");
    let second = talks.answer(KEY, "!unfinished");
    assert_eq!((&second["prompt"], &second["session"]), (&"!unfinished".into(), &first["session"]));
    talks.finish();
}

#[test]
fn a_process_that_an_answered_turn_leaves_behind_is_ended_and_counted() {
    let talks = Talks::new();
    talks.spawn(KEY);
    let turn = talks.turn(KEY, "!actor leave ignore-term sleep");
    assert_eq!(turn["state"], "done", "{turn}");
    let ending = talks.termination(&turn);
    assert_eq!((&ending["reason"], &ending["leftovers"]), (&"exit".into(), &1.into()), "{ending}");
    let _ = talks.answer(KEY, "after");
    talks.finish();
}

#[test]
fn a_process_that_leaves_the_session_of_an_answered_turn_is_ended_and_named() {
    let talks = Talks::new();
    talks.spawn(KEY);
    let turn = talks.turn(KEY, "!actor daemon --exit 0 ignore-term sleep");
    let error = ended(&turn, "done");
    let ending = talks.termination(&turn);
    assert_eq!((&ending["reason"], &ending["confirmed"]), (&"exit".into(), &true.into()), "{ending}");
    let escapees = ending["escapees"].as_array().expect("escapees");
    assert!(escapees.len() == 1 && text(&escapees[0]["exe"]).contains("actor"), "{ending}");
    let pid = escapees[0]["pid"].to_string();
    assert!(error.contains("actor") && error.contains(&pid), "the note names it: {error}");
    assert!(error.contains("were ended"), "{error}");
    assert!(text(&turn["text"]).contains("daemon --exit 0"), "it was answered: {turn}");
    talks.wait_nobody(tenure_it::PATIENCE);
    let _ = talks.answer(KEY, "after");
    talks.finish();
}

#[test]
fn a_long_message_arrives_whole_and_too_long_a_one_is_refused() {
    let talks = Talks::new();
    talks.spawn(KEY);
    let words: String =
        (0..900_u32 << 10).map(|n| char::from(b'a' + u8::try_from(n % 23).expect("small"))).collect();
    let turn = talks.turn(KEY, &words);
    let _ = answered(&turn);
    assert!(talks.prompt() == words.as_bytes(), "{} bytes came of {}", talks.prompt().len(), words.len());
    assert_eq!(text(&turn["message"]), words);
    for megabytes in [2_usize, 10] {
        let asked = talks.ask("send", KEY, &json!({"text": "x".repeat(megabytes << 20)}));
        let why = asked.refused(413, "too-large");
        assert!(!why.is_empty(), "{why}");
    }
    let empty = talks.ask("send", KEY, &json!({"text": " \n"})).refused(422, "invalid");
    assert!(empty.contains("empty"), "{empty}");
    assert_eq!(talks.history(KEY).len(), 1);
    talks.finish();
}
