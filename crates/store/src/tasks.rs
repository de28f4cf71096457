//! What the registry keeps of tasks and of the notices that are due. What becomes of a task, whom it is told and in which
//! words is decided by [`tenure_core::task`], inside the transaction that changes it.

use crate::Reply;
use serde::{Deserialize, Serialize};
use tenure_core::ids::{InstanceId, RunId, TaskId, TurnId};
use tenure_core::session::{Origin, SessionKey};
use tenure_core::task::{Finding, Kind, Notice, NoticeKey, NotifyPolicy, Progress, Status, TaskRow};
use tenure_core::tools::tasks::{TaskNotice, TaskReset};

/// A task that is asked for with what it tracks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewTask {
    /// What it is to be called.
    pub id: TaskId,
    /// What of it is told.
    pub policy: NotifyPolicy,
    /// Whether it is told that a command succeeded without having printed anything.
    pub tells_quiet_success: bool,
    /// Who is told. Without it, whom the work belongs to: the run's session, or the owner of the turn's session.
    pub owner: Option<SessionKey>,
    /// On which channel. Without it, on the owner's own.
    pub origin: Option<Origin>,
    /// What people call it.
    pub label: Option<String>,
}

/// A task, by itself or by what it tracks.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Tracked {
    /// The task.
    Task(TaskId),
    /// The one that tracks this run.
    Run(RunId),
    /// The one that tracks this turn.
    Turn(TurnId),
}

/// What a person's words for a task come to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// Nothing.
    None,
    /// This task.
    One(Box<TaskRow>),
    /// One of these, and perhaps of more.
    Several(Vec<TaskId>),
}

/// Which tasks are meant.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TaskQuery {
    /// Only those that are so; empty means any.
    pub statuses: Vec<Status>,
    /// Only of these kinds; empty means any.
    pub kinds: Vec<Kind>,
    /// Only those that this session is told of.
    pub owner: Option<SessionKey>,
    /// Only those of this session's turns.
    pub child: Option<SessionKey>,
    /// Only those that this session is told of, or whose work it did; then neither an owner nor a child is named.
    pub of: Option<SessionKey>,
    /// Only those older than this.
    pub after: Option<TaskCursor>,
    /// At most so many.
    pub limit: usize,
}

/// A place in a list of tasks, the newest first.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskCursor {
    /// When the last task of the page was asked for.
    pub created_at_ms: u64,
    /// Its id.
    pub task_id: TaskId,
}

/// A part of a list. It may be shorter than was asked for while there is a next one: what cannot be read is left out.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TaskPage {
    /// The tasks.
    pub tasks: Vec<TaskRow>,
    /// Where the next page begins, if there is one.
    pub next: Option<TaskCursor>,
}

/// What came of the wish to end a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CancelAsked {
    /// There is no such task.
    NoTask,
    /// It is over already, as its status says.
    Over(Box<TaskRow>),
    /// It is noted: whoever asked ends what the task tracks, and that end decides.
    Noted(Box<TaskRow>),
}

/// The right to try the delivery of a notice, once.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Claim {
    /// Which notice.
    pub key: NoticeKey,
    /// The number of the try.
    pub attempt: u64,
}

/// A notice that is to be delivered now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claimed {
    /// What is to be settled afterwards.
    pub claim: Claim,
    /// What is delivered.
    pub notice: Notice,
    /// How many tries there have been with this one: for [`Schedule`](tenure_core::task::Schedule).
    pub tries: u32,
}

/// How a try went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tried {
    /// The channel has taken it.
    Delivered,
    /// It has not, and is tried again then.
    Again {
        /// What went wrong.
        error: String,
        /// When.
        at_ms: u64,
    },
    /// It has not, and is not tried again: it waits for the owner's next turn, or has failed where there is none.
    GivenUp {
        /// What went wrong.
        error: String,
    },
}

/// A notice that waits for its session's next turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Queued {
    /// What waits.
    pub notice: Notice,
    /// What went wrong on its channel, if it was to go there first.
    pub last_error: Option<String>,
}

/// How much is not settled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Backlog {
    /// Tasks that have not begun.
    pub tasks_queued: u64,
    /// Tasks that are under way.
    pub tasks_running: u64,
    /// Notices that a channel is to take.
    pub notices_due: u64,
    /// Notices that wait for a session's next turn.
    pub notices_queued: u64,
    /// Notices that nobody took.
    pub notices_failed: u64,
}

/// What a sweep did, or would do.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Swept {
    /// The tasks that nothing is behind any more: they are lost.
    pub lost: Vec<TaskId>,
    /// The tasks that have ended and would never go: from now on they will.
    pub stamped: Vec<TaskId>,
    /// The tasks that were kept for long enough: they are gone.
    pub removed: Vec<TaskId>,
}

/// When and how far a sweep looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sweep {
    /// Now.
    pub now_ms: u64,
    /// How long a task may go without anything behind it.
    pub grace_ms: u64,
    /// How many tasks of each list at most.
    pub limit: usize,
    /// True if tasks that were kept for long enough are removed.
    pub removes: bool,
}

/// A task with which something is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Audited {
    /// Which.
    pub task: TaskRow,
    /// What.
    pub findings: Vec<Finding>,
}

/// What the registry keeps of tasks. Every call is one transaction. A task is made by what makes that which it tracks
/// (`create`, `begin_turn`, `queue_message`, `go_background`) and ended by what ends it (`record`, `end_turn`,
/// `withdraw_message`): with its notice, or not at all. Reading changes nothing.
pub trait TaskRegistry: Send + Sync + 'static {
    /// One task, with its latest events.
    fn task(&self, which: Tracked) -> Reply<Option<TaskRow>>;
    /// The task that a person means: by the beginning of its id or of its run's, or by the key of a session. Of several
    /// turns of a session it is the one under way, else the newest; of several tasks that a session owns, the one that
    /// is not over.
    fn find_task(&self, text: String) -> Reply<Found>;
    /// A page of tasks, the newest first, with their latest events.
    fn tasks(&self, query: TaskQuery) -> Reply<TaskPage>;
    /// Has something else of a task told from now on. Who is to hear nothing gets nothing that is not on its way.
    fn set_policy(&self, task: TaskId, policy: NotifyPolicy, at_ms: u64) -> Reply<Option<TaskRow>>;
    /// Notes that somebody wants a task ended. Nothing is ended by that.
    fn ask_cancel(&self, task: TaskId, at_ms: u64) -> Reply<CancelAsked>;
    /// Notes how a task goes; `false` if it is not under way. How often that is done is the caller's to decide, by
    /// [`progress`](tenure_core::task::progress).
    fn note_progress(&self, which: Tracked, progress: Progress, at_ms: u64) -> Reply<bool>;
    /// The owner has seen how the task ended: what was not told yet will not be. `false` if there was nothing to take
    /// back.
    fn acknowledge_task(&self, which: Tracked, at_ms: u64) -> Reply<bool>;

    /// Takes up to `limit` notices of a channel that are due, for oneself until `until_ms`: whoever does not settle one
    /// by then leaves it to others. Of each task the first comes first.
    #[expect(clippy::too_many_arguments, reason = "who, what, until when and how many")]
    fn claim_notices(
        &self,
        channel: String,
        by: InstanceId,
        now_ms: u64,
        until_ms: u64,
        limit: usize,
    ) -> Reply<Vec<Claimed>>;
    /// Keeps a notice for longer; `false` if it is not one's own any more, or need not be told any more.
    fn renew_notice(&self, claim: Claim, until_ms: u64) -> Reply<bool>;
    /// Says how a try went; `false` if that is not one's to say any more.
    fn settle_notice(&self, claim: Claim, tried: Tried, at_ms: u64) -> Reply<bool>;
    /// Lets go of all notices that this instance has taken: after a start, those that it left. What was not carried through
    /// counts as no try. How many.
    fn release_notices(&self, of: InstanceId, now_ms: u64) -> Reply<u64>;
    /// For each channel that has notices due, when the next is.
    fn next_notices(&self) -> Reply<Vec<(String, u64)>>;
    /// Has the notices of a task tried anew that nobody took, or that went to the queue instead. How many.
    fn retry_notices(&self, task: TaskId, at_ms: u64) -> Reply<u64>;
    /// What waits for a session's next turn, the oldest first.
    fn queued_notices(&self, session: SessionKey, limit: usize) -> Reply<Vec<Queued>>;
    /// The session has got these of its notices. How many it had not.
    fn take_notices(&self, session: SessionKey, keys: Vec<NoticeKey>, at_ms: u64) -> Reply<u64>;
    /// The notices of a task, the oldest first.
    fn task_notices(&self, task: TaskId) -> Reply<Vec<TaskNotice>>;
    /// How much is not settled.
    fn backlog(&self) -> Reply<Backlog>;

    /// Gives a task up that is not over and that nothing is behind any more; `false` if that is not so.
    fn lose_task(&self, task: TaskId, why: String, at_ms: u64) -> Reply<bool>;
    /// Gives up what nothing has been behind for long, and removes what was kept for long enough.
    fn sweep_tasks(&self, sweep: Sweep) -> Reply<Swept>;
    /// What [`sweep_tasks`](Self::sweep_tasks) would do.
    fn preview_sweep(&self, sweep: Sweep) -> Reply<Swept>;
    /// Discards all tasks and their notices. What they tracked is left as it is, and ends without being told.
    fn reset_tasks(&self, by: InstanceId, at_ms: u64) -> Reply<TaskReset>;
    /// What [`reset_tasks`](Self::reset_tasks) would discard.
    fn preview_reset(&self) -> Reply<TaskReset>;
    /// The tasks with which something is wrong, at most `limit`.
    fn audit_tasks(&self, now_ms: u64, limit: usize) -> Reply<Vec<Audited>>;
}
