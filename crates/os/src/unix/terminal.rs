//! The terminal that a person sits at.

use rustix::fd::{AsFd, BorrowedFd};
use rustix::termios::{self, OptionalActions, QueueSelector, Termios};
use std::io;
use tenure_core::spec::Size;

/// Whether this is a terminal.
pub fn is_terminal(fd: impl AsFd) -> bool {
    termios::isatty(fd)
}

/// The terminal's size; `None` where there is none or it has none.
pub fn size(fd: impl AsFd) -> Option<Size> {
    let size = termios::tcgetwinsize(fd).ok()?;
    Size::new(size.ws_col, size.ws_row).ok()
}

/// Whether this process may read from the terminal without being stopped for it.
pub fn in_foreground(fd: impl AsFd) -> bool {
    termios::tcgetpgrp(fd).is_ok_and(|group| group == rustix::process::getpgrp())
}

/// Forgets what was typed and not read.
pub fn forget_typed(fd: impl AsFd) {
    // A terminal that is gone has nothing to forget.
    let _ = termios::tcflush(fd, QueueSelector::IFlush);
}

/// A terminal in raw mode; it is put back when this is dropped.
#[derive(Debug)]
pub struct Raw<'a> {
    terminal: BorrowedFd<'a>,
    before: Termios,
}

impl<'a> Raw<'a> {
    /// Every key goes through as it is, the terminal's own signals included.
    pub fn enter(terminal: BorrowedFd<'a>) -> io::Result<Self> {
        let before = termios::tcgetattr(terminal)?;
        let mut raw = before.clone();
        raw.make_raw();
        termios::tcsetattr(terminal, OptionalActions::Drain, &raw)?;
        Ok(Self { terminal, before })
    }
}

impl Drop for Raw<'_> {
    fn drop(&mut self) {
        // A terminal that is gone needs no putting back.
        let _ = termios::tcsetattr(self.terminal, OptionalActions::Drain, &self.before);
    }
}

/// Standard input.
pub fn stdin() -> BorrowedFd<'static> {
    rustix::stdio::stdin()
}

/// Reads once, unbuffered.
pub fn read(from: impl AsFd, buffer: &mut [u8]) -> io::Result<usize> {
    rustix::io::read(from, buffer).map_err(Into::into)
}

/// Writes everything, unbuffered, waiting for the reader as long as that takes.
pub fn write_all(to: impl AsFd, bytes: &[u8]) -> io::Result<()> {
    let mut rest = bytes;
    while !rest.is_empty() {
        match rustix::io::write(&to, rest) {
            Ok(n) => rest = &rest[n..],
            Err(rustix::io::Errno::INTR) => {}
            // Somebody made the descriptor, which others share, return at once: wait for room instead.
            Err(rustix::io::Errno::AGAIN) => {
                let interest = crate::poll::Interest { on: to.as_fd(), read: false, write: true };
                crate::poll::wait(&[interest], None)?;
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}
