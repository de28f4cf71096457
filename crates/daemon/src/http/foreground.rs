//! Foreground runs: `POST /v1/runs` with `Upgrade: tenure-keeper` on the local socket. The caller's connection is passed to
//! the keeper, so that the run ends if the caller disconnects, from the first moment on.

use super::extractors::Identity;
use super::lingering_close::LingeringStream;
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

/// Headers of a request for a foreground run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ForegroundRequest {
    /// The caller can pass its stdin to the keeper.
    passes_stdin: bool,
}

impl ForegroundRequest {
    /// Reads the headers. Returns `None` for other requests.
    pub(super) fn read(headers: &HeaderMap) -> Option<Self> {
        let says = |name: &str, value: &str| {
            headers.get(name).is_some_and(|its| its.as_bytes().eq_ignore_ascii_case(value.as_bytes()))
        };
        let passes_stdin = says(STDIN_HEADER, PASS_STDIN);
        says(header::UPGRADE.as_str(), KEEPER_PROTOCOL).then_some(Self { passes_stdin })
    }
}

/// Accepts the upgrade, and starts the run once the connection no longer speaks HTTP.
pub(super) fn start(
    daemon: Arc<Daemon>,
    request: &RunRequest,
    Identity(who): Identity,
    (how, upgrade): (ForegroundRequest, OnUpgrade),
) -> Result<Response, Refusal> {
    let start = crate::run_request::read(request, &daemon.supervisor, &who)?;
    tokio::spawn(async move {
        match upgrade.await {
            Ok(upgraded) => start_on_connection(daemon, start, who, (how, upgraded)).await,
            Err(error) => tracing::debug!(%error, "foreground caller disconnected before its run started"),
        }
    });
    let switched = Response::builder()
        .status(StatusCode::SWITCHING_PROTOCOLS)
        .header(header::CONNECTION, "upgrade")
        .header(header::UPGRADE, KEEPER_PROTOCOL)
        .body(Body::empty());
    switched.map_err(Refusal::internal)
}

/// Starts the run. The caller receives frames: from the daemon until there is a keeper, then from the keeper.
async fn start_on_connection(
    daemon: Arc<Daemon>,
    mut start: StartRequest,
    who: Requester,
    (how, upgraded): (ForegroundRequest, Upgraded),
) {
    let mut stream = match upgraded.downcast::<TokioIo<Watched<LingeringStream<Stream>>>>() {
        Ok(parts) if parts.read_buf.is_empty() => parts.io.into_inner().into_inner().into_inner(),
        Ok(_) => return tracing::warn!("foreground caller sent data before the response"),
        Err(_) => return tracing::error!("foreground caller is not connected to the local socket"),
    };
    if how.passes_stdin {
        start.spec.pass_stdin();
    }
    let caller = match stream.copy() {
        Ok(conn) => conn,
        Err(error) => {
            return tracing::error!(%error, "cannot duplicate the connection of a foreground caller");
        }
    };
    let started = tokio::select! {
        started = daemon.supervisor.start(start, who.to_string(), Some(caller)) => started,
        // A caller that disconnects while its run is queued leaves the queue. Data from the caller stays unread, for the keeper.
        // A started run has the caller's connection, and its keeper notices the disconnect.
        () = stream.gone() => return,
    };
    if let Err(refusal) = started {
        let why = refusal.detail;
        let _ = stream.write_all(&wire::encode(&KeeperMessage::Refused { why }, &[])).await;
    }
}
