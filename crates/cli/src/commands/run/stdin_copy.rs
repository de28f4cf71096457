//! Gives the caller's standard input to the command: passes the descriptor, or copies the bytes. A copy reads only as much as
//! the command accepts.

use super::stdin;
use crate::args::{RunArgs, StdinArg};
use crate::failure::Failure;
use std::io;
use std::time::Duration;
use tenure_core::wire::KeeperRequest;
use tenure_keeper::frames::Frames;
use tenure_os::poll::Interest;
use tenure_os::terminal;

/// Maximum number of bytes sent but not accepted by the command: well below the keeper's queue.
const WINDOW: u64 = 64 << 10;

/// Time limit for the keeper's connection to accept a descriptor.
const PASS_LIMIT: Duration = Duration::from_secs(30);

/// Way in which the command gets the caller's standard input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StdinMode {
    /// The command reads the caller's descriptor itself, so that unread bytes stay for the caller.
    Passed,
    /// This process copies it: from a terminal, or to the run's own terminal.
    Copied,
    /// The command does not get it.
    NotGiven,
}

impl StdinMode {
    /// Chooses the way by the flags and by the type of standard input.
    pub(super) fn of(args: &RunArgs) -> Self {
        match stdin(args) {
            StdinArg::Inherit if !args.pty && terminal::stdin().is_passable() => Self::Passed,
            StdinArg::Inherit => Self::Copied,
            StdinArg::Open | StdinArg::Closed => Self::NotGiven,
        }
    }

    /// Passes the descriptor to the keeper, if that is the way. Closes our own copy, so that the writer notices when the
    /// command closes its standard input.
    pub(super) fn pass(self, keeper: &mut Frames) -> Result<(), Failure> {
        if self == Self::Passed {
            keeper.pass_stdin(PASS_LIMIT).map_err(Failure::tenure_failed)?;
            terminal::release_stdin().map_err(Failure::tenure_failed)?;
        }
        Ok(())
    }

    /// Switches from passing to copying.
    pub(super) fn copy_instead(&mut self) {
        if *self == Self::Passed {
            *self = Self::Copied;
        }
    }
}

pub(super) struct StdinCopy {
    open: bool,
    has_started: bool,
    /// Offset of the next byte to read.
    next: u64,
    /// Offset up to which the command has accepted bytes.
    taken: u64,
}

impl StdinCopy {
    pub(super) fn new(input: StdinMode) -> Self {
        Self { open: input == StdinMode::Copied, has_started: false, next: 0, taken: 0 }
    }

    /// Starts to copy, because the command executes. Claims the command's standard input.
    pub(super) fn begin(&mut self, keeper: &mut Frames) {
        self.has_started = true;
        if self.open {
            keeper.send(&KeeperRequest::Stdin { offset: 0, eof: false }, &[]);
        }
    }

    pub(super) fn is_open(&self) -> bool {
        self.open
    }

    pub(super) fn close(&mut self) {
        self.open = false;
    }

    pub(super) fn taken(&mut self, to: u64) {
        self.taken = to;
    }

    /// Event to wait for, if any. A background process does not read the terminal: SIGTTIN would stop it.
    pub(super) fn interest(&self) -> Option<Interest<'static>> {
        let stdin = terminal::stdin();
        let in_background = stdin.is_terminal() && !stdin.in_foreground();
        let is_ready =
            self.open && self.has_started && self.next.saturating_sub(self.taken) < WINDOW && !in_background;
        is_ready.then(|| stdin.reading())
    }

    /// Reads pending bytes and sends them.
    pub(super) fn read(&mut self, keeper: &mut Frames) {
        let space = usize::try_from(WINDOW.saturating_sub(self.next.saturating_sub(self.taken))).unwrap_or(0);
        let mut bytes = vec![0; space];
        let n = match terminal::stdin().read(&mut bytes) {
            Ok(n) => n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return,
            // A closed terminal, or a descriptor that was never open, counts as the end of input.
            Err(_) => 0,
        };
        keeper.send(&KeeperRequest::Stdin { offset: self.next, eof: n == 0 }, &bytes[..n]);
        self.next += n as u64;
        self.open = n > 0;
    }
}
