//! A task's row: what it tracks, how it is and whom it is told. Each thing that happens to a task is one function here;
//! a row is changed by nothing else.

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

/// A task, as every face shows it. What is not known is `null`; times are Unix milliseconds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskRow {
    /// What it is called.
    #[serde(rename = "taskId")]
    pub id: TaskId,
    /// What it tracks.
    pub kind: Kind,
    /// How it is.
    pub status: Status,
    /// Whether its owner was told how it ended.
    #[serde(rename = "deliveryStatus")]
    pub delivery: DeliveryStatus,
    /// What of it is told.
    #[serde(rename = "notifyPolicy")]
    pub policy: NotifyPolicy,
    /// Whether it is told that it succeeded without having printed anything.
    pub tells_quiet_success: bool,
    /// The run that it tracks, or that carries out the turn that it tracks.
    #[serde(rename = "runId")]
    pub run: Option<RunId>,
    /// The turn that it tracks.
    #[serde(rename = "turnId")]
    pub turn: Option<TurnId>,
    /// The session that is told.
    #[serde(rename = "ownerSessionKey")]
    pub owner: Option<SessionKey>,
    /// The session that does the work.
    #[serde(rename = "childSessionKey")]
    pub child: Option<SessionKey>,
    /// The installation that carries it out.
    #[serde(rename = "instanceId")]
    pub instance: InstanceId,
    /// The channel on which the owner is told.
    pub origin: Option<Origin>,
    /// With whom the session speaks that does the work.
    pub interaction: Interaction,
    /// What people call it.
    pub label: Option<String>,
    /// How it goes, in few words.
    pub progress_summary: Option<String>,
    /// What came of it, in few words.
    pub terminal_summary: Option<String>,
    /// What went wrong.
    pub error: Option<String>,
    /// What is known of its end besides.
    pub outcome: Option<Outcome>,
    /// The last things that happened to it, the oldest first. A row that is only changed does not have them.
    #[serde(default)]
    pub recent_events: Vec<TaskEvent>,
    /// When it was asked for.
    pub created_at_ms: u64,
    /// When it began.
    pub started_at_ms: Option<u64>,
    /// When somebody wanted it ended.
    pub cancel_asked_at_ms: Option<u64>,
    /// When it ended.
    pub ended_at_ms: Option<u64>,
    /// When something last happened to it.
    pub last_event_at_ms: u64,
    /// From when on it may be forgotten.
    pub cleanup_after_ms: Option<u64>,
    /// How many changes were told.
    #[serde(default)]
    pub changes_told: u64,
    /// When the last of them was.
    #[serde(default)]
    pub change_told_at_ms: Option<u64>,
    /// What is done so far of a turn under way, counted. It is told with a change, and not kept.
    #[serde(skip)]
    pub steps: Option<String>,
}

/// What is known of an end besides how it was.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Outcome {
    /// Why the run ended.
    pub reason: Option<Reason>,
    /// Its exit code, if it exited and that was seen.
    pub exit_code: Option<i32>,
    /// The signal that ended it, if one did and that was seen.
    pub signal: Option<i32>,
    /// Whether all of its processes were seen gone.
    pub confirmed: Option<bool>,
    /// How much it printed.
    pub output_bytes: Option<u64>,
}

/// Something that happened to a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskEvent {
    /// When.
    pub at_ms: u64,
    /// What.
    pub kind: EventKind,
    /// More, in few words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
}

/// On which channel an owner is told: on its own, unless it is itself one that speaks with its parent only. Work that no
/// session owns is told where it was asked for.
pub fn origin_for(owner: Option<&SessionRow>, child: Option<&SessionRow>) -> Option<Origin> {
    let speaks = owner.or(child)?;
    match speaks.interaction {
        Interaction::Interactive => speaks.origin.clone(),
        Interaction::ParentOwnedBackground => None,
    }
}

impl TaskRow {
    /// It begins.
    pub fn start(&mut self, started_at_ms: u64, now_ms: u64) -> Result<(Step, TaskEvent), Refused> {
        let step = step(self.status, Event::Started)?;
        self.status = step.to;
        self.started_at_ms = Some(started_at_ms.max(self.created_at_ms));
        Ok((step, self.happened(EventKind::Started, None, now_ms)))
    }

    /// It goes on. What was said is put in few words here.
    pub fn go_on(&mut self, progress: &Progress, now_ms: u64) -> Result<(Step, TaskEvent), Refused> {
        let step = step(self.status, Event::Progressed)?;
        let summary = text::last_line(&progress.said, defaults::TASK_SUMMARY);
        self.progress_summary = Some(summary.clone());
        self.steps = progress.steps.as_deref().map(|steps| text::line(steps, defaults::TASK_SUMMARY));
        Ok((step, self.happened(EventKind::Progress, Some(summary), now_ms)))
    }

    /// Somebody wants it ended.
    pub fn ask_cancel(&mut self, now_ms: u64) -> Result<(Step, TaskEvent), Refused> {
        let step = step(self.status, Event::CancelAsked)?;
        self.cancel_asked_at_ms.get_or_insert(now_ms);
        Ok((step, self.happened(EventKind::CancelAsked, None, now_ms)))
    }

    /// It has ended, or is given up.
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

    /// Something else of it is told from now on.
    pub fn set_policy(&mut self, policy: NotifyPolicy, now_ms: u64) -> TaskEvent {
        self.policy = policy;
        self.happened(EventKind::Policy, Some(policy.word().to_owned()), now_ms)
    }

    fn happened(&mut self, kind: EventKind, summary: Option<String>, now_ms: u64) -> TaskEvent {
        self.last_event_at_ms = self.last_event_at_ms.max(now_ms);
        TaskEvent { at_ms: now_ms, kind, summary }
    }

    /// Whether it succeeded without having printed anything, and nobody wants to hear of that.
    pub(super) fn is_not_worth_telling(&self) -> bool {
        let printed_nothing = self.outcome.as_ref().is_some_and(|it| it.output_bytes == Some(0));
        !self.tells_quiet_success && self.status == Status::Succeeded && printed_nothing
    }
}

/// How long a task is kept that ended so, in milliseconds.
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
