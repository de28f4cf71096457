//! Descriptors and signals of this process itself.

use super::queue::{Queue, take_event};
use super::{IGNORED, signal_set};
use rustix::fd::{BorrowedFd, OwnedFd};
use rustix::io::Errno;
use std::io;

/// Number of descriptors listed at once: the root cannot allocate memory for the list.
const LIST_SIZE: usize = 512;

/// Maximum number of descriptors of a process by default (`OPEN_MAX`).
pub(crate) const MAX_DESCRIPTORS: i32 = 10_240;

/// Calls `each` with this process's open descriptors, as many as are listed at once; `false` if there may be more.
fn each_open(each: &mut dyn FnMut(libc::c_int)) -> bool {
    let mut list = [libc::proc_fdinfo { proc_fd: 0, proc_fdtype: 0 }; LIST_SIZE];
    let length = libc::c_int::try_from(size_of_val(&list)).unwrap_or(0);
    // SAFETY: the list is ours and as long as we say.
    let got = unsafe {
        let own = libc::getpid();
        libc::proc_pidinfo(own, libc::PROC_PIDLISTFDS, 0, list.as_mut_ptr().cast(), length)
    };
    let count = usize::try_from(got).unwrap_or(0) / size_of::<libc::proc_fdinfo>();
    list.iter().take(count).for_each(|found| each(found.proc_fd));
    count > 0 && count < LIST_SIZE
}

pub(crate) fn close_range(from: u32, to: u32) -> io::Result<()> {
    loop {
        let mut closed = 0;
        let all = each_open(&mut |fd| {
            if fd >= 0 && (from..=to).contains(&fd.cast_unsigned()) {
                // SAFETY: closes descriptors that the caller gave up; the caller kept the ones it still uses.
                closed += usize::from(unsafe { libc::close(fd) } == 0);
            }
        });
        if all {
            return Ok(());
        }
        if closed == 0 {
            return Err(io::Error::other("this process's descriptors cannot be listed"));
        }
    }
}

pub(crate) fn close_on_exec() -> Result<(), Errno> {
    let mut failed = None;
    let mut mark = |fd: libc::c_int| {
        // SAFETY: marks a descriptor; nothing is closed before a program that does not know it executes.
        if fd > 2 && unsafe { libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC) } < 0 {
            failed = Errno::from_io_error(&io::Error::last_os_error());
        }
    };
    if each_open(&mut mark) {
        return failed.map_or(Ok(()), Err);
    }
    // Calls on descriptors that are not open just fail.
    (3..MAX_DESCRIPTORS).for_each(mark);
    Ok(())
}

/// Makes a queue of signals. A queue also gets signals that are blocked, or ignored by default; a child's end only
/// if it is not ignored. Signals that were pending before the queue was made, because the process was started with
/// them blocked, are queued as well.
pub(crate) fn signal_queue(numbers: &[i32]) -> io::Result<OwnedFd> {
    let queue = Queue::new()?;
    for &number in numbers {
        queue.add(ident(number)?, libc::EVFILT_SIGNAL, 0, 0)?;
    }
    let waiting = pending();
    for &number in numbers.iter().filter(|&&number| is_in(waiting, number)) {
        queue.tell_once(ident(number)?)?;
    }
    Ok(queue.into_fd())
}

fn ident(number: i32) -> io::Result<usize> {
    usize::try_from(number).map_err(io::Error::other)
}

/// Returns the signals that are blocked and pending.
fn pending() -> libc::sigset_t {
    let mut set = signal_set(&[]);
    // SAFETY: the set is ours and initialised; a call that fails leaves it empty.
    unsafe { libc::sigpending(&raw mut set) };
    set
}

fn is_in(set: libc::sigset_t, number: i32) -> bool {
    // SAFETY: the set is initialised and read only; a bad number is refused by the call.
    unsafe { libc::sigismember(&raw const set, number) == 1 }
}

pub(crate) fn next_signal(queue: BorrowedFd<'_>) -> Option<i32> {
    take_event(queue).and_then(|number| i32::try_from(number).ok())
}

/// Resets every signal to its default, except those that are ignored while Tenure runs.
pub(crate) fn default_signals() {
    for number in 1..=31 {
        let disposition = if IGNORED.contains(&number) { libc::SIG_IGN } else { libc::SIG_DFL };
        // SAFETY: neither disposition installs a handler; a number that cannot be set is refused.
        unsafe { libc::signal(number, disposition) };
    }
}

/// Returns the soft limit that a process may have under this hard limit.
pub(crate) fn most_descriptors(hard: u64) -> u64 {
    hard.min(MAX_DESCRIPTORS.unsigned_abs().into())
}
