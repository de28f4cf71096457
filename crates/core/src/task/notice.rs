//! Notices: one message each, in plain sentences, under a key that never changes. A channel that has seen a key has
//! seen the message, so a crash may repeat an attempt, never the message (I10).

use super::progress::is_worth_telling;
use super::route::{Occasion, Setting, Standing, route};
use super::row::TaskRow;
use super::step::Telling;
use super::text::{LABEL_CHARS, line};
use super::words::{DeliveryStatus, Kind, NotifyPolicy, Status};
use crate::defaults::TASK_SUMMARY;
use crate::duration;
use crate::ending::{Reason, Termination};
use crate::ids::{InstanceId, RunId, TaskId};
use crate::session::{Origin, SessionKey};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

/// The purpose of a notice. A task has one terminal notice, at most one correction, and one notice per change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Purpose {
    /// The task began or made progress; the number of the change.
    Change(u64),
    /// The task ended.
    Terminal,
    /// The task was called lost although it had ended.
    Correction,
    /// A background command ended: for current listeners of the event stream.
    ExecEnded,
}

impl Purpose {
    /// Returns the frozen word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Change(_) => "change",
            Self::Terminal => "terminal",
            Self::Correction => "correction",
            Self::ExecEnded => "exec-ended",
        }
    }
}

/// The key of a notice: the same for every attempt. It is valid in an HTTP header.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct NoticeKey(String);

impl NoticeKey {
    /// Returns the key of a task's notice.
    pub fn new(task: &TaskId, purpose: Purpose) -> Self {
        Self(match purpose {
            Purpose::Change(number) => format!("task-{task}-change-{number}"),
            Purpose::Terminal | Purpose::Correction | Purpose::ExecEnded => {
                format!("task-{task}-{}", purpose.word())
            }
        })
    }

    /// Wraps a key that was stored.
    pub fn stored(text: String) -> Self {
        Self(text)
    }

    /// Returns the key's text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for NoticeKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A notice as a channel gets it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Notice {
    /// The key.
    pub key: NoticeKey,
    /// The purpose: `change`, `terminal`, `correction` or `exec-ended`.
    pub purpose: String,
    /// The sentence for people.
    pub text: String,
    /// The task.
    pub task_id: TaskId,
    /// The kind of task.
    pub kind: Kind,
    /// The task's status.
    pub status: Status,
    /// The run.
    pub run_id: Option<RunId>,
    /// The owner: the session that is told.
    pub owner_session_key: Option<SessionKey>,
    /// The session that did the work.
    pub child_session_key: Option<SessionKey>,
    /// The channel of the owner.
    pub origin: Option<Origin>,
    /// The task's label.
    pub label: Option<String>,
    /// The progress or the result, in few words.
    pub summary: Option<String>,
    /// The error.
    pub error: Option<String>,
    /// The time of the notice.
    pub at_ms: u64,
}

/// The destination of a notice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Destination {
    /// A channel, and the owner's queue if the channel does not accept it.
    Channel(String),
    /// The owner's queue.
    Session(SessionKey),
}

/// A notice and its destination.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Due {
    /// The purpose.
    pub purpose: Purpose,
    /// The notice.
    pub notice: Notice,
    /// The destination.
    pub to: Destination,
}

/// Makes the notice for the task's owner, if one is due, and notes the delivery status in the row. The status is
/// about the end only, because only that is promised.
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

/// Returns the notice that a background command ended, unless its task is silent or its end is not worth telling.
/// The notice is for current listeners of the event stream, and does not affect the delivery to the owner.
pub fn exec_ended(row: &TaskRow, now_ms: u64) -> Option<Due> {
    if row.policy == NotifyPolicy::Silent || row.is_not_worth_telling() {
        return None;
    }
    let notice = notice(row, Purpose::ExecEnded, now_ms);
    Some(Due {
        purpose: Purpose::ExecEnded,
        notice,
        to: Destination::Channel(exec_ended_channel(&row.instance)),
    })
}

/// Returns the channel of this installation's `exec-ended` notices. No described channel has a colon in its name.
pub fn exec_ended_channel(instance: &InstanceId) -> String {
    format!("{}:{instance}", Purpose::ExecEnded.word())
}

/// Returns the delivery status of an end that is still to come.
pub fn promise(row: &TaskRow, owner: Standing) -> DeliveryStatus {
    match route(setting(row, owner), Occasion::Terminal).delivery {
        DeliveryStatus::Pending | DeliveryStatus::SessionQueued => DeliveryStatus::Pending,
        settled @ (DeliveryStatus::Delivered
        | DeliveryStatus::Failed
        | DeliveryStatus::ParentMissing
        | DeliveryStatus::NotApplicable) => settled,
    }
}

fn setting(row: &TaskRow, owner: Standing) -> Setting {
    let has_origin = row.origin.is_some();
    Setting { interaction: row.interaction, has_origin, owner, policy: row.policy }
}

fn notice(row: &TaskRow, purpose: Purpose, now_ms: u64) -> Notice {
    let summary = match purpose {
        Purpose::Change(_) => progress(row).map(str::to_owned),
        Purpose::Terminal | Purpose::Correction | Purpose::ExecEnded => row.terminal_summary.clone(),
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

/// Returns the sentence for people.
fn sentence(row: &TaskRow, purpose: Purpose) -> String {
    let title = title(row);
    match purpose {
        Purpose::Change(_) if row.progress_summary.is_none() => format!("{title} has started."),
        Purpose::Change(_) => {
            let took = took(row);
            match progress(row) {
                Some(last) if row.turn.is_none() => {
                    format!("{title} is still running after {took}. Last output: {last}")
                }
                Some(steps) => format!("{title} is still running after {took}: {steps}."),
                None => format!("{title} is still running after {took}."),
            }
        }
        Purpose::Terminal | Purpose::ExecEnded => with_output(&format!("{title} {}", how(row)), row),
        Purpose::Correction => with_output(&format!("{title} was reported lost, but it {}", how(row)), row),
    }
}

/// Returns the progress to tell: the last line of a command's output, or the steps of an agent, not its words.
fn progress(row: &TaskRow) -> Option<&str> {
    let told = if row.turn.is_none() { &row.progress_summary } else { &row.steps };
    told.as_deref().filter(|it| !it.is_empty())
}

/// Returns the name of a task for people.
fn title(row: &TaskRow) -> String {
    let short = &row.id.as_str()[..8];
    let child = row.child.as_ref().map(SessionKey::as_str);
    match row.label.as_deref().or(child).map(|name| line(name, LABEL_CHARS)) {
        Some(name) if !name.is_empty() => format!("Task {name} ({short})"),
        Some(_) | None => format!("Task {short}"),
    }
}

/// Returns the task's duration, up to its end or its last event.
fn took(row: &TaskRow) -> String {
    let until = row.ended_at_ms.unwrap_or(row.last_event_at_ms);
    let took = until.saturating_sub(row.started_at_ms.unwrap_or(row.created_at_ms));
    duration::show(Duration::from_millis(took))
}

/// Returns the end of a task: what happened, why, and after which time.
fn how(row: &TaskRow) -> String {
    let took = took(row);
    let detail = detail(row);
    let after = |verb: &str| match detail {
        Some(exit) if row.turn.is_none() && exit.starts_with("exit ") => {
            format!("{verb}: {exit} after {took}")
        }
        Some(detail) => format!("{verb} after {took}: {detail}"),
        None => format!("{verb} after {took}"),
    };
    match row.status {
        Status::Queued => "is queued".to_owned(),
        Status::Running => "is running".to_owned(),
        Status::Succeeded => after("is done"),
        Status::Failed => after("failed"),
        Status::TimedOut => after("timed out"),
        Status::Cancelled => after("was cancelled"),
        Status::Lost => format!("is lost: {}", detail.unwrap_or("its end was not observed")),
    }
}

/// Returns the detail of an end: the end of a run, or an agent's answer. Leaves out what the status already says.
fn detail(row: &TaskRow) -> Option<&str> {
    let detail = row.error.as_deref().or(row.terminal_summary.as_deref()).filter(|it| !it.is_empty())?;
    let is_said = match row.status {
        Status::Succeeded => detail == "exit 0",
        Status::TimedOut => detail == Termination::new(Reason::OverallTimeout, None, None).sentence(),
        Status::Cancelled => detail == Status::Cancelled.word(),
        Status::Queued | Status::Running | Status::Failed | Status::Lost => false,
    };
    (!is_said).then_some(detail)
}

/// Adds the last line of a run's output.
fn with_output(said: &str, row: &TaskRow) -> String {
    let stop = if said.ends_with(['.', '!', '?', '…']) { "" } else { "." };
    let printed = row.outcome.as_ref().and_then(|it| it.output_bytes);
    match (printed, &row.progress_summary) {
        (Some(0), _) => format!("{said}{stop} It printed nothing."),
        (Some(_), Some(last)) => format!("{said}{stop} Last output: {}", line(last, TASK_SUMMARY)),
        (Some(_), None) | (None, _) => format!("{said}{stop}"),
    }
}
