//! The command's input. Offsets are absolute: a repeat is ignored, a gap is refused, what waits is bounded.

use super::Keeper;
use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd};
use std::rc::Rc;
use tenure_core::defaults::STDIN_QUEUE;
use tenure_core::spec::Size;
use tenure_core::wire::Tell;
use tenure_os::pty::Pty;
use tenure_os::stdio::{Put, Sink};
use tenure_os::tree::InputEnd;

/// Where input goes and what waits to go there.
pub(super) struct Inlet {
    end: End,
    waiting: VecDeque<u8>,
    /// The absolute offset of the next byte that may come.
    next: u64,
    /// Whether the input ends after what waits.
    eof: bool,
}

enum End {
    Pipe(Sink),
    Pty(Rc<Pty>),
    Closed,
}

impl Inlet {
    pub(super) fn pipe(sink: Option<Sink>) -> Self {
        Self::new(sink.map_or(End::Closed, End::Pipe))
    }

    pub(super) fn pty(pty: Rc<Pty>) -> Self {
        Self::new(End::Pty(pty))
    }

    fn new(end: End) -> Self {
        Self { end, waiting: VecDeque::new(), next: 0, eof: false }
    }

    pub(super) fn wants_to_write(&self) -> bool {
        !self.waiting.is_empty() && !matches!(self.end, End::Closed)
    }

    pub(super) fn waitable(&self) -> BorrowedFd<'_> {
        match &self.end {
            End::Pipe(sink) => sink.as_fd(),
            End::Pty(pty) => pty.master(),
            End::Closed => unreachable!("a closed input is not waited for"),
        }
    }

    pub(super) fn is_open(&self) -> bool {
        !matches!(self.end, End::Closed) && !self.eof
    }

    /// How far the command's side has taken it.
    pub(super) fn written(&self) -> u64 {
        self.next - self.waiting.len() as u64
    }

    /// As the run's processes see it.
    pub(super) fn as_seen(&self) -> Option<InputEnd<'_>> {
        match &self.end {
            End::Pipe(sink) => Some(InputEnd::Pipe(sink.as_fd())),
            End::Pty(pty) => Some(InputEnd::Pty(pty)),
            End::Closed => None,
        }
    }

    pub(super) fn resize(&self, size: Size) -> Result<(), String> {
        match &self.end {
            End::Pty(pty) => pty.resize(size).map_err(|error| error.to_string()),
            End::Pipe(_) | End::Closed => Err("this run has no terminal: start it with --pty".to_owned()),
        }
    }

    /// Takes input that begins at `offset`; the error says why not.
    fn take(&mut self, offset: u64, bytes: &[u8], eof: bool) -> Result<(), String> {
        if offset > self.next {
            return Err(format!("input at offset {offset} leaves a gap: the next byte is {}", self.next));
        }
        let known = usize::try_from(self.next - offset).unwrap_or(usize::MAX).min(bytes.len());
        let fresh = &bytes[known..];
        if fresh.is_empty() && (!eof || self.eof) {
            return Ok(());
        }
        if !self.is_open() {
            return Err("the run's input is closed".to_owned());
        }
        if (self.waiting.len() + fresh.len()) as u64 > STDIN_QUEUE {
            return Err(format!(
                "the run's input is full: {} bytes wait for the command",
                self.waiting.len()
            ));
        }
        self.waiting.extend(fresh);
        self.next += fresh.len() as u64;
        if eof {
            self.end_input();
        }
        Ok(())
    }

    /// A terminal's end of input is a key that is typed, and more may follow.
    fn end_input(&mut self) {
        match &self.end {
            End::Pty(pty) => self.waiting.push_back(pty.eof_byte()),
            End::Pipe(_) | End::Closed => self.eof = true,
        }
    }

    /// Writes what fits; `false` once the command will not read any more.
    fn write(&mut self) -> bool {
        while !self.waiting.is_empty() {
            let (bytes, _) = self.waiting.as_slices();
            let put = match &self.end {
                End::Pipe(sink) => sink.write(bytes),
                End::Pty(pty) => pty.write(bytes),
                End::Closed => Put::Closed,
            };
            match put {
                Put::Bytes(0) => return true,
                Put::Bytes(n) => drop(self.waiting.drain(..n)),
                Put::Closed => {
                    self.waiting = VecDeque::new();
                    self.end = End::Closed;
                    return false;
                }
            }
        }
        self.waiting = VecDeque::new();
        if self.eof {
            self.end = End::Closed;
        }
        true
    }
}

impl Keeper {
    /// Input from one peer.
    pub(super) fn take_input(&mut self, at: usize, offset: u64, bytes: &[u8], eof: bool) {
        match self.inlet.take(offset, bytes, eof) {
            Ok(()) => {
                self.peers[at].types = true;
                self.write_input();
            }
            Err(why) => self.peers[at].tell(&Tell::Refused { why }),
        }
    }

    /// Hands the command what it takes now, and tells those who typed how far it is.
    pub(super) fn write_input(&mut self) {
        let open = self.inlet.write();
        let to = self.inlet.written();
        for peer in self.peers.iter_mut().filter(|peer| peer.types) {
            peer.tell(&if open { Tell::StdinTaken { to } } else { Tell::StdinClosed });
        }
    }
}
