//! Frames over a local connection, driven by polling: buffered on both sides, so that nobody waits for anybody unless they
//! say so.

use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io;
use std::time::Duration;
use tenure_core::wire::{self, BadFrame, Connection, Holder, KeeperMessage, KeeperRequest, Role};
use tenure_os::poll::{self, Awaited, Interest};
use tenure_os::socket::{Conn, Got};
use tenure_os::stdio::PassedInput;
use tenure_os::{clock, terminal};

const READ_AT_ONCE: usize = 16 << 10;
/// How often that is done before somebody else's turn comes.
const MOST_READS: usize = 64;

/// One end of a connection that carries frames.
#[derive(Debug)]
pub struct Frames {
    conn: Conn,
    connection: Connection,
    ended: bool,
}

/// A connection that is of no more use.
#[derive(Debug, thiserror::Error)]
pub enum Broken {
    /// The other side is gone.
    #[error("the other side closed the connection")]
    Closed,
    /// The other side did not answer in time.
    #[error("no answer within {0:?}")]
    TimedOut(Duration),
    /// The other side sent something else than frames.
    #[error(transparent)]
    Frame(#[from] BadFrame),
    /// The system failed us.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl Frames {
    /// Frames over this connection.
    pub fn new(conn: Conn) -> Self {
        Self::resume(conn, Vec::new())
    }

    /// Frames over a connection of which these bytes were read already.
    pub fn resume(conn: Conn, incoming: Vec<u8>) -> Self {
        Self { conn, connection: Connection::resume(incoming), ended: false }
    }

    /// Whether a whole frame was read, or something that is none.
    pub fn has_frame(&self) -> bool {
        self.connection.has_frame()
    }

    /// The connection.
    pub fn conn(&self) -> &Conn {
        &self.conn
    }

    /// Whether the other side is gone. What it said before may still be unread.
    pub fn ended(&self) -> bool {
        self.ended
    }

    /// Nothing more is said or heard on this connection.
    pub fn end(&mut self) {
        self.ended = true;
    }

    /// What to wait for on this connection.
    pub fn interest(&self) -> Interest<'_> {
        Interest { on: self.conn.waitable(), read: !self.ended, write: self.pending() }
    }

    /// Whether something waits to be sent.
    pub fn pending(&self) -> bool {
        self.unsent() > 0
    }

    /// How much waits to be sent.
    pub fn unsent(&self) -> usize {
        self.connection.unsent().len()
    }

    /// Reads what is there now, or much of it: a side that never stops writing does not hold us up.
    pub fn fill(&mut self) {
        for _ in 0..MOST_READS {
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

    /// The next whole frame that was read.
    pub fn next_frame<T: DeserializeOwned>(&mut self) -> Result<Option<(T, Vec<u8>)>, BadFrame> {
        self.connection.next_frame()
    }

    /// Sends a frame as far as it goes now; the rest waits.
    pub fn send<T: Serialize>(&mut self, head: &T, body: &[u8]) {
        self.connection.push(head, body);
        self.flush();
    }

    /// Sends what waits, as far as it goes now.
    pub fn flush(&mut self) {
        while self.pending() {
            match self.conn.write(self.connection.unsent()) {
                Ok(0) => return,
                Ok(n) => self.connection.sent(n),
                // What was said to us before is still to be read, up to its end.
                Err(_) => self.connection.drop_unsent(),
            }
        }
    }

    /// Waits for the next frame and for what is still to be sent.
    pub fn receive<T: DeserializeOwned>(&mut self, patience: Duration) -> Result<(T, Vec<u8>), Broken> {
        let deadline = clock::awake() + patience;
        loop {
            self.flush();
            if let Some(frame) = self.next_frame()? {
                return Ok(frame);
            }
            if self.ended {
                return Err(Broken::Closed);
            }
            let left = deadline.saturating_sub(clock::awake());
            if left.is_zero() {
                return Err(Broken::TimedOut(patience));
            }
            poll::wait(&[self.interest()], Some(left))?;
            self.fill();
        }
    }

    /// Passes our standard input to the keeper, with the first frame on this connection.
    pub fn pass_stdin(&mut self, patience: Duration) -> io::Result<()> {
        let frame = wire::encode(&KeeperRequest::Stdin { offset: 0, eof: false }, &[]);
        let deadline = clock::awake() + patience;
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
    pub fn take_stdin(&mut self, patience: Duration) -> Result<PassedInput, Broken> {
        let deadline = clock::awake() + patience;
        let mut input = None;
        loop {
            let mut bytes = [0; 256];
            let (got, passed) = self.conn.read_with_input(&mut bytes)?;
            input = passed.or(input);
            match got {
                Got::Bytes(n) => self.connection.incoming().extend_from_slice(&bytes[..n]),
                Got::End => return Err(Broken::Closed),
                Got::Nothing => {
                    let left = deadline.saturating_sub(clock::awake());
                    if left.is_zero() {
                        return Err(Broken::TimedOut(patience));
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

    /// Says hello to a keeper in the newest version that both speak, and returns its answer: a keeper that is
    /// older than this program refuses what it does not know, and listens on.
    pub fn hello(&mut self, role: Role, patience: Duration) -> Result<KeeperMessage, Broken> {
        self.hello_as(role, None, patience)
    }

    /// Says hello as [`Self::hello`] does, and names the daemon that asks to hold the run.
    pub fn hello_as(
        &mut self,
        role: Role,
        holder: Option<&Holder>,
        patience: Duration,
    ) -> Result<KeeperMessage, Broken> {
        loop {
            self.send(&self.connection.hello(role, holder.cloned()), &[]);
            let (answer, _) = self.receive(patience)?;
            if !self.connection.steps_down(&answer) {
                return Ok(answer);
            }
        }
    }

    /// Whether the other side knows what this asks; a keeper that does not would cut us off.
    pub fn understands(&self, ask: &KeeperRequest) -> bool {
        self.connection.understands(ask)
    }

    /// Waits until everything is sent.
    pub fn send_all(&mut self, patience: Duration) -> Result<(), Broken> {
        let deadline = clock::awake() + patience;
        loop {
            self.flush();
            if self.ended {
                return Err(Broken::Closed);
            }
            if !self.pending() {
                return Ok(());
            }
            let left = deadline.saturating_sub(clock::awake());
            if left.is_zero() {
                return Err(Broken::TimedOut(patience));
            }
            poll::wait(&[Interest { read: false, ..self.interest() }], Some(left))?;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenure_core::ids::RunId;

    const PATIENCE: Duration = Duration::from_secs(10);

    #[test]
    fn a_keeper_of_the_first_version_is_spoken_to_in_that() {
        let (mine, theirs) = Conn::pair().expect("a connection");
        let keeper = std::thread::spawn(move || {
            let mut frames = Frames::new(theirs);
            loop {
                match frames.receive::<KeeperRequest>(PATIENCE).expect("hello").0 {
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
        let answer = Frames::new(mine).hello(Role::Viewer, PATIENCE).expect("an answer");
        assert!(matches!(answer, KeeperMessage::Welcome { version: 1, .. }), "{answer:?}");
        keeper.join().expect("the keeper");
    }
}
