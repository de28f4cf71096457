//! Signal dispositions and masks of this process, and the only signals that it sends: to itself.

use libc::{SIG_BLOCK, SIG_DFL, SIG_IGN, SIG_UNBLOCK, sighandler_t, sigset_t};
use std::ffi::c_int;
use std::io;
use std::mem::MaybeUninit;

/// Every signal number. SIGKILL, SIGSTOP and glibc's own two cannot be changed, which is no error here.
pub(crate) const ALL: std::ops::RangeInclusive<c_int> = 1..=64;

pub(crate) fn ignore(signal: c_int) {
    dispose(signal, SIG_IGN);
}

pub(crate) fn block(signals: impl IntoIterator<Item = c_int>) {
    change_mask(SIG_BLOCK, &set_of(signals));
}

/// Waits for a blocked `signal` and takes it.
pub(crate) fn take(signal: c_int) {
    let set = set_of([signal]);
    let mut taken = 0;
    // SAFETY: both pointers are to live values of the right type.
    unsafe { libc::sigwait(&raw const set, &raw mut taken) };
}

/// Sends `signal` to this process with the default disposition restored.
pub(crate) fn raise_by_default(signal: c_int) -> io::Result<()> {
    dispose(signal, SIG_DFL);
    change_mask(SIG_UNBLOCK, &set_of([signal]));
    // SAFETY: `raise` has no precondition, and reaches nobody but the caller.
    match unsafe { libc::raise(signal) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

fn dispose(signal: c_int, how: sighandler_t) {
    // SAFETY: `how` is one of the two dispositions that run no code.
    unsafe { libc::signal(signal, how) };
}

fn change_mask(how: c_int, set: &sigset_t) {
    // SAFETY: the set is initialised, and a null old set is allowed.
    unsafe { libc::sigprocmask(how, set, std::ptr::null_mut()) };
}

fn set_of(signals: impl IntoIterator<Item = c_int>) -> sigset_t {
    let mut set = MaybeUninit::uninit();
    // SAFETY: `sigemptyset` initialises the whole set.
    let mut set = unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        set.assume_init()
    };
    for signal in signals {
        // SAFETY: the set is initialised; a number that is no signal is refused without effect.
        unsafe { libc::sigaddset(&raw mut set, signal) };
    }
    set
}
