//! A foreground run: the caller's connection to the daemon becomes its connection to the keeper, so that its end is
//! the caller's end from the first moment. `POST /v1/runs` with `Upgrade: tenure-keeper`, on the local socket.

use super::answer::Who;
use super::linger::Lingering;
use crate::daemon::Daemon;
use axum::body::Body;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::Response;
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use std::sync::Arc;
use tenure_core::api::{KEEPER_PROTOCOL, PASS_STDIN, RunRequest, STDIN_HEADER};
use tenure_core::wire::{self, KeeperMessage};
use tenure_mcp::Watched;
use tenure_os::stream::Stream;
use tenure_supervisor::Refusal;
use tenure_supervisor::Requester;
use tenure_supervisor::start_request::StartRequest;
use tokio::io::AsyncWriteExt;

/// How a request asks for that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ForegroundRequest {
    /// Whether the caller can pass its standard input to the keeper.
    passes_stdin: bool,
}

impl ForegroundRequest {
    /// Reads it from a request's headers, if it is there.
    pub(super) fn read(headers: &HeaderMap) -> Option<Self> {
        let says = |name: &str, value: &str| {
            headers.get(name).is_some_and(|its| its.as_bytes().eq_ignore_ascii_case(value.as_bytes()))
        };
        let passes_stdin = says(STDIN_HEADER, PASS_STDIN);
        says(header::UPGRADE.as_str(), KEEPER_PROTOCOL).then_some(Self { passes_stdin })
    }
}

/// Agrees, and starts the run once the connection is no more HTTP's.
pub(super) fn start(
    daemon: Arc<Daemon>,
    request: &RunRequest,
    Who(who): Who,
    (how, upgrade): (ForegroundRequest, OnUpgrade),
) -> Result<Response, Refusal> {
    let start = crate::run_request::read(request, &daemon.supervisor, &who)?;
    tokio::spawn(async move {
        match upgrade.await {
            Ok(upgraded) => go_on(daemon, start, who, (how, upgraded)).await,
            Err(error) => tracing::debug!(%error, "a foreground caller left before its run began"),
        }
    });
    let switched = Response::builder()
        .status(StatusCode::SWITCHING_PROTOCOLS)
        .header(header::CONNECTION, "upgrade")
        .header(header::UPGRADE, KEEPER_PROTOCOL)
        .body(Body::empty());
    switched.map_err(Refusal::internal)
}

/// From here on the caller hears frames: from us until there is a keeper, then from that.
async fn go_on(
    daemon: Arc<Daemon>,
    mut start: StartRequest,
    who: Requester,
    (how, upgraded): (ForegroundRequest, Upgraded),
) {
    let mut stream = match upgraded.downcast::<TokioIo<Watched<Lingering<Stream>>>>() {
        Ok(parts) if parts.read_buf.is_empty() => parts.io.into_inner().into_inner().into_inner(),
        Ok(_) => return tracing::warn!("a foreground caller spoke before it was spoken to"),
        Err(_) => return tracing::error!("a foreground caller came over something else than the socket"),
    };
    if how.passes_stdin {
        start.spec.pass_stdin();
    }
    let caller = match stream.copy() {
        Ok(conn) => conn,
        Err(error) => return tracing::error!(%error, "a caller's connection cannot be passed on"),
    };
    let started = tokio::select! {
        started = daemon.supervisor.start(start, who.to_string(), Some(caller)) => started,
        // Whoever leaves while it waits for its turn leaves the queue. What it says is left for the keeper to read. A run
        // that has begun has the caller's connection, and hears of its end by itself.
        () = stream.gone() => return,
    };
    if let Err(refusal) = started {
        let why = refusal.detail;
        let _ = stream.write_all(&wire::encode(&KeeperMessage::Refused { why }, &[])).await;
    }
}
