//! `tasks`: what is asked of tasks, and what is answered.

use crate::ids::TaskId;
use crate::session::Visibility;
use crate::task::{Finding, Kind, NoticeKey, NotifyPolicy, Status, TaskRow};
use serde::{Deserialize, Serialize};

/// What is to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    /// Which tasks there are.
    List,
    /// How one is.
    Show,
    /// What of it is told from now on.
    Notify,
    /// End what it tracks.
    Cancel,
    /// Try again to tell its owner.
    Retry,
    /// Say that its owner has heard how it ended: for who listens to events.
    Acknowledge,
    /// What is wrong with tasks.
    Audit,
    /// Close, tell and forget what is due; only said, unless `apply`.
    Maintenance,
    /// Discard all tasks and their notices, and nothing else; only said, unless `apply`.
    Reset,
}

/// What `tasks` is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TasksRequest {
    /// What to do.
    pub action: Action,
    /// Which task: its id, the id of its run, a unique beginning of either, or a session's key, which means
    /// the task of that session that is under way, else its newest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lookup: Option<String>,
    /// For `list`: only those that are so.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub statuses: Vec<Status>,
    /// For `list`: only of this kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<Kind>,
    /// For `list`: only those that this session owns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// For `list`: the `next` of the page before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// For `list`: at most so many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// For `notify`: what of it is told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<NotifyPolicy>,
    /// For `maintenance`: whether it is done, not only said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub apply: Option<bool>,
    /// The session that asks. A caller that is bound to a session can name no other.
    #[serde(rename = "as", default, skip_serializing_if = "Option::is_none")]
    pub requester: Option<String>,
    /// Which sessions it may see; without it, as the settings say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub visibility: Option<Visibility>,
    /// Whether it is shut in; one that is recorded as shut in always is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandboxed: Option<bool>,
}

impl TasksRequest {
    /// A request that says what to do, and nothing more.
    pub fn new(action: Action) -> Self {
        Self {
            action,
            lookup: None,
            statuses: Vec::new(),
            kind: None,
            owner: None,
            after: None,
            limit: None,
            policy: None,
            apply: None,
            requester: None,
            visibility: None,
            sandboxed: None,
        }
    }
}

/// What `tasks` answers. What is not asked for is not there.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct TasksReply {
    /// The task, as it is now: for `show`, `notify`, `cancel`, `retry` and `acknowledge`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Object>))]
    pub task: Option<TaskRow>,
    /// For `show`: what its owner was told of it and is to be told, the oldest first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notices: Option<Vec<TaskNotice>>,
    /// For `list`: those there are, the newest first.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Vec<Object>>))]
    pub tasks: Option<Vec<TaskRow>>,
    /// For `list`: what `after` is to be for the next page, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
    /// For `audit`: what is wrong; nothing, if it is empty.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub findings: Option<Vec<TaskFinding>>,
    /// For `maintenance`: what is due, or was done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub maintenance: Option<Maintenance>,
    /// For `reset`: what would be discarded, or was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reset: Option<TaskReset>,
}

/// A notice of a task: what became of it, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct TaskNotice {
    /// What it is called.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub key: NoticeKey,
    /// What it is for: `change`, `terminal` or `correction`.
    pub purpose: String,
    /// On which channel; none for one that went to the owner's queue at once.
    pub channel: Option<String>,
    /// What became of it: `due`, `queued`, `delivered`, `taken`, `acknowledged`, `dropped` or `failed`.
    pub state: String,
    /// How often its channel was tried.
    pub attempts: u64,
    /// When it was made.
    pub created_at_ms: u64,
    /// When its channel is tried next.
    pub next_at_ms: Option<u64>,
    /// When that became of it.
    pub settled_at_ms: Option<u64>,
    /// What went wrong last.
    pub last_error: Option<String>,
}

/// Something that is wrong with a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct TaskFinding {
    /// Which task.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub task_id: TaskId,
    /// What.
    #[serde(flatten)]
    #[cfg_attr(feature = "openapi", schema(value_type = Object))]
    pub finding: Finding,
}

/// What is due.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Maintenance {
    /// Whether it was done.
    pub applied: bool,
    /// Those that are given up, because nothing is behind them any more.
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<String>))]
    pub lost: Vec<TaskId>,
    /// Those that have ended and would never go: from now on they will.
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<String>))]
    pub reconciled: Vec<TaskId>,
    /// How many are forgotten.
    pub pruned: u64,
}

/// What a reset discards: task state alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct TaskReset {
    /// Whether it was done.
    pub applied: bool,
    /// How many tasks there are.
    pub tasks: u64,
    /// How many of them are not over: what they track goes on.
    pub active: u64,
    /// How many notices nobody has got yet.
    pub notices: u64,
}
