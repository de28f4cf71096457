//! Route for a run's output: reads its files from any byte, and follows new output.

use super::extractors::Identity;
use super::extractors::Rejection;
use super::extractors::{Id, QueryParams};
use crate::daemon::Daemon;
use axum::body::Body;
use axum::extract::State;
use axum::http::header;
use axum::response::Response;
use bytes::Bytes;
use serde::Deserialize;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use tenure_core::api::Problem;
use tenure_core::output::Stream;
use tenure_output::{Cleaner, Piece, Reader};
use tenure_supervisor::OutputFollower;
use tenure_supervisor::Phase;
use tenure_supervisor::Refusal;
use tenure_supervisor::sync::until;
use tokio::sync::{OwnedSemaphorePermit, watch};
use utoipa::IntoParams;

/// Size of one read, in bytes.
const CHUNK: usize = 64 << 10;

/// Query parameters of `GET /v1/runs/{id}/output`.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(super) struct OutputParams {
    /// First byte of the merged output.
    offset: Option<u64>,
    /// Maximum number of bytes.
    limit: Option<u64>,
    /// Only this many last lines. Not together with `offset`.
    tail: Option<u64>,
    /// Only `stdout` or `stderr`.
    stream: Option<String>,
    /// Send new output until the run has ended.
    follow: bool,
    /// Remove escape sequences and control characters.
    text: bool,
}

/// Get a run's output.
///
/// The header `Tenure-Offset` contains the offset of the body's first byte.
#[utoipa::path(get, path = "/v1/runs/{id}/output", params(("id" = String, Path), OutputParams), responses(
    (status = 200, content_type = "application/octet-stream", body = String), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn output(
    State(daemon): State<Arc<Daemon>>,
    Identity(who): Identity,
    Id(id): Id,
    QueryParams(params): QueryParams<OutputParams>,
) -> Result<Response, Rejection> {
    let row = daemon.supervisor.find(&id, &who).await?;
    let stream = match params.stream.as_deref() {
        None => None,
        Some("stdout") => Some(Stream::Stdout),
        Some("stderr") => Some(Stream::Stderr),
        Some(other) => {
            return Err(
                Refusal::bad_request(format!("unknown stream {other:?}: use stdout or stderr")).into()
            );
        }
    };
    let dir = PathBuf::from(&row.directory).join("output");
    let at = match (params.offset, params.tail) {
        (Some(_), Some(_)) => return Err(Refusal::bad_request("give offset or tail, not both").into()),
        (offset, None) => offset.unwrap_or(0),
        (None, Some(lines)) => tenure_output::tail_offset(&dir, lines, stream).map_err(Refusal::internal)?,
    };
    let follower = match daemon.supervisor.runs.get(&row.ticket.run_id) {
        Some(held) if params.follow => Some((OutputFollower::new(held), daemon.supervisor.events.follow()?)),
        _ => None,
    };
    let pages = OutputBody {
        reader: Reader::new(&dir),
        at,
        left: params.limit.unwrap_or(u64::MAX),
        stream,
        cleaner: params.text.then(Cleaner::new),
        follower,
        buffer: vec![0; CHUNK],
        phase: daemon.supervisor.lifecycle.phase.subscribe(),
    };
    let body = futures_util::stream::unfold(pages, async |mut pages| {
        pages.next().await.transpose().map(|chunk| (chunk, pages))
    });
    let kind = if params.text { "text/plain; charset=utf-8" } else { "application/octet-stream" };
    Response::builder()
        .header(header::CONTENT_TYPE, kind)
        .header("tenure-offset", at)
        .body(Body::from_stream(body))
        .map_err(Refusal::internal)
        .map_err(Rejection)
}

/// The rest of the output.
struct OutputBody {
    reader: Reader,
    at: u64,
    left: u64,
    stream: Option<Stream>,
    cleaner: Option<Cleaner>,
    /// The follower and its permit.
    follower: Option<(OutputFollower, OwnedSemaphorePermit)>,
    buffer: Vec<u8>,
    phase: watch::Receiver<Phase>,
}

impl OutputBody {
    /// Returns the next part, or `None` at the end.
    async fn next(&mut self) -> io::Result<Option<Bytes>> {
        while self.left > 0 {
            // Before the files, so that they contain everything up to the end.
            let over = self.follower.as_ref().is_none_or(|(follower, _)| follower.is_over());
            let piece = self.reader.read(self.at, &mut self.buffer).map_err(io::Error::other)?;
            self.at = piece.end();
            match piece {
                Piece::Bytes { len, stream, .. } => {
                    if self.stream.is_none_or(|only| only == stream) {
                        let len = len.min(usize::try_from(self.left).unwrap_or(usize::MAX));
                        self.left -= len as u64;
                        let bytes = &self.buffer[..len];
                        let shown = match &mut self.cleaner {
                            Some(cleaner) => {
                                let mut text = String::new();
                                cleaner.push(bytes, &mut text);
                                Bytes::from(text)
                            }
                            None => Bytes::copy_from_slice(bytes),
                        };
                        if !shown.is_empty() {
                            return Ok(Some(shown));
                        }
                    }
                }
                Piece::Gap { .. } | Piece::Lost { .. } => {}
                Piece::End { .. } if over => break,
                Piece::End { .. } => {
                    if let Some((follower, _)) = &mut self.follower {
                        tokio::select! {
                            () = follower.grown_beyond(self.at) => {}
                            // An error, so that the client does not take this for the end of the output.
                            () = until(&mut self.phase, |phase| phase.leaves_runs()) => {
                                return Err(io::Error::other("the daemon is shutting down"));
                            }
                        }
                    }
                }
            }
        }
        self.left = 0;
        let mut rest = String::new();
        if let Some(mut cleaner) = self.cleaner.take() {
            cleaner.finish(&mut rest);
        }
        Ok((!rest.is_empty()).then(|| Bytes::from(rest)))
    }
}
