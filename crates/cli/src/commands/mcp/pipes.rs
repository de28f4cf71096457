//! The client's pipes, one message at a time; malformed lines are answered here. Each pipe has its own thread, because a read
//! or write can block forever.

use super::malformed::{self, LineCheck};
use crate::failure::Failure;
use std::convert::Infallible;
use std::io::{self, BufRead, Write};
use std::thread;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};

/// Maximum number of lines queued in each direction.
const QUEUE_LINES: usize = 16;

pub(super) struct Pipes {
    incoming: mpsc::Receiver<Vec<u8>>,
    /// Line that was received and not taken yet.
    peeked: Option<Vec<u8>>,
    outgoing: mpsc::Sender<Vec<u8>>,
    /// Carries no value; closes when everything is written.
    written: oneshot::Receiver<Infallible>,
}

impl Pipes {
    pub(super) fn open() -> Result<Self, Failure> {
        let (to_daemon, incoming) = mpsc::channel(QUEUE_LINES);
        let (outgoing, mut to_write) = mpsc::channel::<Vec<u8>>(QUEUE_LINES);
        // Weak: this thread alone must not keep the output queue open.
        let answers = outgoing.downgrade();
        let read = move || {
            let mut stdin = io::stdin().lock();
            let mut line = Vec::new();
            while stdin.read_until(b'\n', &mut line).is_ok_and(|n| n > 0) {
                let mut line = std::mem::take(&mut line);
                if !line.ends_with(b"\n") {
                    line.push(b'\n');
                }
                if line.trim_ascii().is_empty() {
                    continue;
                }
                let taken = match malformed::check_line(&line) {
                    LineCheck::Message => to_daemon.blocking_send(line).is_ok(),
                    LineCheck::Refused(answer) => {
                        answers.upgrade().is_some_and(|answers| answers.blocking_send(answer).is_ok())
                    }
                    LineCheck::Dropped => true,
                };
                if !taken {
                    return;
                }
            }
        };
        let (writer_alive, written) = oneshot::channel();
        let write = move || {
            let _writer_alive: oneshot::Sender<Infallible> = writer_alive;
            let mut stdout = io::stdout().lock();
            while let Some(line) = to_write.blocking_recv() {
                if stdout.write_all(&line).and_then(|()| stdout.flush()).is_err() {
                    return;
                }
            }
        };
        thread::Builder::new().name("stdin".to_owned()).spawn(read).map_err(Failure::refused)?;
        thread::Builder::new().name("stdout".to_owned()).spawn(write).map_err(Failure::refused)?;
        Ok(Self { incoming, peeked: None, outgoing, written })
    }

    /// Next message; `None` if the client has closed its input.
    pub(super) async fn next(&mut self) -> Option<Vec<u8>> {
        match self.peeked.take() {
            Some(line) => Some(line),
            None => self.incoming.recv().await,
        }
    }

    /// Waits for the next line without taking it; returns false if the client has closed its input.
    pub(super) async fn wait(&mut self) -> bool {
        if self.peeked.is_none() {
            self.peeked = self.incoming.recv().await;
        }
        self.peeked.is_some()
    }

    /// Closes the output, and waits at most this long until everything is written.
    pub(super) async fn close(self, limit: Duration) {
        drop(self.outgoing);
        let _ = tokio::time::timeout(limit, self.written).await;
    }

    /// Queues a line for the client; returns false if the output is closed.
    pub(super) async fn send(&self, line: Vec<u8>) -> bool {
        self.outgoing.send(line).await.is_ok()
    }
}
