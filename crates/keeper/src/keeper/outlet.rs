//! The command's output on its way to disk. A foreground caller is never made to miss a byte: the command is
//! not read beyond what that caller could still be given, and what the disk cannot keep goes to it directly.

use super::Keeper;
use super::inlet::Inlet;
use std::io;
use std::rc::Rc;
use std::time::Duration;
use tenure_core::journal::What;
use tenure_core::output::{Stream, Totals};
use tenure_core::spec::Size;
use tenure_core::watch::Seen;
use tenure_core::wire::KeeperMessage;
use tenure_os::buffer::Buffer;
use tenure_os::poll::{Awaited, Waitable};
use tenure_os::pty::Pty;
use tenure_os::socket::Got;
use tenure_os::stdio::{Ours, Source};
use tenure_os::{clock, memory};
use tenure_output::Writer;

/// How much is read at once, and how much a command's pipe is made to hold once it was found full.
const AT_ONCE: usize = 1 << 20;
/// What a pipe holds at first.
const FIRST_PIPE: usize = 64 << 10;
/// How long after the last output memory is given back.
const REST: Duration = Duration::from_millis(50);

/// Where the output comes from and where it goes.
pub(super) struct Outlet {
    stdout: Option<Reading>,
    stderr: Option<Reading>,
    log: Writer,
    buffer: Buffer,
    /// When memory is due to be given back.
    rest_at: Option<Duration>,
}

enum Reading {
    Pipe { source: Source, widened: bool },
    Pty { pty: Rc<Pty>, hung_up: bool },
}

impl Outlet {
    /// Output from these ends, and the input that belongs to them.
    pub(super) fn connect(ours: Ours, log: Writer) -> io::Result<(Self, Inlet)> {
        let pipe = |source| Some(Reading::Pipe { source, widened: false });
        let (stdout, stderr, inlet) = match ours {
            Ours::Pipes { stdin, stdout, stderr } => (pipe(stdout), pipe(stderr), Inlet::pipe(stdin)),
            Ours::Pty(pty) => {
                let pty = Rc::new(pty);
                (Some(Reading::Pty { pty: Rc::clone(&pty), hung_up: false }), None, Inlet::pty(pty))
            }
        };
        let rest_at = Some(clock::awake() + REST);
        Ok((Self { stdout, stderr, log, buffer: Buffer::new(AT_ONCE)?, rest_at }, inlet))
    }

    /// The same sources with another log.
    pub(super) fn go_on(self, log: Writer) -> Self {
        Self { log, ..self }
    }

    /// The streams that are open.
    fn open(&self) -> impl Iterator<Item = Stream> {
        [Stream::Stdout, Stream::Stderr].into_iter().filter(|&stream| self.reading(stream).is_some())
    }

    /// What to wait on for a stream.
    pub(super) fn waitable(&self, stream: Stream) -> Waitable<'_> {
        match self.reading(stream).expect("only open streams are waited for") {
            Reading::Pipe { source, .. } => source.waitable(),
            Reading::Pty { pty, .. } => pty.shown(),
        }
    }

    fn reading(&self, stream: Stream) -> Option<&Reading> {
        match stream {
            Stream::Stdout => self.stdout.as_ref(),
            Stream::Stderr => self.stderr.as_ref(),
        }
    }

    fn reading_mut(&mut self, stream: Stream) -> &mut Option<Reading> {
        match stream {
            Stream::Stdout => &mut self.stdout,
            Stream::Stderr => &mut self.stderr,
        }
    }

    /// Whether nobody can write any more, as far as is known: a terminal may be opened again.
    pub(super) fn ended(&self) -> bool {
        let ended = |reading: &Option<Reading>| match reading {
            None | Some(Reading::Pty { hung_up: true, .. }) => true,
            Some(Reading::Pty { hung_up: false, .. } | Reading::Pipe { .. }) => false,
        };
        ended(&self.stdout) && ended(&self.stderr)
    }

    /// The run's processes are gone: a terminal that would wait for others is told so.
    pub(super) fn nobody_is_left(&self) {
        if let Some(Reading::Pty { pty, .. }) = &self.stdout {
            pty.hang_up();
        }
    }

    /// How much output there was.
    pub(super) fn totals(&self) -> Totals {
        self.log.totals()
    }

    /// When the last output came.
    pub(super) fn last_at_ms(&self) -> Option<u64> {
        self.log.last_output_at_ms()
    }

    /// The terminal is about to get this size.
    pub(super) fn resized(&self, size: Size) {
        self.log.resized(size);
    }

    /// When to be woken for the memory's sake.
    pub(super) fn wake_at(&self) -> Option<Duration> {
        self.rest_at
    }

    /// Gives memory back after a while without output, and after the start, which is when most of it was used.
    pub(super) fn rest(&mut self) {
        if self.rest_at.is_some_and(|at| clock::awake() >= at) {
            self.buffer.forget();
            memory::give_back();
            self.rest_at = None;
        }
    }

    /// Reads once; `None` is "nothing there now".
    fn read(&mut self, stream: Stream, limit: usize) -> Option<usize> {
        let reading = match stream {
            Stream::Stdout => &mut self.stdout,
            Stream::Stderr => &mut self.stderr,
        };
        let space = &mut self.buffer[..limit.min(AT_ONCE)];
        let got = match reading.as_mut()? {
            Reading::Pipe { source, widened } => {
                let got = source.read(space);
                if got == Got::Bytes(FIRST_PIPE) && !*widened {
                    source.widen(AT_ONCE);
                    *widened = true;
                }
                got
            }
            Reading::Pty { pty, hung_up } => read_pty(pty, hung_up, space),
        };
        match got {
            Got::Bytes(n) => Some(n),
            Got::Nothing => None,
            Got::End => {
                if matches!(reading, Some(Reading::Pipe { .. })) {
                    *self.reading_mut(stream) = None;
                }
                None
            }
        }
    }
}

/// A terminal whose last slave was closed is not at its end: the run may open it again.
fn read_pty(pty: &Pty, hung_up: &mut bool, space: &mut [u8]) -> Got {
    let mut got = read_pieces(pty, space);
    if got == Got::End && pty.wait_for_reopening().is_ok() {
        got = pty.read(space);
    }
    *hung_up = got == Got::End;
    got
}

/// A terminal gives a page at a time, so what is there is collected first.
fn read_pieces(pty: &Pty, space: &mut [u8]) -> Got {
    let space_len = space.len().min(FIRST_PIPE);
    let space = &mut space[..space_len];
    let mut filled = 0;
    while filled < space_len {
        match pty.read(&mut space[filled..]) {
            Got::Bytes(n) => filled += n,
            // An end is seen again at the next read.
            Got::Nothing | Got::End if filled > 0 => break,
            got @ (Got::Nothing | Got::End) => return got,
        }
    }
    Got::Bytes(filled)
}

impl Keeper {
    /// The streams to be read now: none while a foreground caller would miss bytes.
    pub(super) fn readable(&self) -> impl Iterator<Item = Stream> {
        let room = self.outlet.log.room(self.taken()) > 0 && !self.held_up();
        self.outlet.open().filter(move |_| room)
    }

    /// Whether the command is not read for a foreground caller's sake.
    pub(super) fn is_held_up(&self) -> bool {
        self.outlet.open().next().is_some() && self.readable().next().is_none()
    }

    /// Copies what the command wrote.
    pub(super) fn read_output(&mut self, stream: Stream) {
        let room = usize::try_from(self.outlet.log.room(self.taken())).unwrap_or(usize::MAX);
        if room == 0 {
            return;
        }
        let Some(n) = self.outlet.read(stream, room) else { return };
        if self.outlet.last_at_ms().is_none() {
            self.journal.note_later(What::FirstOutput);
        }
        let outlet = &mut self.outlet;
        let appended = outlet.log.append(stream, &outlet.buffer[..n], clock::unix_ms());
        outlet.rest_at = Some(clock::awake() + REST);
        if let Some(lost) = appended.lost {
            let start = usize::try_from(lost.start - appended.from).unwrap_or(n);
            let end = usize::try_from(lost.end - appended.from).unwrap_or(n);
            let tell = KeeperMessage::Unkept { offset: lost.start, stream };
            let bytes = &outlet.buffer[start..end];
            self.peers
                .iter_mut()
                .filter(|peer| peer.is_required())
                .for_each(|peer| peer.tell_with(&tell, bytes));
        }
        self.see(Seen::Output);
    }

    /// Tells followers how far the output has grown.
    pub(super) fn tell_growth(&mut self) {
        let to = self.outlet.totals().bytes;
        self.peers.iter_mut().for_each(|peer| peer.grown(to));
    }
}
