//! What a driver stands on: an adapter's run, by the offsets of its output and input, and the record of its conversation.

use super::requests::Bounds;
use super::write_grants::Allowed;
use crate::Agents;
use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tenure_acp::conversation::Asked;
use tenure_acp::host::{Host, Output, Over, Reply};
use tenure_core::ids::RunId;
use tenure_core::output::Stream;
use tenure_core::session::SessionKey;
use tenure_core::talk::{Advance, Advanced, Line};
use tenure_core::wire::{KeeperMessage, KeeperRequest};
use tenure_os::{clock, pause};
use tenure_output::{Piece, Reader};
use tenure_supervisor::Follower;
use tenure_supervisor::RunHandle;
use tenure_supervisor::link::Link;
use tenure_supervisor::stdin::put_line;
use tenure_supervisor::sync::lock;
use tokio::sync::Mutex;
use tokio::task::block_in_place;
use tokio::time::{Instant, sleep};

/// How much is read at a time.
const CHUNK: usize = 256 << 10;
/// The pause before something is tried again.
const PAUSE: Duration = Duration::from_millis(200);

/// An adapter's run and its record.
pub(crate) struct Hosting {
    pub(crate) agents: Arc<Agents>,
    pub(crate) key: SessionKey,
    pub(crate) held: Arc<RunHandle>,
    /// What the agent may do, and where.
    pub(crate) bounds: Bounds,
    /// What somebody has allowed it to write.
    pub(crate) allowed: std::sync::Mutex<Allowed>,
    reading: Mutex<Reading>,
    /// When the adapter printed something last.
    spoke: Arc<std::sync::Mutex<Instant>>,
    /// The connection over which its input is given.
    typing: Mutex<Option<Link>>,
    /// The terminals that the agent has let go of. The next daemon does not know, and answers what it need not.
    pub(crate) released: std::sync::Mutex<HashSet<String>>,
}

struct Reading {
    follower: Follower,
    reader: Reader,
    buffer: Vec<u8>,
}

impl Hosting {
    pub(crate) fn new(
        agents: Arc<Agents>,
        key: SessionKey,
        held: Arc<RunHandle>,
        bounds: Bounds,
        spoke: Arc<std::sync::Mutex<Instant>>,
    ) -> Self {
        let output: PathBuf = held.directory.join("output");
        let follower = Follower::new(Arc::clone(&held));
        let reading = Reading { follower, reader: Reader::new(&output), buffer: vec![0; CHUNK] };
        Self {
            agents,
            key,
            held,
            bounds,
            allowed: std::sync::Mutex::default(),
            reading: Mutex::new(reading),
            spoke,
            typing: Mutex::default(),
            released: std::sync::Mutex::default(),
        }
    }

    pub(crate) fn run(&self) -> &RunId {
        &self.held.ticket.run_id
    }

    /// The connection for the input; made anew if there is none.
    async fn link(&self) -> Result<Link, Over> {
        loop {
            if let Some(link) = self.typing.lock().await.take() {
                return Ok(link);
            }
            if self.held.status().is_over() {
                return Err(Over);
            }
            let row = self.agents.supervisor.row(self.run()).await.map_err(|_| Over)?;
            match self.agents.supervisor.viewer(&row).await {
                Ok(link) => return Ok(link),
                Err(refusal) => {
                    tracing::debug!(run = %self.run(), why = refusal.detail, "an adapter's input waits");
                    sleep(PAUSE).await;
                }
            }
        }
    }
}

/// Records a step of a conversation, however long the registry takes to take it, and tells whoever looks on.
pub(crate) async fn record_step(
    agents: &Agents,
    key: &SessionKey,
    run: &RunId,
    step: Advance,
) -> Result<Advanced, Over> {
    loop {
        pause::point("daemon-acp-before-record");
        let (by, at_ms) = (agents.supervisor.instance.clone(), clock::unix_ms());
        match agents.supervisor.registry.advance_talk(run.clone(), by, step.clone(), at_ms).await {
            Ok(Some(done)) => {
                pause::point("daemon-acp-after-record");
                agents.adapters.updates.tell_of(key, &step, &done);
                return Ok(done);
            }
            Ok(None) => return Err(Over),
            Err(error) => {
                tracing::error!(%run, %error, "the registry did not take a conversation's step");
                sleep(PAUSE).await;
            }
        }
    }
}

/// What a part of an adapter's output is to a driver; nothing, if there is none yet.
pub(crate) fn heard(piece: &Piece, buffer: &[u8]) -> Option<Output> {
    match *piece {
        Piece::Bytes { from, len, stream: Stream::Stdout, .. } => {
            Some(Output::Bytes { at: from, bytes: buffer[..len].to_vec() })
        }
        Piece::Gap { .. } | Piece::Lost { .. } => Some(Output::Until { at: piece.end(), is_lost: true }),
        Piece::Bytes { .. } => Some(Output::Until { at: piece.end(), is_lost: false }),
        Piece::End { .. } => None,
    }
}

impl Host for Hosting {
    async fn output(&self, from: u64) -> Output {
        let mut reading = self.reading.lock().await;
        let Reading { follower, reader, buffer } = &mut *reading;
        loop {
            // Before the look: what was printed before the end is there then.
            let is_over = follower.is_over();
            match block_in_place(|| reader.read(from, buffer)) {
                Ok(piece) => match heard(&piece, buffer) {
                    Some(output) => {
                        *lock(&self.spoke) = Instant::now();
                        return output;
                    }
                    None if is_over => return Output::Over,
                    None => follower.grown_beyond(piece.end()).await,
                },
                Err(_) if is_over => return Output::Over,
                Err(error) => {
                    tracing::warn!(run = %self.run(), %error, "an adapter's output cannot be read");
                    sleep(PAUSE).await;
                }
            }
        }
    }

    async fn input_taken(&self) -> Result<u64, Over> {
        loop {
            let mut link = self.link().await?;
            match link.ask(&KeeperRequest::Status, &[]).await {
                Ok(KeeperMessage::Status { stdin_offset, .. }) => {
                    *self.typing.lock().await = Some(link);
                    return Ok(stdin_offset);
                }
                Ok(_) | Err(_) if self.held.status().is_over() => return Err(Over),
                Ok(_) | Err(_) => sleep(PAUSE).await,
            }
        }
    }

    async fn give(&self, at: u64, text: String) -> Result<(), Over> {
        pause::point("daemon-acp-before-give");
        loop {
            let mut link = self.link().await?;
            match put_line(&mut link, at, text.as_bytes()).await {
                Ok(()) => {
                    *self.typing.lock().await = Some(link);
                    return Ok(());
                }
                // It does not read: it is waited for as long as it runs. The keeper takes what it does not have.
                Err(refusal) => {
                    if self.held.status().is_over() {
                        return Err(Over);
                    }
                    tracing::debug!(run = %self.run(), why = refusal.detail, "an adapter does not take its input");
                    sleep(PAUSE).await;
                }
            }
        }
    }

    async fn lines_from(&self, at: u64) -> Result<Vec<Line>, Over> {
        loop {
            match self.agents.supervisor.registry.lines_from(self.run().clone(), at).await {
                Ok(lines) => return Ok(lines),
                Err(error) => {
                    tracing::error!(run = %self.run(), %error, "what was said to an adapter cannot be read");
                    sleep(PAUSE).await;
                }
            }
        }
    }

    async fn record(&self, step: Advance) -> Result<Advanced, Over> {
        record_step(&self.agents, &self.key, self.run(), step).await
    }

    async fn answer(&self, asked: Asked) -> Reply {
        self.satisfy(asked).await
    }

    fn question(&self, asked: &Asked) -> Option<RunId> {
        self.bounds.asks_somebody().then(|| asked.consequence(self.run()))
    }

    fn withdraw(&self, asked: &Asked) {
        let (agents, question) = (Arc::clone(&self.agents), asked.consequence(self.run()));
        tokio::spawn(async move { agents.approvals.withdraw_question(&question).await });
    }

    fn now_ms(&self) -> u64 {
        clock::unix_ms()
    }
}
