//! The registry of tasks and due notices. [`tenure_core::task`] decides a task's state, its notices and their
//! texts, inside the transaction that changes it.

use crate::{NewEvent, Reply};
use serde::{Deserialize, Serialize};
use tenure_core::ids::{InstanceId, RunId, TaskId, TurnId};
use tenure_core::session::{Origin, SessionKey};
use tenure_core::task::{Finding, Kind, Notice, NoticeKey, NotifyPolicy, Progress, Status, TaskRow};
use tenure_core::tools::tasks::{TaskNotice, TaskReset};

/// A request for a task, made together with the work that it tracks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewTask {
    /// The task's id.
    pub id: TaskId,
    /// The notify policy.
    pub policy: NotifyPolicy,
    /// True if the owner is told of a success without any output.
    pub tells_quiet_success: bool,
    /// The owner; without it, the run's session, or the owner of the turn's session.
    pub owner: Option<SessionKey>,
    /// The channel; without it, the owner's own.
    pub origin: Option<Origin>,
    /// The label.
    pub label: Option<String>,
}

/// A task, by its id or by the work that it tracks.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Tracked {
    /// The task.
    Task(TaskId),
    /// The task that tracks this run.
    Run(RunId),
    /// The task that tracks this turn.
    Turn(TurnId),
}

/// The result of a lookup by a person's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// No task.
    None,
    /// This task.
    One(Box<TaskRow>),
    /// Several tasks match: these, and perhaps more.
    Several(Vec<TaskId>),
}

/// The filters of a list of tasks.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TaskQuery {
    /// Only tasks with one of these statuses; empty means any.
    pub statuses: Vec<Status>,
    /// Only tasks of these kinds; empty means any.
    pub kinds: Vec<Kind>,
    /// Only tasks that this session owns.
    pub owner: Option<SessionKey>,
    /// Only tasks of this session's turns.
    pub child: Option<SessionKey>,
    /// Only tasks that this session owns or worked on; excludes the filters `owner` and `child`.
    pub of: Option<SessionKey>,
    /// Only tasks older than this.
    pub after: Option<TaskCursor>,
    /// The maximum number of tasks.
    pub limit: usize,
}

/// A position in a list of tasks, the newest first.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskCursor {
    /// The time of creation of the page's last task.
    pub created_at_ms: u64,
    /// The id of that task.
    pub task_id: TaskId,
}

/// A page of a list. It may be shorter than requested although there is a next one, because unreadable tasks are
/// left out.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TaskPage {
    /// The tasks.
    pub tasks: Vec<TaskRow>,
    /// The start of the next page, if there is one.
    pub next: Option<TaskCursor>,
}

/// The result of requesting a task's cancellation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CancelAsked {
    /// The task does not exist.
    NoTask,
    /// The task has ended already, as its status says.
    Over(Box<TaskRow>),
    /// The request is recorded. The caller must now end the task's work, and that end decides the status.
    Noted(Box<TaskRow>),
}

/// The right to one delivery attempt of a notice.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Claim {
    /// The notice's key.
    pub key: NoticeKey,
    /// The number of the attempt.
    pub attempt: u64,
}

/// A notice to deliver now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claimed {
    /// The claim to settle afterwards.
    pub claim: Claim,
    /// The notice.
    pub notice: Notice,
    /// The number of attempts, including this one: for [`Schedule`](tenure_core::task::Schedule).
    pub tries: u32,
}

/// The result of a delivery attempt.
#[derive(Debug, Clone, PartialEq)]
pub enum Tried {
    /// The channel accepted the notice.
    Delivered,
    /// Listeners are told by this event, which is recorded with it or not at all.
    Told(NewEvent),
    /// The channel did not accept it; it will be tried again.
    Again {
        /// The error.
        error: String,
        /// The time of the next attempt.
        at_ms: u64,
    },
    /// The channel did not accept it and is not tried again: the notice waits for the owner's next turn, or has
    /// failed if there is none.
    GivenUp {
        /// The error.
        error: String,
    },
}

/// A notice that waits for its session's next turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Queued {
    /// The notice.
    pub notice: Notice,
    /// The last error of its channel, if it was meant for one.
    pub last_error: Option<String>,
}

/// The number of unsettled tasks and notices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Backlog {
    /// Tasks that have not begun.
    pub tasks_queued: u64,
    /// Running tasks.
    pub tasks_running: u64,
    /// Notices that are due on a channel.
    pub notices_due: u64,
    /// Notices that wait for a session's next turn.
    pub notices_queued: u64,
    /// Notices whose delivery failed.
    pub notices_failed: u64,
}

/// The result of a sweep, or its preview.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Swept {
    /// Tasks that are lost, because nothing backs them any more.
    pub lost: Vec<TaskId>,
    /// Ended tasks that had no time of removal, and get one.
    pub stamped: Vec<TaskId>,
    /// Tasks that are removed, because their retention has passed.
    pub removed: Vec<TaskId>,
}

/// The parameters of a sweep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sweep {
    /// The present time.
    pub now_ms: u64,
    /// The time that a task may go without backing.
    pub grace_ms: u64,
    /// The maximum number of tasks in each list.
    pub limit: usize,
    /// True to remove tasks whose retention has passed.
    pub removes: bool,
}

/// A task with problems.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Audited {
    /// The task.
    pub task: TaskRow,
    /// The problems.
    pub findings: Vec<Finding>,
}

/// The registry of tasks. Every call is one transaction. A task is created with the work that it tracks (`create`,
/// `begin_turn`, `queue_message`, `go_background`) and ended with that work's end (`record`, `end_turn`,
/// `withdraw_message`), including its notice, or not at all. Reading changes nothing.
pub trait TaskRegistry: Send + Sync + 'static {
    /// Returns a task with its latest events.
    fn task(&self, which: Tracked) -> Reply<Option<TaskRow>>;
    /// Returns the task that a person means: by a prefix of its id or of its run's, or by a session's key. Of
    /// several turns of a session it is the running one, else the newest; of several tasks that a session owns, the
    /// one that has not ended.
    fn find_task(&self, text: String) -> Reply<Found>;
    /// Returns a page of tasks, the newest first, with their latest events.
    fn tasks(&self, query: TaskQuery) -> Reply<TaskPage>;
    /// Changes a task's notify policy. With a silent policy, only notices that are on their way are still
    /// delivered.
    fn set_policy(&self, task: TaskId, policy: NotifyPolicy, at_ms: u64) -> Reply<Option<TaskRow>>;
    /// Records a request for cancellation. Nothing is ended by that.
    fn ask_cancel(&self, task: TaskId, at_ms: u64) -> Reply<CancelAsked>;
    /// Records a task's progress; `false` if it is not running. The caller decides the pace, by
    /// [`progress`](tenure_core::task::progress).
    fn note_progress(&self, which: Tracked, progress: Progress, at_ms: u64) -> Reply<bool>;
    /// Records that the owner has seen the end: notices that were not delivered yet are dropped. `false` if there
    /// was none.
    fn acknowledge_task(&self, which: Tracked, at_ms: u64) -> Reply<bool>;

    /// Claims up to `limit` due notices of a channel until `until_ms`; those that are not settled by then are free
    /// for others. The first notice of a task comes first.
    #[expect(clippy::too_many_arguments, reason = "who, what, until when and how many")]
    fn claim_notices(
        &self,
        channel: String,
        by: InstanceId,
        now_ms: u64,
        until_ms: u64,
        limit: usize,
    ) -> Reply<Vec<Claimed>>;
    /// Extends a claim; `false` if it has passed to another daemon, or the notice is no longer needed.
    fn renew_notice(&self, claim: Claim, until_ms: u64) -> Reply<bool>;
    /// Records the result of an attempt; `false` if the claim has passed to another daemon.
    fn settle_notice(&self, claim: Claim, tried: Tried, at_ms: u64) -> Reply<bool>;
    /// Releases all claims of this instance: after a start, those that the earlier daemon left. An unfinished
    /// attempt does not count. Returns their number.
    fn release_notices(&self, of: InstanceId, now_ms: u64) -> Reply<u64>;
    /// Returns, for each channel with due notices, the time of the next one.
    fn next_notices(&self) -> Reply<Vec<(String, u64)>>;
    /// Makes failed and queued notices of a task due again on their channel. Returns their number.
    fn retry_notices(&self, task: TaskId, at_ms: u64) -> Reply<u64>;
    /// Returns the notices that wait for a session's next turn, the oldest first.
    fn queued_notices(&self, session: SessionKey, limit: usize) -> Reply<Vec<Queued>>;
    /// Records that the session has got these notices. Returns the number of new ones.
    fn take_notices(&self, session: SessionKey, keys: Vec<NoticeKey>, at_ms: u64) -> Reply<u64>;
    /// Returns the notices of a task, the oldest first.
    fn task_notices(&self, task: TaskId) -> Reply<Vec<TaskNotice>>;
    /// Returns the number of unsettled tasks and notices.
    fn backlog(&self) -> Reply<Backlog>;

    /// Marks a task lost that has not ended and that nothing backs any more; `false` if that is not so.
    fn lose_task(&self, task: TaskId, why: String, at_ms: u64) -> Reply<bool>;
    /// Marks tasks lost that had no backing for long, and removes those whose retention has passed.
    fn sweep_tasks(&self, sweep: Sweep) -> Reply<Swept>;
    /// Returns the result that [`sweep_tasks`](Self::sweep_tasks) would have.
    fn preview_sweep(&self, sweep: Sweep) -> Reply<Swept>;
    /// Discards all tasks and their notices. Their work goes on, and its end is not told.
    fn reset_tasks(&self, by: InstanceId, at_ms: u64) -> Reply<TaskReset>;
    /// Returns the counts that [`reset_tasks`](Self::reset_tasks) would have.
    fn preview_reset(&self) -> Reply<TaskReset>;
    /// Returns the tasks with problems, at most `limit`.
    fn audit_tasks(&self, now_ms: u64, limit: usize) -> Reply<Vec<Audited>>;
}
