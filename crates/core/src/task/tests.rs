//! The small world of the tests: one task of a run that an agent's session owns.

mod audits;
mod life;
mod lines;
mod notices;
mod pace;
mod routing;
mod rows;

use super::*;
use crate::ids::{InstanceId, RunId, TaskId};
use crate::session::{Interaction, Origin, SessionKey};

const NOW: u64 = 1_800_000_000_000;

fn key(text: &str) -> SessionKey {
    text.parse().unwrap()
}

fn slack() -> Origin {
    Origin { channel: "slack".to_owned(), to: Some("#ops".to_owned()), thread: None }
}

/// A task that was created at `NOW` and has not begun.
fn task() -> TaskRow {
    TaskRow {
        id: TaskId::from_random([0xab; 12]),
        kind: Kind::Run,
        status: Status::Queued,
        delivery: DeliveryStatus::Pending,
        policy: NotifyPolicy::DoneOnly,
        tells_quiet_success: true,
        run: Some(RunId::from_random([1; 12])),
        turn: None,
        owner: Some(key("agent:main:1")),
        child: None,
        instance: InstanceId::from_random([7; 12]),
        origin: None,
        interaction: Interaction::ParentOwnedBackground,
        label: Some("npm test".to_owned()),
        progress_summary: None,
        terminal_summary: None,
        error: None,
        outcome: None,
        recent_events: Vec::new(),
        created_at_ms: NOW,
        started_at_ms: None,
        cancel_asked_at_ms: None,
        ended_at_ms: None,
        last_event_at_ms: NOW,
        cleanup_after_ms: None,
        changes_told: 0,
        change_told_at_ms: None,
        steps: None,
    }
}

/// An end without details.
fn verdict(end: Option<End>) -> Verdict {
    Verdict { end, summary: None, error: None, outcome: Outcome::default() }
}
