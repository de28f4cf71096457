//! Routes for runs: start, list, show, cancel, wait, remove.

use super::extractors::Identity;
use super::extractors::Rejection;
use super::extractors::{Body, Id, QueryParams};
use super::foreground::{self, ForegroundRequest};
use super::listen::Local;
use super::receipt::respond;
use crate::daemon::Daemon;
use crate::run_request;
use axum::extract::{FromRequest, Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use hyper::upgrade::OnUpgrade;
use serde::Deserialize;
use std::sync::Arc;
use std::time::Duration;
use tenure_agents::sessions::Acting;
use tenure_core::api::{
    CancelManyRequest, CancelRequest, Problem, RunList, RunRequest, StoryLine, WaitRequest,
};
use tenure_core::ids::RunId;
use tenure_core::problem::Code;
use tenure_core::receipt::ToolReply;
use tenure_core::run_json::{RunJson, RunView};
use tenure_core::state;
use tenure_core::wire::ProcessView;
use tenure_mcp::Outflow;
use tenure_store::{Cursor, Query};
use tenure_supervisor::Refusal;
use tenure_supervisor::runs::LIVE;
use tenure_supervisor::why;
use tokio::time::Instant;
use utoipa::IntoParams;

/// Default number of runs per page.
const PAGE: usize = 200;
/// Maximum number of runs per page.
const MAX_PAGE: usize = 1000;

/// Start a run.
///
/// Answers when its command has started, or could not be started.
#[utoipa::path(post, path = "/v1/runs", request_body = RunRequest, responses(
    (status = 201, body = RunJson), (status = 101, description = "with `Upgrade: tenure-keeper`: a foreground run"),
    (status = "4XX", body = Problem, content_type = "application/problem+json"), (status = "5XX", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn start(
    State(daemon): State<Arc<Daemon>>,
    Identity(who): Identity,
    mut request: Request,
) -> Result<Response, Rejection> {
    let upgrade = request.extensions_mut().remove::<OnUpgrade>();
    let local = request.extensions().get::<Local>().is_some();
    let foreground = ForegroundRequest::read(request.headers());
    let Body(asked_for) = Body::<RunRequest>::from_request(request, &daemon).await?;
    if let Some(how) = foreground {
        return match upgrade {
            Some(upgrade) if local => {
                foreground::start(daemon, &asked_for, Identity(who), (how, upgrade)).map_err(Rejection)
            }
            _ => Err(Refusal::bad_request("a foreground run needs a connection to the Unix socket").into()),
        };
    }
    let request = run_request::read(&asked_for, &daemon.supervisor, &who)?;
    let held = daemon.supervisor.start(request, who.to_string(), None).await?;
    let view = match held.status().let_go {
        None => daemon.supervisor.view_held(&held),
        Some(_) => daemon.supervisor.view(&daemon.supervisor.row(&held.ticket.run_id).await?),
    };
    Ok((StatusCode::CREATED, Json(view.json())).into_response())
}

/// Query parameters of `GET /v1/runs`.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(super) struct RunListParams {
    /// Include ended runs.
    all: bool,
    /// Only runs in these states, separated by commas.
    state: Option<String>,
    /// Only runs of this session.
    session: Option<String>,
    /// Only runs of this scope.
    scope: Option<String>,
    /// Only runs of this agent.
    agent: Option<String>,
    /// The `next` value of the previous page.
    after: Option<String>,
    /// Maximum number of runs, up to 1000 (default: 200).
    limit: Option<usize>,
}

/// List runs, the newest first.
///
/// Lists the live runs; with `all` or `state`, also ended ones.
#[utoipa::path(get, path = "/v1/runs", params(RunListParams), responses(
    (status = 200, body = RunList), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn list(
    State(daemon): State<Arc<Daemon>>,
    Identity(who): Identity,
    QueryParams(params): QueryParams<RunListParams>,
) -> Result<Json<RunList>, Rejection> {
    let states = match &params.state {
        Some(text) => text.split(',').map(state_named).collect::<Result<Vec<_>, _>>()?,
        None if params.all => Vec::new(),
        None => LIVE.to_vec(),
    };
    let asked_states = states.clone();
    let query = Query {
        states,
        session: params.session,
        scope: params.scope,
        agent: params.agent,
        after: params.after.as_deref().map(cursor).transpose()?,
        limit: params.limit.unwrap_or(PAGE).clamp(1, MAX_PAGE),
    };
    let (rows, next) = daemon.supervisor.list(query, &who).await?;
    // An ending that could not be recorded is missing in the registry: filter by the view.
    let is_asked_for = |view: &RunView| asked_states.is_empty() || asked_states.contains(&view.state);
    let views = rows.iter().map(|row| daemon.supervisor.view(row)).filter(is_asked_for);
    let runs = views.map(|view| view.json()).collect();
    let next = next.map(|Cursor { created_at_ms, run_id }| format!("{created_at_ms}-{run_id}"));
    Ok(Json(RunList { runs, next }))
}

fn state_named(text: &str) -> Result<state::State, Refusal> {
    let all = [state::State::Starting, state::State::Running, state::State::Exiting, state::State::Exited];
    all.into_iter().find(|state| state.to_string() == text).ok_or_else(|| {
        Refusal::bad_request(format!("unknown state {text:?}: use starting, running, exiting or exited"))
    })
}

fn cursor(text: &str) -> Result<Cursor, Refusal> {
    let parsed = text.split_once('-').and_then(|(at, id)| {
        Some(Cursor { created_at_ms: at.parse().ok()?, run_id: id.parse::<RunId>().ok()? })
    });
    parsed.ok_or_else(|| Refusal::bad_request("after must be the `next` value of the previous page"))
}

/// Show a run.
#[utoipa::path(get, path = "/v1/runs/{id}", params(("id" = String, Path)), responses(
    (status = 200, body = RunJson), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn show(
    State(daemon): State<Arc<Daemon>>,
    Identity(who): Identity,
    Id(id): Id,
) -> Result<Json<RunJson>, Rejection> {
    let row = daemon.supervisor.find(&id, &who).await?;
    let row = daemon.supervisor.settled(row).await?;
    Ok(Json(daemon.supervisor.view_closely(&row).await.json()))
}

/// Remove a run.
///
/// A live run is hidden at once, and cancelled.
#[utoipa::path(delete, path = "/v1/runs/{id}", params(("id" = String, Path)), responses(
    (status = 204), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn remove(
    State(daemon): State<Arc<Daemon>>,
    Identity(who): Identity,
    Id(id): Id,
) -> Result<StatusCode, Rejection> {
    let row = daemon.supervisor.find_to_end(&id, &who).await?;
    daemon.supervisor.remove(&row, &who).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Cancel a run.
#[utoipa::path(post, path = "/v1/runs/{id}/cancel", params(("id" = String, Path)), request_body = CancelRequest,
    responses((status = 202), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn cancel(
    State(daemon): State<Arc<Daemon>>,
    Identity(who): Identity,
    Id(id): Id,
    Body(request): Body<CancelRequest>,
) -> Result<StatusCode, Rejection> {
    let row = daemon.supervisor.find_to_end(&id, &who).await?;
    daemon.supervisor.cancel_run(&row, request.now, &who).await?;
    Ok(StatusCode::ACCEPTED)
}

/// Cancel every live run of a scope, session or agent.
#[utoipa::path(post, path = "/v1/cancel", request_body = CancelManyRequest, responses(
    (status = 202, body = Vec<String>), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn cancel_many(
    State(daemon): State<Arc<Daemon>>,
    Identity(who): Identity,
    Body(request): Body<CancelManyRequest>,
) -> Result<(StatusCode, Json<Vec<RunId>>), Rejection> {
    let cancelled = daemon.supervisor.cancel_many(&request.which, request.now, &who).await?;
    Ok((StatusCode::ACCEPTED, Json(cancelled)))
}

/// Wait for the end of a run.
///
/// Answers with the run when it has ended or the time is up.
#[utoipa::path(post, path = "/v1/runs/{id}/wait", params(("id" = String, Path)), request_body = WaitRequest,
    responses((status = 200, body = RunJson), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn wait(
    State(daemon): State<Arc<Daemon>>,
    Identity(who): Identity,
    Extension(outflow): Extension<Outflow>,
    Id(id): Id,
    Body(request): Body<WaitRequest>,
) -> Result<Response, Rejection> {
    let row = daemon.supervisor.find(&id, &who).await?;
    let deadline = request.timeout_ms.and_then(|ms| Instant::now().checked_add(Duration::from_millis(ms)));
    let sight = daemon.supervisor.watch_run_end(&row, &who).await;
    let view = daemon.supervisor.view_at_end(row, deadline).await?;
    let receipt = sight.of(view.ending.is_some());
    respond(ToolReply { reply: view.json(), receipt }, outflow).map_err(Rejection)
}

/// List the live processes of a run.
#[utoipa::path(get, path = "/v1/runs/{id}/tree", params(("id" = String, Path)), responses(
    (status = 200, body = Vec<Object>), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn tree(
    State(daemon): State<Arc<Daemon>>,
    Identity(who): Identity,
    Id(id): Id,
) -> Result<Json<Vec<ProcessView>>, Rejection> {
    let row = daemon.supervisor.find(&id, &who).await?;
    Ok(Json(daemon.supervisor.tree(&row).await?))
}

/// Explain a run's history, or a session's.
///
/// Lists everything that happened to the run, in order. The id may be a session key.
#[utoipa::path(get, path = "/v1/runs/{id}/why", params(("id" = String, Path)), responses(
    (status = 200, body = Vec<StoryLine>), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn why(
    State(daemon): State<Arc<Daemon>>,
    Identity(who): Identity,
    Id(id): Id,
) -> Result<Json<Vec<StoryLine>>, Rejection> {
    match daemon.supervisor.find(&id, &who).await {
        Ok(row) => Ok(Json(why::story(&daemon.supervisor, &row).await?)),
        Err(refusal) if refusal.code == Code::NoSuchRun => {
            // A session has a story, too.
            let followed = daemon.agents.session_to_follow((&id, false), Acting::default(), &who).await;
            let Ok(key) = followed else { return Err(refusal.into()) };
            Ok(Json(why::session_story(&daemon.supervisor, key).await?))
        }
        Err(refusal) => Err(refusal.into()),
    }
}
