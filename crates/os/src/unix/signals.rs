//! Signals to this process, read like any other input.

use crate::system;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use std::io;

/// A queue of signals that no longer have their usual effect.
#[derive(Debug)]
pub struct Signals {
    queue: OwnedFd,
}

impl Signals {
    /// Queues these signals here from now on, instead of letting them act on this process.
    pub fn take(numbers: &[i32]) -> io::Result<Self> {
        // In this order: a queue may only get the signals after it was made, so a signal that is blocked first
        // could be lost.
        let queue = system::signal_queue(numbers)?;
        system::block_signals(numbers)?;
        Ok(Self { queue })
    }

    /// Returns the next queued signal, if there is one.
    pub fn next(&self) -> Option<i32> {
        system::next_signal(self.queue.as_fd())
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.queue.as_fd()
    }
}

/// A child has changed its state.
pub const CHILD: i32 = libc::SIGCHLD;
/// The terminal has a new size.
pub const WINDOW: i32 = libc::SIGWINCH;
/// The signals with which people and systems ask a program to exit.
pub const LEAVE: [i32; 4] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT];
/// Those of them that a run's programs may send to its keeper by accident. There are none here: the keeper is in a
/// session of its own.
pub const FROM_THE_RUN: [i32; 0] = [];
/// The stop key was typed.
pub const TYPED_STOP: i32 = libc::SIGTSTP;
/// The process continues after a stop.
pub const CONTINUED: i32 = libc::SIGCONT;

/// Resets every signal to its default, except those that must not end this program: a closed reader, the caller's
/// limits of file size and CPU time. Forked and executed programs begin with clean signals.
pub fn reset() {
    system::default_signals();
}

/// Stops this process, as the stop key would by default.
pub fn stop_self() {
    system::stop_self();
}

/// Ends this process by a signal that was taken, as the signal would have by default, so that the parent sees the
/// cause. Returns if the signal does not end a process.
pub fn die_of(number: i32) {
    system::die_of(number);
}

/// Makes the end of a child a signal that leaves the child to be waited for, even if our parent made us ignore it.
pub fn hear_of_children() {
    system::default_signal(CHILD);
}

/// Returns true if this process ignores a signal.
pub fn is_ignored(number: i32) -> bool {
    system::is_ignored(number)
}

/// Ignores these signals from now on.
pub fn ignore(numbers: &[i32]) -> io::Result<()> {
    system::ignore_signals(numbers)
}

/// The signals for reading or writing a terminal from the background.
pub const BACKGROUND: [i32; 2] = [libc::SIGTTIN, libc::SIGTTOU];
