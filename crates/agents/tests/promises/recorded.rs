//! Output of real agents, recorded offline against a scripted model: Claude Code 2.1.325, Codex 0.166.0, Gemini CLI
//! 0.61.0 and opencode 1.18.33. The model answers "The answer is 42.", in some turns after a command.

use crate::agent;
use tenure_agents::{AgentSession, Answer, Event, NoContent, OutputSummary, Reader, Span, Usage};

const ANSWER: &str = "The answer is 42.";

fn read(name: &str, output: &str) -> (Vec<Event>, OutputSummary) {
    let mut reader = Reader::new(&agent(name, ""));
    let mut events = reader.feed(output.as_bytes());
    let (last, told) = reader.finish();
    events.extend(last);
    (events, told)
}

macro_rules! recorded {
    ($name:literal, $turn:literal) => {
        read($name, include_str!(concat!("../../fixtures/", $name, "-", $turn, ".jsonl")))
    };
}

#[track_caller]
fn expect(told: &OutputSummary, session: &str, usage: Usage) {
    assert_eq!(told.session.as_ref().map(AgentSession::as_str), Some(session));
    assert_eq!(told.answer, Answer::Final(ANSWER.to_owned()));
    assert_eq!((told.usage, &told.error, told.cut), (Some(usage), &None, false));
}

fn deltas(events: &[Event]) -> Vec<&str> {
    events
        .iter()
        .filter_map(|event| if let Event::Delta(text) = event { Some(text.as_str()) } else { None })
        .collect()
}

fn messages(events: &[Event]) -> Vec<&str> {
    events
        .iter()
        .filter_map(|event| if let Event::Message(text) = event { Some(text.as_str()) } else { None })
        .collect()
}

fn turn(input: u64, output: u64) -> Usage {
    Usage { input, output, of: Span::Turn }
}

#[test]
fn claude_tells_its_session_its_words_and_its_answer() {
    let session = "a114f20e-43d9-42b5-8a8e-fd7b38fa61b4";
    let (events, told) = recorded!("claude", "fresh");
    expect(&told, session, turn(10, 10));
    assert!(matches!(&events[0], Event::Session(its) if its.as_str() == session), "at once: {events:?}");
    assert_eq!((deltas(&events), messages(&events)), (vec!["The answer ", "is 42."], vec![ANSWER]));
    assert_eq!(events.last(), Some(&Event::Final(ANSWER.to_owned())));

    let (events, told) = recorded!("claude", "resumed");
    expect(&told, session, turn(20, 20));
    assert_eq!(deltas(&events), ["I look first.", "The answer ", "is 42."]);
    assert_eq!(messages(&events), ["I look first.", ANSWER]);
}

#[test]
fn claude_tells_what_went_wrong() {
    let (_, told) = recorded!("claude", "error");
    assert_eq!(told.error.as_deref(), Some("API Error: 400 the scripted model refuses"));
    assert_eq!(told.answer, Answer::None, "the error is no answer");
    let (_, told) = recorded!("claude", "unknown");
    let none = "No conversation found with session ID: 00000000-0000-4000-8000-000000000000";
    assert_eq!(told.error.as_deref(), Some(none));
    assert_eq!(told.session, None, "a session that is not there is not learnt");
}

#[test]
fn what_a_subagent_of_claude_says_is_no_part_of_the_answer() {
    let line = r#"{"type":"stream_event","event":{"delta":{"type":"text_delta","text":"aside"}},"parent_tool_use_id":"t"}"#;
    let (events, told) = read("claude", line);
    assert_eq!((events, told.answer), (vec![Event::Activity(NoContent::Other)], Answer::None));
}

#[test]
fn codex_tells_its_session_its_messages_and_its_answer() {
    let session = "01a1e2cf-54c8-7780-8bc7-4f61ca498152";
    let (events, told) = recorded!("codex", "fresh");
    expect(&told, session, Usage { input: 20, output: 20, of: Span::Session });
    assert_eq!(messages(&events), ["I look first.", ANSWER]);
    // Its warning about the model's metadata is an item of the type error, and none.
    assert!(!events.iter().any(|event| matches!(event, Event::Error(_))), "{events:?}");

    let (events, told) = recorded!("codex", "resumed");
    expect(&told, session, Usage { input: 30, output: 30, of: Span::Session });
    assert_eq!(messages(&events), [ANSWER]);

    let (_, told) = recorded!("codex", "error");
    assert!(told.error.is_some_and(|error| error.contains("the scripted model refuses")));
    assert_eq!(told.answer, Answer::None);
}

#[test]
fn gemini_tells_its_session_its_words_and_its_answer() {
    let session = "f9cd3fe7-75f7-4315-9185-2565731fe2dd";
    let (events, told) = recorded!("gemini", "fresh");
    expect(&told, session, turn(21, 21));
    assert_eq!(deltas(&events), ["I look first.", "The answer ", "is 42."], "not what it was asked");

    let (events, told) = recorded!("gemini", "resumed");
    expect(&told, session, turn(11, 11));
    assert_eq!(deltas(&events), ["The answer ", "is 42."]);

    let (_, told) = recorded!("gemini", "error");
    assert!(told.error.is_some_and(|error| error.contains("the scripted model refuses")));
    assert_eq!(told.answer, Answer::None);
}

#[test]
fn opencode_tells_its_session_its_messages_and_its_answer() {
    let session = "ses_e1d2d87d4ffe5cQNfS60IA951y";
    let (events, told) = recorded!("opencode", "fresh");
    expect(&told, session, turn(20, 20));
    assert_eq!(messages(&events), ["I look first.", ANSWER]);
    let learnt = events.iter().filter(|event| matches!(event, Event::Session(_)));
    assert_eq!(learnt.count(), 1, "every line has it, and it is told once");
    let usage: Vec<_> = events.iter().filter(|event| matches!(event, Event::Usage(_))).collect();
    assert_eq!(usage, [&Event::Usage(turn(10, 10)), &Event::Usage(turn(20, 20))], "steps add up");

    let (_, told) = recorded!("opencode", "resumed");
    expect(&told, session, turn(10, 10));

    let (_, told) = recorded!("opencode", "error");
    assert_eq!(told.error.as_deref(), Some("the scripted model refuses"));
}
