//! Closes descriptors that are not needed, so that no lock, listener or pipe of ours outlives us in another
//! process.

use crate::socket::Conn;
use crate::system::{self, close_range};
use rustix::fd::{AsFd, AsRawFd, BorrowedFd};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::io;

/// Closes every descriptor from 3 up except this connection's.
pub fn close_all_but(wanted: &Conn) -> io::Result<()> {
    close_all(&[wanted.as_fd()])
}

fn close_all(but: &[BorrowedFd<'_>]) -> io::Result<()> {
    let mut numbers: Vec<i32> = but.iter().map(AsRawFd::as_raw_fd).filter(|&fd| fd > 2).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let mut from = 3;
    for number in numbers {
        if number > from {
            close_range(from.unsigned_abs(), (number - 1).unsigned_abs())?;
        }
        from = number + 1;
    }
    close_range(from.unsigned_abs(), u32::MAX)
}

/// Closes every descriptor from 3 up except these connections, which get new numbers that belong to the caller
/// alone. For a forked process that exits without returning to the owner of `wanted`.
pub fn take_only(wanted: &[Conn]) -> io::Result<Vec<Conn>> {
    let wanted: Vec<_> = wanted.iter().map(AsFd::as_fd).collect();
    close_all(&wanted)?;
    let mut moved = Vec::with_capacity(wanted.len());
    for fd in wanted {
        moved.push(Conn::from_fd(rustix::io::fcntl_dupfd_cloexec(fd, 3)?)?);
        // A second copy would keep a connection open that the caller wants to close.
        let number = fd.as_raw_fd().unsigned_abs();
        close_range(number, number)?;
    }
    Ok(moved)
}

/// Puts standard input and output on `/dev/null`; standard error stays, for the log.
pub fn null_stdio() -> io::Result<()> {
    use rustix::fs::{Mode, OFlags, open};
    let null = open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
    rustix::stdio::dup2_stdin(&null)?;
    rustix::stdio::dup2_stdout(&null)?;
    Ok(())
}

/// Returns the soft and hard limits of open descriptors.
pub fn limit() -> (u64, u64) {
    let limit = getrlimit(Resource::Nofile);
    (limit.current.unwrap_or(u64::MAX), limit.maximum.unwrap_or(u64::MAX))
}

/// Raises this process's soft limit of descriptors as far as allowed, and never lowers it: a keeper holds one for
/// each process that it ends.
pub fn raise_limit() {
    let (soft, hard) = limit();
    set_limit((system::most_descriptors(hard).max(soft), hard));
}

/// Sets the limits; a failure is ignored.
pub(crate) fn set_limit((soft, hard): (u64, u64)) {
    let finite = |n: u64| (n != u64::MAX).then_some(n);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: finite(soft), maximum: finite(hard) });
}
