//! Tasks over HTTP: the tool at one address, and an address for each task. Both are the same calls.

use super::answer::Rejection;
use super::answer::{Asks, Body, Caller, Lookup};
use super::default_action::OrUnsaid;
use super::query_params::{Nothing, Replies, WhoAsks, asks};
use axum::Json;
use serde::Deserialize;
use tenure_core::api::Problem;
use tenure_core::task::{Kind, NotifyPolicy, Status};
use tenure_core::tools::tasks::{Action, TasksReply, TasksRequest};
use tenure_supervisor::Refusal;
use utoipa::ToSchema;

type Answer = Result<Json<TasksReply>, Rejection>;

impl Caller {
    async fn tasks(self, request: TasksRequest) -> Answer {
        Ok(Json(self.daemon.tasks(request, &self.who).await?))
    }
}

impl WhoAsks {
    /// That this is to be done.
    fn of_tasks(self, action: Action) -> TasksRequest {
        TasksRequest {
            requester: self.requester,
            visibility: self.visibility,
            sandboxed: self.sandboxed,
            ..TasksRequest::new(action)
        }
    }

    /// That this is to be done with a task.
    fn of_task(self, action: Action, Lookup(lookup): Lookup) -> TasksRequest {
        TasksRequest { lookup: Some(lookup), ..self.of_tasks(action) }
    }
}

/// Do something with tasks. Without `action`, list them.
#[utoipa::path(post, path = "/v1/tasks", operation_id = "tasks", request_body = TasksRequest, responses(
    (status = 200, body = TasksReply), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn act(caller: Caller, Body(OrUnsaid(request)): Body<OrUnsaid<TasksRequest>>) -> Answer {
    caller.tasks(request).await
}

asks! {
    /// Which tasks, and who asks.
    pub(super) struct TasksAsks {
        /// Only those that are so; several are separated by commas.
        status: Option<String>,
        /// Only of this kind.
        kind: Option<Kind>,
        /// Only those that this session owns.
        owner: Option<String>,
        /// Where the page begins: the `next` of the page before.
        after: Option<String>,
        /// At most so many.
        limit: Option<u64>,
    }
}

/// List tasks, the newest first.
#[utoipa::path(get, path = "/v1/tasks", operation_id = "tasks_list", params(TasksAsks), responses(Replies<TasksReply>))]
pub(super) async fn list(caller: Caller, Asks(asks): Asks<TasksAsks>) -> Answer {
    let statuses = asks.status.iter().flat_map(|text| text.split(',')).map(str::parse::<Status>);
    let request = TasksRequest {
        statuses: statuses.collect::<Result<_, _>>().map_err(Refusal::bad_request)?,
        kind: asks.kind,
        owner: asks.owner,
        after: asks.after,
        limit: asks.limit,
        requester: asks.requester,
        visibility: asks.visibility,
        sandboxed: asks.sandboxed,
        ..TasksRequest::new(Action::List)
    };
    caller.tasks(request).await
}

/// Show how a task is. Looking changes nothing: its owner is told all the same.
#[utoipa::path(get, path = "/v1/tasks/{lookup}", operation_id = "tasks_show",
    params(("lookup" = String, Path), WhoAsks), responses(Replies<TasksReply>))]
pub(super) async fn show(caller: Caller, lookup: Lookup, Asks(asks): Asks<WhoAsks>) -> Answer {
    caller.tasks(asks.of_task(Action::Show, lookup)).await
}

/// What of a task is told.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NotifyBody {
    /// What of it is told from now on.
    policy: NotifyPolicy,
}

/// Say what of a task is told from now on.
#[utoipa::path(post, path = "/v1/tasks/{lookup}/notify", operation_id = "tasks_notify",
    params(("lookup" = String, Path), WhoAsks), request_body = NotifyBody, responses(Replies<TasksReply>))]
pub(super) async fn notify(
    caller: Caller,
    lookup: Lookup,
    Asks(asks): Asks<WhoAsks>,
    Body(NotifyBody { policy }): Body<NotifyBody>,
) -> Answer {
    caller.tasks(TasksRequest { policy: Some(policy), ..asks.of_task(Action::Notify, lookup) }).await
}

/// End what a task tracks, its whole tree.
#[utoipa::path(post, path = "/v1/tasks/{lookup}/cancel", operation_id = "tasks_cancel",
    params(("lookup" = String, Path), WhoAsks), request_body = Nothing, responses(Replies<TasksReply>))]
pub(super) async fn cancel(
    caller: Caller,
    lookup: Lookup,
    Asks(asks): Asks<WhoAsks>,
    Body(Nothing {}): Body<Nothing>,
) -> Answer {
    caller.tasks(asks.of_task(Action::Cancel, lookup)).await
}

/// Try again to tell a task's owner how it ended.
#[utoipa::path(post, path = "/v1/tasks/{lookup}/retry", operation_id = "tasks_retry",
    params(("lookup" = String, Path), WhoAsks), request_body = Nothing, responses(Replies<TasksReply>))]
pub(super) async fn retry(
    caller: Caller,
    lookup: Lookup,
    Asks(asks): Asks<WhoAsks>,
    Body(Nothing {}): Body<Nothing>,
) -> Answer {
    caller.tasks(asks.of_task(Action::Retry, lookup)).await
}

/// Say that a task's owner has heard how it ended.
#[utoipa::path(post, path = "/v1/tasks/{lookup}/acknowledge", operation_id = "tasks_acknowledge",
    params(("lookup" = String, Path), WhoAsks), request_body = Nothing, responses(Replies<TasksReply>))]
pub(super) async fn acknowledge(
    caller: Caller,
    lookup: Lookup,
    Asks(asks): Asks<WhoAsks>,
    Body(Nothing {}): Body<Nothing>,
) -> Answer {
    caller.tasks(asks.of_task(Action::Acknowledge, lookup)).await
}

/// What is wrong with tasks.
#[utoipa::path(get, path = "/v1/tasks/audit", operation_id = "tasks_audit", params(WhoAsks),
    responses(Replies<TasksReply>))]
pub(super) async fn audit(caller: Caller, Asks(asks): Asks<WhoAsks>) -> Answer {
    caller.tasks(asks.of_tasks(Action::Audit)).await
}

/// Whether it is done.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct MaintenanceBody {
    /// Whether it is done, not only said.
    apply: Option<bool>,
}

/// Close, tell and forget what is due; only said, unless `apply`.
#[utoipa::path(post, path = "/v1/tasks/maintenance", operation_id = "tasks_maintenance", params(WhoAsks),
    request_body = MaintenanceBody, responses(Replies<TasksReply>))]
pub(super) async fn maintenance(
    caller: Caller,
    Asks(asks): Asks<WhoAsks>,
    Body(MaintenanceBody { apply }): Body<MaintenanceBody>,
) -> Answer {
    caller.tasks(TasksRequest { apply, ..asks.of_tasks(Action::Maintenance) }).await
}

/// Discard all tasks and their notices, and nothing else; only said, unless `apply`.
#[utoipa::path(post, path = "/v1/tasks/reset", operation_id = "tasks_reset", params(WhoAsks),
    request_body = MaintenanceBody, responses(Replies<TasksReply>))]
pub(super) async fn reset(
    caller: Caller,
    Asks(asks): Asks<WhoAsks>,
    Body(MaintenanceBody { apply }): Body<MaintenanceBody>,
) -> Answer {
    caller.tasks(TasksRequest { apply, ..asks.of_tasks(Action::Reset) }).await
}
