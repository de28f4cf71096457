//! Runs: start, list, show, end, wait for, remove.

use super::answer::Rejection;
use super::answer::Who;
use super::answer::{Asks, Body, Id};
use super::foreground::{self, ForegroundRequest};
use super::listen::Local;
use super::receipt::receipted;
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

/// How many runs a page has, and at most.
const PAGE: usize = 200;
const LONGEST_PAGE: usize = 1000;

/// Start a run. Answers when its command executes, or could not be.
#[utoipa::path(post, path = "/v1/runs", request_body = RunRequest, responses(
    (status = 201, body = RunJson), (status = 101, description = "with `Upgrade: tenure-keeper`, a foreground run"),
    (status = "4XX", body = Problem, content_type = "application/problem+json"), (status = "5XX", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn start(
    State(daemon): State<Arc<Daemon>>,
    Who(who): Who,
    mut request: Request,
) -> Result<Response, Rejection> {
    let upgrade = request.extensions_mut().remove::<OnUpgrade>();
    let local = request.extensions().get::<Local>().is_some();
    let foreground = ForegroundRequest::read(request.headers());
    let Body(asked_for) = Body::<RunRequest>::from_request(request, &daemon).await?;
    if let Some(how) = foreground {
        return match upgrade {
            Some(upgrade) if local => {
                foreground::start(daemon, &asked_for, Who(who), (how, upgrade)).map_err(Rejection)
            }
            _ => Err(Refusal::bad_request("a foreground run is for callers on the Unix socket").into()),
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

/// What `GET /v1/runs` can be narrowed by.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(super) struct ListAsks {
    /// Also those that have ended.
    all: bool,
    /// Only those in these states, separated by commas.
    state: Option<String>,
    /// Only this session's.
    session: Option<String>,
    /// Only this scope's.
    scope: Option<String>,
    /// Only this agent's.
    agent: Option<String>,
    /// Where the page begins: the `next` of the page before.
    after: Option<String>,
    /// At most so many.
    limit: Option<usize>,
}

/// List runs, the newest first.
#[utoipa::path(get, path = "/v1/runs", params(ListAsks), responses(
    (status = 200, body = RunList), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn list(
    State(daemon): State<Arc<Daemon>>,
    Who(who): Who,
    Asks(asks): Asks<ListAsks>,
) -> Result<Json<RunList>, Rejection> {
    let states = match &asks.state {
        Some(text) => text.split(',').map(state_named).collect::<Result<Vec<_>, _>>()?,
        None if asks.all => Vec::new(),
        None => LIVE.to_vec(),
    };
    let asked_states = states.clone();
    let query = Query {
        states,
        session: asks.session,
        scope: asks.scope,
        agent: asks.agent,
        after: asks.after.as_deref().map(cursor).transpose()?,
        limit: asks.limit.unwrap_or(PAGE).clamp(1, LONGEST_PAGE),
    };
    let (rows, next) = daemon.supervisor.list(query, &who).await?;
    // One that ended and could not be recorded is in the registry as it was.
    let is_asked_for = |view: &RunView| asked_states.is_empty() || asked_states.contains(&view.state);
    let views = rows.iter().map(|row| daemon.supervisor.view(row)).filter(is_asked_for);
    let runs = views.map(|view| view.json()).collect();
    let next = next.map(|Cursor { created_at_ms, run_id }| format!("{created_at_ms}-{run_id}"));
    Ok(Json(RunList { runs, next }))
}

fn state_named(text: &str) -> Result<state::State, Refusal> {
    let all = [state::State::Starting, state::State::Running, state::State::Exiting, state::State::Exited];
    all.into_iter().find(|state| state.to_string() == text).ok_or_else(|| {
        Refusal::bad_request(format!("{text:?} is no state: starting, running, exiting and exited are"))
    })
}

fn cursor(text: &str) -> Result<Cursor, Refusal> {
    let parsed = text.split_once('-').and_then(|(at, id)| {
        Some(Cursor { created_at_ms: at.parse().ok()?, run_id: id.parse::<RunId>().ok()? })
    });
    parsed.ok_or_else(|| Refusal::bad_request("after is not the `next` of a page"))
}

/// Show a run.
#[utoipa::path(get, path = "/v1/runs/{id}", params(("id" = String, Path)), responses(
    (status = 200, body = RunJson), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn show(
    State(daemon): State<Arc<Daemon>>,
    Who(who): Who,
    Id(id): Id,
) -> Result<Json<RunJson>, Rejection> {
    let row = daemon.supervisor.find(&id, &who).await?;
    let row = daemon.supervisor.settled(row).await?;
    Ok(Json(daemon.supervisor.view_closely(&row).await.json()))
}

/// Remove a run; a live one is cancelled and hidden at once.
#[utoipa::path(delete, path = "/v1/runs/{id}", params(("id" = String, Path)), responses(
    (status = 204), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn remove(
    State(daemon): State<Arc<Daemon>>,
    Who(who): Who,
    Id(id): Id,
) -> Result<StatusCode, Rejection> {
    let row = daemon.supervisor.find_to_end(&id, &who).await?;
    daemon.supervisor.remove(&row, &who).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Ask for the end of a run.
#[utoipa::path(post, path = "/v1/runs/{id}/cancel", params(("id" = String, Path)), request_body = CancelRequest,
    responses((status = 202), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn cancel(
    State(daemon): State<Arc<Daemon>>,
    Who(who): Who,
    Id(id): Id,
    Body(request): Body<CancelRequest>,
) -> Result<StatusCode, Rejection> {
    let row = daemon.supervisor.find_to_end(&id, &who).await?;
    daemon.supervisor.cancel_run(&row, request.now, &who).await?;
    Ok(StatusCode::ACCEPTED)
}

/// Ask for the end of every live run of a scope, session or agent.
#[utoipa::path(post, path = "/v1/cancel", request_body = CancelManyRequest, responses(
    (status = 202, body = Vec<String>), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn cancel_many(
    State(daemon): State<Arc<Daemon>>,
    Who(who): Who,
    Body(request): Body<CancelManyRequest>,
) -> Result<(StatusCode, Json<Vec<RunId>>), Rejection> {
    let cancelled = daemon.supervisor.cancel_many(&request.which, request.now, &who).await?;
    Ok((StatusCode::ACCEPTED, Json(cancelled)))
}

/// Wait for the end of a run. Answers with the run as it is then, or as it is when the time is up.
#[utoipa::path(post, path = "/v1/runs/{id}/wait", params(("id" = String, Path)), request_body = WaitRequest,
    responses((status = 200, body = RunJson), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn wait(
    State(daemon): State<Arc<Daemon>>,
    Who(who): Who,
    Extension(outflow): Extension<Outflow>,
    Id(id): Id,
    Body(request): Body<WaitRequest>,
) -> Result<Response, Rejection> {
    let row = daemon.supervisor.find(&id, &who).await?;
    let deadline = request.timeout_ms.and_then(|ms| Instant::now().checked_add(Duration::from_millis(ms)));
    let sight = daemon.supervisor.about_to_see(&row, &who).await;
    let view = daemon.supervisor.view_at_end(row, deadline).await?;
    let receipt = sight.of(view.ending.is_some());
    receipted(ToolReply { reply: view.json(), receipt }, outflow).map_err(Rejection)
}

/// The live processes of a run.
#[utoipa::path(get, path = "/v1/runs/{id}/tree", params(("id" = String, Path)), responses(
    (status = 200, body = Vec<Object>), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn tree(
    State(daemon): State<Arc<Daemon>>,
    Who(who): Who,
    Id(id): Id,
) -> Result<Json<Vec<ProcessView>>, Rejection> {
    let row = daemon.supervisor.find(&id, &who).await?;
    Ok(Json(daemon.supervisor.tree(&row).await?))
}

/// A run's whole story, in order; of a session's key, that session's.
#[utoipa::path(get, path = "/v1/runs/{id}/why", params(("id" = String, Path)), responses(
    (status = 200, body = Vec<StoryLine>), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn why(
    State(daemon): State<Arc<Daemon>>,
    Who(who): Who,
    Id(id): Id,
) -> Result<Json<Vec<StoryLine>>, Rejection> {
    match daemon.supervisor.find(&id, &who).await {
        Ok(row) => Ok(Json(why::story(&daemon.supervisor, &row).await?)),
        Err(refusal) if refusal.code == Code::NoSuchRun => {
            // A session has a story, too.
            let followed = daemon.agents.follows((&id, false), Acting::default(), &who).await;
            let Ok(key) = followed else { return Err(refusal.into()) };
            Ok(Json(why::session_story(&daemon.supervisor, key).await?))
        }
        Err(refusal) => Err(refusal.into()),
    }
}
