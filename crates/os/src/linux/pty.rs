//! The two ends of a pseudo-terminal on Linux, and a descriptor that reports its hang-up once.

use rustix::event::epoll;
use rustix::fd::{BorrowedFd, OwnedFd};
use rustix::io::Errno;
use rustix::pty::{OpenptFlags, openpt};
use std::io;

pub(crate) fn open_master() -> io::Result<OwnedFd> {
    openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).map_err(Into::into)
}

/// The root's end. The root opens it through the master.
#[derive(Debug)]
pub(crate) struct Slave;

impl Slave {
    #[expect(clippy::unnecessary_wraps, reason = "elsewhere it is opened here")]
    pub(crate) fn of(_: &OwnedFd) -> io::Result<Self> {
        Ok(Self)
    }

    /// Opens it for the root, between its fork and its execution.
    #[expect(clippy::unused_self, reason = "elsewhere it was opened before")]
    pub(crate) fn open(&self, master: BorrowedFd<'_>) -> Result<OwnedFd, Errno> {
        rustix::pty::ioctl_tiocgptpeer(master, OpenptFlags::RDWR | OpenptFlags::NOCTTY)
    }
}

/// Returns a descriptor that becomes readable on new events of the master, and not for as long as a hang-up lasts.
pub(crate) fn edges_of(master: &OwnedFd) -> io::Result<OwnedFd> {
    let edges = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    let flags = epoll::EventFlags::IN | epoll::EventFlags::ET;
    epoll::add(&edges, master, epoll::EventData::new_u64(0), flags)?;
    Ok(edges)
}

/// Consumes the pending edge.
pub(crate) fn take_edge(edges: &OwnedFd) {
    let mut events = [epoll::Event { flags: epoll::EventFlags::empty(), data: epoll::EventData::new_u64(0) }];
    let now = rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 };
    // An interrupted call leaves the edge for the next wait.
    let _ = epoll::wait(edges, &mut events[..], Some(&now));
}
