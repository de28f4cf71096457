//! `tenure mcp`: a bridge between an MCP client's pipes and the daemon's socket. It outlives the daemon: the client
//! hears what became of its calls, and speaks to the next one.

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

/// How long a client's request waits for a daemon.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long answers are still carried to a client that has said its last word.
const COURTESY: Duration = Duration::from_secs(1);
/// How long between two looks whether there is one: at first, and at most.
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

/// Who went first.
enum Over {
    Client,
    Daemon,
}

impl Bridge {
    /// Until the client goes.
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

    /// Carries messages both ways. What the next daemon must know is said first.
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
                // Open requests are reported as lost, and the next daemon is looked for.
                _ = &mut silence => return Over::Daemon,
                line = self.pipes.next() => {
                    let Some(line) = line else {
                        // What is nearly done is still said; whoever closes its end may read on.
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

    /// Says what the daemon still answers, until nothing waits for an answer.
    async fn hear_out(&mut self, mut lines: Lines<impl AsyncRead + Unpin>) {
        while self.memory.waits()
            && let Some(line) = lines.next().await
        {
            if self.memory.daemon_said(&line) && !self.pipes.say(line).await {
                return;
            }
        }
    }

    /// The next daemon; nothing, if the client goes first. Whoever stopped the last one may not want another, so one
    /// is started only when the client wants something.
    async fn next_daemon(
        &mut self,
    ) -> Result<Option<impl AsyncRead + AsyncWrite + Send + Unpin + 'static>, Failure> {
        let mut pause = LOOK.0;
        let mut wanted_since: Option<Instant> = None;
        loop {
            let silent = match self.daemon.mcp(&self.who).await {
                Ok((stream, made)) => {
                    // It is named to the next daemon.
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

    /// Starts a daemon, unless there is one that does not answer.
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

/// Whether the next daemon may take what this one did not.
fn passes(failed: &Failed) -> bool {
    failed.is_lost() || failed.code() == Some("draining")
}
