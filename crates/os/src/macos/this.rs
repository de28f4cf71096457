//! This process, and what its system calls are given.

use super::facts::command_words;
use super::info;
use crate::unix::stepwise;
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{OFlags, RawMode};
use rustix::io::{Errno, FdFlags, fcntl_setfd};
use std::io;
use std::path::{Path, PathBuf};

/// How many threads this process has.
pub(crate) fn thread_count() -> io::Result<usize> {
    let own = rustix::process::getpid().as_raw_nonzero().get();
    let task = info::task(own)?.ok_or_else(|| io::Error::other("this process cannot be found"))?;
    usize::try_from(task.pti_threadnum).map_err(io::Error::other)
}

/// This program's file, by its name: another that has taken the name meanwhile would be it.
pub(crate) fn own_program() -> io::Result<PathBuf> {
    std::env::current_exe()
}

pub(crate) const TUNABLES: Option<(&str, &str)> = None;

/// Processes are listed under the name of their file here; only the thread can be given another.
pub(crate) fn set_name(name: &std::ffi::CStr) {
    // SAFETY: the name ends with a zero. One that cannot be set is no reason to fail.
    unsafe { libc::pthread_setname_np(name.as_ptr()) };
}

/// Whether a process was started as a nursery, as keepers were too. For hints only.
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

/// Returns true if this process can see every process above it: a process's parent is no secret here.
pub(crate) fn sees_all_ancestors() -> bool {
    true
}

pub(crate) fn pipe() -> Result<(OwnedFd, OwnedFd), Errno> {
    let (a, b) = rustix::pipe::pipe()?;
    fcntl_setfd(&a, FdFlags::CLOEXEC)?;
    fcntl_setfd(&b, FdFlags::CLOEXEC)?;
    Ok((a, b))
}

/// A pipe grows by itself here.
pub(crate) fn widen_pipe(_: &OwnedFd, _: usize) {}

/// Permission bits as the system has them.
pub(crate) fn mode(bits: u32) -> RawMode {
    RawMode::try_from(bits & 0o7777).unwrap_or(0o777)
}

/// And as everybody has them.
pub(crate) fn bits(mode: RawMode) -> u32 {
    mode.into()
}

/// Opens what is below a directory; no link is followed.
pub(crate) fn open_beneath(dir: impl AsFd, path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    stepwise::open(dir, path, flags)
}

/// Returns a path that follows an open directory: there is none here.
pub(crate) fn lasting_path(_: &OwnedFd) -> Option<PathBuf> {
    None
}
