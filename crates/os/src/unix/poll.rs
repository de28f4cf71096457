//! Waits for the first of several things: one wait, one deadline.

use crate::poll::{Interest, Ready};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd, BorrowedFd};
use std::io;
use std::time::Duration;

/// The handle of something that can be waited for.
pub type Waitable<'a> = BorrowedFd<'a>;

/// Something that can be waited for.
pub trait Pollable {
    /// Returns the handle to wait on.
    fn waitable(&self) -> Waitable<'_>;
}

impl<T: AsFd> Pollable for T {
    fn waitable(&self) -> Waitable<'_> {
        self.as_fd()
    }
}

/// Maximum number of connections in one wait, besides all else.
pub const MOST_CONNECTIONS: usize = 500;

/// The longest single wait: macOS counts milliseconds in 31 bits and refuses more.
const LONGEST: Duration = Duration::from_hours(24);

/// Waits until something is ready or the timeout passes; without a timeout, for ever. A signal ends the wait early,
/// with nothing ready, and so does a whole day.
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
    match poll(&mut fds, timeout.map(bounded).as_ref()) {
        Ok(_) => Ok(fds.iter().map(|fd| ready(fd.revents())).collect()),
        Err(rustix::io::Errno::INTR) => Ok(vec![Ready::default(); interests.len()]),
        Err(error) => Err(error.into()),
    }
}

fn bounded(length: Duration) -> Timespec {
    let length = length.min(LONGEST);
    Timespec {
        tv_sec: i64::try_from(length.as_secs()).expect("a day has few seconds"),
        tv_nsec: length.subsec_nanos().into(),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_wait_is_longer_than_every_system_can_count() {
        for length in [Duration::from_hours(24 * 30), Duration::MAX] {
            let whole = bounded(length);
            assert!(i32::try_from(whole.tv_sec * 1000).is_ok_and(|ms| ms > 0), "{whole:?}");
        }
        let short = bounded(Duration::from_micros(1_500_000));
        assert_eq!((short.tv_sec, short.tv_nsec), (1, 500_000_000));
    }
}
