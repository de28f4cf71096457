//! The caller's standard input on its way to the command: passed as it is, or copied. Of what is copied, only as much is
//! read as the command's side takes.

use super::stdin;
use crate::args::{RunArgs, StdinArg};
use crate::failure::Failure;
use std::io;
use std::time::Duration;
use tenure_core::wire::KeeperRequest;
use tenure_keeper::frames::Frames;
use tenure_os::poll::Interest;
use tenure_os::terminal;

/// How much may be on its way: well below what a keeper lets wait.
const WINDOW: u64 = 64 << 10;

/// How long the keeper's connection may take to accept a descriptor.
const PASS_LIMIT: Duration = Duration::from_secs(30);

/// How the command gets our standard input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Input {
    /// The command reads the descriptor itself, and takes no more than it reads.
    Passed,
    /// We copy it: a terminal, or anything for a terminal of the run's own.
    Copied,
    /// The command does not get it.
    NotGiven,
}

impl Input {
    /// As the arguments and what standard input is ask for it.
    pub(super) fn of(args: &RunArgs) -> Self {
        match stdin(args) {
            StdinArg::Inherit if !args.pty && terminal::stdin().is_passable() => Self::Passed,
            StdinArg::Inherit => Self::Copied,
            StdinArg::Open | StdinArg::Closed => Self::NotGiven,
        }
    }

    /// Passes it to the keeper, if it is to be passed. We give up our own: whoever writes to it is to hear when the command
    /// closes it.
    pub(super) fn pass(self, keeper: &mut Frames) -> Result<(), Failure> {
        if self == Self::Passed {
            keeper.pass_stdin(PASS_LIMIT).map_err(Failure::ours)?;
            terminal::release_stdin().map_err(Failure::ours)?;
        }
        Ok(())
    }

    /// Copies what cannot be passed.
    pub(super) fn copy_instead(&mut self) {
        if *self == Self::Passed {
            *self = Self::Copied;
        }
    }
}

pub(super) struct Typing {
    open: bool,
    begun: bool,
    /// The offset of the next byte to be read.
    next: u64,
    /// Up to where the command has taken it.
    taken: u64,
}

impl Typing {
    pub(super) fn new(input: Input) -> Self {
        Self { open: input == Input::Copied, begun: false, next: 0, taken: 0 }
    }

    /// The command executes: it may be typed to, and by nobody else.
    pub(super) fn begin(&mut self, keeper: &mut Frames) {
        self.begun = true;
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

    /// What to wait for, if anything. A terminal is not read from the background: that would stop us.
    pub(super) fn interest(&self) -> Option<Interest<'static>> {
        let stdin = terminal::stdin();
        let in_background = stdin.is_terminal() && !stdin.in_foreground();
        let wanted =
            self.open && self.begun && self.next.saturating_sub(self.taken) < WINDOW && !in_background;
        wanted.then(|| stdin.reading())
    }

    /// Reads what is there and passes it on.
    pub(super) fn read(&mut self, keeper: &mut Frames) {
        let space = usize::try_from(WINDOW.saturating_sub(self.next.saturating_sub(self.taken))).unwrap_or(0);
        let mut bytes = vec![0; space];
        let n = match terminal::stdin().read(&mut bytes) {
            Ok(n) => n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return,
            // A terminal that is gone, or a descriptor that was never open, has no more to say.
            Err(_) => 0,
        };
        keeper.send(&KeeperRequest::Stdin { offset: self.next, eof: n == 0 }, &bytes[..n]);
        self.next += n as u64;
        self.open = n > 0;
    }
}
