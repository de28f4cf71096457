//! Facts about this process, and settings of it.

use super::facts::command_words;
use super::info;
use crate::unix::stepwise;
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{OFlags, RawMode};
use rustix::io::{Errno, FdFlags, fcntl_setfd};
use std::io;
use std::path::{Path, PathBuf};

/// Returns the number of this process's threads.
pub(crate) fn thread_count() -> io::Result<usize> {
    let own = rustix::process::getpid().as_raw_nonzero().get();
    let task = info::task(own)?.ok_or_else(|| io::Error::other("this process cannot be found"))?;
    usize::try_from(task.pti_threadnum).map_err(io::Error::other)
}

/// Returns the path of this program's file: if another file has taken the name meanwhile, that one.
pub(crate) fn own_program() -> io::Result<PathBuf> {
    std::env::current_exe()
}

pub(crate) const TUNABLES: Option<(&str, &str)> = None;

/// Sets this thread's name; processes are listed under the name of their file here.
pub(crate) fn set_name(name: &std::ffi::CStr) {
    // SAFETY: the name ends with a zero. A failure is ignored.
    unsafe { libc::pthread_setname_np(name.as_ptr()) };
}

/// Returns true if a process was started as a nursery, which its keepers inherit. A hint only.
pub(crate) fn is_keeper_or_nursery(pid: i32) -> bool {
    command_words(pid).is_ok_and(|words| {
        words.first().is_some_and(|word| word == "tenure")
            && words.get(1).is_some_and(|word| word == "nursery")
    })
}

/// Returns this process's pid.
pub(crate) fn own_pid_in_proc() -> i32 {
    rustix::process::getpid().as_raw_nonzero().get()
}

/// Returns true: a process's parent is no secret here.
pub(crate) fn sees_all_ancestors() -> bool {
    true
}

pub(crate) fn pipe() -> Result<(OwnedFd, OwnedFd), Errno> {
    let (a, b) = rustix::pipe::pipe()?;
    fcntl_setfd(&a, FdFlags::CLOEXEC)?;
    fcntl_setfd(&b, FdFlags::CLOEXEC)?;
    Ok((a, b))
}

/// Does nothing: a pipe grows by itself here.
pub(crate) fn widen_pipe(_: &OwnedFd, _: usize) {}

/// Converts permission bits to the system's type.
pub(crate) fn mode(bits: u32) -> RawMode {
    RawMode::try_from(bits & 0o7777).unwrap_or(0o777)
}

/// Converts permission bits from the system's type.
pub(crate) fn bits(mode: RawMode) -> u32 {
    mode.into()
}

/// Opens a path below a directory; no link is followed.
pub(crate) fn open_beneath(dir: impl AsFd, path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    stepwise::open(dir, path, flags)
}

/// Returns `None`: no path follows an open directory here.
pub(crate) fn lasting_path(_: &OwnedFd) -> Option<PathBuf> {
    None
}
