//! The command's stdin. Offsets are absolute: a repeat is ignored, a gap is refused, and the queue is bounded.

use super::Keeper;
use std::collections::VecDeque;
use std::rc::Rc;
use tenure_core::defaults::STDIN_QUEUE;
use tenure_core::spec::Size;
use tenure_core::wire::KeeperMessage;
use tenure_os::poll::{Pollable, Waitable};
use tenure_os::pty::Pty;
use tenure_os::stdio::{Put, Sink};
use tenure_os::tree::InputEnd;

/// The command's stdin and the bytes queued for it.
pub(super) struct StdinQueue {
    end: End,
    waiting: VecDeque<u8>,
    /// The absolute offset of the next byte that may come.
    next: u64,
    /// The number of bytes received, including keys and the keys that end a terminal's input.
    count: u64,
    /// True if the input ends after the queued bytes.
    eof: bool,
    /// True if the last byte is in the middle of a line.
    within_line: bool,
}

enum End {
    Pipe(Sink),
    Pty(Rc<Pty>),
    Closed,
}

impl StdinQueue {
    pub(super) fn pipe(sink: Option<Sink>) -> Self {
        Self::new(sink.map_or(End::Closed, End::Pipe))
    }

    pub(super) fn pty(pty: Rc<Pty>) -> Self {
        Self::new(End::Pty(pty))
    }

    pub(super) fn closed() -> Self {
        Self::new(End::Closed)
    }

    fn new(end: End) -> Self {
        Self { end, waiting: VecDeque::new(), next: 0, count: 0, eof: false, within_line: false }
    }

    pub(super) fn wants_to_write(&self) -> bool {
        !self.waiting.is_empty() && !matches!(self.end, End::Closed)
    }

    pub(super) fn waitable(&self) -> Waitable<'_> {
        match &self.end {
            End::Pipe(sink) => sink.waitable(),
            End::Pty(pty) => pty.keyboard(),
            End::Closed => unreachable!("a closed input is not waited for"),
        }
    }

    pub(super) fn is_open(&self) -> bool {
        !matches!(self.end, End::Closed) && !self.eof
    }

    /// The absolute offset of the next byte that may come.
    pub(super) fn next(&self) -> u64 {
        self.next
    }

    /// Returns the offset up to which the command has taken its stdin. Queued keys have no offset, so while there are
    /// some this is a lower bound.
    pub(super) fn written(&self) -> u64 {
        self.next.saturating_sub(self.waiting.len() as u64)
    }

    pub(super) fn is_pty(&self) -> bool {
        matches!(self.end, End::Pty(_))
    }

    /// Returns the input's end that the run's processes hold open.
    pub(super) fn input_end(&self) -> Option<InputEnd<'_>> {
        match &self.end {
            End::Pipe(sink) => Some(InputEnd::Pipe(sink)),
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

    /// Queues input that begins at `offset`; the error says why it was refused.
    fn take(&mut self, offset: u64, bytes: &[u8], eof: bool) -> Result<(), String> {
        if offset > self.next {
            return Err(format!("input at offset {offset} leaves a gap: the next byte is {}", self.next));
        }
        let known = usize::try_from(self.next - offset).unwrap_or(usize::MAX).min(bytes.len());
        let fresh = &bytes[known..];
        if fresh.is_empty() && (!eof || self.eof) {
            return Ok(());
        }
        self.queue(fresh)?;
        self.next += fresh.len() as u64;
        if eof {
            self.end_input();
        }
        Ok(())
    }

    /// Queues bytes for the command; the error says why they were refused.
    fn queue(&mut self, bytes: &[u8]) -> Result<(), String> {
        if !self.is_open() {
            return Err("the run's input is closed: nothing more can be written to it".to_owned());
        }
        let waiting = self.waiting.len();
        if (waiting + bytes.len()) as u64 > STDIN_QUEUE {
            return Err(format!(
                "the run's input is full: {waiting} bytes wait for the command; write again when it has read them"
            ));
        }
        if let Some(&last) = bytes.last() {
            self.within_line = last == b'\t' || !last.is_ascii_control();
        }
        self.waiting.extend(bytes);
        self.count += bytes.len() as u64;
        Ok(())
    }

    /// Ends the input. A terminal's end of input is a key, and more may follow.
    fn end_input(&mut self) {
        match &self.end {
            End::Pty(pty) => {
                let keys = pty.end_of_input(self.within_line);
                self.count += keys.len() as u64;
                self.waiting.extend(keys);
                self.within_line = false;
            }
            End::Pipe(_) | End::Closed => self.eof = true,
        }
    }

    /// Writes as much as fits; returns false once the command reads no more.
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
    /// Handles stdin from a peer.
    pub(super) fn take_input(&mut self, at: usize, offset: u64, bytes: &[u8], eof: bool) {
        if self.other_caller_types(at) {
            let why = "a foreground caller writes to this run's stdin".to_owned();
            return self.peers[at].send(&KeeperMessage::StdinRefused { why });
        }
        match self.stdin.take(offset, bytes, eof) {
            Ok(()) => {
                self.peers[at].types = true;
                self.write_input();
            }
            Err(why) => self.peers[at].send(&KeeperMessage::StdinRefused { why }),
        }
    }

    /// Handles keys from a peer. Every client may type at a terminal; a pipe belongs to its foreground caller alone.
    pub(super) fn take_keys(&mut self, at: usize, bytes: &[u8]) {
        if !self.stdin.is_pty() && self.other_caller_types(at) {
            let why = "a foreground caller writes to this run's stdin".to_owned();
            return self.peers[at].send(&KeeperMessage::StdinRefused { why });
        }
        match self.stdin.queue(bytes) {
            Ok(()) => {
                self.peers[at].keys = true;
                self.peers[at].send(&KeeperMessage::Typed { to: self.stdin.count });
                self.write_input();
            }
            Err(why) => self.peers[at].send(&KeeperMessage::StdinRefused { why }),
        }
    }

    /// Writes queued input to the command, and reports progress to the clients that sent it.
    pub(super) fn write_input(&mut self) {
        let open = self.stdin.write();
        let taken = [
            KeeperMessage::StdinTaken { to: self.stdin.written() },
            KeeperMessage::KeysTaken { to: self.stdin.count - self.stdin.waiting.len() as u64 },
        ];
        for peer in &mut self.peers {
            for (message, wanted) in taken.iter().zip([peer.types, peer.keys]) {
                if wanted {
                    peer.send(if open { message } else { &KeeperMessage::StdinClosed });
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenure_os::stdio::{Ours, Stdio};

    /// Makes a stdin whose command has exited.
    fn stdin() -> StdinQueue {
        let Ours::Pipes { stdin, .. } = Stdio::pipes(true).expect("pipes").into_ours() else {
            unreachable!()
        };
        StdinQueue::pipe(stdin)
    }

    #[test]
    fn a_repeat_is_ignored_and_an_overlap_gives_its_new_part() {
        let mut stdin = stdin();
        stdin.take(0, b"hello", false).unwrap();
        stdin.take(0, b"hello", false).unwrap();
        stdin.take(3, b"lo world", false).unwrap();
        assert_eq!(stdin.waiting, b"hello world");
        assert_eq!(stdin.next, 11);
    }

    #[test]
    fn a_gap_is_refused_and_names_the_next_byte() {
        let mut stdin = stdin();
        stdin.take(0, b"abc", false).unwrap();
        assert!(stdin.take(4, b"x", false).unwrap_err().contains("the next byte is 3"));
        assert_eq!(stdin.next, 3);
    }

    #[test]
    fn keys_come_between_and_take_no_offset() {
        let mut stdin = stdin();
        stdin.take(0, b"abc", false).unwrap();
        stdin.queue(b"keys").unwrap();
        stdin.take(3, b"def", false).unwrap();
        assert_eq!(stdin.waiting, b"abckeysdef");
        assert_eq!((stdin.next, stdin.count), (6, 10));
        assert!(stdin.written() <= 6, "never more than was sent");
    }

    #[test]
    fn the_queue_is_bounded() {
        let mut stdin = stdin();
        let most = usize::try_from(STDIN_QUEUE).unwrap();
        stdin.take(0, &vec![0; most], false).unwrap();
        assert!(stdin.take(STDIN_QUEUE, b"x", false).unwrap_err().contains("full"));
    }

    #[test]
    fn nothing_comes_after_the_end_but_its_repeat() {
        let mut stdin = stdin();
        stdin.take(0, b"a", true).unwrap();
        stdin.take(0, b"a", true).unwrap();
        assert!(stdin.take(1, b"b", false).is_err());
    }

    #[test]
    fn a_write_shows_that_the_command_closed_its_input() {
        let mut stdin = stdin();
        stdin.take(0, b"a", false).unwrap();
        assert!(!stdin.write());
        assert!(!stdin.is_open());
    }
}
