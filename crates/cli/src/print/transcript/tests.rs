use super::*;
use serde_json::json;

const PLAIN: Style = Style { width: 80, colour: false };

fn entry(number: u64, kind: &str, body: Value) -> EntryJson {
    EntryJson { number, turn_id: None, at_ms: 0, kind: kind.to_owned(), body }
}

fn tool(number: u64, status: &str) -> EntryJson {
    let body = json!({"toolCallId": format!("call-{number}"), "title": "Run tests", "kind": "execute", "status": status});
    entry(number, "tool", body)
}

/// A transcript on a terminal.
fn terminal() -> Transcript {
    Transcript::new(TranscriptOptions { style: PLAIN, live: true, split: false, echo: false })
}

/// A transcript whose standard output is a pipe.
fn pipe() -> Transcript {
    Transcript::new(TranscriptOptions { style: PLAIN, live: false, split: true, echo: false })
}

/// Returns the texts for standard output and standard error.
fn both(transcript: &mut Transcript) -> (String, String) {
    let pieces = transcript.take();
    let of =
        |stream| pieces.iter().filter(|(its, _)| *its == stream).map(|(_, text)| text.as_str()).collect();
    (of(OutputStream::Stdout), of(OutputStream::Stderr))
}

fn shown(transcript: &mut Transcript) -> String {
    let (out, err) = both(transcript);
    assert_eq!(err, "");
    out
}

#[test]
fn messages_of_two_turns_are_separated() {
    let mut all = Transcript::new(TranscriptOptions { style: PLAIN, live: false, split: false, echo: true });
    for number in 1..=2 {
        let turn_id = Some(TurnId::from_random([number; 12]));
        let number = u64::from(number);
        all.entry(&EntryJson { turn_id, ..entry(number, "user", json!({"text": format!("say {number}")})) });
    }
    all.settle();
    assert_eq!(shown(&mut all), "> say 1\n\n> say 2\n");
}

#[test]
fn only_the_new_part_of_a_growing_text_is_shown() {
    let mut all = terminal();
    all.entry(&entry(1, "agent", json!({"text": "Hell"})));
    assert_eq!(shown(&mut all), "Hell");
    all.entry(&entry(1, "agent", json!({"text": "Hello"})));
    all.entry(&entry(1, "agent", json!({"text": "Hello"})));
    assert_eq!(shown(&mut all), "o");
    // A long text is several entries.
    all.entry(&entry(2, "agent", json!({"text": ", world"})));
    all.settle();
    assert_eq!(shown(&mut all), ", world\n");
}

#[test]
fn an_agents_text_never_controls_the_terminal() {
    let mut all = terminal();
    for part in ["a\u{1b}", "a\u{1b}[31", "a\u{1b}[31mb\u{7}", "a\u{1b}[31mb\u{7}\u{202e}c\n"] {
        all.entry(&entry(1, "agent", json!({"text": part})));
    }
    all.entry(&entry(
        2,
        "tool",
        json!({"toolCallId": "x", "title": "\u{1b}]0;evil\u{7}title\nx", "status": "failed",
        "content": [{"type": "content", "content": {"type": "text", "text": "\u{1b}[2Jgone"}},
            {"type": "diff", "path": "\u{1b}[1mp", "oldText": "\u{1b}[1mo", "newText": "\u{9b}1mn"}]}),
    ));
    all.entry(&entry(3, "note", json!({"text": "\u{1b}[5mnote", "title": "\u{8}t"})));
    all.entry(&entry(4, "mode", json!({"mode": "\u{1b}[5m"})));
    all.entry(&entry(5, "plan", json!({"entries": [{"content": "\u{1b}[5mstep", "status": "\u{1b}[5m"}]})));
    let options = json!([{"id": "\u{1b}[1m", "name": "\u{1b}[1my", "kind": "allow_once"}]);
    let asked = json!({"tool": "\u{1b}[1mt", "options": options, "question": "\u{1b}[1mq"});
    all.entry(&entry(6, "permission", asked));
    all.settle();
    let text = shown(&mut all);
    assert!(!text.contains(['\u{1b}', '\u{7}', '\u{8}', '\u{9b}', '\u{202e}']), "{text:?}");
    assert!(text.starts_with("ab\\x07c\n"), "{text:?}");
}

#[test]
fn thoughts_and_answers_are_separated() {
    let mut all = terminal();
    all.entry(&entry(1, "thought", json!({"text": "Hm."})));
    all.entry(&entry(2, "agent", json!({"text": "Yes."})));
    all.entry(&tool(3, "pending"));
    all.entry(&entry(4, "agent", json!({"text": "Well.\n\n"})));
    all.entry(&entry(5, "mode", json!({"mode": "plan"})));
    all.settle();
    let tool = "• execute Run tests  pending\n";
    let expected =
        format!("Hm.\n\nYes.\n\n{tool}\x1b[1A\x1b[JWell.\n\nmode: plan\n{tool}\x1b[1A\x1b[J{tool}");
    assert_eq!(shown(&mut all), expected, "there is one empty line between them, and not two");
    let style = Style { width: 80, colour: true };
    let mut all = Transcript::new(TranscriptOptions { style, live: true, split: false, echo: true });
    all.entry(&entry(1, "user", json!({"text": "a\nb"})));
    all.entry(&entry(2, "thought", json!({"text": "Hm.\n\nWell"})));
    all.settle();
    let expected = "> \x1b[1ma\x1b[0m\n> \x1b[1mb\x1b[0m\n\n\x1b[2mHm.\x1b[0m\n\n\x1b[2mWell\x1b[0m\n";
    assert_eq!(shown(&mut all), expected);
}

#[test]
fn on_a_terminal_tool_calls_change_in_place() {
    let mut all = terminal();
    all.entry(&tool(1, "pending"));
    all.entry(&tool(2, "in_progress"));
    let first = "• execute Run tests  pending\n";
    let up = "\x1b[1A\x1b[J";
    assert_eq!(shown(&mut all), format!("{first}{up}{first}• execute Run tests  in progress\n"));
    all.entry(&tool(2, "completed"));
    assert_eq!(shown(&mut all), format!("\x1b[2A\x1b[J✓ execute Run tests  completed\n{first}"));
    all.entry(&tool(2, "completed"));
    all.entry(&tool(1, "failed"));
    all.entry(&entry(3, "agent", json!({"text": "Done."})));
    all.settle();
    let text = shown(&mut all);
    assert!(text.ends_with(&format!("{up}✗ execute Run tests  failed\n\nDone.\n")), "{text:?}");
    assert_eq!(text.matches("completed").count(), 0, "{text:?}");
}

#[test]
fn on_a_pipe_the_answer_is_alone_on_standard_output() {
    let mut all = pipe();
    all.entry(&entry(1, "thought", json!({"text": "Hm."})));
    all.entry(&entry(2, "agent", json!({"text": "I \u{1b}[1mlook."})));
    all.entry(&tool(3, "pending"));
    all.entry(&tool(3, "completed"));
    all.entry(&entry(4, "mode", json!({"mode": "plan"})));
    all.entry(&entry(5, "agent", json!({"text": "It is "})));
    all.entry(&entry(6, "note", json!({"text": "slow"})));
    all.entry(&entry(7, "agent", json!({"text": "well."})));
    all.entry(&tool(8, "in_progress"));
    all.settle();
    let (out, err) = both(&mut all);
    assert_eq!(out, "I \u{1b}[1mlook.\n\nIt is well.\n", "as it is, and not torn");
    let done = "✓ execute Run tests  completed";
    assert_eq!(err, format!("Hm.\n{done}\nmode: plan\nslow\n• execute Run tests  in progress\n"));
}

#[test]
fn a_change_is_shown_once_before_its_decision() {
    let content =
        json!([{"type": "diff", "path": "/w/a.rs", "oldText": "one\ntwo\n", "newText": "one\n2\n"}]);
    let edit = |status: &str| {
        let body = json!({"toolCallId": "e", "title": "Edit a.rs", "kind": "edit", "status": status, "content": content});
        entry(1, "tool", body)
    };
    let options = json!([{"id": "yes", "name": "Allow", "kind": "allow_once"},
        {"id": "no", "name": "Reject", "kind": "reject_once"}]);
    let asked =
        json!({"tool": "Edit a.rs", "toolCallId": "e", "options": options, "question": "0123456789abcdef"});
    let mut all = Transcript::new(TranscriptOptions { style: PLAIN, live: false, split: false, echo: false });
    all.entry(&edit("pending"));
    all.entry(&entry(2, "permission", asked.clone()));
    all.entry(&entry(2, "permission", asked));
    let expected = "    /w/a.rs\n      one\n    - two\n    + 2\n? permission requested: Edit a.rs\n    1. Allow (yes, allow \
                    once)\n    2. Reject (no, reject once)\n    from another terminal: `tenure approvals choose 0123456789ab OPTION`\n";
    assert_eq!(shown(&mut all), expected);
    let question = all.question().unwrap().clone();
    assert_eq!(question.id, "0123456789abcdef");
    assert_eq!(all.since(), Some(0), "the tool and the question are open");

    let decided = json!({"tool": "Edit a.rs", "options": options, "outcome": "yes", "by": "operator"});
    all.entry(&entry(2, "permission", decided.clone()));
    all.entry(&entry(2, "permission", decided));
    all.entry(&edit("completed"));
    assert_eq!(
        shown(&mut all),
        "? Allow (allow once): Edit a.rs (by operator)\n✓ edit Edit a.rs  completed\n"
    );
    assert_eq!((all.question(), all.since()), (None, Some(1)));
}

#[test]
fn an_answer_is_yes_no_a_number_or_an_id() {
    let options = json!([{"id": "always", "name": "Always", "kind": "allow_always"},
        {"id": "once", "name": "Once", "kind": "allow_once"}, {"id": "7", "name": "No", "kind": "reject_once"}]);
    let question = Question::of(&json!({"tool": "t", "options": options, "question": "q"})).unwrap();
    let meant = |typed: &str| question.parse_answer(typed).map(|option| option.id.clone());
    for (typed, id) in
        [("y", "once"), ("YES ", "once"), ("n", "7"), ("1", "always"), ("7", "7"), ("always", "always")]
    {
        assert_eq!(meant(typed).as_deref(), Some(id), "{typed}");
    }
    for typed in ["", "0", "4", "perhaps"] {
        assert_eq!(meant(typed), None, "{typed}");
    }
    assert_eq!(Question::of(&json!({"tool": "t", "options": options})), None, "nobody is asked");
}

#[test]
fn only_the_changed_steps_of_a_plan_are_shown() {
    let plan = |first: &str, second: &str| {
        let step =
            |content: &str, status: &str| json!({"content": content, "priority": "high", "status": status});
        entry(1, "plan", json!({"entries": [step("Look", first), step("Repair", second)]}))
    };
    let mut all = terminal();
    all.entry(&plan("in_progress", "pending"));
    assert_eq!(shown(&mut all), "plan\n  [>] Look\n  [ ] Repair\n");
    all.entry(&plan("completed", "pending"));
    all.entry(&plan("completed", "pending"));
    assert_eq!(shown(&mut all), "  [x] Look\n");
}

#[test]
fn an_interrupted_prompt_ends_its_line() {
    let mut all = terminal();
    all.ask("y or n: ");
    all.typed();
    all.say(Tone::Warning, "well");
    assert_eq!(shown(&mut all), "y or n: well\n");
    all.ask("y or n: ");
    all.say(Tone::Warning, "answered elsewhere");
    assert_eq!(shown(&mut all), "y or n: \nanswered elsewhere\n");
}

#[test]
fn usage_is_shown_at_the_end() {
    let mut all = terminal();
    all.entry(&entry(
        1,
        "usage",
        json!({"used": 5, "size": 10, "cost": {"amount": 0.125, "currency": "USD"}}),
    ));
    assert_eq!((shown(&mut all).as_str(), all.usage()), ("", Some("5 of 10 tokens, 0.12 USD")));
}

#[test]
fn a_tool_call_that_changes_in_place_fits_on_one_line() {
    let mut all = terminal();
    for title in ["x".repeat(500), "日本語".repeat(100)] {
        let body = json!({"toolCallId": "x", "title": title, "kind": "switch_mode", "status": "in_progress"});
        all.entry(&entry(1, "tool", body));
    }
    let text = shown(&mut all).replace("\u{1b}[1A\u{1b}[J", "");
    for line in text.lines() {
        let columns: usize = line.chars().map(|c| if c.is_ascii() { 1 } else { 2 }).sum();
        assert!(columns <= 80 && line.contains('…'), "{columns}: {line}");
    }
}

#[test]
fn a_question_shows_the_real_command_and_changes() {
    let options = json!([{"id": "a", "name": "Reject", "kind": "allow_always"}]);
    let details = json!({"command": "touch X\u{1b}[8m", "paths": ["/w/a"], "rawInput": "{\"command\":\"touch X\"}",
        "diffs": [{"path": "/w/b", "diff": "- old\n+ new\n"}]});
    let asked =
        json!({"tool": "List the \u{202e}files", "details": details, "options": options, "question": "0123"});
    let mut all = Transcript::new(TranscriptOptions { style: PLAIN, live: false, split: false, echo: false });
    all.entry(&entry(1, "permission", asked));
    let expected = "? permission requested: List the \\u{202e}files\n    command: touch X\\x1b[8m\n    file: /w/a\n    \
                    file: /w/b\n      - old\n      + new\n    input: {\"command\":\"touch X\"}\n    \
                    1. Reject (a, allow always)\n    from another terminal: `tenure approvals choose 0123 OPTION`\n";
    assert_eq!(shown(&mut all), expected);
}
