//! What operators ask of the daemon itself.

use super::answer::Body;
use super::answer::Rejection;
use super::answer::Who;
use crate::daemon::Daemon;
use crate::{http, metrics};
use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use std::path::PathBuf;
use std::sync::Arc;
use tenure_core::api::{BackupRequest, Health, Problem, ReapLine, ReapRequest, ShutdownRequest};
use tenure_supervisor::Refusal;
use tenure_supervisor::Requester;
use tenure_supervisor::reconcile;

/// How the daemon is.
#[utoipa::path(get, path = "/v1/health", responses((status = 200, body = Health)))]
pub(super) async fn health(State(daemon): State<Arc<Daemon>>) -> Json<Health> {
    let status = match (daemon.supervisor.lifecycle.is_draining(), daemon.supervisor.leases.may_act()) {
        (true, _) => "draining",
        (false, true) => "ok",
        (false, false) => "registry-unavailable",
    };
    Json(Health {
        status: status.to_owned(),
        version: tenure_supervisor::VERSION.to_owned(),
        instance_id: daemon.supervisor.instance.clone(),
        pid: std::process::id(),
        started_at_ms: daemon.supervisor.lifecycle.started_at_ms,
        registry: format!("sqlite:{}", daemon.supervisor.settings.database().display()),
        live_runs: daemon.supervisor.runs.count(),
        queued_runs: daemon.supervisor.starts.admission.queued(),
        lease_expires_at_ms: daemon.supervisor.leases.tenancy().expires_at_ms().unwrap_or(0),
        listen: daemon.supervisor.settings.api.listen.map(|address| address.to_string()),
        listen_error: tenure_supervisor::sync::lock(&daemon.listen_error).clone(),
    })
}

/// Who is bound to a session is nobody's operator.
fn operator(who: &Requester) -> Result<(), Refusal> {
    match who.only_session() {
        Some(session) => Err(Refusal::forbidden(format!("session {session} does not operate the daemon"))),
        None => Ok(()),
    }
}

/// Look at recorded runs that nobody holds, and do what their evidence asks for.
#[utoipa::path(post, path = "/v1/reap", request_body = ReapRequest, responses(
    (status = 200, body = Vec<ReapLine>), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn reap(
    State(daemon): State<Arc<Daemon>>,
    Who(who): Who,
    Body(mut request): Body<ReapRequest>,
) -> Result<Json<Vec<ReapLine>>, Rejection> {
    operator(&who)?;
    if let Some(run) = &mut request.which.run {
        *run = daemon.supervisor.find_to_end(run, &who).await?.ticket.run_id.to_string();
    }
    // What was begun is finished, whether or not the client is still there to hear of it.
    let reaping =
        tokio::spawn(
            async move { reconcile::reap(&daemon.supervisor, &request.which, request.dry_run).await },
        );
    Ok(Json(reaping.await.map_err(Refusal::internal)??))
}

/// Write a copy of the registry to a new file.
#[utoipa::path(post, path = "/v1/backup", request_body = BackupRequest, responses(
    (status = 204), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn backup(
    State(daemon): State<Arc<Daemon>>,
    Who(who): Who,
    Body(request): Body<BackupRequest>,
) -> Result<StatusCode, Rejection> {
    operator(&who)?;
    let path = PathBuf::from(request.path);
    if !path.is_absolute() {
        return Err(Refusal::invalid("path is to be absolute").into());
    }
    if !path.parent().is_some_and(std::path::Path::is_dir) || path.as_os_str().as_encoded_bytes().contains(&0)
    {
        return Err(Refusal::invalid(format!("{} is in no directory that there is", path.display())).into());
    }
    if path.exists() {
        return Err(Refusal::invalid(format!("{} exists: a backup is a new file", path.display())).into());
    }
    daemon.supervisor.registry.backup(path).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Make the daemon leave; runs go on without it unless they are to be ended.
#[utoipa::path(post, path = "/v1/shutdown", request_body = ShutdownRequest, responses(
    (status = 202), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn shutdown(
    State(daemon): State<Arc<Daemon>>,
    Who(who): Who,
    Body(request): Body<ShutdownRequest>,
) -> Result<StatusCode, Rejection> {
    operator(&who)?;
    daemon.supervisor.lifecycle.drain(request.cancel_runs);
    Ok(StatusCode::ACCEPTED)
}

/// The metrics, as Prometheus reads them.
#[utoipa::path(get, path = "/metrics", responses(
    (status = 200, content_type = "application/openmetrics-text", body = String),
    (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn metrics(State(daemon): State<Arc<Daemon>>) -> Result<Response, Rejection> {
    let text = metrics::text(&daemon).await?;
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    Ok(([(header::CONTENT_TYPE, kind)], text).into_response())
}

/// This description.
#[utoipa::path(get, path = "/openapi.json", responses((status = 200, body = Object)))]
pub(super) async fn openapi() -> Json<utoipa::openapi::OpenApi> {
    Json(http::description())
}
