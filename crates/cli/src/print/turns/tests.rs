use super::*;
use serde_json::json;

fn shown(turn: serde_json::Value) -> Vec<String> {
    let turn: TurnJson = serde_json::from_value(turn).unwrap();
    lines(&Context::fixed(80, 9_000), &turn)
}

#[test]
fn a_turn_shows_its_sender_message_end_and_cuts() {
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
fn an_agents_text_cannot_control_the_terminal_or_imitate_our_lines() {
    let lines = shown(json!({
        "turnId": "a".repeat(24), "number": 1, "state": "done", "askedBy": "x\u{1b}[2J", "message": "\u{1b}]0;t\u{7}m",
        "text": "a\u{1b}[31mb\u{8}\nturn 2  done", "error": null, "runId": null, "sentAtMs": 0, "beganAtMs": 0,
        "endedAtMs": null,
    }));
    assert!(!lines.concat().contains(|c: char| c.is_control()), "{lines:?}");
    assert_eq!(lines[1..], ["  x said:", "    m", "  answered:", "    ab\\x08", "    turn 2  done"]);
    assert!(!lines[0].contains("took"), "{lines:?}");
}

#[test]
fn pending_notices_are_shown_after_the_turns() {
    let key = format!("task-{}-terminal", "c".repeat(24));
    let notice: Notice = serde_json::from_value(json!({
        "key": key, "purpose": "terminal", "text": "Task cccccccc is done.\nturn 9  done", "taskId": "c".repeat(24),
        "kind": "cli", "status": "succeeded", "runId": null, "ownerSessionKey": "main", "childSessionKey": null,
        "origin": null, "label": null, "summary": null, "error": null, "atMs": 0,
    }))
    .unwrap();
    let context = Context::fixed(80, 9_000);
    let lines = notices_lines(&context, &[notice]);
    assert_eq!(lines[0], "notices for the next turn  1");
    assert!(
        lines[1].starts_with("    Task cccccccc is done.  (") && lines[1].ends_with(" ago)"),
        "{lines:?}"
    );
    assert_eq!(lines[2..], ["    turn 9  done"]);
    assert!(notices_lines(&context, &[]).is_empty());
}
