//! Routes for a run's stdin and terminal.

use super::extractors::Identity;
use super::extractors::Rejection;
use super::extractors::{Body, Id};
use crate::daemon::Daemon;
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use std::sync::Arc;
use tenure_core::api::{KeysRequest, PasteRequest, Problem, StdinRequest};
use tenure_core::spec::Size;
use tenure_core::wire::KeeperRequest;
use tenure_output::screen::View;
use tenure_supervisor::Refusal;
use tenure_supervisor::screen_of;
use tenure_supervisor::stdin;

/// Write to a run's stdin.
#[utoipa::path(post, path = "/v1/runs/{id}/stdin", params(("id" = String, Path)), request_body = StdinRequest,
    responses((status = 204), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn stdin(
    State(daemon): State<Arc<Daemon>>,
    Identity(who): Identity,
    Id(id): Id,
    Body(request): Body<StdinRequest>,
) -> Result<StatusCode, Rejection> {
    let bytes = match (&request.data, &request.data_base64) {
        (Some(_), Some(_)) => return Err(Refusal::invalid("give data or dataBase64, not both").into()),
        (Some(text), None) => text.clone().into_bytes(),
        (None, Some(text)) => {
            BASE64_STANDARD.decode(text).map_err(|error| Refusal::invalid(format!("dataBase64: {error}")))?
        }
        (None, None) if request.eof => Vec::new(),
        (None, None) => return Err(Refusal::invalid("give data, dataBase64 or eof").into()),
    };
    let row = daemon.supervisor.find(&id, &who).await?;
    daemon.supervisor.type_into(&row, &bytes, request.offset, request.eof).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Send keys to a run.
#[utoipa::path(post, path = "/v1/runs/{id}/keys", params(("id" = String, Path)), request_body = KeysRequest,
    responses((status = 204), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn keys(
    State(daemon): State<Arc<Daemon>>,
    Identity(who): Identity,
    Id(id): Id,
    Body(request): Body<KeysRequest>,
) -> Result<StatusCode, Rejection> {
    let row = daemon.supervisor.find(&id, &who).await?;
    let bytes = stdin::encode_input(&row, request.literal.as_deref(), &request.hex, &request.keys).await?;
    daemon.supervisor.type_into(&row, &bytes, None, false).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Paste text into a run.
#[utoipa::path(post, path = "/v1/runs/{id}/paste", params(("id" = String, Path)), request_body = PasteRequest,
    responses((status = 204), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn paste(
    State(daemon): State<Arc<Daemon>>,
    Identity(who): Identity,
    Id(id): Id,
    Body(request): Body<PasteRequest>,
) -> Result<StatusCode, Rejection> {
    let row = daemon.supervisor.find(&id, &who).await?;
    let bytes = stdin::paste(&row, &request.text, request.bracketed).await?;
    daemon.supervisor.type_into(&row, &bytes, None, false).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Send Enter to a run.
#[utoipa::path(post, path = "/v1/runs/{id}/submit", params(("id" = String, Path)),
    responses((status = 204), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn submit(
    State(daemon): State<Arc<Daemon>>,
    Identity(who): Identity,
    Id(id): Id,
) -> Result<StatusCode, Rejection> {
    let row = daemon.supervisor.find(&id, &who).await?;
    daemon.supervisor.type_into(&row, stdin::enter(&row), None, false).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Resize a run's terminal.
#[utoipa::path(post, path = "/v1/runs/{id}/resize", params(("id" = String, Path)), request_body = Size,
    responses((status = 204), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn resize(
    State(daemon): State<Arc<Daemon>>,
    Identity(who): Identity,
    Id(id): Id,
    Body(size): Body<Size>,
) -> Result<StatusCode, Rejection> {
    let size = Size::new(size.cols, size.rows).map_err(Refusal::invalid)?;
    let row = daemon.supervisor.find(&id, &who).await?;
    daemon.supervisor.ask(&row, &KeeperRequest::Resize(size), &[]).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Get the screen of a run's terminal.
#[utoipa::path(get, path = "/v1/runs/{id}/screen", params(("id" = String, Path)), responses(
    (status = 200, body = Object), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn screen(
    State(daemon): State<Arc<Daemon>>,
    Identity(who): Identity,
    Id(id): Id,
) -> Result<Json<View>, Rejection> {
    let row = daemon.supervisor.find(&id, &who).await?;
    Ok(Json(screen_of(&row).await?.view()))
}
