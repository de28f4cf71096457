//! What a person is asked before it runs, and what needs no asking.

use super::answer::Rejection;
use super::answer::Who;
use super::answer::{Asks, Body, Id};
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

/// Which questions.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(super) struct ApprovalAsks {
    /// Also those that are answered or expired.
    all: bool,
}

/// List the commands that wait for a person.
#[utoipa::path(get, path = "/v1/approvals", operation_id = "approvals", params(ApprovalAsks), responses(
    (status = 200, body = ApprovalList), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn list(
    State(daemon): State<Arc<Daemon>>,
    Who(who): Who,
    Asks(asks): Asks<ApprovalAsks>,
) -> Result<Json<ApprovalList>, Rejection> {
    Ok(Json(ApprovalList { approvals: daemon.approvals.approvals(asks.all, &who).await? }))
}

/// Let a command run, this time.
#[utoipa::path(post, path = "/v1/approvals/{id}/allow-once", params(("id" = String, Path)), responses(
    (status = 200, body = Approval), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn allow_once(
    State(daemon): State<Arc<Daemon>>,
    Who(who): Who,
    Id(id): Id,
) -> Result<Json<Approval>, Rejection> {
    answer(daemon, &who, &id, ApprovalState::AllowedOnce).await
}

/// Let a command run, and the same again without asking.
#[utoipa::path(post, path = "/v1/approvals/{id}/allow-always", params(("id" = String, Path)), responses(
    (status = 200, body = Approval), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn allow_always(
    State(daemon): State<Arc<Daemon>>,
    Who(who): Who,
    Id(id): Id,
) -> Result<Json<Approval>, Rejection> {
    answer(daemon, &who, &id, ApprovalState::AllowedAlways).await
}

/// Do not let a command run.
#[utoipa::path(post, path = "/v1/approvals/{id}/deny", params(("id" = String, Path)), responses(
    (status = 200, body = Approval), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn deny(
    State(daemon): State<Arc<Daemon>>,
    Who(who): Who,
    Id(id): Id,
) -> Result<Json<Approval>, Rejection> {
    answer(daemon, &who, &id, ApprovalState::Denied).await
}

/// Answer an agent with one of the options that it offers.
#[utoipa::path(post, path = "/v1/approvals/{id}/choose", params(("id" = String, Path)), request_body = ChooseRequest, responses(
    (status = 200, body = Approval), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn choose(
    State(daemon): State<Arc<Daemon>>,
    Who(who): Who,
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

/// What an agent may run is not for agents to say, nor for anything that runs under us.
fn person(who: &Requester) -> Result<(), Refusal> {
    match who {
        Requester::Operator { .. } => Ok(()),
        Requester::Client { .. } | Requester::Member { .. } => Err(Refusal::forbidden(format!(
            "{who} cannot say what may run: a person can, from outside of any run"
        ))),
    }
}

/// List what needs no asking.
#[utoipa::path(get, path = "/v1/allowlist", responses(
    (status = 200, body = AllowedList), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn allowlist(State(daemon): State<Arc<Daemon>>) -> Result<Json<AllowedList>, Rejection> {
    Ok(Json(AllowedList { entries: allowlist_entries::allowed(&daemon.approvals).await? }))
}

/// Let something run without asking.
#[utoipa::path(post, path = "/v1/allowlist", request_body = AllowRequest, responses(
    (status = 201, body = Allowed), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn allow(
    State(daemon): State<Arc<Daemon>>,
    Who(who): Who,
    Body(request): Body<AllowRequest>,
) -> Result<(StatusCode, Json<Allowed>), Rejection> {
    person(&who)?;
    Ok((StatusCode::CREATED, Json(allowlist_entries::allow(&daemon.approvals, request, &who).await?)))
}

/// Take an entry off the allowlist.
#[utoipa::path(delete, path = "/v1/allowlist/{id}", params(("id" = String, Path)), responses(
    (status = 204), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn disallow(
    State(daemon): State<Arc<Daemon>>,
    Who(who): Who,
    Id(id): Id,
) -> Result<StatusCode, Rejection> {
    person(&who)?;
    allowlist_entries::disallow(&daemon.approvals, &id).await?;
    Ok(StatusCode::NO_CONTENT)
}
