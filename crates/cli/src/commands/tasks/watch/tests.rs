use super::*;
use serde_json::{Value, json};

fn row(digit: &str, more: &Value) -> TaskRow {
    let mut task = json!({
        "taskId": digit.repeat(24), "kind": "run", "status": "running", "deliveryStatus": "pending",
        "notifyPolicy": "done_only", "tellsQuietSuccess": false, "instanceId": "c".repeat(24),
        "interaction": "interactive", "createdAtMs": 0, "lastEventAtMs": 0,
    });
    task.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    serde_json::from_value(task).unwrap()
}

fn ids(rows: &[&TaskRow]) -> String {
    rows.iter().map(|row| &row.id.as_str()[..1]).collect()
}

#[test]
fn all_tasks_are_printed_once_and_then_only_changes() {
    let mut seen = ShownTasks::default();
    let (a, b) = (row("a", &json!({})), row("b", &json!({})));
    assert_eq!(ids(&seen.changed(&[b.clone(), a.clone()], &[])), "ab", "the oldest first");
    assert_eq!(ids(&seen.changed(&[b.clone(), a.clone()], &[])), "");
    for more in [
        json!({"status": "succeeded"}),
        json!({"status": "succeeded", "deliveryStatus": "delivered"}),
        json!({"status": "succeeded", "deliveryStatus": "delivered", "notifyPolicy": "silent"}),
        json!({"progressSummary": "half"}),
        json!({"progressSummary": "half", "cancelAskedAtMs": 7}),
        json!({"terminalSummary": "all"}),
        json!({"error": "it broke"}),
    ] {
        let now = [row("b", &more), a.clone()];
        assert_eq!(ids(&seen.changed(&now, &[])), "b", "{more}");
        assert_eq!(ids(&seen.changed(&now, &[])), "", "{more}");
    }
    let heard = row("b", &json!({"error": "it broke", "lastEventAtMs": 9}));
    assert_eq!(ids(&seen.changed(&[heard, a], &[])), "", "that it was heard of is no change");
}

#[test]
fn a_task_that_left_the_list_is_printed_once_if_it_changed() {
    let mut seen = ShownTasks::default();
    let (a, b) = (row("a", &json!({})), row("b", &json!({})));
    let _ = seen.changed(&[b.clone(), a.clone()], &[]);
    let now = [row("e", &json!({}))];
    let mut left: Vec<_> = seen.missing_from(&now).map(ToString::to_string).collect();
    left.sort();
    assert_eq!(left, ["a".repeat(24), "b".repeat(24)]);
    let ended = row("a", &json!({"status": "succeeded"}));
    assert_eq!(ids(&seen.changed(&now, &[b, ended])), "ae");
    assert_eq!(seen.missing_from(&now).count(), 0, "they are not asked for again");
}

#[test]
fn a_drawing_replaces_the_old_lines_and_fits_the_terminal() {
    let lines = ["one", "two", "three"].map(str::to_owned);
    let within = |frame: &str| format!("\x1b[H\x1b[?7l{frame}\x1b[J\x1b[?7h");
    assert_eq!(draw(&lines[..2], 24, true), format!("\x1b[2J{}", within("one\x1b[K\ntwo\x1b[K\n")));
    assert!(draw(&lines, 4, false).contains("three"));
    assert_eq!(draw(&lines, 3, false), within("one\x1b[K\n… 2 more lines\x1b[K\n"));
    assert_eq!(draw(&lines, 0, false), within("… 3 more lines\x1b[K\n"));
    assert_eq!(draw(&lines[..1], usize::MAX, false), "\x1b[Hone\x1b[K\n\x1b[J", "an end is left whole");
}
