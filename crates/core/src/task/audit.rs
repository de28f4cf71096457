//! Problems of a task, for operators and their scripts. An audit changes nothing.

use super::progress::millis;
use super::row::TaskRow;
use super::words::{DeliveryStatus, FindingCode, Status};
use crate::duration;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Time that a task may be queued.
const STALE_QUEUED: Duration = Duration::from_mins(10);
/// Time that a running task without backing may go without an event.
const STALE_RUNNING: Duration = Duration::from_mins(30);

/// The severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// The problem may go away by itself.
    Warning,
    /// A person has to act.
    Error,
}

/// A problem of a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// The code.
    pub code: FindingCode,
    /// The severity.
    pub severity: Severity,
    /// The details and the remedy, for people.
    pub detail: String,
    /// The channel, if the problem is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<String>,
}

/// The state of the task's terminal notice on a channel that did not accept it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The channel.
    pub channel: String,
    /// The error.
    pub error: String,
    /// The next step of the notice.
    pub next: Next,
}

/// The next step of a notice that a channel did not accept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// The channel is tried again.
    Retry,
    /// The notice waits for the owner's next turn.
    Queued,
    /// None: the delivery has failed.
    Failed,
}

/// Returns the age of a task's last event from which an audit is useful, in milliseconds.
pub fn needs_a_look() -> u64 {
    millis(STALE_QUEUED.min(STALE_RUNNING))
}

/// Finds the problems of a task. The row does not tell if the task is backed by a live run or a running turn, nor
/// which channel did not accept its terminal notice.
pub fn audit(row: &TaskRow, is_backed: bool, refusal: Option<&Refusal>, now_ms: u64) -> Vec<Finding> {
    let mut found = Vec::new();
    found.extend(stale(row, is_backed, now_ms));
    match refusal {
        Some(refusal) => found.push(refused(refusal)),
        None if row.delivery == DeliveryStatus::Failed => {
            let detail = "the owner was not notified of its end: `tenure tasks retry` sends the notice again";
            found.push(finding(FindingCode::DeliveryFailed, Severity::Error, detail));
        }
        None => {}
    }
    if row.status.is_terminal() && row.cleanup_after_ms.is_none() {
        let detail = "it has ended without a removal date: `tenure tasks maintenance --apply` sets one";
        found.push(finding(FindingCode::MissingCleanup, Severity::Warning, detail));
    }
    if let Some(what) = impossible_times(row) {
        found.push(finding(FindingCode::InconsistentTimes, Severity::Warning, what));
    }
    found
}

fn finding(code: FindingCode, severity: Severity, detail: &str) -> Finding {
    Finding { code, severity, detail: detail.to_owned(), channel: None }
}

fn refused(refusal: &Refusal) -> Finding {
    let Refusal { channel, error, next } = refusal;
    let (code, severity, what) = match next {
        Next::Retry => (FindingCode::ChannelRefuses, Severity::Warning, "it is retried automatically"),
        Next::Queued => (
            FindingCode::ChannelRefuses,
            Severity::Warning,
            "the notice waits for the owner's next turn; `tenure tasks retry` tries the channel again",
        ),
        Next::Failed => (
            FindingCode::DeliveryFailed,
            Severity::Error,
            "the notice was not delivered; fix the channel, then run `tenure tasks retry`",
        ),
    };
    let detail = format!("channel {channel} refused the notice of its end ({error}): {what}");
    Finding { code, severity, detail, channel: Some(channel.clone()) }
}

fn stale(row: &TaskRow, is_backed: bool, now_ms: u64) -> Option<Finding> {
    let silent = now_ms.saturating_sub(row.last_event_at_ms);
    let (code, severity, limit, what) = match row.status {
        Status::Queued => (FindingCode::StaleQueued, Severity::Warning, STALE_QUEUED, "it is queued"),
        Status::Running if !is_backed => (
            FindingCode::StaleRunning,
            Severity::Error,
            STALE_RUNNING,
            "it has no live run or turn, and no event",
        ),
        Status::Running
        | Status::Succeeded
        | Status::Failed
        | Status::TimedOut
        | Status::Cancelled
        | Status::Lost => return None,
    };
    let length = duration::show(Duration::from_millis(silent));
    let detail =
        format!("{what} for {length}: `tenure tasks show` shows more, `tenure tasks cancel` ends it");
    (silent >= millis(limit)).then_some(Finding { code, severity, detail, channel: None })
}

/// Returns the contradiction in a task's times, if there is one.
fn impossible_times(row: &TaskRow) -> Option<&'static str> {
    let before = |a: Option<u64>, b: Option<u64>| matches!((a, b), (Some(a), Some(b)) if a < b);
    if row.status.is_terminal() != row.ended_at_ms.is_some() {
        return Some("its status and its end time contradict each other");
    }
    if before(row.started_at_ms, Some(row.created_at_ms)) {
        return Some("it started before it was created");
    }
    if before(row.ended_at_ms, row.started_at_ms.or(Some(row.created_at_ms))) {
        return Some("it ended before it started");
    }
    if before(row.cleanup_after_ms, row.ended_at_ms) {
        return Some("its removal date is before its end");
    }
    None
}
