//! The texts, keys and number of notices.

use super::*;
use crate::ending::{Exit, Reason, Termination};
use crate::ids::TurnId;
use crate::output::Totals;

fn exit(code: i32, bytes: u64) -> Verdict {
    let how = Termination::new(Reason::Exit, Some(Exit::Code(code)), None);
    Verdict::of_run(&how, Totals { bytes, dropped_bytes: 0 })
}

/// The task after it ran for three seconds and ended with this verdict.
fn ended(mut row: TaskRow, verdict: Verdict) -> TaskRow {
    let _ = row.start(NOW, NOW).unwrap();
    let _ = row.end(verdict, NOW + 3_000, NOW + 3_000).unwrap();
    row
}

fn said(text: &str) -> Progress {
    Progress::from(text.to_owned())
}

fn told(row: &TaskRow) -> String {
    tell(&mut row.clone(), Telling::Terminal, Standing::Open, NOW).unwrap().notice.text
}

#[test]
fn every_end_is_told_in_the_words_of_a_person() {
    let turn = |state| Verdict::of_turn(state, Some("All 12 tests pass."), None).unwrap();
    let texts = [
        (exit(0, 9), "Task npm test (abababab) is done after 3.0 s."),
        (exit(3, 9), "Task npm test (abababab) failed: exit 3 after 3.0 s."),
        (exit(0, 0), "Task npm test (abababab) is done after 3.0 s. It printed nothing."),
        (
            Verdict::of_run(
                &Termination::new(Reason::OverallTimeout, None, None),
                Totals { bytes: 1, dropped_bytes: 0 },
            ),
            "Task npm test (abababab) timed out after 3.0 s.",
        ),
        (
            Verdict::of_run(
                &Termination::new(Reason::ManualCancel, None, None),
                Totals { bytes: 1, dropped_bytes: 0 },
            ),
            "Task npm test (abababab) was cancelled after 3.0 s.",
        ),
        (
            turn(crate::session::TurnState::Done),
            "Task npm test (abababab) is done after 3.0 s: All 12 tests pass.",
        ),
        (Verdict::lost("its run is gone"), "Task npm test (abababab) is lost: its run is gone."),
    ];
    for (verdict, text) in texts {
        assert_eq!(told(&ended(task(), verdict)), text);
    }
    let mut row = task();
    let _ = row.start(NOW, NOW).unwrap();
    let _ = row.go_on(&said("1 of 2\n2 of 2 \u{1b}[32mok\u{1b}[0m\n"), NOW).unwrap();
    let _ = row.end(exit(0, 9), NOW + 1, NOW + 1).unwrap();
    assert_eq!(told(&row), "Task npm test (abababab) is done after 1 ms. Last output: 2 of 2 ok");
}

#[test]
fn a_task_without_a_label_is_called_by_its_session_or_by_its_id_alone() {
    let nameless = TaskRow { label: None, ..task() };
    assert!(told(&ended(nameless.clone(), exit(0, 1))).starts_with("Task abababab is done"));
    let child = TaskRow { child: Some(key("cli:1")), ..nameless };
    assert!(told(&ended(child, exit(0, 1))).starts_with("Task cli:1 (abababab) is done"));
    let nasty = TaskRow { label: Some("a\u{1b}]0;x\u{7}b\nc".repeat(1 << 18)), ..task() };
    let text = told(&ended(nasty, exit(0, 1)));
    assert!(text.starts_with("Task ab cab c") && text.len() < 1_000, "{text}");
}

#[test]
fn a_notice_has_one_key_however_often_it_is_made() {
    let id = "ab".repeat(12);
    let keys: Vec<_> = [Purpose::Terminal, Purpose::Correction, Purpose::Change(1), Purpose::Change(12)]
        .map(|purpose| NoticeKey::new(&task().id, purpose).to_string())
        .into();
    let expected = ["terminal", "correction", "change-1", "change-12"].map(|it| format!("task-{id}-{it}"));
    assert_eq!(keys, expected);
    let row = ended(task(), exit(0, 1));
    let due = tell(&mut row.clone(), Telling::Terminal, Standing::Open, NOW).unwrap();
    assert_eq!(due.notice.key.as_str(), expected[0]);
    let json = serde_json::to_value(&due.notice).unwrap();
    assert_eq!((&json["purpose"], &json["status"]), (&"terminal".into(), &"succeeded".into()));
    assert_eq!(serde_json::from_value::<Notice>(json).unwrap(), due.notice);
}

#[test]
fn a_notice_goes_to_the_channel_or_else_to_the_owners_queue_and_the_row_says_so() {
    use DeliveryStatus::{NotApplicable, ParentMissing, Pending, SessionQueued};
    let told = |row: &TaskRow, owner| {
        let mut row = row.clone();
        let promised = promise(&row, owner);
        let to = tell(&mut row, Telling::Terminal, owner, NOW).map(|due| due.to);
        (to, row.delivery, promised)
    };
    let row = ended(task(), exit(1, 1));
    let session = Destination::Session(key("agent:main:1"));
    assert_eq!(told(&row, Standing::Open), (Some(session), SessionQueued, Pending));
    assert_eq!(told(&row, Standing::Over), (None, ParentMissing, ParentMissing));
    let on_slack = TaskRow { origin: Some(slack()), ..row.clone() };
    let slack = Destination::Channel("slack".to_owned());
    assert_eq!(told(&on_slack, Standing::Over), (Some(slack), Pending, Pending));
    let silent = TaskRow { policy: NotifyPolicy::Silent, ..on_slack };
    assert_eq!(told(&silent, Standing::Open), (None, NotApplicable, NotApplicable));
    let alone = TaskRow { owner: None, ..row };
    assert_eq!(told(&alone, Standing::Nobody), (None, NotApplicable, NotApplicable));
}

#[test]
fn a_success_without_a_word_is_told_only_to_those_who_want_it() {
    let quiet = TaskRow { tells_quiet_success: false, ..task() };
    for (verdict, is_told) in [(exit(0, 0), false), (exit(0, 1), true), (exit(1, 0), true)] {
        let mut row = ended(quiet.clone(), verdict);
        let due = tell(&mut row, Telling::Terminal, Standing::Open, NOW);
        assert_eq!(due.is_some(), is_told, "{row:?}");
        assert_eq!(row.delivery == DeliveryStatus::NotApplicable, !is_told);
    }
    let mut row = ended(task(), exit(0, 0));
    assert!(tell(&mut row, Telling::Terminal, Standing::Open, NOW).is_some());
}

#[test]
fn a_correction_says_that_the_loss_was_none() {
    let mut row = ended(task(), Verdict::lost("gone"));
    let _ = row.end(exit(0, 1), NOW + 5_000, NOW + 9_000).unwrap();
    let due = tell(&mut row, Telling::Correction, Standing::Open, NOW).unwrap();
    let text = "Task npm test (abababab) was reported lost, but it is done after 5.0 s.";
    assert_eq!((due.purpose, due.notice.text.as_str()), (Purpose::Correction, text));
}

#[test]
fn changes_are_told_to_those_who_want_them_and_not_all_the_time() {
    let mut row = TaskRow { policy: NotifyPolicy::StateChanges, ..task() };
    let _ = row.start(NOW, NOW).unwrap();
    let change = |row: &mut TaskRow, at| {
        tell(row, Telling::Change, Standing::Open, at).map(|due| (due.purpose, due.notice.text))
    };
    let text = "Task npm test (abababab) has started.".to_owned();
    assert_eq!(change(&mut row, NOW), Some((Purpose::Change(1), text)));
    let _ = row.go_on(&said("half of it"), NOW + 14_999).unwrap();
    assert_eq!(change(&mut row, NOW + 14_999), None, "too soon");
    let text = "Task npm test (abababab) is still running after 14.9 s. Last output: half of it".to_owned();
    assert_eq!(change(&mut row, NOW + 15_000), Some((Purpose::Change(2), text)));
    assert_eq!((row.changes_told, row.delivery), (2, DeliveryStatus::Pending));
    row.policy = NotifyPolicy::DoneOnly;
    assert_eq!(change(&mut row, NOW + 99_000), None);
}

/// An agent's words in the middle of a turn are between it and its owner.
#[test]
fn no_notice_of_a_turn_carries_what_its_agent_said_on_the_way() {
    use crate::session::TurnState::{Cancelled, Failed, Lost, TimedOut};
    let turn = TaskRow { turn: Some(TurnId::from_random([7; 12])), ..task() };
    for state in [Cancelled, Failed, Lost, TimedOut] {
        let verdict = Verdict::of_turn(state, Some("tick 0 tick 1 tick 2"), None).unwrap();
        let row = ended(turn.clone(), verdict);
        let due = tell(&mut row.clone(), Telling::Terminal, Standing::Open, NOW).unwrap();
        let sent = serde_json::to_string(&due.notice).unwrap();
        assert!(!sent.contains("tick"), "{state:?}: {sent}");
    }
    let mut row = TaskRow { policy: NotifyPolicy::StateChanges, ..turn };
    let _ = row.start(NOW, NOW).unwrap();
    for (steps, text) in [
        (Some("2 of 5 steps of its plan"), "is still running after 15.0 s: 2 of 5 steps of its plan."),
        (None, "is still running after 15.0 s."),
    ] {
        row.change_told_at_ms = None;
        let progress = Progress { said: "tick 0 tick 1".to_owned(), steps: steps.map(str::to_owned) };
        let _ = row.go_on(&progress, NOW + 15_000).unwrap();
        assert_eq!(row.progress_summary.as_deref(), Some("tick 0 tick 1"), "whoever looks sees it");
        let due = tell(&mut row, Telling::Change, Standing::Open, NOW + 15_000).unwrap();
        assert!(due.notice.text.ends_with(text), "{}", due.notice.text);
        assert!(!serde_json::to_string(&due.notice).unwrap().contains("tick"), "{:?}", due.notice);
    }
}
