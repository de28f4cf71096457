//! Descriptors and signals of this process itself.

use super::check;
use rustix::fd::{BorrowedFd, FromRawFd, OwnedFd};
use std::io;
use std::mem::MaybeUninit;

pub(crate) fn close_range(from: u32, to: u32) -> io::Result<()> {
    // SAFETY: closes descriptors that the caller gave up; the caller kept the ones it still uses.
    check(unsafe { libc::syscall(libc::SYS_close_range, from, to, 0) }).map(drop)
}

fn signal_set(numbers: &[i32]) -> libc::sigset_t {
    let mut set = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: sigemptyset initialises the set, sigaddset changes it; a bad number is refused by the call.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        for &number in numbers {
            libc::sigaddset(set.as_mut_ptr(), number);
        }
        set.assume_init()
    }
}

pub(crate) fn block_signals(numbers: &[i32]) -> io::Result<()> {
    let set = signal_set(numbers);
    // SAFETY: the set is initialised and read only.
    check(libc::c_long::from(unsafe {
        libc::sigprocmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut())
    }))
    .map(drop)
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

pub(crate) fn ignore_signals(numbers: &[i32]) -> io::Result<()> {
    for &number in numbers {
        // SAFETY: ignoring a signal installs no handler.
        if unsafe { libc::signal(number, libc::SIG_IGN) } == libc::SIG_ERR {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

pub(crate) fn is_ignored(number: i32) -> bool {
    let mut now = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: nothing is set; the struct is ours, and all zeroes are a valid value of it.
    let now = unsafe {
        libc::sigaction(number, std::ptr::null(), now.as_mut_ptr());
        now.assume_init()
    };
    now.sa_sigaction == libc::SIG_IGN
}

pub(crate) fn default_signal(number: i32) {
    // SAFETY: a default disposition installs no handler.
    unsafe { libc::signal(number, libc::SIG_DFL) };
}
