//! Copies the command's stdout and stderr to disk. A foreground caller never misses a byte: the command is not read
//! further than the caller can still be given, and bytes that the disk refuses go to the caller directly.

use super::Keeper;
use super::stdin::StdinQueue;
use std::io;
use std::rc::Rc;
use std::time::Duration;
use tenure_core::journal::JournalEvent;
use tenure_core::output::{Stream, Totals};
use tenure_core::spec::Size;
use tenure_core::watch::Sighting;
use tenure_core::wire::KeeperMessage;
use tenure_os::buffer::Buffer;
use tenure_os::poll::{Pollable, Waitable};
use tenure_os::pty::Pty;
use tenure_os::socket::Got;
use tenure_os::stdio::{Ours, Source};
use tenure_os::{clock, memory};
use tenure_output::Writer;

/// Size of one read, and the pipe size that is requested once a pipe was found full.
const READ_SIZE: usize = 1 << 20;
/// The default size of a pipe.
const DEFAULT_PIPE_SIZE: usize = 64 << 10;
/// Time from the last output until memory is given back.
const TRIM_DELAY: Duration = Duration::from_millis(50);

/// The sources of the output and its log.
pub(super) struct OutputCopier {
    stdout: Option<OutputSource>,
    stderr: Option<OutputSource>,
    log: Writer,
    buffer: Buffer,
    /// The time when memory is given back.
    trim_at: Option<Duration>,
}

enum OutputSource {
    Pipe { source: Source, widened: bool },
    Pty { pty: Rc<Pty>, hung_up: bool },
}

impl OutputCopier {
    /// Makes the output copier and the stdin queue from the keeper's ends.
    pub(super) fn connect(ours: Ours, log: Writer) -> io::Result<(Self, StdinQueue)> {
        let pipe = |source| Some(OutputSource::Pipe { source, widened: false });
        let (stdout, stderr, stdin) = match ours {
            Ours::Pipes { stdin, stdout, stderr } => (pipe(stdout), pipe(stderr), StdinQueue::pipe(stdin)),
            Ours::Pty(pty) => {
                let pty = Rc::new(pty);
                (Some(OutputSource::Pty { pty: Rc::clone(&pty), hung_up: false }), None, StdinQueue::pty(pty))
            }
        };
        let trim_at = Some(clock::awake() + TRIM_DELAY);
        Ok((Self { stdout, stderr, log, buffer: Buffer::new(READ_SIZE)?, trim_at }, stdin))
    }

    /// Continues with another log.
    pub(super) fn with_log(self, log: Writer) -> Self {
        Self { log, ..self }
    }

    /// Returns the open streams.
    fn open(&self) -> impl Iterator<Item = Stream> {
        [Stream::Stdout, Stream::Stderr].into_iter().filter(|&stream| self.source(stream).is_some())
    }

    /// Returns the handle to poll for a stream.
    pub(super) fn waitable(&self, stream: Stream) -> Waitable<'_> {
        match self.source(stream).expect("only open streams are waited for") {
            OutputSource::Pipe { source, .. } => source.waitable(),
            OutputSource::Pty { pty, .. } => pty.shown(),
        }
    }

    fn source(&self, stream: Stream) -> Option<&OutputSource> {
        match stream {
            Stream::Stdout => self.stdout.as_ref(),
            Stream::Stderr => self.stderr.as_ref(),
        }
    }

    fn source_mut(&mut self, stream: Stream) -> &mut Option<OutputSource> {
        match stream {
            Stream::Stdout => &mut self.stdout,
            Stream::Stderr => &mut self.stderr,
        }
    }

    /// Returns true if no process can write any more, as far as is known: a terminal may be opened again.
    pub(super) fn ended(&self) -> bool {
        let ended = |reading: &Option<OutputSource>| match reading {
            None | Some(OutputSource::Pty { hung_up: true, .. }) => true,
            Some(OutputSource::Pty { hung_up: false, .. } | OutputSource::Pipe { .. }) => false,
        };
        ended(&self.stdout) && ended(&self.stderr)
    }

    /// Hangs up the terminal after the run's processes are gone; it might wait for others.
    pub(super) fn hang_up_terminal(&self) {
        if let Some(OutputSource::Pty { pty, .. }) = &self.stdout {
            pty.hang_up();
        }
    }

    /// Returns the size of the output.
    pub(super) fn totals(&self) -> Totals {
        self.log.totals()
    }

    /// Returns the time of the last output.
    pub(super) fn last_at_ms(&self) -> Option<u64> {
        self.log.last_output_at_ms()
    }

    /// Records the size that the terminal is about to get.
    pub(super) fn resized(&self, size: Size) {
        self.log.resized(size);
    }

    /// Returns the time when memory is given back.
    pub(super) fn wake_at(&self) -> Option<Duration> {
        self.trim_at
    }

    /// Gives memory back some time after the last output, and after the start, which uses the most.
    pub(super) fn trim_memory(&mut self) {
        if self.trim_at.is_some_and(|at| clock::awake() >= at) {
            self.buffer.forget();
            memory::give_back();
            self.trim_at = None;
        }
    }

    /// Reads once; `None` if nothing is there now.
    fn read(&mut self, stream: Stream, limit: usize) -> Option<usize> {
        let reading = match stream {
            Stream::Stdout => &mut self.stdout,
            Stream::Stderr => &mut self.stderr,
        };
        let space = &mut self.buffer[..limit.min(READ_SIZE)];
        let got = match reading.as_mut()? {
            OutputSource::Pipe { source, widened } => {
                let got = source.read(space);
                if got == Got::Bytes(DEFAULT_PIPE_SIZE) && !*widened {
                    source.widen(READ_SIZE);
                    *widened = true;
                }
                got
            }
            OutputSource::Pty { pty, hung_up } => read_pty(pty, hung_up, space),
        };
        match got {
            Got::Bytes(n) => Some(n),
            Got::Nothing => None,
            Got::End => {
                if matches!(reading, Some(OutputSource::Pipe { .. })) {
                    *self.source_mut(stream) = None;
                }
                None
            }
        }
    }
}

/// Reads a terminal. After its last slave was closed it has not ended: the run may open it again.
fn read_pty(pty: &Pty, hung_up: &mut bool, space: &mut [u8]) -> Got {
    let mut got = read_pieces(pty, space);
    if got == Got::End && pty.wait_for_reopening().is_ok() {
        got = pty.read(space);
    }
    *hung_up = got == Got::End;
    got
}

/// Reads until the space is full or nothing is left, because a terminal gives a page at a time.
fn read_pieces(pty: &Pty, space: &mut [u8]) -> Got {
    let space_len = space.len().min(DEFAULT_PIPE_SIZE);
    let space = &mut space[..space_len];
    let mut filled = 0;
    while filled < space_len {
        match pty.read(&mut space[filled..]) {
            Got::Bytes(n) => filled += n,
            // The next read sees the end again.
            Got::Nothing | Got::End if filled > 0 => break,
            got @ (Got::Nothing | Got::End) => return got,
        }
    }
    Got::Bytes(filled)
}

impl Keeper {
    /// Returns the streams to read now: none while a foreground caller would miss bytes.
    pub(super) fn readable(&self) -> impl Iterator<Item = Stream> {
        let room = self.output.log.room(self.taken()) > 0 && !self.has_slow_caller();
        self.output.open().filter(move |_| room)
    }

    /// Returns true if the command is not read because a foreground caller is behind.
    pub(super) fn is_paused(&self) -> bool {
        self.output.open().next().is_some() && self.readable().next().is_none()
    }

    /// Copies the command's output.
    pub(super) fn read_output(&mut self, stream: Stream) {
        let room = usize::try_from(self.output.log.room(self.taken())).unwrap_or(usize::MAX);
        if room == 0 {
            return;
        }
        let Some(n) = self.output.read(stream, room) else { return };
        if self.output.last_at_ms().is_none() {
            self.journal.note_later(JournalEvent::FirstOutput);
        }
        let output = &mut self.output;
        let appended = output.log.append(stream, &output.buffer[..n], clock::unix_ms());
        output.trim_at = Some(clock::awake() + TRIM_DELAY);
        if let Some(lost) = appended.lost {
            let start = usize::try_from(lost.start - appended.from).unwrap_or(n);
            let end = usize::try_from(lost.end - appended.from).unwrap_or(n);
            let message = KeeperMessage::Unkept { offset: lost.start, stream };
            let bytes = &output.buffer[start..end];
            self.peers
                .iter_mut()
                .filter(|peer| peer.is_required())
                .for_each(|peer| peer.send_with_body(&message, bytes));
        }
        self.see(Sighting::Output);
    }

    /// Tells followers how far the output has grown.
    pub(super) fn send_growth(&mut self) {
        let to = self.output.totals().bytes;
        self.peers.iter_mut().for_each(|peer| peer.grown(to));
    }
}
