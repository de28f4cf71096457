//! The registry of the agent's tools.

use crate::{NewTask, Reply};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tenure_core::ids::{InstanceId, RunId};
use tenure_core::tools::Notify;

/// The state of an exec run towards its owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExecRow {
    /// The cases in which its end in the background is told.
    pub notify: Notify,
    /// True if it went to the background.
    pub background: bool,
    /// The position up to which the owner has read, as the reader encodes it.
    pub read_to: Option<String>,
}

/// A request for approval.
#[derive(Debug, Clone, PartialEq)]
pub struct NewApproval {
    /// The id that the run will have.
    pub id: RunId,
    /// The time of the request.
    pub created_at_ms: u64,
    /// The time when the request expires.
    pub expires_at_ms: u64,
    /// The instance that asks.
    pub instance: InstanceId,
    /// The session that asks.
    pub session: Option<String>,
    /// The data that a person reads to decide, and that is executed then.
    pub asked: Value,
}

/// A request for approval, as stored.
#[derive(Debug, Clone, PartialEq)]
pub struct ApprovalRow {
    /// The request.
    pub approval: NewApproval,
    /// The state.
    pub state: ApprovalState,
    /// The time of the answer.
    pub answered_at_ms: Option<u64>,
    /// The person or client that answered.
    pub answered_by: Option<String>,
}

/// The state of a request for approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ApprovalState {
    /// The request is unanswered.
    Pending,
    /// The command may run this once.
    AllowedOnce,
    /// The command may run, now and later without approval.
    AllowedAlways,
    /// The command may not run.
    Denied,
    /// The request expired.
    Expired,
}

/// An answer to a request for approval.
#[derive(Debug, Clone, PartialEq)]
pub struct NewAnswer {
    /// The new state; not `Pending`.
    pub state: ApprovalState,
    /// The time.
    pub at_ms: u64,
    /// The person or client that answers.
    pub by: String,
    /// The data of the request to keep from now on.
    pub asked: Value,
    /// New entries for the allowlist.
    pub entries: Vec<Value>,
}

/// An entry of the allowlist.
#[derive(Debug, Clone, PartialEq)]
pub struct AllowRow {
    /// The entry's number.
    pub id: u64,
    /// The time when it was added.
    pub added_at_ms: u64,
    /// The person or client that added it.
    pub added_by: String,
    /// The time when a command last ran by it.
    pub last_used_at_ms: Option<u64>,
    /// The number of commands that ran by it.
    pub uses: u64,
    /// The allowed program and its arguments.
    pub entry: Value,
}

/// The registry of the agent's tools. Every call is one transaction.
pub trait ToolRegistry: Send + Sync + 'static {
    /// Returns the state of an exec run towards its owner; `None` for other runs.
    fn exec_run(&self, run: RunId) -> Reply<Option<ExecRow>>;
    /// Moves a run to the background. From now on a task tracks it, and tells the end to its owner and to the event
    /// stream.
    fn go_background(&self, run: RunId, task: NewTask) -> Reply<()>;
    /// Returns the runs of this instance that have not ended and are in the foreground: a client waits for them.
    fn waited_for(&self, instance: InstanceId) -> Reply<Vec<RunId>>;
    /// Records the position up to which the owner has read.
    fn read_to(&self, run: RunId, mark: String) -> Reply<()>;

    /// Records a request for approval.
    fn ask_person(&self, approval: NewApproval) -> Reply<()>;
    /// Returns a request for approval.
    fn approval(&self, id: RunId) -> Reply<Option<ApprovalRow>>;
    /// Returns requests for approval, the newest first: the pending ones, or the last `limit` of all.
    fn approvals(&self, pending_only: bool, limit: usize) -> Reply<Vec<ApprovalRow>>;
    /// Answers a pending request that has not expired; `false` otherwise.
    fn answer(&self, id: RunId, answer: NewAnswer) -> Reply<bool>;
    /// Closes the expired requests, and returns them.
    fn expire_approvals(&self, now_ms: u64) -> Reply<Vec<RunId>>;
    /// Removes requests that were closed before this.
    fn trim_approvals(&self, before_ms: u64) -> Reply<()>;

    /// Adds an entry to the allowlist; returns its number, also if it existed.
    fn allow(&self, entry: Value, by: String, at_ms: u64) -> Reply<u64>;
    /// Returns the whole allowlist, the oldest first.
    fn allowlist(&self) -> Reply<Vec<AllowRow>>;
    /// Removes an entry; `false` if there is none.
    fn disallow(&self, id: u64) -> Reply<bool>;
    /// Records the use of these entries.
    fn used(&self, ids: Vec<u64>, at_ms: u64) -> Reply<()>;
}
