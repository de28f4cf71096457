//! The client's pipes, a message at a time; what is no message is answered here. Each has a thread, because a pipe that
//! nobody reads or writes may hold one up for ever.

use super::malformed::{self, Line};
use crate::failure::Failure;
use std::convert::Infallible;
use std::io::{self, BufRead, Write};
use std::thread;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};

/// How many lines may be on their way.
const WAITING: usize = 16;

pub(super) struct Pipes {
    heard: mpsc::Receiver<Vec<u8>>,
    /// The line that was waited for and not taken.
    kept: Option<Vec<u8>>,
    said: mpsc::Sender<Vec<u8>>,
    /// Nothing is ever said: it ends when everything was written.
    written: oneshot::Receiver<Infallible>,
}

impl Pipes {
    pub(super) fn open() -> Result<Self, Failure> {
        let (hear, heard) = mpsc::channel(WAITING);
        let (said, mut say) = mpsc::channel::<Vec<u8>>(WAITING);
        // Weak: the answers end when nobody but this thread could give one.
        let answers = said.downgrade();
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
                let taken = match malformed::judge(&line) {
                    Line::Message => hear.blocking_send(line).is_ok(),
                    Line::Refused(answer) => {
                        answers.upgrade().is_some_and(|answers| answers.blocking_send(answer).is_ok())
                    }
                    Line::Dropped => true,
                };
                if !taken {
                    return;
                }
            }
        };
        let (writes, written) = oneshot::channel();
        let write = move || {
            let _writes: oneshot::Sender<Infallible> = writes;
            let mut stdout = io::stdout().lock();
            while let Some(line) = say.blocking_recv() {
                if stdout.write_all(&line).and_then(|()| stdout.flush()).is_err() {
                    return;
                }
            }
        };
        thread::Builder::new().name("stdin".to_owned()).spawn(read).map_err(Failure::refused)?;
        thread::Builder::new().name("stdout".to_owned()).spawn(write).map_err(Failure::refused)?;
        Ok(Self { heard, kept: None, said, written })
    }

    /// The next message; nothing when the client has gone.
    pub(super) async fn next(&mut self) -> Option<Vec<u8>> {
        match self.kept.take() {
            Some(line) => Some(line),
            None => self.heard.recv().await,
        }
    }

    /// Waits until there is a next line, and leaves it there. Whether there is one.
    pub(super) async fn wait(&mut self) -> bool {
        if self.kept.is_none() {
            self.kept = self.heard.recv().await;
        }
        self.kept.is_some()
    }

    /// Waits until what was said is written, for a while.
    pub(super) async fn close(self, patience: Duration) {
        drop(self.said);
        let _ = tokio::time::timeout(patience, self.written).await;
    }

    /// Says a line. Whether somebody may hear it.
    pub(super) async fn say(&self, line: Vec<u8>) -> bool {
        self.said.send(line).await.is_ok()
    }
}
