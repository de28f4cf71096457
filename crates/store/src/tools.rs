//! What the registry keeps for the agent's tools.

use crate::{NewEvent, NewTask, Reply};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tenure_core::ids::{InstanceId, RunId};
use tenure_core::tools::Notify;

/// Where an exec run stands with its owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExecRow {
    /// When its end in the background is told.
    pub notify: Notify,
    /// Whether it went to the background.
    pub background: bool,
    /// Whether its end was told.
    pub notice: Notice,
    /// Up to where the owner has read, as the reader wrote it.
    pub read_to: Option<String>,
}

/// Whether the end of a run is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Notice {
    /// It is not.
    None,
    /// It will be, unless the owner sees it first.
    Owed,
    /// It was.
    Told,
    /// The owner saw it first.
    Acknowledged,
}

/// Something that a person is asked.
#[derive(Debug, Clone, PartialEq)]
pub struct NewApproval {
    /// The id that the run will have.
    pub id: RunId,
    /// When.
    pub created_at_ms: u64,
    /// Until when it can be answered.
    pub expires_at_ms: u64,
    /// Whose daemon asks.
    pub instance: InstanceId,
    /// The session that wants it.
    pub session: Option<String>,
    /// What a person reads to decide, and what is executed then.
    pub asked: Value,
}

/// Something that a person was asked.
#[derive(Debug, Clone, PartialEq)]
pub struct ApprovalRow {
    /// What.
    pub approval: NewApproval,
    /// What came of it.
    pub state: ApprovalState,
    /// When it was answered.
    pub answered_at_ms: Option<u64>,
    /// By whom.
    pub answered_by: Option<String>,
}

/// What came of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ApprovalState {
    /// Nobody has answered.
    Pending,
    /// It may run, this time.
    AllowedOnce,
    /// It may run, and the same again without asking.
    AllowedAlways,
    /// It may not.
    Denied,
    /// Nobody answered in time.
    Expired,
}

/// How a question is answered.
#[derive(Debug, Clone, PartialEq)]
pub struct NewAnswer {
    /// What; not `Pending`.
    pub state: ApprovalState,
    /// When.
    pub at_ms: u64,
    /// By whom.
    pub by: String,
    /// What is kept of the question from now on.
    pub asked: Value,
    /// Entries for the allowlist that come with it.
    pub entries: Vec<Value>,
}

/// An entry of the allowlist.
#[derive(Debug, Clone, PartialEq)]
pub struct AllowRow {
    /// Its number.
    pub id: u64,
    /// When it was added.
    pub added_at_ms: u64,
    /// By whom.
    pub added_by: String,
    /// When something was last run by it.
    pub last_used_at_ms: Option<u64>,
    /// How often.
    pub uses: u64,
    /// What it allows.
    pub entry: Value,
}

/// What the registry keeps for the agent's tools. Every call is one transaction.
pub trait ToolRegistry: Send + Sync + 'static {
    /// Where an exec run stands with its owner; `None` if the run is none of exec's.
    fn exec_run(&self, run: RunId) -> Reply<Option<ExecRow>>;
    /// A run goes on in the background: its end is owed to those who listen, unless that was not wanted. A task tracks it
    /// from now on, and tells its owner how it ended.
    fn go_background(&self, run: RunId, task: Option<NewTask>) -> Reply<()>;
    /// The runs of this instance that have not ended and did not go to the background: somebody waits for them.
    fn waited_for(&self, instance: InstanceId) -> Reply<Vec<RunId>>;
    /// The owner has read up to here.
    fn read_to(&self, run: RunId, mark: String) -> Reply<()>;
    /// The owner knows how it ended; `false` if that was told already, or is nobody's business.
    fn acknowledge(&self, run: RunId) -> Reply<bool>;
    /// Tells how it ended, if that is still owed: the event is recorded with it, or not at all.
    fn tell_owed(&self, run: RunId, event: NewEvent) -> Reply<bool>;
    /// The runs of this instance that have ended and whose end is owed.
    fn owed(&self, instance: InstanceId) -> Reply<Vec<RunId>>;

    /// Asks a person.
    fn ask_person(&self, approval: NewApproval) -> Reply<()>;
    /// One question.
    fn approval(&self, id: RunId) -> Reply<Option<ApprovalRow>>;
    /// Questions, the newest first: those that wait for an answer, or the last `limit` of all.
    fn approvals(&self, pending_only: bool, limit: usize) -> Reply<Vec<ApprovalRow>>;
    /// Answers a question that waits for it and has not expired; `false` if it does not.
    fn answer(&self, id: RunId, answer: NewAnswer) -> Reply<bool>;
    /// Closes the questions that nobody answered in time, and returns them.
    fn expire_approvals(&self, now_ms: u64) -> Reply<Vec<RunId>>;
    /// Removes questions that were closed before this.
    fn trim_approvals(&self, before_ms: u64) -> Reply<()>;

    /// Adds to the allowlist; the number of the entry, which may have been there.
    fn allow(&self, entry: Value, by: String, at_ms: u64) -> Reply<u64>;
    /// The whole allowlist, the oldest first.
    fn allowlist(&self) -> Reply<Vec<AllowRow>>;
    /// Takes an entry off; `false` if there is none.
    fn disallow(&self, id: u64) -> Reply<bool>;
    /// These entries were used.
    fn used(&self, ids: Vec<u64>, at_ms: u64) -> Reply<()>;
}
