//! A task's row: its subject, status and owner. Every event has one function here, and nothing else changes a row.

use super::progress::{Progress, millis};
use super::step::{Event, Refused, Step, step};
use super::text;
use super::verdict::Verdict;
use super::words::{DeliveryStatus, EventKind, Kind, NotifyPolicy, Status};
use crate::defaults;
use crate::ending::Reason;
use crate::ids::{InstanceId, RunId, TaskId, TurnId};
use crate::session::{Interaction, Origin, SessionKey, SessionRow};
use serde::{Deserialize, Serialize};

/// A task, as every face shows it. Unknown values are `null`; times are Unix milliseconds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskRow {
    /// The task's id.
    #[serde(rename = "taskId")]
    pub id: TaskId,
    /// The kind of task.
    pub kind: Kind,
    /// The status.
    pub status: Status,
    /// The delivery status of the terminal notice.
    #[serde(rename = "deliveryStatus")]
    pub delivery: DeliveryStatus,
    /// The notices that the owner wants.
    #[serde(rename = "notifyPolicy")]
    pub policy: NotifyPolicy,
    /// True if the owner is told of a success without any output.
    pub tells_quiet_success: bool,
    /// The run that the task tracks, or that runs the tracked turn.
    #[serde(rename = "runId")]
    pub run: Option<RunId>,
    /// The turn that the task tracks.
    #[serde(rename = "turnId")]
    pub turn: Option<TurnId>,
    /// The owner: the session that is told.
    #[serde(rename = "ownerSessionKey")]
    pub owner: Option<SessionKey>,
    /// The session that does the work.
    #[serde(rename = "childSessionKey")]
    pub child: Option<SessionKey>,
    /// The installation that does the work.
    #[serde(rename = "instanceId")]
    pub instance: InstanceId,
    /// The channel of the owner.
    pub origin: Option<Origin>,
    /// The party that the working session talks to.
    pub interaction: Interaction,
    /// A label for people.
    pub label: Option<String>,
    /// The progress, in few words.
    pub progress_summary: Option<String>,
    /// The result, in few words.
    pub terminal_summary: Option<String>,
    /// The error.
    pub error: Option<String>,
    /// Further facts about the end.
    pub outcome: Option<Outcome>,
    /// The last events, the oldest first. Empty in a row that is about to be changed.
    #[serde(default)]
    pub recent_events: Vec<TaskEvent>,
    /// The time of creation.
    pub created_at_ms: u64,
    /// The time when it began.
    pub started_at_ms: Option<u64>,
    /// The time when its cancellation was requested.
    pub cancel_asked_at_ms: Option<u64>,
    /// The time of its end.
    pub ended_at_ms: Option<u64>,
    /// The time of its last event.
    pub last_event_at_ms: u64,
    /// The time from which it may be removed.
    pub cleanup_after_ms: Option<u64>,
    /// The number of changes that were told.
    #[serde(default)]
    pub changes_told: u64,
    /// The time of the last told change.
    #[serde(default)]
    pub change_told_at_ms: Option<u64>,
    /// The steps of a running turn, counted. A change tells them; they are not stored.
    #[serde(skip)]
    pub steps: Option<String>,
}

/// Further facts about an end.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Outcome {
    /// The reason why the run ended.
    pub reason: Option<Reason>,
    /// The exit code, if the run was seen to exit.
    pub exit_code: Option<i32>,
    /// The signal that ended it, if that was seen.
    pub signal: Option<i32>,
    /// True if all of its processes were seen gone.
    pub confirmed: Option<bool>,
    /// The size of its output.
    pub output_bytes: Option<u64>,
}

/// An event of a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskEvent {
    /// The time.
    pub at_ms: u64,
    /// The kind.
    pub kind: EventKind,
    /// More details, in few words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
}

/// Returns the channel on which an owner is told: its own, unless the owner itself talks to its parent only. Work
/// without an owner is told on the channel of its own session.
pub fn origin_for(owner: Option<&SessionRow>, child: Option<&SessionRow>) -> Option<Origin> {
    let speaks = owner.or(child)?;
    match speaks.interaction {
        Interaction::Interactive => speaks.origin.clone(),
        Interaction::ParentOwnedBackground => None,
    }
}

impl TaskRow {
    /// Records that the task began.
    pub fn start(&mut self, started_at_ms: u64, now_ms: u64) -> Result<(Step, TaskEvent), Refused> {
        let step = step(self.status, Event::Started)?;
        self.status = step.to;
        self.started_at_ms = Some(started_at_ms.max(self.created_at_ms));
        Ok((step, self.happened(EventKind::Started, None, now_ms)))
    }

    /// Records progress, shortened to few words.
    pub fn go_on(&mut self, progress: &Progress, now_ms: u64) -> Result<(Step, TaskEvent), Refused> {
        let step = step(self.status, Event::Progressed)?;
        let summary = text::last_line(&progress.said, defaults::TASK_SUMMARY);
        self.progress_summary = Some(summary.clone());
        self.steps = progress.steps.as_deref().map(|steps| text::line(steps, defaults::TASK_SUMMARY));
        Ok((step, self.happened(EventKind::Progress, Some(summary), now_ms)))
    }

    /// Records a request for cancellation.
    pub fn ask_cancel(&mut self, now_ms: u64) -> Result<(Step, TaskEvent), Refused> {
        let step = step(self.status, Event::CancelAsked)?;
        self.cancel_asked_at_ms.get_or_insert(now_ms);
        Ok((step, self.happened(EventKind::CancelAsked, None, now_ms)))
    }

    /// Records that the task has ended, or is given up.
    pub fn end(
        &mut self,
        verdict: Verdict,
        ended_at_ms: u64,
        now_ms: u64,
    ) -> Result<(Step, TaskEvent), Refused> {
        let step = step(self.status, verdict.event())?;
        let kind = match (self.status, step.to) {
            (Status::Lost, _) => EventKind::Corrected,
            (_, Status::Lost) => EventKind::Lost,
            _ => EventKind::Ended,
        };
        let ended_at_ms = ended_at_ms.max(self.started_at_ms.unwrap_or(self.created_at_ms));
        self.status = step.to;
        self.ended_at_ms = Some(ended_at_ms);
        self.cleanup_after_ms = Some(ended_at_ms.saturating_add(kept_for(step.to)));
        self.terminal_summary = verdict.summary;
        self.error = verdict.error;
        self.outcome = Some(verdict.outcome);
        let summary = self.error.clone().or_else(|| self.terminal_summary.clone());
        Ok((step, self.happened(kind, summary, now_ms)))
    }

    /// Changes the notices that the owner wants.
    pub fn set_policy(&mut self, policy: NotifyPolicy, now_ms: u64) -> TaskEvent {
        self.policy = policy;
        self.happened(EventKind::Policy, Some(policy.word().to_owned()), now_ms)
    }

    fn happened(&mut self, kind: EventKind, summary: Option<String>, now_ms: u64) -> TaskEvent {
        self.last_event_at_ms = self.last_event_at_ms.max(now_ms);
        TaskEvent { at_ms: now_ms, kind, summary }
    }

    /// Returns true for a success without any output, if nobody wants to hear of that.
    pub(super) fn is_not_worth_telling(&self) -> bool {
        let printed_nothing = self.outcome.as_ref().is_some_and(|it| it.output_bytes == Some(0));
        !self.tells_quiet_success && self.status == Status::Succeeded && printed_nothing
    }
}

/// Returns the retention of a task that ended with this status, in milliseconds.
fn kept_for(status: Status) -> u64 {
    millis(match status {
        Status::Lost => defaults::KEEP_LOST_TASKS_FOR,
        Status::Queued
        | Status::Running
        | Status::Succeeded
        | Status::Failed
        | Status::TimedOut
        | Status::Cancelled => defaults::KEEP_TASKS_FOR,
    })
}
