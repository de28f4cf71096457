//! What is wrong with a task, if anything: for operators and their scripts. Looking changes nothing.

use super::progress::millis;
use super::row::TaskRow;
use super::words::{DeliveryStatus, FindingCode, Status};
use crate::duration;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// How long a task may wait to begin.
const STALE_QUEUED: Duration = Duration::from_mins(10);
/// How long nothing may be heard of a task that nothing is behind.
const STALE_RUNNING: Duration = Duration::from_mins(30);

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// It may get well by itself.
    Warning,
    /// Somebody has to do something.
    Error,
}

/// Something that is wrong with a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// What.
    pub code: FindingCode,
    /// How bad.
    pub severity: Severity,
    /// More, and what to do, in a person's words.
    pub detail: String,
    /// The channel that it is about, if it is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<String>,
}

/// How a task's end stands with a channel that did not take it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// Which channel.
    pub channel: String,
    /// What went wrong.
    pub error: String,
    /// What becomes of the notice.
    pub next: Next,
}

/// What becomes of a notice that a channel did not take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// The channel is tried again.
    Retry,
    /// It waits for the owner's next turn.
    Queued,
    /// Nothing: it has failed.
    Failed,
}

/// How long ago a task must have been heard of to be worth a look, in milliseconds.
pub fn needs_a_look() -> u64 {
    millis(STALE_QUEUED.min(STALE_RUNNING))
}

/// What is wrong with a task. Whether something is behind it, a live run or a turn under way, is not in its row.
/// Nor is which channel did not take how it ended.
pub fn audit(row: &TaskRow, is_backed: bool, refusal: Option<&Refusal>, now_ms: u64) -> Vec<Finding> {
    let mut found = Vec::new();
    found.extend(stale(row, is_backed, now_ms));
    match refusal {
        Some(refusal) => found.push(refused(refusal)),
        None if row.delivery == DeliveryStatus::Failed => {
            let detail = "its owner could not be told how it ended: `tenure tasks retry` tries again";
            found.push(finding(FindingCode::DeliveryFailed, Severity::Error, detail));
        }
        None => {}
    }
    if row.status.is_terminal() && row.cleanup_after_ms.is_none() {
        let detail = "it has ended and would never go: `tenure tasks maintenance --apply` sees to it";
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
        Next::Retry => (FindingCode::ChannelRefuses, Severity::Warning, "it is tried again"),
        Next::Queued => (
            FindingCode::ChannelRefuses,
            Severity::Warning,
            "it waits for the owner's next turn; `tenure tasks retry` tries the channel again",
        ),
        Next::Failed => (
            FindingCode::DeliveryFailed,
            Severity::Error,
            "nobody was told; mend the channel, then `tenure tasks retry`",
        ),
    };
    let detail = format!("channel {channel} did not take how it ended ({error}): {what}");
    Finding { code, severity, detail, channel: Some(channel.clone()) }
}

fn stale(row: &TaskRow, is_backed: bool, now_ms: u64) -> Option<Finding> {
    let silent = now_ms.saturating_sub(row.last_event_at_ms);
    let (code, severity, limit, what) = match row.status {
        Status::Queued => (FindingCode::StaleQueued, Severity::Warning, STALE_QUEUED, "it waits to begin"),
        Status::Running if !is_backed => (
            FindingCode::StaleRunning,
            Severity::Error,
            STALE_RUNNING,
            "nothing is behind it, and nothing was heard",
        ),
        Status::Running
        | Status::Succeeded
        | Status::Failed
        | Status::TimedOut
        | Status::Cancelled
        | Status::Lost => return None,
    };
    let length = duration::show(Duration::from_millis(silent));
    let detail = format!("{what} for {length}: `tenure tasks show` says more, `tenure tasks cancel` ends it");
    (silent >= millis(limit)).then_some(Finding { code, severity, detail, channel: None })
}

/// What of a task's times cannot be.
fn impossible_times(row: &TaskRow) -> Option<&'static str> {
    let before = |a: Option<u64>, b: Option<u64>| matches!((a, b), (Some(a), Some(b)) if a < b);
    if row.status.is_terminal() != row.ended_at_ms.is_some() {
        return Some("its end and its status do not agree");
    }
    if before(row.started_at_ms, Some(row.created_at_ms)) {
        return Some("it began before it was asked for");
    }
    if before(row.ended_at_ms, row.started_at_ms.or(Some(row.created_at_ms))) {
        return Some("it ended before it began");
    }
    if before(row.cleanup_after_ms, row.ended_at_ms) {
        return Some("it would go before it ended");
    }
    None
}
