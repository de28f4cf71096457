//! Signals of this process itself.

use super::check;
use std::io;
use std::mem::MaybeUninit;
use std::ptr;

/// Signals that Tenure itself ignores: a closed reader, and the caller's limits of file size and CPU time.
pub(crate) const IGNORED: [libc::c_int; 3] = [libc::SIGPIPE, libc::SIGXFSZ, libc::SIGXCPU];

pub(crate) fn signal_set(numbers: &[i32]) -> libc::sigset_t {
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

/// Restores the signals for a new program, which must begin with none blocked and none ignored. The nursery reset
/// all but a few before it forked the first keeper.
pub(crate) fn reset_signals() {
    let mut none = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: the set is initialised by sigemptyset; a default disposition installs no handler.
    unsafe {
        for number in IGNORED {
            libc::signal(number, libc::SIG_DFL);
        }
        libc::sigemptyset(none.as_mut_ptr());
        libc::sigprocmask(libc::SIG_SETMASK, none.as_ptr(), ptr::null_mut());
    }
}

pub(crate) fn die_of(number: i32) {
    default_signal(number);
    let set = signal_set(&[number]);
    // SAFETY: the set is initialised and read only; a signal to the calling thread passes no memory.
    unsafe {
        libc::sigprocmask(libc::SIG_UNBLOCK, &raw const set, ptr::null_mut());
        libc::raise(number);
    }
}

pub(crate) fn stop_self() {
    // SAFETY: a signal to the calling thread; no memory is passed.
    unsafe { libc::raise(libc::SIGSTOP) };
}
