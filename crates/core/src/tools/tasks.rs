//! `tasks`: manages tasks.

use crate::ids::TaskId;
use crate::session::Visibility;
use crate::task::{Finding, Kind, NoticeKey, NotifyPolicy, Status, TaskRow};
use serde::{Deserialize, Serialize};

/// The action of `tasks`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    /// List the tasks.
    List,
    /// Show a task.
    Show,
    /// Change the notices that the owner gets.
    Notify,
    /// Cancel the task's work.
    Cancel,
    /// Retry the delivery of the task's notice.
    Retry,
    /// Acknowledge the end of the task: for owners who follow the event stream.
    Acknowledge,
    /// Find problems of tasks.
    Audit,
    /// Mark lost tasks, repair and remove; only reported, unless `apply`.
    Maintenance,
    /// Discard all tasks and their notices, and nothing else; only reported, unless `apply`.
    Reset,
}

/// The request of `tasks`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TasksRequest {
    /// The action.
    pub action: Action,
    /// The task: its id, the id of its run, a unique prefix of either, or a session's key, which means the running
    /// task of that session, else its newest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lookup: Option<String>,
    /// For `list`: only tasks with one of these statuses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub statuses: Vec<Status>,
    /// For `list`: only tasks of this kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<Kind>,
    /// For `list`: only tasks that this session owns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// For `list`: the `next` value of the previous page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// For `list`: the maximum number of tasks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// For `notify`: the notices that the owner gets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<NotifyPolicy>,
    /// For `maintenance` and `reset`: true to act, not only to report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub apply: Option<bool>,
    /// The requesting session. A caller that is bound to a session can name no other.
    #[serde(rename = "as", default, skip_serializing_if = "Option::is_none")]
    pub requester: Option<String>,
    /// The sessions that the requester may see. Default: as the settings say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub visibility: Option<Visibility>,
    /// True to treat the requester as sandboxed; a session that is recorded as sandboxed always is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandboxed: Option<bool>,
}

impl TasksRequest {
    /// Makes a request with an action and nothing else.
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

/// The reply of `tasks`. Fields that do not belong to the action are left out.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct TasksReply {
    /// For `show`, `notify`, `cancel`, `retry` and `acknowledge`: the task.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Object>))]
    pub task: Option<TaskRow>,
    /// For `show`: the notices to its owner, sent or due, the oldest first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notices: Option<Vec<TaskNotice>>,
    /// For `list`: the tasks, the newest first.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Vec<Object>>))]
    pub tasks: Option<Vec<TaskRow>>,
    /// For `list`: the value of `after` for the next page, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
    /// For `audit`: the problems; empty if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub findings: Option<Vec<TaskFinding>>,
    /// For `maintenance`: the work that is due, or was done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub maintenance: Option<Maintenance>,
    /// For `reset`: the number of items that would be discarded, or were.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reset: Option<TaskReset>,
}

/// A notice of a task, with its delivery.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct TaskNotice {
    /// The notice's key.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub key: NoticeKey,
    /// The purpose: `change`, `terminal` or `correction`.
    pub purpose: String,
    /// The channel; none for a notice that went directly to the owner's queue.
    pub channel: Option<String>,
    /// The state: `due`, `queued`, `delivered`, `taken`, `acknowledged`, `dropped` or `failed`.
    pub state: String,
    /// The number of delivery attempts.
    pub attempts: u64,
    /// The time when it was created.
    pub created_at_ms: u64,
    /// The time of the next attempt.
    pub next_at_ms: Option<u64>,
    /// The time when it got this state.
    pub settled_at_ms: Option<u64>,
    /// The last error.
    pub last_error: Option<String>,
}

/// A problem of a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct TaskFinding {
    /// The task.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub task_id: TaskId,
    /// The problem.
    #[serde(flatten)]
    #[cfg_attr(feature = "openapi", schema(value_type = Object))]
    pub finding: Finding,
}

/// The work of a maintenance.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Maintenance {
    /// True if it was done.
    pub applied: bool,
    /// The tasks that are given up, because nothing backs them any more.
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<String>))]
    pub lost: Vec<TaskId>,
    /// The ended tasks that had no time of removal, and get one.
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<String>))]
    pub reconciled: Vec<TaskId>,
    /// The number of removed tasks.
    pub pruned: u64,
}

/// The task state that a reset discards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct TaskReset {
    /// True if it was done.
    pub applied: bool,
    /// The number of tasks.
    pub tasks: u64,
    /// The number of tasks that have not ended. Their work goes on.
    pub active: u64,
    /// The number of undelivered notices.
    pub notices: u64,
}
