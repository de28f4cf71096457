//! What is typed into a run, and what its terminal shows.

use super::answer::{Body, Id};
use crate::daemon::Daemon;
use crate::link::{Link, PATIENCE};
use crate::refusal::Refusal;
use crate::requester::Requester;
use crate::runs::answer;
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use std::path::Path;
use std::sync::Arc;
use tenure_core::api::{KeysRequest, PasteRequest, Problem, StdinRequest};
use tenure_core::defaults;
use tenure_core::keys::{self, Modes};
use tenure_core::spec::Size;
use tenure_core::wire::{Ask, Tell};
use tenure_screen::{Screen, View};
use tenure_store::RunRow;
use tokio::time::timeout;

/// What is sent at once: well below what a keeper lets wait.
const CHUNK: usize = 64 << 10;

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
    let pressed = request.keys.iter().map(|key| keys::parse(key)).collect::<Result<Vec<_>, _>>();
    let pressed = pressed.map_err(Refusal::invalid)?;
    // Only a terminal has modes, and only keys depend on them.
    let modes = if pressed.is_empty() || row.ticket.pty_size.is_none() {
        Modes::default()
    } else {
        let screen = screen_of(&row).await?;
        Modes { application_cursor: screen.modes().application_cursor, ..Modes::default() }
    };
    let mut bytes: Vec<u8> = pressed.iter().flat_map(|key| keys::encode(key, modes)).collect();
    bytes.extend_from_slice(request.literal.unwrap_or_default().as_bytes());
    for part in &request.hex {
        bytes.extend(keys::hex(part).map_err(Refusal::invalid)?);
    }
    if bytes.is_empty() {
        return Err(Refusal::invalid("no key was named"));
    }
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
    let bytes = if row.ticket.pty_size.is_some() {
        let bracketed = match request.bracketed {
            Some(bracketed) => bracketed,
            None => screen_of(&row).await?.modes().bracketed_paste,
        };
        keys::paste(&request.text, bracketed)
    } else {
        request.text.into_bytes()
    };
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
    let enter: &[u8] = if row.ticket.pty_size.is_some() { b"\r" } else { b"\n" };
    daemon.type_into(&row, enter, None, false).await?;
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

/// The terminal of a run as it stands.
pub(super) async fn screen_of(row: &RunRow) -> Result<Screen, Refusal> {
    if row.ticket.pty_size.is_none() {
        return Err(Refusal::wrong_state(format!(
            "run {} has no terminal: it is on pipes",
            row.ticket.run_id
        )));
    }
    let (cols, rows) = defaults::PTY_SIZE;
    let size = row.ticket.pty_size.unwrap_or(Size { cols, rows });
    Ok(screen_at(Path::new(&row.directory), size, Screen::advance).await?.0)
}

/// The terminal whose run has this directory, after `follow` has brought it up to date.
pub(crate) async fn screen_at<T: Send + 'static>(
    directory: &Path,
    size: Size,
    follow: impl FnOnce(&mut Screen) -> Result<T, tenure_screen::Error> + Send + 'static,
) -> Result<(Screen, T), Refusal> {
    let directory = directory.to_owned();
    let open = move || {
        let mut screen = Screen::open(&directory.join("output"), size, &directory.join("screen"))?;
        let came = follow(&mut screen)?;
        Ok::<_, tenure_screen::Error>((screen, came))
    };
    // A long log takes long to follow.
    match tokio::task::spawn_blocking(open).await {
        Ok(Ok(opened)) => Ok(opened),
        Ok(Err(error)) => Err(Refusal::internal(error)),
        Err(error) => Err(Refusal::internal(error)),
    }
}

impl Daemon {
    /// Types into a run, and waits until the command has taken it.
    pub(crate) async fn type_into(
        &self,
        row: &RunRow,
        bytes: &[u8],
        offset: Option<u64>,
        eof: bool,
    ) -> Result<(), Refusal> {
        let mut link = self.viewer(row).await?;
        if offset.is_none() && !eof {
            for chunk in bytes.chunks(CHUNK) {
                append(&mut link, chunk).await?;
            }
            return Ok(());
        }
        let mut at = match offset {
            Some(offset) => offset,
            None => match link.ask(&Ask::Status, &[]).await.map_err(Refusal::keeper_silent)? {
                Tell::Status { stdin_offset, .. } => stdin_offset,
                other => return Err(Refusal::internal(crate::link::unexpected(&other))),
            },
        };
        for chunk in bytes.chunks(CHUNK) {
            at = put(&mut link, at, chunk, false).await?;
        }
        if eof {
            put(&mut link, at, &[], true).await?;
        }
        Ok(())
    }
}

/// Types after whatever others typed.
async fn append(link: &mut Link, bytes: &[u8]) -> Result<(), Refusal> {
    let mut end = None;
    let mut told = link.ask(&Ask::Type, bytes).await;
    loop {
        match answer(told)? {
            Tell::Typed { to } => end = Some(to),
            Tell::KeysTaken { to } if end.is_some_and(|end| to >= end) => return Ok(()),
            Tell::Ended { .. } => return Err(Refusal::wrong_state("the run has ended")),
            _ => {}
        }
        told = next(link).await?;
    }
}

async fn next(link: &mut Link) -> Result<std::io::Result<Tell>, Refusal> {
    match timeout(PATIENCE, link.next::<Tell>()).await {
        Ok(Ok(Some((tell, _)))) => Ok(Ok(tell)),
        Ok(Ok(None)) => Err(Refusal::wrong_state("the run has ended")),
        Ok(Err(error)) => Ok(Err(error)),
        Err(_) => Err(Refusal::wrong_state("the command does not read its input")),
    }
}

async fn put(link: &mut Link, offset: u64, bytes: &[u8], eof: bool) -> Result<u64, Refusal> {
    let end = offset
        .checked_add(bytes.len() as u64)
        .ok_or_else(|| Refusal::wrong_state("no input is that long: write at a smaller offset"))?;
    let mut told = link.ask(&Ask::Stdin { offset, eof }, bytes).await;
    loop {
        match answer(told)? {
            Tell::StdinTaken { to } if to >= end => return Ok(end),
            Tell::Ended { .. } => return Err(Refusal::wrong_state("the run has ended")),
            _ => {}
        }
        told = next(link).await?;
    }
}
