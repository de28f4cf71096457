//! Routes for tasks: one for the `tasks` tool, and one for each action. Both make the same calls.

use super::default_action::WithDefaultAction;
use super::extractors::Rejection;
use super::extractors::{Body, Caller, Lookup, QueryParams};
use super::query_params::{Nothing, Replies, RequesterParams, query_params};
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

impl RequesterParams {
    /// Returns the request for an action on tasks.
    fn of_tasks(self, action: Action) -> TasksRequest {
        TasksRequest {
            requester: self.requester,
            visibility: self.visibility,
            sandboxed: self.sandboxed,
            ..TasksRequest::new(action)
        }
    }

    /// Returns the request for an action on one task.
    fn of_task(self, action: Action, Lookup(lookup): Lookup) -> TasksRequest {
        TasksRequest { lookup: Some(lookup), ..self.of_tasks(action) }
    }
}

/// Call the `tasks` tool.
///
/// Without `action`, lists tasks.
#[utoipa::path(post, path = "/v1/tasks", operation_id = "tasks", request_body = TasksRequest, responses(
    (status = 200, body = TasksReply), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn act(
    caller: Caller,
    Body(WithDefaultAction(request)): Body<WithDefaultAction<TasksRequest>>,
) -> Answer {
    caller.tasks(request).await
}

query_params! {
    /// Query parameters of `GET /v1/tasks`.
    pub(super) struct TaskListParams {
        /// Only tasks with these statuses, separated by commas.
        status: Option<String>,
        /// Only tasks of this kind.
        kind: Option<Kind>,
        /// Only tasks of this owner.
        owner: Option<String>,
        /// The `next` value of the previous page.
        after: Option<String>,
        /// Maximum number of tasks.
        limit: Option<u64>,
    }
}

/// List tasks, the newest first.
#[utoipa::path(get, path = "/v1/tasks", operation_id = "tasks_list", params(TaskListParams), responses(Replies<TasksReply>))]
pub(super) async fn list(caller: Caller, QueryParams(params): QueryParams<TaskListParams>) -> Answer {
    let statuses = params.status.iter().flat_map(|text| text.split(',')).map(str::parse::<Status>);
    let request = TasksRequest {
        statuses: statuses.collect::<Result<_, _>>().map_err(Refusal::bad_request)?,
        kind: params.kind,
        owner: params.owner,
        after: params.after,
        limit: params.limit,
        requester: params.requester,
        visibility: params.visibility,
        sandboxed: params.sandboxed,
        ..TasksRequest::new(Action::List)
    };
    caller.tasks(request).await
}

/// Show a task.
///
/// Does not count as a delivery: the owner is notified all the same.
#[utoipa::path(get, path = "/v1/tasks/{lookup}", operation_id = "tasks_show",
    params(("lookup" = String, Path), RequesterParams), responses(Replies<TasksReply>))]
pub(super) async fn show(
    caller: Caller,
    lookup: Lookup,
    QueryParams(params): QueryParams<RequesterParams>,
) -> Answer {
    caller.tasks(params.of_task(Action::Show, lookup)).await
}

/// Body of the `notify` route.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NotifyBody {
    /// The new policy.
    policy: NotifyPolicy,
}

/// Set the notification policy of a task.
#[utoipa::path(post, path = "/v1/tasks/{lookup}/notify", operation_id = "tasks_notify",
    params(("lookup" = String, Path), RequesterParams), request_body = NotifyBody, responses(Replies<TasksReply>))]
pub(super) async fn notify(
    caller: Caller,
    lookup: Lookup,
    QueryParams(params): QueryParams<RequesterParams>,
    Body(NotifyBody { policy }): Body<NotifyBody>,
) -> Answer {
    caller.tasks(TasksRequest { policy: Some(policy), ..params.of_task(Action::Notify, lookup) }).await
}

/// Cancel a task.
///
/// Ends the run or turn that it tracks, with all processes.
#[utoipa::path(post, path = "/v1/tasks/{lookup}/cancel", operation_id = "tasks_cancel",
    params(("lookup" = String, Path), RequesterParams), request_body = Nothing, responses(Replies<TasksReply>))]
pub(super) async fn cancel(
    caller: Caller,
    lookup: Lookup,
    QueryParams(params): QueryParams<RequesterParams>,
    Body(Nothing {}): Body<Nothing>,
) -> Answer {
    caller.tasks(params.of_task(Action::Cancel, lookup)).await
}

/// Retry the notice of a task.
#[utoipa::path(post, path = "/v1/tasks/{lookup}/retry", operation_id = "tasks_retry",
    params(("lookup" = String, Path), RequesterParams), request_body = Nothing, responses(Replies<TasksReply>))]
pub(super) async fn retry(
    caller: Caller,
    lookup: Lookup,
    QueryParams(params): QueryParams<RequesterParams>,
    Body(Nothing {}): Body<Nothing>,
) -> Answer {
    caller.tasks(params.of_task(Action::Retry, lookup)).await
}

/// Acknowledge the end of a task.
///
/// The notice counts as delivered.
#[utoipa::path(post, path = "/v1/tasks/{lookup}/acknowledge", operation_id = "tasks_acknowledge",
    params(("lookup" = String, Path), RequesterParams), request_body = Nothing, responses(Replies<TasksReply>))]
pub(super) async fn acknowledge(
    caller: Caller,
    lookup: Lookup,
    QueryParams(params): QueryParams<RequesterParams>,
    Body(Nothing {}): Body<Nothing>,
) -> Answer {
    caller.tasks(params.of_task(Action::Acknowledge, lookup)).await
}

/// Check tasks for inconsistencies.
///
/// For operators only.
#[utoipa::path(get, path = "/v1/tasks/audit", operation_id = "tasks_audit", params(RequesterParams),
    responses(Replies<TasksReply>))]
pub(super) async fn audit(caller: Caller, QueryParams(params): QueryParams<RequesterParams>) -> Answer {
    caller.tasks(params.of_tasks(Action::Audit)).await
}

/// Body of the `maintenance` and `reset` routes.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct MaintenanceBody {
    /// Apply the changes. Without it, they are only counted.
    apply: Option<bool>,
}

/// Close, reconcile and remove tasks that are due.
///
/// Without `apply`, only counts them. For operators only.
#[utoipa::path(post, path = "/v1/tasks/maintenance", operation_id = "tasks_maintenance", params(RequesterParams),
    request_body = MaintenanceBody, responses(Replies<TasksReply>))]
pub(super) async fn maintenance(
    caller: Caller,
    QueryParams(params): QueryParams<RequesterParams>,
    Body(MaintenanceBody { apply }): Body<MaintenanceBody>,
) -> Answer {
    caller.tasks(TasksRequest { apply, ..params.of_tasks(Action::Maintenance) }).await
}

/// Discard all tasks and their notices.
///
/// Without `apply`, only counts them. Runs and sessions stay. For operators only.
#[utoipa::path(post, path = "/v1/tasks/reset", operation_id = "tasks_reset", params(RequesterParams),
    request_body = MaintenanceBody, responses(Replies<TasksReply>))]
pub(super) async fn reset(
    caller: Caller,
    QueryParams(params): QueryParams<RequesterParams>,
    Body(MaintenanceBody { apply }): Body<MaintenanceBody>,
) -> Answer {
    caller.tasks(TasksRequest { apply, ..params.of_tasks(Action::Reset) }).await
}
