//! The terminal of a person, and the other things that standard input, output and error can be.

use crate::poll::{self, Interest};
use rustix::fd::{AsFd, BorrowedFd};
use rustix::termios::{self, OptionalActions, QueueSelector, Termios};
use std::io;
use tenure_core::spec::Size;

/// A standard stream of this process. It can be waited for.
#[derive(Debug, Clone, Copy)]
pub struct Standard(BorrowedFd<'static>);

/// Returns standard input.
pub fn stdin() -> Standard {
    Standard(rustix::stdio::stdin())
}

/// Returns standard output.
pub fn stdout() -> Standard {
    Standard(rustix::stdio::stdout())
}

/// Returns standard error.
pub fn stderr() -> Standard {
    Standard(rustix::stdio::stderr())
}

/// Puts standard input on `/dev/null`, so that its writer notices when the processes to which it was passed are
/// gone.
pub fn release_stdin() -> io::Result<()> {
    use rustix::fs::{Mode, OFlags, open};
    let null = open("/dev/null", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    rustix::stdio::dup2_stdin(&null).map_err(Into::into)
}

impl AsFd for Standard {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0
    }
}

impl Standard {
    /// Waits until it is readable.
    pub fn reading(self) -> Interest<'static> {
        Interest { on: self.0, read: true, write: false }
    }

    /// Returns true for a terminal.
    pub fn is_terminal(self) -> bool {
        termios::isatty(self.0)
    }

    /// Returns true if it can be passed to another process and read there. A terminal cannot: only its own session
    /// may read it.
    pub fn is_passable(self) -> bool {
        !self.is_terminal()
    }

    /// Returns the terminal's size; `None` if it is no terminal, or has no size.
    pub fn size(self) -> Option<Size> {
        let size = termios::tcgetwinsize(self.0).ok()?;
        Size::new(size.ws_col, size.ws_row).ok()
    }

    /// Returns true if this process may read from the terminal without being stopped for it.
    pub fn in_foreground(self) -> bool {
        termios::tcgetpgrp(self.0).is_ok_and(|group| group == rustix::process::getpgrp())
    }

    /// Discards typed input that was not read.
    pub fn forget_typed(self) {
        // A terminal that is gone has nothing to discard.
        let _ = termios::tcflush(self.0, QueueSelector::IFlush);
    }

    /// Reads once, unbuffered.
    pub fn read(self, buffer: &mut [u8]) -> io::Result<usize> {
        rustix::io::read(self.0, buffer).map_err(Into::into)
    }

    /// Writes everything, unbuffered, however long the reader takes.
    pub fn write_all(self, bytes: &[u8]) -> io::Result<()> {
        let mut rest = bytes;
        while !rest.is_empty() {
            match rustix::io::write(self.0, rest) {
                Ok(n) => rest = &rest[n..],
                Err(rustix::io::Errno::INTR) => {}
                // Another process has made the shared descriptor non-blocking: wait for room instead.
                Err(rustix::io::Errno::AGAIN) => drop(poll::wait(&[Interest::writing(&self.0)], None)?),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

/// A terminal in raw mode; dropping this restores its mode.
#[derive(Debug)]
pub struct Raw {
    terminal: Standard,
    before: Termios,
}

impl Raw {
    /// Passes every key through unchanged, including those that would send a signal.
    pub fn enter(terminal: Standard) -> io::Result<Self> {
        let before = termios::tcgetattr(terminal.0)?;
        let mut raw = before.clone();
        raw.make_raw();
        termios::tcsetattr(terminal.0, OptionalActions::Drain, &raw)?;
        Ok(Self { terminal, before })
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        // A terminal that is gone needs no restoring.
        let _ = termios::tcsetattr(self.terminal.0, OptionalActions::Drain, &self.before);
    }
}
