//! Routes for operators, about the daemon itself.

use super::extractors::Body;
use super::extractors::Identity;
use super::extractors::Rejection;
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

/// Show the daemon's health.
///
/// Clients without rights may use this route, too.
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

/// Refuses clients that are bound to a session.
fn operator(who: &Requester) -> Result<(), Refusal> {
    match who.only_session() {
        Some(session) => Err(Refusal::forbidden(format!(
            "session {session} cannot operate the daemon: only an operator outside of all sessions can"
        ))),
        None => Ok(()),
    }
}

/// Find and clean up orphaned runs.
///
/// Examines recorded runs that the daemon does not hold, and resumes, closes or leaves each as its evidence demands.
/// Answers with one line for each run. With `dryRun`, nothing is changed. For operators only.
#[utoipa::path(post, path = "/v1/reap", request_body = ReapRequest, responses(
    (status = 200, body = Vec<ReapLine>), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn reap(
    State(daemon): State<Arc<Daemon>>,
    Identity(who): Identity,
    Body(mut request): Body<ReapRequest>,
) -> Result<Json<Vec<ReapLine>>, Rejection> {
    operator(&who)?;
    if let Some(run) = &mut request.which.run {
        *run = daemon.supervisor.find_to_end(run, &who).await?.ticket.run_id.to_string();
    }
    // A task of its own, so that the work is completed even if the client disconnects.
    let reaping =
        tokio::spawn(
            async move { reconcile::reap(&daemon.supervisor, &request.which, request.dry_run).await },
        );
    Ok(Json(reaping.await.map_err(Refusal::internal)??))
}

/// Write a backup of the registry to a new file.
///
/// The path must be absolute, its directory must exist, and the file must not exist. For operators only.
#[utoipa::path(post, path = "/v1/backup", request_body = BackupRequest, responses(
    (status = 204), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn backup(
    State(daemon): State<Arc<Daemon>>,
    Identity(who): Identity,
    Body(request): Body<BackupRequest>,
) -> Result<StatusCode, Rejection> {
    operator(&who)?;
    let path = PathBuf::from(request.path);
    if !path.is_absolute() {
        let why = format!("the backup's path \"{}\" is not absolute: give an absolute path", path.display());
        return Err(Refusal::invalid(why).into());
    }
    if path.as_os_str().as_encoded_bytes().contains(&0) {
        return Err(Refusal::invalid("the backup's path contains a NUL byte: remove it").into());
    }
    let dir = path.parent().unwrap_or(&path);
    if !dir.is_dir() {
        return Err(Refusal::invalid(format!("the directory \"{}\" does not exist", dir.display())).into());
    }
    if path.exists() {
        let why = format!("the file \"{}\" already exists: give the path of a new file", path.display());
        return Err(Refusal::invalid(why).into());
    }
    daemon.supervisor.registry.backup(path).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Shut down the daemon.
///
/// Runs continue without the daemon, unless `cancelRuns` is true. Answers before the shutdown is complete. For
/// operators only.
#[utoipa::path(post, path = "/v1/shutdown", request_body = ShutdownRequest, responses(
    (status = 202), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn shutdown(
    State(daemon): State<Arc<Daemon>>,
    Identity(who): Identity,
    Body(request): Body<ShutdownRequest>,
) -> Result<StatusCode, Rejection> {
    operator(&who)?;
    daemon.supervisor.lifecycle.drain(request.cancel_runs);
    Ok(StatusCode::ACCEPTED)
}

/// Get metrics for Prometheus.
#[utoipa::path(get, path = "/metrics", responses(
    (status = 200, content_type = "application/openmetrics-text", body = String),
    (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn metrics(State(daemon): State<Arc<Daemon>>) -> Result<Response, Rejection> {
    let text = metrics::text(&daemon).await?;
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    Ok(([(header::CONTENT_TYPE, kind)], text).into_response())
}

/// Get the description of this API.
#[utoipa::path(get, path = "/openapi.json", responses((status = 200, body = Object)))]
pub(super) async fn openapi() -> Json<utoipa::openapi::OpenApi> {
    Json(http::description())
}
