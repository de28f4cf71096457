use super::*;
use serde_json::json;

fn shown(turn: serde_json::Value) -> Vec<String> {
    let turn: TurnJson = serde_json::from_value(turn).unwrap();
    lines(Face { width: 80, colour: false }, &turn)
}

#[test]
fn a_turn_tells_who_said_what_how_it_ended_and_what_is_not_shown() {
    let lines = shown(json!({
        "turnId": "a".repeat(24), "number": 3, "state": "failed", "askedBy": "agent:main:1",
        "message": "one\ntwo", "messageCutBytes": 2048, "text": "half", "textCutBytes": 7, "error": "it\nbroke",
        "runId": "b".repeat(24), "sentAtMs": 0, "beganAtMs": 1000, "endedAtMs": 3500,
    }));
    assert!(
        lines[0].starts_with("turn 3  failed  ") && lines[0].ends_with("took 2.5 s  run bbbbbbbbbbbb"),
        "{lines:?}"
    );
    let rest = [
        "  agent:main:1 said:",
        "    one",
        "    two",
        "    … 2.0 KiB more: --max-bytes shows more",
        "  answered:",
        "    half",
        "    … 7 B more: `tenure logs bbbbbbbbbbbb` shows all",
        "  error: it broke",
    ];
    assert_eq!(lines[1..], rest);
}

#[test]
fn nothing_that_an_agent_says_steers_a_terminal_or_looks_like_a_line_of_ours() {
    let lines = shown(json!({
        "turnId": "a".repeat(24), "number": 1, "state": "done", "askedBy": "x\u{1b}[2J", "message": "\u{1b}]0;t\u{7}m",
        "text": "a\u{1b}[31mb\u{8}\nturn 2  done", "error": null, "runId": null, "sentAtMs": 0, "beganAtMs": 0,
        "endedAtMs": null,
    }));
    assert!(!lines.concat().contains(|c: char| c.is_control()), "{lines:?}");
    assert_eq!(lines[1..], ["  x said:", "    m", "  answered:", "    ab\\x08", "    turn 2  done"]);
    assert!(!lines[0].contains("took"), "{lines:?}");
}
