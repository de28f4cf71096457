//! Notices: one message each, in the words of a person, under a key that never changes. A channel that has seen a key
//! has seen the message, so a crash may repeat an attempt, never the message (I10).

use super::progress::is_worth_telling;
use super::route::{Occasion, Setting, Standing, route};
use super::row::TaskRow;
use super::step::Telling;
use super::text::{LABEL_CHARS, line};
use super::words::{DeliveryStatus, Kind, Status};
use crate::defaults::TASK_SUMMARY;
use crate::duration;
use crate::ids::{RunId, TaskId};
use crate::session::{Origin, SessionKey};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

/// What a notice is for. A task has one of each, and one for each change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Purpose {
    /// The task began or goes on; which of the changes it is.
    Change(u64),
    /// The task ended.
    Terminal,
    /// The task was called lost and had ended all the same.
    Correction,
}

impl Purpose {
    /// Its frozen word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Change(_) => "change",
            Self::Terminal => "terminal",
            Self::Correction => "correction",
        }
    }
}

/// What a notice is called: the same however often it is sent. It can stand in a header.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct NoticeKey(String);

impl NoticeKey {
    /// The key of a task's notice.
    pub fn new(task: &TaskId, purpose: Purpose) -> Self {
        Self(match purpose {
            Purpose::Change(number) => format!("task-{task}-change-{number}"),
            Purpose::Terminal | Purpose::Correction => format!("task-{task}-{}", purpose.word()),
        })
    }

    /// A key that was stored.
    pub fn stored(text: String) -> Self {
        Self(text)
    }

    /// Its text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for NoticeKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A message that is due, as a channel gets it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Notice {
    /// What it is called.
    pub key: NoticeKey,
    /// What it is for: `change`, `terminal` or `correction`.
    pub purpose: String,
    /// What a person reads.
    pub text: String,
    /// The task.
    pub task_id: TaskId,
    /// What that tracks.
    pub kind: Kind,
    /// How that is.
    pub status: Status,
    /// The run.
    pub run_id: Option<RunId>,
    /// The session that is told.
    pub owner_session_key: Option<SessionKey>,
    /// The session that did the work.
    pub child_session_key: Option<SessionKey>,
    /// On which channel.
    pub origin: Option<Origin>,
    /// What people call the task.
    pub label: Option<String>,
    /// How it goes or what came of it.
    pub summary: Option<String>,
    /// What went wrong.
    pub error: Option<String>,
    /// When it was made.
    pub at_ms: u64,
}

/// Where a notice goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Destination {
    /// To a channel, and to the owner's queue if that does not take it.
    Channel(String),
    /// To the queue of the owner.
    Session(SessionKey),
}

/// A notice and where it goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Due {
    /// What for.
    pub purpose: Purpose,
    /// What.
    pub notice: Notice,
    /// Where to.
    pub to: Destination,
}

/// Has a task's owner told what there is to tell, if it is to hear it. How it stands with the delivery is noted in the
/// row: of the end only, for that is what was promised.
pub fn tell(row: &mut TaskRow, what: Telling, owner: Standing, now_ms: u64) -> Option<Due> {
    let (occasion, purpose) = match what {
        Telling::Change => (Occasion::Change, Purpose::Change(row.changes_told.saturating_add(1))),
        Telling::Terminal => (Occasion::Terminal, Purpose::Terminal),
        Telling::Correction => (Occasion::Correction, Purpose::Correction),
    };
    let routing = route(setting(row, owner), occasion);
    match what {
        Telling::Change => {
            let goes = routing.to_origin || routing.to_session;
            if !goes || !is_worth_telling(row.change_told_at_ms, now_ms) {
                return None;
            }
            row.changes_told += 1;
            row.change_told_at_ms = Some(now_ms);
        }
        Telling::Terminal if row.is_not_worth_telling() => {
            row.delivery = DeliveryStatus::NotApplicable;
            return None;
        }
        Telling::Terminal | Telling::Correction => row.delivery = routing.delivery,
    }
    let to = match (&row.origin, &row.owner) {
        (Some(origin), _) if routing.to_origin => Destination::Channel(origin.channel.clone()),
        (_, Some(owner)) if routing.to_session => Destination::Session(owner.clone()),
        _ => return None,
    };
    Some(Due { purpose, notice: notice(row, purpose, now_ms), to })
}

/// How it stands with the delivery of an end that is still to come.
pub fn promise(row: &TaskRow, owner: Standing) -> DeliveryStatus {
    match route(setting(row, owner), Occasion::Terminal).delivery {
        DeliveryStatus::Pending | DeliveryStatus::SessionQueued => DeliveryStatus::Pending,
        nobody => nobody,
    }
}

fn setting(row: &TaskRow, owner: Standing) -> Setting {
    let has_origin = row.origin.is_some();
    Setting { interaction: row.interaction, has_origin, owner, policy: row.policy }
}

fn notice(row: &TaskRow, purpose: Purpose, now_ms: u64) -> Notice {
    let summary = match purpose {
        Purpose::Change(_) => progress(row).map(str::to_owned),
        Purpose::Terminal | Purpose::Correction => row.terminal_summary.clone(),
    };
    Notice {
        key: NoticeKey::new(&row.id, purpose),
        purpose: purpose.word().to_owned(),
        text: sentence(row, purpose),
        task_id: row.id.clone(),
        kind: row.kind,
        status: row.status,
        run_id: row.run.clone(),
        owner_session_key: row.owner.clone(),
        child_session_key: row.child.clone(),
        origin: row.origin.clone(),
        label: row.label.clone(),
        summary,
        error: row.error.clone(),
        at_ms: now_ms,
    }
}

/// What a person reads.
fn sentence(row: &TaskRow, purpose: Purpose) -> String {
    let title = title(row);
    match purpose {
        Purpose::Change(_) if row.progress_summary.is_none() => format!("{title} has started."),
        Purpose::Change(_) => {
            let took = took(row);
            match progress(row) {
                Some(last) if row.turn.is_none() => {
                    format!("{title} goes on after {took}. Last output: {last}")
                }
                Some(steps) => format!("{title} goes on after {took}: {steps}."),
                None => format!("{title} goes on after {took}."),
            }
        }
        Purpose::Terminal => with_detail(format!("{title} {}", how(row)), row),
        Purpose::Correction => {
            with_detail(format!("{title} was reported lost, but has ended after all: it {}", how(row)), row)
        }
    }
}

/// How a task goes, as it is told: the last line of a command's output, or what an agent has done, not what it said.
fn progress(row: &TaskRow) -> Option<&str> {
    let told = if row.turn.is_none() { &row.progress_summary } else { &row.steps };
    told.as_deref().filter(|it| !it.is_empty())
}

/// What a person calls a task.
fn title(row: &TaskRow) -> String {
    let short = &row.id.as_str()[..8];
    let child = row.child.as_ref().map(SessionKey::as_str);
    match row.label.as_deref().or(child).map(|name| line(name, LABEL_CHARS)) {
        Some(name) if !name.is_empty() => format!("Task {short} ({name})"),
        Some(_) | None => format!("Task {short}"),
    }
}

/// How long it took, or has taken up to what happened last.
fn took(row: &TaskRow) -> String {
    let until = row.ended_at_ms.unwrap_or(row.last_event_at_ms);
    let took = until.saturating_sub(row.started_at_ms.unwrap_or(row.created_at_ms));
    duration::show(Duration::from_millis(took))
}

fn how(row: &TaskRow) -> String {
    let took = took(row);
    match row.status {
        Status::Queued => "is queued".to_owned(),
        Status::Running => "is running".to_owned(),
        Status::Succeeded => format!("is done after {took}"),
        Status::Failed => format!("failed after {took}"),
        Status::TimedOut => format!("ran out of time after {took}"),
        Status::Cancelled => format!("was cancelled after {took}"),
        Status::Lost => "is lost: nobody saw how it ended".to_owned(),
    }
}

/// The end of what it printed says most of a run; of a turn, what was said.
fn with_detail(said: String, row: &TaskRow) -> String {
    let detail = row.error.as_deref().or(row.terminal_summary.as_deref());
    // That it was cancelled is said already.
    let detail = detail.filter(|it| !it.is_empty() && *it != Status::Cancelled.word());
    let said = match detail {
        Some(detail) => format!("{said}: {detail}"),
        None => said,
    };
    let stop = if said.ends_with(['.', '!', '?', '…']) { "" } else { "." };
    let printed = row.outcome.as_ref().and_then(|it| it.output_bytes);
    match (printed, &row.progress_summary) {
        (Some(0), _) => format!("{said}{stop} It printed nothing."),
        (Some(_), Some(last)) => format!("{said}{stop} Last output: {}", line(last, TASK_SUMMARY)),
        (Some(_), None) | (None, _) => format!("{said}{stop}"),
    }
}
