//! The two ends of a pseudo-terminal on macOS, and a descriptor that reports its hang-up once.

use super::queue::{Queue, take_event};
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use rustix::fs::{Mode, OFlags, open};
use rustix::io::{Errno, FdFlags, fcntl_setfd};
use rustix::pty::{OpenptFlags, openpt};
use std::io;

pub(crate) fn open_master() -> io::Result<OwnedFd> {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY)?;
    fcntl_setfd(&master, FdFlags::CLOEXEC)?;
    Ok(master)
}

/// The root's end. It is opened before the root exists, because a terminal whose slave was never opened has no
/// size; the root inherits it.
#[derive(Debug)]
pub(crate) struct Slave(OwnedFd);

impl Slave {
    pub(crate) fn of(master: &OwnedFd) -> io::Result<Self> {
        let path = rustix::pty::ptsname(master, Vec::new())?;
        Ok(Self(open(path, OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty())?))
    }

    /// Opens it for the root, between its fork and its execution.
    pub(crate) fn open(&self, _: BorrowedFd<'_>) -> Result<OwnedFd, Errno> {
        rustix::io::fcntl_dupfd_cloexec(&self.0, 3)
    }
}

/// Returns a descriptor that becomes readable on new events of the master, and not for as long as a hang-up lasts.
pub(crate) fn edges_of(master: &OwnedFd) -> io::Result<OwnedFd> {
    let edges = Queue::new()?;
    let number = usize::try_from(master.as_raw_fd()).map_err(io::Error::other)?;
    edges.add(number, libc::EVFILT_READ, libc::EV_CLEAR, 0)?;
    Ok(edges.into_fd())
}

/// Consumes the pending edge.
pub(crate) fn take_edge(edges: &OwnedFd) {
    // An interrupted call leaves the edge for the next wait.
    let _ = take_event(edges.as_fd());
}
