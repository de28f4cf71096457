//! The findings of an audit, and the tasks without any.

use super::*;
use FindingCode::{DeliveryFailed, InconsistentTimes, MissingCleanup, StaleQueued, StaleRunning};

const MINUTE: u64 = 60_000;

fn codes(row: &TaskRow, is_backed: bool, now_ms: u64) -> Vec<FindingCode> {
    audit(row, is_backed, None, now_ms).into_iter().map(|finding| finding.code).collect()
}

fn running() -> TaskRow {
    let mut row = task();
    let _ = row.start(NOW, NOW).unwrap();
    row
}

fn done() -> TaskRow {
    let mut row = running();
    let _ = row.end(verdict(Some(End::Succeeded)), NOW, NOW).unwrap();
    row
}

#[test]
fn what_waits_or_is_silent_for_too_long_is_found() {
    assert_eq!(codes(&task(), false, NOW + 10 * MINUTE - 1), []);
    assert_eq!(codes(&task(), true, NOW + 10 * MINUTE), [StaleQueued]);
    assert_eq!(codes(&running(), false, NOW + 30 * MINUTE - 1), []);
    assert_eq!(codes(&running(), false, NOW + 30 * MINUTE), [StaleRunning]);
    assert_eq!(codes(&running(), true, NOW + 1_000 * MINUTE), [], "a server may be silent for days");
    assert_eq!(codes(&done(), false, NOW + 1_000 * MINUTE), []);
    assert_eq!(needs_a_look(), 10 * MINUTE);
}

#[test]
fn a_delivery_that_failed_and_a_task_that_never_goes_are_found() {
    let failed = TaskRow { delivery: DeliveryStatus::Failed, ..done() };
    let found = audit(&failed, true, None, NOW);
    assert_eq!((found[0].code, found[0].severity), (DeliveryFailed, Severity::Error));
    assert!(found[0].detail.contains("tenure tasks retry"), "{found:?}");
    assert_eq!(codes(&TaskRow { cleanup_after_ms: None, ..done() }, true, NOW), [MissingCleanup]);
    assert_eq!(codes(&TaskRow { delivery: DeliveryStatus::ParentMissing, ..done() }, true, NOW), []);
}

#[test]
fn times_that_cannot_be_are_found() {
    let breaks: [fn(&mut TaskRow); 5] = [
        |row| row.ended_at_ms = None,
        |row| row.status = Status::Running,
        |row| row.started_at_ms = Some(NOW - 1),
        |row| row.ended_at_ms = Some(NOW - 1),
        |row| row.cleanup_after_ms = Some(NOW - 1),
    ];
    for (at, spoil) in breaks.iter().enumerate() {
        let mut row = done();
        assert_eq!(codes(&row, true, NOW), []);
        spoil(&mut row);
        assert_eq!(codes(&row, true, NOW), [InconsistentTimes], "{at}");
    }
    let mut never_began = task();
    let _ = never_began.end(verdict(Some(End::Cancelled)), NOW, NOW).unwrap();
    assert_eq!(codes(&never_began, true, NOW), []);
    never_began.ended_at_ms = Some(NOW - 1);
    assert_eq!(codes(&never_began, true, NOW), [InconsistentTimes]);
}

#[test]
fn a_channel_that_refuses_is_named_with_what_becomes_of_the_notice() {
    use FindingCode::ChannelRefuses;
    let refusal = |next| Refusal { channel: "desk".to_owned(), error: "HTTP 400: no".to_owned(), next };
    for (next, code, severity, words) in [
        (Next::Retry, ChannelRefuses, Severity::Warning, "retried automatically"),
        (Next::Queued, ChannelRefuses, Severity::Warning, "owner's next turn"),
        (Next::Failed, DeliveryFailed, Severity::Error, "tenure tasks retry"),
    ] {
        let row = TaskRow { delivery: DeliveryStatus::Failed, ..done() };
        let found = audit(&row, true, Some(&refusal(next)), NOW);
        assert_eq!((found.len(), found[0].code, found[0].severity), (1, code, severity), "{found:?}");
        assert_eq!(found[0].channel.as_deref(), Some("desk"));
        for part in ["channel desk", "HTTP 400: no", words] {
            assert!(found[0].detail.contains(part), "{part}: {found:?}");
        }
    }
}
