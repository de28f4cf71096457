//! `tenure mcp`: bridges an MCP client's stdio to the daemon's socket. The bridge outlives the daemon: it answers the open
//! calls of a lost daemon with errors, and continues the conversation with the next one.

mod lines;
mod malformed;
mod memory;
mod pipes;

use crate::args::McpArgs;
use crate::failure::Failure;
use crate::{here, reach, settings};
use lines::Lines;
use memory::Memory;
use pipes::Pipes;
use std::time::Duration;
use tenure_client::{Client, Failed};
use tenure_core::tools::ClientRequest;
use tenure_settings::Settings;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::time::{Instant, sleep, timeout};

/// Time limit for a client's request to wait for a daemon.
const PATIENCE: Duration = Duration::from_secs(30);
/// Time limit for delivering responses to a client that has closed its input.
const COURTESY: Duration = Duration::from_secs(1);
/// Pause between two attempts to connect to a daemon: the first and the longest.
const LOOK: (Duration, Duration) = (Duration::from_millis(20), Duration::from_secs(1));

pub(crate) fn run(args: &McpArgs) -> Result<u8, Failure> {
    let settings = settings::load()?;
    let daemon = reach::needed(&settings)?;
    let who = ClientRequest { session_key: args.session.clone(), process: Some(here::process(&settings)?) };
    let bridge = Bridge { settings, daemon, who, memory: Memory::default(), pipes: Pipes::open()? };
    reach::try_wait(bridge.serve())??;
    Ok(0)
}

struct Bridge {
    settings: Settings,
    daemon: Client,
    who: ClientRequest,
    memory: Memory,
    pipes: Pipes,
}

/// The side that closed first.
enum Over {
    Client,
    Daemon,
}

impl Bridge {
    /// Serves until the client closes its input.
    async fn serve(mut self) -> Result<(), Failure> {
        while let Some(stream) = self.next_daemon().await?
            && let Over::Daemon = self.carry(stream).await
        {
            for answer in self.memory.lost() {
                self.pipes.say(answer).await;
            }
        }
        self.pipes.close(COURTESY).await;
        Ok(())
    }

    /// Forwards messages both ways. Replays the handshake to a new daemon first.
    async fn carry(&mut self, stream: impl AsyncRead + AsyncWrite) -> Over {
        let (read, mut write) = tokio::io::split(stream);
        let mut lines = Lines::of(read);
        let daemon = self.daemon.clone();
        let mut silence = std::pin::pin!(daemon.silence());
        for line in self.memory.replay() {
            if write.write_all(&line).await.is_err() {
                return Over::Daemon;
            }
        }
        loop {
            tokio::select! {
                // The caller answers the open requests with errors and connects to the next daemon.
                _ = &mut silence => return Over::Daemon,
                line = self.pipes.next() => {
                    let Some(line) = line else {
                        // Deliver what is nearly done: a client that closed its input may still read.
                        let _ = timeout(COURTESY, self.hear_out(lines)).await;
                        return Over::Client;
                    };
                    self.memory.client_said(&line);
                    if write.write_all(&line).await.is_err() {
                        return Over::Daemon;
                    }
                }
                line = lines.next() => {
                    let Some(line) = line else { return Over::Daemon };
                    if self.memory.daemon_said(&line) && !self.pipes.say(line).await {
                        return Over::Client;
                    }
                }
            }
        }
    }

    /// Delivers the daemon's responses until no request is open.
    async fn hear_out(&mut self, mut lines: Lines<impl AsyncRead + Unpin>) {
        while self.memory.waits()
            && let Some(line) = lines.next().await
        {
            if self.memory.daemon_said(&line) && !self.pipes.say(line).await {
                return;
            }
        }
    }

    /// Connects to the next daemon; returns `None` if the client closes its input first. The last daemon may have been
    /// stopped on purpose, so a new one is started only when the client sends something.
    async fn next_daemon(
        &mut self,
    ) -> Result<Option<impl AsyncRead + AsyncWrite + Send + Unpin + 'static>, Failure> {
        let mut pause = LOOK.0;
        let mut wanted_since: Option<Instant> = None;
        loop {
            let silent = match self.daemon.mcp(&self.who).await {
                Ok((stream, made)) => {
                    // The next daemon gets the same session key.
                    self.who.session_key = self.who.session_key.take().or(made);
                    return Ok(Some(stream));
                }
                Err(failed @ Failed::Silent { .. }) => Some(failed.to_string()),
                Err(failed) if passes(&failed) => None,
                Err(failed) => return Err(reach::failure(&failed)),
            };
            if let Some(since) = wanted_since
                && let Err(why) = self.reached(silent).await
                && since.elapsed() > PATIENCE
            {
                let Some(line) = self.pipes.next().await else { return Ok(None) };
                if let Some(answer) = self.memory.unanswerable(&line, &why) {
                    self.pipes.say(answer).await;
                }
                wanted_since = None;
            }
            tokio::select! {
                () = sleep(pause) => pause = (pause * 2).min(LOOK.1),
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
    async fn reached(&self, silent: Option<String>) -> Result<(), String> {
        match silent {
            Some(why) => Err(why),
            None => self.start().await,
        }
    }

    /// Starts a daemon, if that is allowed.
    async fn start(&self) -> Result<(), String> {
        let settings = self.settings.clone();
        let started = tokio::task::spawn_blocking(move || reach::needed(&settings).map(drop));
        match started.await {
            Ok(started) => started.map_err(|failure| failure.text().to_owned()),
            Err(error) => Err(error.to_string()),
        }
    }
}

/// Returns true if the next daemon may accept what this one did not.
fn passes(failed: &Failed) -> bool {
    failed.is_lost() || failed.code() == Some("draining")
}
