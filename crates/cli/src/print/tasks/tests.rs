use super::*;
use serde_json::{Value, json};

fn row(more: &Value) -> TaskRow {
    let mut task = json!({
        "taskId": "a".repeat(24), "kind": "run", "status": "running", "deliveryStatus": "pending",
        "notifyPolicy": "done_only", "tellsQuietSuccess": false, "instanceId": "c".repeat(24),
        "interaction": "interactive", "createdAtMs": 0, "lastEventAtMs": 0, "runId": "b".repeat(24),
    });
    task.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    serde_json::from_value(task).unwrap()
}

fn shown(more: &Value) -> String {
    let rows = |(title, rows): Group| {
        rows.into_iter().map(move |(name, value)| format!("{title}: {name}: {value}\n"))
    };
    groups(&Context::fixed(200, 172_800_000), &row(more), &[]).into_iter().flat_map(rows).collect()
}

#[test]
fn the_table_of_tasks_has_its_columns() {
    let turn = json!({
        "taskId": "d".repeat(24), "kind": "subagent", "status": "failed", "deliveryStatus": "session_queued",
        "childSessionKey": "agent:helper:1", "error": "no such\n\u{1b}[31mfile", "label": "count",
        "progressSummary": "1 of 2",
    });
    let lines = tasks_lines(
        &Context::fixed(200, 172_800_000),
        &[row(&json!({"progressSummary": "12 of 40"})), row(&turn)],
    );
    assert_eq!(lines.len(), 3);
    let columns = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(columns(&lines[0]), ["TASK", "KIND", "STATUS", "DELIVERY", "RUN/SESSION", "AGE", "SUMMARY"]);
    assert_eq!(columns(&lines[1])[..5], ["aaaaaaaaaaaa", "run", "running", "pending", "bbbbbbbbbbbb"]);
    assert!(lines[1].ends_with(" d  12 of 40"), "{lines:?}");
    assert_eq!(
        columns(&lines[2])[..5],
        ["dddddddddddd", "subagent", "failed", "session_queued", "agent:helper:1"]
    );
    assert!(lines[2].ends_with("count: no such file"), "{lines:?}");
}

#[test]
fn a_task_line_shows_the_state_without_control_characters() {
    let line = task_line(
        &Context::fixed(200, 172_800_000),
        &row(&json!({"label": "x\u{1b}]0;y\u{7}z", "cancelAskedAtMs": 5})),
    );
    assert!(line.ends_with("  aaaaaaaaaaaa  run       running     pending         cancelling: xz"), "{line}");
    let line = task_line(
        &Context::fixed(200, 172_800_000),
        &row(&json!({"status": "cancelled", "cancelAskedAtMs": 5, "endedAtMs": 6})),
    );
    assert!(line.ends_with("  cancelled   pending         -"), "{line}");
}

#[test]
fn a_running_task_shows_its_progress() {
    let text = shown(&json!({
        "status": "running", "progressSummary": "12 of 40", "startedAtMs": 10, "cancelAskedAtMs": 20,
        "label": "the \u{1b}[2Jbuild", "cleanupAfterMs": 30,
        "recentEvents": [{"atMs": 10, "kind": "started"}, {"atMs": 20, "kind": "progress", "summary": "a\nb"}],
    }));
    for line in [
        "Task: label: the build\n",
        "Task: status: running\n",
        "Task: progress: 12 of 40\n",
        "Task: cancel requested: 19",
        &format!("Work: run: {}\n", "b".repeat(24)),
        "Delivery: owner: nobody: no session started it\n",
        "Delivery: policy: done_only\n",
        "Delivery: delivery: pending\n",
        "Recent events: started: 19",
        "ago)  a b\n",
    ] {
        assert!(text.contains(line), "{line}{text}");
    }
    assert!(!text.contains("ended") && !text.contains("kept until"), "{text}");
}

#[test]
fn an_ended_task_shows_its_end_and_its_delivery() {
    let text = shown(&json!({
        "kind": "cli", "status": "timed_out", "deliveryStatus": "failed", "ownerSessionKey": "agent:a:1",
        "childSessionKey": "agent:b:1", "turnId": "e".repeat(24), "startedAtMs": 1000, "endedAtMs": 91_000,
        "error": "too slow", "terminalSummary": "half of it", "cleanupAfterMs": 99_000,
        "origin": {"channel": "slack", "to": "u\u{1b}[2J1"},
        "outcome": {"reason": "overall-timeout", "signal": 9, "confirmed": false, "outputBytes": 2048},
    }));
    for line in [
        "Task: error: too slow\n",
        "Task: result: half of it\n",
        "Task: ended by: overall-timeout, signal 9, 2.0 KiB of output, not confirmed: some processes may still be alive\n",
        "Task: took: 1 min 30 s\n",
        "Work: session: agent:b:1\n",
        &format!("Work: turn: {}\n", "e".repeat(24)),
        "Delivery: owner: agent:a:1\n",
        "Delivery: delivery: failed\n",
        "Delivery: channel: slack, u1\n",
        "Delivery: kept until: 19",
    ] {
        assert!(text.contains(line), "{line}{text}");
    }
}

#[test]
fn a_dry_run_is_marked_as_such() {
    let id = |digit: &str| digit.repeat(24).parse().unwrap();
    let mut done = Maintenance { applied: false, lost: vec![id("a")], reconciled: vec![id("b")], pruned: 3 };
    assert_eq!(
        maintenance_lines(&done),
        [
            "task aaaaaaaaaaaa would be marked lost: nothing works on it any more",
            "task bbbbbbbbbbbb would be given a removal date: it ended without one",
            "dry run: 1 marked lost, 1 given a removal date, 3 removed; --apply does it"
        ]
    );
    done.applied = true;
    assert_eq!(maintenance_lines(&done)[2], "1 marked lost, 1 given a removal date, 3 removed");
}
