//! Signals that reach us, read like any other input.

use crate::system;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use std::io;

/// A queue of the signals that were taken out of their usual course.
#[derive(Debug)]
pub struct Signals {
    queue: OwnedFd,
}

impl Signals {
    /// From now on these signals are queued here instead of acting on this process.
    pub fn take(numbers: &[i32]) -> io::Result<Self> {
        // In this order: where a queue is told only of what comes after it, nothing is blocked unheard.
        let queue = system::signal_queue(numbers)?;
        system::block_signals(numbers)?;
        Ok(Self { queue })
    }

    /// The next queued signal, if there is one.
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
/// What people and systems send to make a program leave.
pub const LEAVE: [i32; 4] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT];
/// Those of them that a run's programs send to its keeper without meaning it. There are none: it is in a session of its own.
pub const FROM_THE_RUN: [i32; 0] = [];
/// Somebody typed the stop key.
pub const TYPED_STOP: i32 = libc::SIGTSTP;
/// The process goes on after a stop.
pub const CONTINUED: i32 = libc::SIGCONT;

/// Puts every signal on its default, but for those that this program must not die of: a reader that is gone, the
/// caller's limits of file size and CPU time. What it forks and executes begins with clean signals.
pub fn reset() {
    system::default_signals();
}

/// Stops this process the way an untaken stop key would.
pub fn stop_self() {
    system::stop_self();
}

/// Ends this process by a signal that was taken, as it would have without that: whoever started us sees how it ended.
/// Returns where a signal does not end a process.
pub fn die_of(number: i32) {
    system::die_of(number);
}

/// From now on the end of a child is a signal and leaves it to be waited for, even if whoever started us ignored
/// that.
pub fn hear_of_children() {
    system::default_signal(CHILD);
}

/// Whether a signal does nothing to this process.
pub fn is_ignored(number: i32) -> bool {
    system::is_ignored(number)
}

/// From now on these signals do nothing.
pub fn ignore(numbers: &[i32]) -> io::Result<()> {
    system::ignore_signals(numbers)
}

/// Reading or writing a terminal from the background.
pub const BACKGROUND: [i32; 2] = [libc::SIGTTIN, libc::SIGTTOU];
