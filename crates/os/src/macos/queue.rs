//! Kernel queues: descriptors that become readable when a process ends, a signal comes, or a terminal has new
//! output. Forked children do not inherit them.

use super::check;
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::io;
use std::ptr;

/// A kernel queue.
#[derive(Debug)]
pub(crate) struct Queue(OwnedFd);

impl Queue {
    pub(crate) fn new() -> io::Result<Self> {
        // SAFETY: no memory is passed.
        let fd = unsafe { libc::kqueue() };
        check(fd.into())?;
        // SAFETY: the call returned a new descriptor that nobody else owns.
        let queue = unsafe { OwnedFd::from_raw_fd(fd) };
        rustix::io::fcntl_setfd(&queue, rustix::io::FdFlags::CLOEXEC)?;
        Ok(Self(queue))
    }

    /// Adds an event to watch. An event that cannot be watched is the call's error, since there is no room for it
    /// in a result.
    pub(crate) fn add(&self, ident: usize, filter: i16, flags: u16, what: u32) -> io::Result<()> {
        let change = libc::kevent {
            ident,
            filter,
            flags: libc::EV_ADD | flags,
            fflags: what,
            data: 0,
            udata: ptr::null_mut(),
        };
        // SAFETY: one change is read, and no answer is written.
        let done = unsafe {
            libc::kevent(self.0.as_raw_fd(), &raw const change, 1, ptr::null_mut(), 0, ptr::null())
        };
        check(done.into()).map(drop)
    }

    /// Makes the queue readable for good.
    pub(crate) fn fire(&self) -> io::Result<()> {
        self.add(0, libc::EVFILT_USER, 0, 0)?;
        self.add(0, libc::EVFILT_USER, 0, libc::NOTE_TRIGGER)
    }

    /// Queues an event about `ident`, to be taken once.
    pub(crate) fn tell_once(&self, ident: usize) -> io::Result<()> {
        self.add(ident, libc::EVFILT_USER, libc::EV_ONESHOT, 0)?;
        self.add(ident, libc::EVFILT_USER, libc::EV_ONESHOT, libc::NOTE_TRIGGER)
    }

    /// Returns true if the queue is readable, and leaves it so.
    pub(crate) fn has_fired(&self) -> io::Result<bool> {
        let interest = crate::poll::Interest { on: self.0.as_fd(), read: true, write: false };
        Ok(crate::poll::wait(&[interest], Some(std::time::Duration::ZERO))?[0].read)
    }

    pub(crate) fn into_fd(self) -> OwnedFd {
        self.0
    }
}

impl AsFd for Queue {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Takes the next event off a queue without waiting, and returns its `ident`.
pub(crate) fn take_event(queue: BorrowedFd<'_>) -> Option<usize> {
    let mut event =
        libc::kevent { ident: 0, filter: 0, flags: 0, fflags: 0, data: 0, udata: ptr::null_mut() };
    let now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: no change is read; there is room for the one answer that may be written; the time is read only.
    let count = unsafe { libc::kevent(queue.as_raw_fd(), ptr::null(), 0, &raw mut event, 1, &raw const now) };
    (count == 1).then_some(event.ident)
}
