//! Descriptors and signals of this process itself.

use super::{IGNORED, check, signal_set};
use rustix::fd::{BorrowedFd, FromRawFd, OwnedFd};
use rustix::io::Errno;
use std::io;
use std::ptr;

pub(crate) fn close_range(from: u32, to: u32) -> io::Result<()> {
    // SAFETY: closes descriptors that the caller gave up; the caller kept the ones it still uses.
    check(unsafe { libc::syscall(libc::SYS_close_range, from, to, 0) }).map(drop)
}

pub(crate) fn close_on_exec() -> Result<(), Errno> {
    // SAFETY: marks descriptors; nothing is closed before a program that does not know them executes.
    match unsafe { libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC) } {
        0 => Ok(()),
        _ => Err(Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::IO)),
    }
}

pub(crate) fn signal_queue(numbers: &[i32]) -> io::Result<OwnedFd> {
    let set = signal_set(numbers);
    // SAFETY: the set is initialised and read only.
    let fd = unsafe { libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) };
    check(libc::c_long::from(fd))?;
    // SAFETY: the call returned a new descriptor that nobody else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

pub(crate) fn next_signal(queue: BorrowedFd<'_>) -> Option<i32> {
    let mut bytes = [0; size_of::<libc::signalfd_siginfo>()];
    match rustix::io::read(queue, &mut bytes) {
        Ok(n) if n == bytes.len() => {
            let number = *bytes.first_chunk()?;
            i32::try_from(u32::from_ne_bytes(number)).ok()
        }
        _ => None,
    }
}

/// Resets every signal to its default, except those that are ignored while Tenure runs.
pub(crate) fn default_signals() {
    for number in 1..=64 {
        dispose(number, if IGNORED.contains(&number) { libc::SIG_IGN } else { libc::SIG_DFL });
    }
}

/// Sets a signal's disposition with the kernel's own call: the C library refuses to set its own two signals, which
/// its `posix_spawn` leaves ignored.
fn dispose(number: libc::c_int, disposition: libc::sighandler_t) {
    // The kernel's structure begins with the disposition; flags, restorer and mask are zero.
    let action: [usize; 4] = [disposition, 0, 0, 0];
    let none = ptr::null_mut::<usize>();
    // SAFETY: the structure is at least as long as the kernel's, with a mask of eight bytes, and is only read;
    // neither disposition installs a handler; a number that cannot be set is refused.
    unsafe { libc::syscall(libc::SYS_rt_sigaction, number, action.as_ptr(), none, 8) };
}
