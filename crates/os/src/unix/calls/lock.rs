//! Locks on whole files, held by a process until it dies.

use super::check;
use rustix::fd::AsRawFd;
use std::fs::File;
use std::io;
use std::mem::MaybeUninit;

/// Converts a constant of fcntl to the type in its struct, which differs between systems.
fn short(constant: impl TryInto<libc::c_short>) -> libc::c_short {
    constant.try_into().ok().expect("the constants of fcntl fit its struct")
}

fn whole_file(kind: libc::c_short) -> libc::flock {
    // SAFETY: all zeroes are a valid flock: from the first byte to the end of the file.
    let mut lock: libc::flock = unsafe { MaybeUninit::zeroed().assume_init() };
    lock.l_type = kind;
    lock.l_whence = short(libc::SEEK_SET);
    lock
}

/// Takes the lock; `false` if another process holds it.
pub(crate) fn try_lock(file: &File) -> io::Result<bool> {
    let lock = whole_file(short(libc::F_WRLCK));
    // SAFETY: the lock is read only by the call.
    match check(libc::c_long::from(unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETLK, &raw const lock) }))
    {
        Ok(_) => Ok(true),
        Err(error) if matches!(error.raw_os_error(), Some(libc::EACCES | libc::EAGAIN)) => Ok(false),
        Err(error) => Err(error),
    }
}

pub(crate) fn is_locked(file: &File) -> io::Result<bool> {
    let mut lock = whole_file(short(libc::F_WRLCK));
    // SAFETY: the lock is ours and written by the call.
    check(libc::c_long::from(unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GETLK, &raw mut lock) }))?;
    Ok(lock.l_type != short(libc::F_UNLCK))
}
