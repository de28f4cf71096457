//! What a driver stands on: an adapter's run, by the offsets of its output and input, and the record of its conversation.

use super::allowed::Allowed;
use super::updates::Update;
use super::wants::Bounds;
use crate::daemon::Daemon;
use crate::follower::Follower;
use crate::held::Held;
use crate::link::Link;
use crate::typing::put_line;
use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tenure_acp::conversation::Asked;
use tenure_acp::host::{Host, Output, Over, Reply};
use tenure_core::ids::RunId;
use tenure_core::output::Stream;
use tenure_core::session::SessionKey;
use tenure_core::talk::{Advance, Advanced, Line, Told};
use tenure_core::wire::{Ask, Tell};
use tenure_os::{clock, pause};
use tenure_output::{Piece, Reader};
use tokio::sync::Mutex;
use tokio::task::block_in_place;
use tokio::time::sleep;

/// How much is read at a time.
const CHUNK: usize = 256 << 10;
/// The pause before something is tried again.
const PAUSE: Duration = Duration::from_millis(200);

/// An adapter's run and its record.
pub(super) struct Hosting {
    pub(super) daemon: Arc<Daemon>,
    pub(super) key: SessionKey,
    pub(super) held: Arc<Held>,
    /// What the agent may do, and where.
    pub(super) bounds: Bounds,
    /// What somebody has allowed it to write.
    pub(super) allowed: std::sync::Mutex<Allowed>,
    reading: Mutex<Reading>,
    /// The connection over which its input is given.
    typing: Mutex<Option<Link>>,
    /// The terminals that the agent has let go of. The next daemon does not know, and answers what it need not.
    pub(super) released: std::sync::Mutex<HashSet<String>>,
}

struct Reading {
    follower: Follower,
    reader: Reader,
    buffer: Vec<u8>,
}

impl Hosting {
    pub(super) fn new(daemon: Arc<Daemon>, key: SessionKey, held: Arc<Held>, bounds: Bounds) -> Self {
        let output: PathBuf = held.directory.join("output");
        let follower = Follower::new(Arc::clone(&held));
        let reading = Reading { follower, reader: Reader::new(&output), buffer: vec![0; CHUNK] };
        Self {
            daemon,
            key,
            held,
            bounds,
            allowed: std::sync::Mutex::default(),
            reading: Mutex::new(reading),
            typing: Mutex::default(),
            released: std::sync::Mutex::default(),
        }
    }

    pub(super) fn run(&self) -> &RunId {
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
            let row = self.daemon.row(self.run()).await.map_err(|_| Over)?;
            match self.daemon.viewer(&row).await {
                Ok(link) => return Ok(link),
                Err(refusal) => {
                    tracing::debug!(run = %self.run(), why = refusal.detail, "an adapter's input waits");
                    sleep(PAUSE).await;
                }
            }
        }
    }

    /// Tells whoever looks on.
    fn tell(&self, step: &Advance, done: &Advanced) {
        let changed = step.told.iter().filter_map(|told| match told {
            Told::New { .. } => None,
            Told::Again { number, .. } => Some(*number),
        });
        let numbers: Arc<[u64]> = changed.chain(done.numbers.iter().copied()).collect();
        if !numbers.is_empty() {
            self.daemon.adapters.updates.tell(&self.key, Update::Entries(numbers));
        }
    }
}

impl Host for Hosting {
    async fn output(&self, from: u64) -> Output {
        let mut reading = self.reading.lock().await;
        let Reading { follower, reader, buffer } = &mut *reading;
        let mut at = from;
        loop {
            // Before the look: what was printed before the end is there then.
            let is_over = follower.is_over();
            let piece = block_in_place(|| reader.read(at, buffer));
            match piece {
                Ok(Piece::Bytes { from, len, stream: Stream::Stdout, .. }) => {
                    return Output::Bytes { at: from, bytes: buffer[..len].to_vec() };
                }
                Ok(piece @ (Piece::Gap { .. } | Piece::Lost { .. })) => {
                    return Output::Until { at: piece.end(), is_lost: true };
                }
                Ok(Piece::End { .. }) if is_over => return Output::Over,
                Ok(Piece::End { .. }) if at > from => return Output::Until { at, is_lost: false },
                Ok(Piece::End { at: end }) => follower.grown_beyond(end).await,
                Ok(piece @ Piece::Bytes { .. }) => at = piece.end(),
                Err(error) => {
                    if is_over {
                        return Output::Over;
                    }
                    tracing::warn!(run = %self.run(), %error, "an adapter's output cannot be read");
                    sleep(PAUSE).await;
                }
            }
        }
    }

    async fn input_taken(&self) -> Result<u64, Over> {
        loop {
            let mut link = self.link().await?;
            match link.ask(&Ask::Status, &[]).await {
                Ok(Tell::Status { stdin_offset, .. }) => {
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
            match self.daemon.registry.lines_from(self.run().clone(), at).await {
                Ok(lines) => return Ok(lines),
                Err(error) => {
                    tracing::error!(run = %self.run(), %error, "what was said to an adapter cannot be read");
                    sleep(PAUSE).await;
                }
            }
        }
    }

    async fn record(&self, step: Advance) -> Result<Advanced, Over> {
        loop {
            pause::point("daemon-acp-before-record");
            let (daemon, at_ms) = (&self.daemon, clock::unix_ms());
            match daemon
                .registry
                .advance_talk(self.run().clone(), daemon.instance.clone(), step.clone(), at_ms)
                .await
            {
                Ok(Some(done)) => {
                    pause::point("daemon-acp-after-record");
                    self.tell(&step, &done);
                    return Ok(done);
                }
                Ok(None) => return Err(Over),
                Err(error) => {
                    tracing::error!(run = %self.run(), %error, "the registry did not take a conversation's step");
                    sleep(PAUSE).await;
                }
            }
        }
    }

    async fn answer(&self, asked: Asked) -> Reply {
        self.satisfy(asked).await
    }

    fn question(&self, asked: &Asked) -> Option<RunId> {
        self.bounds.asks_somebody().then(|| asked.name(self.run()))
    }

    fn now_ms(&self) -> u64 {
        clock::unix_ms()
    }
}
