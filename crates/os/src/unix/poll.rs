//! Waiting for the first of several things: one wait, one deadline.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd, BorrowedFd};
use std::io;
use std::time::Duration;

/// What can be waited for.
pub type Waitable<'a> = BorrowedFd<'a>;

/// Something that can be waited for.
pub trait Awaited {
    /// What to wait on.
    fn waitable(&self) -> Waitable<'_>;
}

impl<T: AsFd> Awaited for T {
    fn waitable(&self) -> Waitable<'_> {
        self.as_fd()
    }
}

/// How many connections one wait has room for, beside all else.
pub const MOST_CONNECTIONS: usize = 500;

/// What is waited for on one of them.
#[derive(Debug, Clone, Copy)]
pub struct Interest<'a> {
    /// Which.
    pub on: Waitable<'a>,
    /// Whether to wake when it can be read.
    pub read: bool,
    /// Whether to wake when it can be written.
    pub write: bool,
}

impl<'a> Interest<'a> {
    /// Until it can be read.
    pub fn reading(on: &'a impl Awaited) -> Self {
        Self { on: on.waitable(), read: true, write: false }
    }

    /// Until it can be written.
    pub fn writing(on: &'a impl Awaited) -> Self {
        Self { on: on.waitable(), read: false, write: true }
    }
}

/// What came of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Ready {
    /// It can be read: bytes, an end or an error.
    pub read: bool,
    /// It can be written, or writing will fail.
    pub write: bool,
}

/// Waits until something is ready or the time is up; no `timeout` is for ever. A signal ends the wait early,
/// with nothing ready.
pub fn wait(interests: &[Interest<'_>], timeout: Option<Duration>) -> io::Result<Vec<Ready>> {
    let mut fds: Vec<PollFd<'_>> = interests
        .iter()
        .map(|interest| {
            let mut flags = PollFlags::empty();
            flags.set(PollFlags::IN, interest.read);
            flags.set(PollFlags::OUT, interest.write);
            PollFd::from_borrowed_fd(interest.on, flags)
        })
        .collect();
    let timeout = timeout.map(|length| Timespec {
        tv_sec: i64::try_from(length.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(length.subsec_nanos()),
    });
    match poll(&mut fds, timeout.as_ref()) {
        Ok(_) => Ok(fds.iter().map(|fd| ready(fd.revents())).collect()),
        Err(rustix::io::Errno::INTR) => Ok(vec![Ready::default(); interests.len()]),
        Err(error) => Err(error.into()),
    }
}

fn ready(found: PollFlags) -> Ready {
    let broken = found.intersects(PollFlags::ERR | PollFlags::NVAL);
    let hung_up = found.contains(PollFlags::HUP);
    Ready {
        read: found.contains(PollFlags::IN) || hung_up || broken,
        write: found.contains(PollFlags::OUT) || broken,
    }
}
