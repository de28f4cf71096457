//! Host of a protocol driver: gives it an adapter's output and input by their offsets, and the record of its
//! conversation.

use super::requests::Bounds;
use super::write_grants::WriteGrants;
use crate::Agents;
use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tenure_acp::conversation::AgentRequest;
use tenure_acp::host::{Host, Output, Over, Reply};
use tenure_core::ids::RunId;
use tenure_core::output::Stream;
use tenure_core::session::SessionKey;
use tenure_core::talk::{ConversationStep, Line, RecordedStep};
use tenure_core::wire::{KeeperMessage, KeeperRequest};
use tenure_os::{clock, pause};
use tenure_output::{Piece, Reader};
use tenure_supervisor::OutputFollower;
use tenure_supervisor::RunHandle;
use tenure_supervisor::link::Link;
use tenure_supervisor::stdin::write_line;
use tenure_supervisor::sync::lock;
use tokio::sync::Mutex;
use tokio::task::block_in_place;
use tokio::time::{Instant, sleep};

/// Bytes to read at a time.
const CHUNK: usize = 256 << 10;
/// Delay before a retry.
const RETRY_DELAY: Duration = Duration::from_millis(200);

/// Run and record of an adapter, for its driver.
pub(crate) struct AdapterHost {
    pub(crate) agents: Arc<Agents>,
    pub(crate) key: SessionKey,
    pub(crate) held: Arc<RunHandle>,
    /// Permissions of the agent, and their directory.
    pub(crate) bounds: Bounds,
    /// File changes that a person has allowed.
    pub(crate) write_grants: std::sync::Mutex<WriteGrants>,
    reading: Mutex<Reading>,
    /// Time of the adapter's last output.
    last_output: Arc<std::sync::Mutex<Instant>>,
    /// Connection to the keeper for the adapter's input.
    typing: Mutex<Option<Link>>,
    /// Ids of released terminals. In memory only: the next daemon would still answer requests about them.
    pub(crate) released: std::sync::Mutex<HashSet<String>>,
}

struct Reading {
    follower: OutputFollower,
    reader: Reader,
    buffer: Vec<u8>,
}

impl AdapterHost {
    pub(crate) fn new(
        agents: Arc<Agents>,
        key: SessionKey,
        held: Arc<RunHandle>,
        bounds: Bounds,
        last_output: Arc<std::sync::Mutex<Instant>>,
    ) -> Self {
        let output: PathBuf = held.directory.join("output");
        let follower = OutputFollower::new(Arc::clone(&held));
        let reading = Reading { follower, reader: Reader::new(&output), buffer: vec![0; CHUNK] };
        Self {
            agents,
            key,
            held,
            bounds,
            write_grants: std::sync::Mutex::default(),
            reading: Mutex::new(reading),
            last_output,
            typing: Mutex::default(),
            released: std::sync::Mutex::default(),
        }
    }

    pub(crate) fn run(&self) -> &RunId {
        &self.held.ticket.run_id
    }

    /// Takes the connection for the input, or makes a new one.
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
                    tracing::debug!(run = %self.run(), why = refusal.detail, "no connection for adapter stdin, retrying");
                    sleep(RETRY_DELAY).await;
                }
            }
        }
    }
}

/// Records a step of a conversation, retrying until the registry accepts it, and notifies followers of the session.
pub(crate) async fn record_step(
    agents: &Agents,
    key: &SessionKey,
    run: &RunId,
    step: ConversationStep,
) -> Result<RecordedStep, Over> {
    loop {
        pause::point("daemon-acp-before-record");
        let (by, at_ms) = (agents.supervisor.instance.clone(), clock::unix_ms());
        match agents.supervisor.registry.advance_talk(run.clone(), by, step.clone(), at_ms).await {
            Ok(Some(done)) => {
                pause::point("daemon-acp-after-record");
                agents.adapters.updates.notify_step(key, &step, &done);
                return Ok(done);
            }
            Ok(None) => return Err(Over),
            Err(error) => {
                tracing::error!(%run, %error, "conversation step not recorded, retrying");
                sleep(RETRY_DELAY).await;
            }
        }
    }
}

/// Converts a piece of an adapter's output for the driver; `None` at the end of the output so far.
pub(crate) fn output_piece(piece: &Piece, buffer: &[u8]) -> Option<Output> {
    match *piece {
        Piece::Bytes { from, len, stream: Stream::Stdout, .. } => {
            Some(Output::Bytes { at: from, bytes: buffer[..len].to_vec() })
        }
        Piece::Gap { .. } | Piece::Lost { .. } => Some(Output::Until { at: piece.end(), is_lost: true }),
        Piece::Bytes { .. } => Some(Output::Until { at: piece.end(), is_lost: false }),
        Piece::End { .. } => None,
    }
}

impl Host for AdapterHost {
    async fn output(&self, from: u64) -> Output {
        let mut reading = self.reading.lock().await;
        let Reading { follower, reader, buffer } = &mut *reading;
        loop {
            // Checked before the read: everything printed before the end is readable by then.
            let is_over = follower.is_over();
            match block_in_place(|| reader.read(from, buffer)) {
                Ok(piece) => match output_piece(&piece, buffer) {
                    Some(output) => {
                        *lock(&self.last_output) = Instant::now();
                        return output;
                    }
                    None if is_over => return Output::Over,
                    None => follower.grown_beyond(piece.end()).await,
                },
                Err(_) if is_over => return Output::Over,
                Err(error) => {
                    tracing::warn!(run = %self.run(), %error, "adapter output not readable, retrying");
                    sleep(RETRY_DELAY).await;
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
                Ok(_) | Err(_) => sleep(RETRY_DELAY).await,
            }
        }
    }

    async fn write_line(&self, at: u64, text: String) -> Result<(), Over> {
        pause::point("daemon-acp-before-give");
        loop {
            let mut link = self.link().await?;
            match write_line(&mut link, at, text.as_bytes()).await {
                Ok(()) => {
                    *self.typing.lock().await = Some(link);
                    return Ok(());
                }
                // An adapter that does not read is retried for as long as it runs. The keeper skips bytes that it has.
                Err(refusal) => {
                    if self.held.status().is_over() {
                        return Err(Over);
                    }
                    tracing::debug!(run = %self.run(), why = refusal.detail, "adapter stdin not accepted yet, retrying");
                    sleep(RETRY_DELAY).await;
                }
            }
        }
    }

    async fn lines_from(&self, at: u64) -> Result<Vec<Line>, Over> {
        loop {
            match self.agents.supervisor.registry.lines_from(self.run().clone(), at).await {
                Ok(lines) => return Ok(lines),
                Err(error) => {
                    tracing::error!(run = %self.run(), %error, "lines sent to the adapter not readable, retrying");
                    sleep(RETRY_DELAY).await;
                }
            }
        }
    }

    async fn record(&self, step: ConversationStep) -> Result<RecordedStep, Over> {
        record_step(&self.agents, &self.key, self.run(), step).await
    }

    async fn answer(&self, asked: AgentRequest) -> Reply {
        self.reply_to(asked).await
    }

    fn question(&self, asked: &AgentRequest) -> Option<RunId> {
        self.bounds.asks_person().then(|| asked.consequence(self.run()))
    }

    fn withdraw(&self, asked: &AgentRequest) {
        let (agents, question) = (Arc::clone(&self.agents), asked.consequence(self.run()));
        tokio::spawn(async move { agents.approvals.withdraw_question(&question).await });
    }

    fn now_ms(&self) -> u64 {
        clock::unix_ms()
    }
}
