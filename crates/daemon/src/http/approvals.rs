//! Routes for approval requests and the allowlist.

use super::extractors::Identity;
use super::extractors::Rejection;
use super::extractors::{Body, Id, QueryParams};
use crate::daemon::Daemon;
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::Deserialize;
use std::sync::Arc;
use tenure_core::api::{AllowRequest, Allowed, AllowedList, Approval, ApprovalList, ChooseRequest, Problem};
use tenure_policy::allowlist_entries;
use tenure_store::ApprovalState;
use tenure_supervisor::Refusal;
use tenure_supervisor::Requester;
use utoipa::IntoParams;

/// Query parameters of `GET /v1/approvals`.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(super) struct ApprovalListParams {
    /// Include requests that were answered or have expired.
    all: bool,
}

/// List approval requests.
///
/// Lists the requests that wait for an answer; with `all=true`, also answered and expired ones. A client that is bound
/// to a session gets the requests of that session only.
#[utoipa::path(get, path = "/v1/approvals", operation_id = "approvals", params(ApprovalListParams), responses(
    (status = 200, body = ApprovalList), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn list(
    State(daemon): State<Arc<Daemon>>,
    Identity(who): Identity,
    QueryParams(params): QueryParams<ApprovalListParams>,
) -> Result<Json<ApprovalList>, Rejection> {
    Ok(Json(ApprovalList { approvals: daemon.approvals.approvals(params.all, &who).await? }))
}

/// Approve a request once.
///
/// For operators only, from outside of all runs.
#[utoipa::path(post, path = "/v1/approvals/{id}/allow-once", params(("id" = String, Path, description = "Id of the approval request, or a unique prefix")), responses(
    (status = 200, body = Approval), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn allow_once(
    State(daemon): State<Arc<Daemon>>,
    Identity(who): Identity,
    Id(id): Id,
) -> Result<Json<Approval>, Rejection> {
    answer(daemon, &who, &id, ApprovalState::AllowedOnce).await
}

/// Approve a request, and allow the same command from now on.
///
/// For a command, adds its entries to the allowlist; refused if the command can be approved only once (`onceOnly`). For a
/// tool call of an ACP agent, chooses the agent's own permanent option. For operators only, from outside of all runs.
#[utoipa::path(post, path = "/v1/approvals/{id}/allow-always", params(("id" = String, Path, description = "Id of the approval request, or a unique prefix")), responses(
    (status = 200, body = Approval), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn allow_always(
    State(daemon): State<Arc<Daemon>>,
    Identity(who): Identity,
    Id(id): Id,
) -> Result<Json<Approval>, Rejection> {
    answer(daemon, &who, &id, ApprovalState::AllowedAlways).await
}

/// Deny a request.
///
/// For operators only, from outside of all runs.
#[utoipa::path(post, path = "/v1/approvals/{id}/deny", params(("id" = String, Path, description = "Id of the approval request, or a unique prefix")), responses(
    (status = 200, body = Approval), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn deny(
    State(daemon): State<Arc<Daemon>>,
    Identity(who): Identity,
    Id(id): Id,
) -> Result<Json<Approval>, Rejection> {
    answer(daemon, &who, &id, ApprovalState::Denied).await
}

/// Answer a permission request of an ACP agent with one of its options.
///
/// For operators only, from outside of all runs.
#[utoipa::path(post, path = "/v1/approvals/{id}/choose", params(("id" = String, Path, description = "Id of the approval request, or a unique prefix")), request_body = ChooseRequest, responses(
    (status = 200, body = Approval), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn choose(
    State(daemon): State<Arc<Daemon>>,
    Identity(who): Identity,
    Id(id): Id,
    Body(ChooseRequest { option }): Body<ChooseRequest>,
) -> Result<Json<Approval>, Rejection> {
    person(&who)?;
    Ok(Json(daemon.approvals.choose(&id, &option, &who).await?))
}

async fn answer(
    daemon: Arc<Daemon>,
    who: &Requester,
    id: &str,
    state: ApprovalState,
) -> Result<Json<Approval>, Rejection> {
    person(who)?;
    Ok(Json(daemon.approvals.answer(id, state, who).await?))
}

/// Refuses agents, and every process of a run: only a person decides what agents may run.
fn person(who: &Requester) -> Result<(), Refusal> {
    match who {
        Requester::Operator { .. } => Ok(()),
        Requester::Client { .. } | Requester::Member { .. } => Err(Refusal::forbidden(format!(
            "{who} cannot approve commands or change the allowlist: only an operator can, from outside of all runs"
        ))),
    }
}

/// List the entries of the allowlist.
#[utoipa::path(get, path = "/v1/allowlist", responses(
    (status = 200, body = AllowedList), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn allowlist(State(daemon): State<Arc<Daemon>>) -> Result<Json<AllowedList>, Rejection> {
    Ok(Json(AllowedList { entries: allowlist_entries::allowed(&daemon.approvals).await? }))
}

/// Add an entry to the allowlist.
///
/// Commands that match the entry run without an approval. For operators only, from outside of all runs.
#[utoipa::path(post, path = "/v1/allowlist", request_body = AllowRequest, responses(
    (status = 201, body = Allowed), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn allow(
    State(daemon): State<Arc<Daemon>>,
    Identity(who): Identity,
    Body(request): Body<AllowRequest>,
) -> Result<(StatusCode, Json<Allowed>), Rejection> {
    person(&who)?;
    Ok((StatusCode::CREATED, Json(allowlist_entries::allow(&daemon.approvals, request, &who).await?)))
}

/// Remove an entry from the allowlist.
///
/// For operators only, from outside of all runs.
#[utoipa::path(delete, path = "/v1/allowlist/{id}", params(("id" = String, Path, description = "Number of the entry")), responses(
    (status = 204), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn disallow(
    State(daemon): State<Arc<Daemon>>,
    Identity(who): Identity,
    Id(id): Id,
) -> Result<StatusCode, Rejection> {
    person(&who)?;
    allowlist_entries::disallow(&daemon.approvals, &id).await?;
    Ok(StatusCode::NO_CONTENT)
}
