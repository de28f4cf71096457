//! Frames over a local connection, driven by polling. Both directions are buffered, so only the calls with a timeout
//! block.

use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io;
use std::time::Duration;
use tenure_core::wire::{self, BadFrame, Connection, Holder, KeeperMessage, KeeperRequest, Role};
use tenure_os::poll::{self, Interest, Pollable};
use tenure_os::socket::{Conn, Got};
use tenure_os::stdio::PassedInput;
use tenure_os::{clock, terminal};

const READ_AT_ONCE: usize = 16 << 10;
/// Maximum number of reads before another connection's turn comes.
const MAX_READS: usize = 64;

/// An end of a connection that carries frames.
#[derive(Debug)]
pub struct Frames {
    conn: Conn,
    connection: Connection,
    ended: bool,
}

/// Why a connection can no longer be used.
#[derive(Debug, thiserror::Error)]
pub enum ConnectionError {
    /// The other side is gone.
    #[error("the other side closed the connection")]
    Closed,
    /// The other side did not answer in time.
    #[error("no answer within {0:?}")]
    TimedOut(Duration),
    /// The other side sent bytes that are no frame.
    #[error(transparent)]
    Frame(#[from] BadFrame),
    /// The system reported an error.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl Frames {
    /// Wraps a connection.
    pub fn new(conn: Conn) -> Self {
        Self::resume(conn, Vec::new())
    }

    /// Wraps a connection of which these bytes were already read.
    pub fn resume(conn: Conn, incoming: Vec<u8>) -> Self {
        Self { conn, connection: Connection::resume(incoming), ended: false }
    }

    /// Returns true if a whole frame, or a malformed one, was read.
    pub fn has_frame(&self) -> bool {
        self.connection.has_frame()
    }

    /// Returns the connection.
    pub fn conn(&self) -> &Conn {
        &self.conn
    }

    /// Returns true if the other side is gone. Its last frames may still be unread.
    pub fn ended(&self) -> bool {
        self.ended
    }

    /// Stops sending and receiving on this connection.
    pub fn end(&mut self) {
        self.ended = true;
    }

    /// Returns the events to poll for on this connection.
    pub fn interest(&self) -> Interest<'_> {
        Interest { on: self.conn.waitable(), read: !self.ended, write: self.pending() }
    }

    /// Returns true if bytes are queued for sending.
    pub fn pending(&self) -> bool {
        self.unsent() > 0
    }

    /// Returns the number of bytes queued for sending.
    pub fn unsent(&self) -> usize {
        self.connection.unsent().len()
    }

    /// Reads the available bytes, up to a limit: a peer that never stops writing must not hold us up.
    pub fn fill(&mut self) {
        for _ in 0..MAX_READS {
            if self.ended {
                return;
            }
            let conn = &self.conn;
            let got = self.connection.read_in(READ_AT_ONCE, |room| {
                let got = conn.read(room);
                (if let Ok(Got::Bytes(n)) = got { n } else { 0 }, got)
            });
            match got {
                Ok(Got::Bytes(READ_AT_ONCE)) => {}
                Ok(Got::Bytes(_) | Got::Nothing) => return,
                Ok(Got::End) | Err(_) => self.ended = true,
            }
        }
    }

    /// Returns the next whole frame that was read.
    pub fn next_frame<T: DeserializeOwned>(&mut self) -> Result<Option<(T, Vec<u8>)>, BadFrame> {
        self.connection.next_frame()
    }

    /// Sends a frame without blocking; the rest is queued.
    pub fn send<T: Serialize>(&mut self, head: &T, body: &[u8]) {
        self.connection.push(head, body);
        self.flush();
    }

    /// Sends queued bytes without blocking.
    pub fn flush(&mut self) {
        while self.pending() {
            match self.conn.write(self.connection.unsent()) {
                Ok(0) => return,
                Ok(n) => self.connection.sent(n),
                // Frames that were received before are still to be read.
                Err(_) => self.connection.drop_unsent(),
            }
        }
    }

    /// Waits for the next frame, and sends queued bytes meanwhile.
    pub fn receive<T: DeserializeOwned>(
        &mut self,
        timeout: Duration,
    ) -> Result<(T, Vec<u8>), ConnectionError> {
        let deadline = clock::awake() + timeout;
        loop {
            self.flush();
            if let Some(frame) = self.next_frame()? {
                return Ok(frame);
            }
            if self.ended {
                return Err(ConnectionError::Closed);
            }
            let left = deadline.saturating_sub(clock::awake());
            if left.is_zero() {
                return Err(ConnectionError::TimedOut(timeout));
            }
            poll::wait(&[self.interest()], Some(left))?;
            self.fill();
        }
    }

    /// Passes our standard input to the keeper, with the first frame on this connection.
    pub fn pass_stdin(&mut self, timeout: Duration) -> io::Result<()> {
        let frame = wire::encode(&KeeperRequest::Stdin { offset: 0, eof: false }, &[]);
        let deadline = clock::awake() + timeout;
        loop {
            let sent = self.conn.write_with_input(&frame, terminal::stdin())?;
            if sent > 0 {
                self.connection.push_rest(&frame[sent..]);
                self.flush();
                return Ok(());
            }
            let left = deadline.saturating_sub(clock::awake());
            if left.is_zero() {
                return Err(io::Error::new(io::ErrorKind::TimedOut, "standard input cannot be passed on"));
            }
            poll::wait(&[Interest::writing(&self.conn)], Some(left))?;
        }
    }

    /// Waits for the standard input that the other side passes with its first frame.
    pub fn take_stdin(&mut self, timeout: Duration) -> Result<PassedInput, ConnectionError> {
        let deadline = clock::awake() + timeout;
        let mut input = None;
        loop {
            let mut bytes = [0; 256];
            let (got, passed) = self.conn.read_with_input(&mut bytes)?;
            input = passed.or(input);
            match got {
                Got::Bytes(n) => self.connection.incoming().extend_from_slice(&bytes[..n]),
                Got::End => return Err(ConnectionError::Closed),
                Got::Nothing => {
                    let left = deadline.saturating_sub(clock::awake());
                    if left.is_zero() {
                        return Err(ConnectionError::TimedOut(timeout));
                    }
                    poll::wait(&[self.interest()], Some(left))?;
                }
            }
            if self.next_frame::<KeeperRequest>()?.is_some() {
                let missing = || io::Error::new(io::ErrorKind::InvalidData, "no standard input was passed");
                return input.ok_or_else(missing).map_err(Into::into);
            }
        }
    }

    /// Says hello to a keeper in the newest version that both sides speak, and returns its response. A keeper older
    /// than this program refuses a version that it does not know, and keeps listening.
    pub fn hello(&mut self, role: Role, timeout: Duration) -> Result<KeeperMessage, ConnectionError> {
        self.hello_as(role, None, timeout)
    }

    /// Says hello like [`Self::hello`], and names the daemon that wants to hold the run.
    pub fn hello_as(
        &mut self,
        role: Role,
        holder: Option<&Holder>,
        timeout: Duration,
    ) -> Result<KeeperMessage, ConnectionError> {
        loop {
            self.send(&self.connection.hello(role, holder.cloned()), &[]);
            let (answer, _) = self.receive(timeout)?;
            if !self.connection.steps_down(&answer) {
                return Ok(answer);
            }
        }
    }

    /// Returns true if the other side knows this request; an older keeper would disconnect us.
    pub fn understands(&self, ask: &KeeperRequest) -> bool {
        self.connection.understands(ask)
    }

    /// Waits until all queued bytes are sent.
    pub fn send_all(&mut self, timeout: Duration) -> Result<(), ConnectionError> {
        let deadline = clock::awake() + timeout;
        loop {
            self.flush();
            if self.ended {
                return Err(ConnectionError::Closed);
            }
            if !self.pending() {
                return Ok(());
            }
            let left = deadline.saturating_sub(clock::awake());
            if left.is_zero() {
                return Err(ConnectionError::TimedOut(timeout));
            }
            poll::wait(&[Interest { read: false, ..self.interest() }], Some(left))?;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenure_core::ids::RunId;

    const TEST_TIMEOUT: Duration = Duration::from_secs(10);

    #[test]
    fn hello_falls_back_to_the_first_version() {
        let (mine, theirs) = Conn::pair().expect("a connection");
        let keeper = std::thread::spawn(move || {
            let mut frames = Frames::new(theirs);
            loop {
                match frames.receive::<KeeperRequest>(TEST_TIMEOUT).expect("hello").0 {
                    KeeperRequest::Hello { version: 1, role: Role::Viewer, .. } => {
                        let run_id = RunId::from_random([1; 12]);
                        return frames
                            .send(&KeeperMessage::Welcome { version: 1, run_id, takes_stdin: false }, &[]);
                    }
                    _ => frames
                        .send(&KeeperMessage::Refused { why: "this keeper speaks version 1".into() }, &[]),
                }
            }
        });
        let answer = Frames::new(mine).hello(Role::Viewer, TEST_TIMEOUT).expect("an answer");
        assert!(matches!(answer, KeeperMessage::Welcome { version: 1, .. }), "{answer:?}");
        keeper.join().expect("the keeper");
    }
}
