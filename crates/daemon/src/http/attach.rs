//! `tenure attach`: a WebSocket for output and input. The server sends bytes, first those that repaint the terminal. The
//! client sends input as bytes, and sizes as text: `{"cols":120,"rows":30}`. With several clients, the last size holds.

use super::extractors::Id;
use super::extractors::Identity;
use super::extractors::Rejection;
use crate::daemon::Daemon;
use axum::extract::State;
use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade, close_code};
use axum::response::Response;
use bytes::Bytes;
use std::path::PathBuf;
use std::sync::Arc;
use tenure_core::api::Problem;
use tenure_core::spec::Size;
use tenure_core::wire::KeeperRequest;
use tenure_output::{Piece, Reader};
use tenure_store::RunRow;
use tenure_supervisor::OutputFollower;
use tenure_supervisor::Refusal;
use tenure_supervisor::screen_of;
use tenure_supervisor::sync::until;

/// Maximum size of one message, in bytes.
const CHUNK: usize = 16 << 10;

/// Attach to a run.
#[utoipa::path(get, path = "/v1/runs/{id}/attach", params(("id" = String, Path)), responses(
    (status = 101, description = "a WebSocket"), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn attach(
    State(daemon): State<Arc<Daemon>>,
    Identity(who): Identity,
    Id(id): Id,
    upgrade: Result<WebSocketUpgrade, axum::extract::ws::rejection::WebSocketUpgradeRejection>,
) -> Result<Response, Rejection> {
    let row = daemon.supervisor.find(&id, &who).await?;
    let upgrade = upgrade.map_err(|rejection| Refusal::bad_request(rejection.body_text()))?;
    let held = daemon.supervisor.runs.get(&row.ticket.run_id).ok_or_else(|| {
        Refusal::wrong_state(format!("run {} has ended, or another daemon holds it", row.ticket.run_id))
    })?;
    let place = daemon.supervisor.events.follow()?;
    Ok(upgrade.on_upgrade(async move |socket| {
        let mut viewer = Viewer { daemon, row, follower: OutputFollower::new(held), socket, at: 0 };
        if let Err(why) = viewer.watch().await {
            let reason = why.chars().take(100).collect::<String>().into();
            let close = CloseFrame { code: close_code::ERROR, reason };
            // A disconnected client needs no reason.
            let _ = viewer.socket.send(Message::Close(Some(close))).await;
        }
        drop(place);
    }))
}

struct Viewer {
    daemon: Arc<Daemon>,
    row: RunRow,
    follower: OutputFollower,
    socket: WebSocket,
    at: u64,
}

impl Viewer {
    /// Serves the client until the run has ended or the client disconnects.
    async fn watch(&mut self) -> Result<(), String> {
        if self.row.ticket.options.pty_size.is_some() {
            let screen = screen_of(&self.row).await.map_err(|refusal| refusal.detail)?;
            self.at = screen.offset();
            self.send(Bytes::from(screen.restore())).await?;
        }
        let mut reader = Reader::new(&PathBuf::from(&self.row.directory).join("output"));
        let mut phase = self.daemon.supervisor.lifecycle.phase.subscribe();
        loop {
            let over = self.follower.is_over();
            self.send_new(&mut reader).await?;
            if over {
                return self.close().await;
            }
            tokio::select! {
                () = self.follower.grown_beyond(self.at) => {}
                () = until(&mut phase, |phase| phase.leaves_runs()) => {
                    return self.close_with(close_code::AWAY, "the daemon is shutting down; the run continues").await;
                }
                received = self.socket.recv() => match received {
                    Some(Ok(message)) => {
                        if !self.handle_message(message).await? {
                            return Ok(());
                        }
                    }
                    Some(Err(_)) | None => return Ok(()),
                },
            }
        }
    }

    async fn send(&mut self, bytes: Bytes) -> Result<(), String> {
        self.socket.send(Message::Binary(bytes)).await.map_err(|error| error.to_string())
    }

    /// Sends the new output.
    async fn send_new(&mut self, reader: &mut Reader) -> Result<(), String> {
        let mut buffer = vec![0; CHUNK];
        loop {
            let piece = reader.read(self.at, &mut buffer).map_err(|error| error.to_string())?;
            self.at = piece.end();
            match piece {
                Piece::Bytes { len, .. } => self.send(Bytes::copy_from_slice(&buffer[..len])).await?,
                Piece::Gap { .. } | Piece::Lost { .. } => {}
                Piece::End { .. } => return Ok(()),
            }
        }
    }

    /// Handles input or a new window size. Returns false if the client closes the connection.
    async fn handle_message(&mut self, message: Message) -> Result<bool, String> {
        match message {
            Message::Binary(bytes) => {
                let typed = self.daemon.supervisor.type_into(&self.row, &bytes, None, false).await;
                typed.map_err(|refusal| refusal.detail)?;
            }
            Message::Text(text) => {
                let size: Size = serde_json::from_str(&text)
                    .map_err(|_| "a text message must be a size: {\"cols\":120,\"rows\":30}".to_owned())?;
                let size = Size::new(size.cols, size.rows).map_err(|error| error.to_string())?;
                let asked = self.daemon.supervisor.ask(&self.row, &KeeperRequest::Resize(size), &[]).await;
                asked.map_err(|refusal| refusal.detail)?;
            }
            Message::Close(_) => return Ok(false),
            Message::Ping(_) | Message::Pong(_) => {}
        }
        Ok(true)
    }

    /// Closes the connection with the run's ending as the reason.
    async fn close(&mut self) -> Result<(), String> {
        let how = match self.daemon.supervisor.row(&self.row.ticket.run_id).await {
            Ok(row) => row.ending.map(|ending| ending.termination.sentence()),
            Err(_) => None,
        };
        self.close_with(close_code::NORMAL, &how.unwrap_or_else(|| "the run has ended".to_owned())).await
    }

    async fn close_with(&mut self, code: u16, why: &str) -> Result<(), String> {
        let reason = why.chars().take(100).collect::<String>().into();
        let close = CloseFrame { code, reason };
        self.socket.send(Message::Close(Some(close))).await.map_err(|error| error.to_string())
    }
}
