//! `tenure mcp`: bridges an MCP client's stdio to the daemon's socket. The bridge outlives the daemon: it answers the open
//! calls of a lost daemon with errors, and continues the conversation with the next one.

mod conversation;
mod lines;
mod malformed;
mod pipes;

use crate::args::McpArgs;
use crate::failure::Failure;
use crate::{caller_context, daemon_client, settings};
use conversation::Conversation;
use lines::LineReader;
use pipes::Pipes;
use std::time::Duration;
use tenure_client::{CallError, Client};
use tenure_core::tools::ClientRequest;
use tenure_settings::Settings;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::time::{Instant, sleep, timeout};

/// Time limit for a client's request to wait for a daemon.
const DAEMON_LIMIT: Duration = Duration::from_secs(30);
/// Time limit for delivering responses to a client that has closed its input.
const DELIVERY_LIMIT: Duration = Duration::from_secs(1);
/// Pause between two attempts to connect to a daemon: the first and the longest.
const CONNECT_PAUSES: (Duration, Duration) = (Duration::from_millis(20), Duration::from_secs(1));

pub(crate) fn run(args: &McpArgs) -> Result<u8, Failure> {
    let settings = settings::load()?;
    let daemon = daemon_client::require(&settings)?;
    let who = ClientRequest {
        session_key: args.session.clone(),
        process: Some(caller_context::capture(&settings)?),
    };
    let bridge =
        Bridge { settings, daemon, who, conversation: Conversation::default(), pipes: Pipes::open()? };
    daemon_client::try_call(bridge.serve())??;
    Ok(0)
}

struct Bridge {
    settings: Settings,
    daemon: Client,
    who: ClientRequest,
    conversation: Conversation,
    pipes: Pipes,
}

/// The side that closed first.
enum ClosedBy {
    Client,
    Daemon,
}

impl Bridge {
    /// Serves until the client closes its input.
    async fn serve(mut self) -> Result<(), Failure> {
        while let Some(stream) = self.next_daemon().await?
            && let ClosedBy::Daemon = self.forward(stream).await
        {
            for answer in self.conversation.fail_open_requests() {
                self.pipes.send(answer).await;
            }
        }
        self.pipes.close(DELIVERY_LIMIT).await;
        Ok(())
    }

    /// Forwards messages both ways. Replays the handshake to a new daemon first.
    async fn forward(&mut self, stream: impl AsyncRead + AsyncWrite) -> ClosedBy {
        let (read, mut write) = tokio::io::split(stream);
        let mut lines = LineReader::of(read);
        let daemon = self.daemon.clone();
        let mut silence = std::pin::pin!(daemon.wait_until_silent());
        for line in self.conversation.replay() {
            if write.write_all(&line).await.is_err() {
                return ClosedBy::Daemon;
            }
        }
        loop {
            tokio::select! {
                // The caller answers the open requests with errors and connects to the next daemon.
                _ = &mut silence => return ClosedBy::Daemon,
                line = self.pipes.next() => {
                    let Some(line) = line else {
                        // Deliver what is nearly done: a client that closed its input may still read.
                        let _ = timeout(DELIVERY_LIMIT, self.deliver_responses(lines)).await;
                        return ClosedBy::Client;
                    };
                    self.conversation.record_from_client(&line);
                    if write.write_all(&line).await.is_err() {
                        return ClosedBy::Daemon;
                    }
                }
                line = lines.next() => {
                    let Some(line) = line else { return ClosedBy::Daemon };
                    if self.conversation.record_from_daemon(&line) && !self.pipes.send(line).await {
                        return ClosedBy::Client;
                    }
                }
            }
        }
    }

    /// Delivers the daemon's responses until no request is open.
    async fn deliver_responses(&mut self, mut lines: LineReader<impl AsyncRead + Unpin>) {
        while self.conversation.has_open_requests()
            && let Some(line) = lines.next().await
        {
            if self.conversation.record_from_daemon(&line) && !self.pipes.send(line).await {
                return;
            }
        }
    }

    /// Connects to the next daemon; returns `None` if the client closes its input first. The last daemon may have been
    /// stopped on purpose, so a new one is started only when the client sends something.
    async fn next_daemon(
        &mut self,
    ) -> Result<Option<impl AsyncRead + AsyncWrite + Send + Unpin + 'static>, Failure> {
        let mut pause = CONNECT_PAUSES.0;
        let mut wanted_since: Option<Instant> = None;
        loop {
            let silent = match self.daemon.mcp(&self.who).await {
                Ok((stream, made)) => {
                    // The next daemon gets the same session key.
                    self.who.session_key = self.who.session_key.take().or(made);
                    return Ok(Some(stream));
                }
                Err(failed @ CallError::Silent { .. }) => Some(failed.to_string()),
                Err(failed) if is_temporary(&failed) => None,
                Err(failed) => return Err(daemon_client::to_failure(&failed)),
            };
            if let Some(since) = wanted_since
                && let Err(why) = self.start_unless_silent(silent).await
                && since.elapsed() > DAEMON_LIMIT
            {
                let Some(line) = self.pipes.next().await else { return Ok(None) };
                if let Some(answer) = self.conversation.refuse(&line, &why) {
                    self.pipes.send(answer).await;
                }
                wanted_since = None;
            }
            tokio::select! {
                () = sleep(pause) => pause = (pause * 2).min(CONNECT_PAUSES.1),
                more = self.pipes.wait(), if wanted_since.is_none() => {
                    if !more {
                        return Ok(None);
                    }
                    wanted_since = Some(Instant::now());
                }
            }
        }
    }

    /// Starts a daemon, unless one runs that does not answer.
    async fn start_unless_silent(&self, silent: Option<String>) -> Result<(), String> {
        match silent {
            Some(why) => Err(why),
            None => self.start().await,
        }
    }

    /// Starts a daemon, if that is allowed.
    async fn start(&self) -> Result<(), String> {
        let settings = self.settings.clone();
        let started = tokio::task::spawn_blocking(move || daemon_client::require(&settings).map(drop));
        match started.await {
            Ok(started) => started.map_err(|failure| failure.text().to_owned()),
            Err(error) => Err(error.to_string()),
        }
    }
}

/// Returns true if the next daemon may accept what this one did not.
fn is_temporary(failed: &CallError) -> bool {
    failed.is_lost() || failed.code() == Some("draining")
}
