//! What is typed into a run, and what its terminal shows.

use super::answer::{Body, Id};
use crate::daemon::Daemon;
use crate::refusal::Refusal;
use crate::requester::Requester;
use crate::screens::screen_of;
use crate::typing;
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use std::sync::Arc;
use tenure_core::api::{KeysRequest, PasteRequest, Problem, StdinRequest};
use tenure_core::spec::Size;
use tenure_core::wire::Ask;
use tenure_screen::View;

/// Write to a run's input.
#[utoipa::path(post, path = "/v1/runs/{id}/stdin", params(("id" = String, Path)), request_body = StdinRequest,
    responses((status = 204), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn stdin(
    State(daemon): State<Arc<Daemon>>,
    who: Requester,
    Id(id): Id,
    Body(request): Body<StdinRequest>,
) -> Result<StatusCode, Refusal> {
    let bytes = match (&request.data, &request.data_base64) {
        (Some(_), Some(_)) => return Err(Refusal::invalid("give data or dataBase64, not both")),
        (Some(text), None) => text.clone().into_bytes(),
        (None, Some(text)) => {
            BASE64_STANDARD.decode(text).map_err(|error| Refusal::invalid(format!("dataBase64: {error}")))?
        }
        (None, None) if request.eof => Vec::new(),
        (None, None) => return Err(Refusal::invalid("give data, dataBase64 or eof")),
    };
    let row = daemon.find(&id, &who).await?;
    daemon.type_into(&row, &bytes, request.offset, request.eof).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Press keys.
#[utoipa::path(post, path = "/v1/runs/{id}/keys", params(("id" = String, Path)), request_body = KeysRequest,
    responses((status = 204), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn keys(
    State(daemon): State<Arc<Daemon>>,
    who: Requester,
    Id(id): Id,
    Body(request): Body<KeysRequest>,
) -> Result<StatusCode, Refusal> {
    let row = daemon.find(&id, &who).await?;
    let bytes = typing::typed(&row, request.literal.as_deref(), &request.hex, &request.keys).await?;
    daemon.type_into(&row, &bytes, None, false).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Paste text.
#[utoipa::path(post, path = "/v1/runs/{id}/paste", params(("id" = String, Path)), request_body = PasteRequest,
    responses((status = 204), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn paste(
    State(daemon): State<Arc<Daemon>>,
    who: Requester,
    Id(id): Id,
    Body(request): Body<PasteRequest>,
) -> Result<StatusCode, Refusal> {
    let row = daemon.find(&id, &who).await?;
    let bytes = typing::paste(&row, &request.text, request.bracketed).await?;
    daemon.type_into(&row, &bytes, None, false).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Press Enter.
#[utoipa::path(post, path = "/v1/runs/{id}/submit", params(("id" = String, Path)),
    responses((status = 204), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn submit(
    State(daemon): State<Arc<Daemon>>,
    who: Requester,
    Id(id): Id,
) -> Result<StatusCode, Refusal> {
    let row = daemon.find(&id, &who).await?;
    daemon.type_into(&row, typing::enter(&row), None, false).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Give a run's terminal another size.
#[utoipa::path(post, path = "/v1/runs/{id}/resize", params(("id" = String, Path)), request_body = Size,
    responses((status = 204), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn resize(
    State(daemon): State<Arc<Daemon>>,
    who: Requester,
    Id(id): Id,
    Body(size): Body<Size>,
) -> Result<StatusCode, Refusal> {
    let size = Size::new(size.cols, size.rows).map_err(Refusal::invalid)?;
    let row = daemon.find(&id, &who).await?;
    daemon.ask(&row, &Ask::Resize(size), &[]).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// What a run's terminal shows.
#[utoipa::path(get, path = "/v1/runs/{id}/screen", params(("id" = String, Path)), responses(
    (status = 200, body = Object), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn screen(
    State(daemon): State<Arc<Daemon>>,
    who: Requester,
    Id(id): Id,
) -> Result<Json<View>, Refusal> {
    let row = daemon.find(&id, &who).await?;
    Ok(Json(screen_of(&row).await?.view()))
}
