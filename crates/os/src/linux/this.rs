//! Facts about this process, and settings of it.

use rustix::fd::{AsFd, AsRawFd, OwnedFd};
use rustix::fs::{Mode, OFlags, RawMode, ResolveFlags, openat2};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use std::io;
use std::path::{Path, PathBuf};

/// Returns the number of this process's threads.
pub(crate) fn thread_count() -> io::Result<usize> {
    Ok(std::fs::read_dir("/proc/self/task")?.count())
}

/// Returns the path of this program's file, even if another file has its name by now.
#[expect(clippy::unnecessary_wraps, reason = "elsewhere it is looked up")]
pub(crate) fn own_program() -> io::Result<PathBuf> {
    Ok(PathBuf::from("/proc/self/exe"))
}

/// Returns a path that follows an open directory.
#[expect(clippy::unnecessary_wraps, reason = "elsewhere there is none")]
pub(crate) fn lasting_path(dir: &OwnedFd) -> Option<PathBuf> {
    Some(PathBuf::from(format!("/proc/self/fd/{}", dir.as_raw_fd())))
}

/// Makes glibc join freed memory at once instead of keeping small pieces all over the heap: a fork pays for each
/// page that it touches.
pub(crate) const TUNABLES: Option<(&str, &str)> =
    Some(("GLIBC_TUNABLES", "glibc.malloc.tcache_count=0:glibc.malloc.mxfast=0"));

/// Sets the name under which this process is listed.
pub(crate) fn set_name(name: &std::ffi::CStr) {
    // The name is for people only; a failure is ignored.
    let _ = rustix::thread::set_name(name);
}

/// Returns true if a process has the name of keepers or nurseries. A hint only: any process may take such a name.
pub(crate) fn is_keeper_or_nursery(pid: i32) -> bool {
    let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    matches!(name.trim_end(), "tenure-keeper" | "tenure-nursery")
}

/// Returns this process's pid as `/proc` shows it: in a pid namespace without a `/proc` of its own it differs from
/// `getpid`.
pub(crate) fn own_pid_in_proc() -> i32 {
    let link = std::fs::read_link("/proc/self").ok();
    let listed = link.and_then(|link| link.to_str()?.parse().ok());
    listed.unwrap_or_else(|| rustix::process::getpid().as_raw_nonzero().get())
}

/// Returns true if this process can see every process above it, up to the machine's first: not from within a pid
/// namespace, nor where `/proc` hides the processes of others.
pub(crate) fn sees_all_ancestors() -> bool {
    /// The inode of the machine's own pid namespace, on every kernel.
    const FIRST_PID_NAMESPACE: u64 = 0xEFFF_FFFC;
    let own = own_pid_in_proc();
    let top = crate::process::ancestors(own).last().copied();
    rustix::fs::stat("/proc/self/ns/pid").is_ok_and(|stat| stat.st_ino == FIRST_PID_NAMESPACE)
        && top.is_some_and(|top| super::process::parent_of(top).is_some())
}

/// Returns the maximum number of descriptors of this process for this hard limit.
pub(crate) fn most_descriptors(hard: u64) -> u64 {
    hard
}

pub(crate) fn pipe() -> Result<(OwnedFd, OwnedFd), Errno> {
    pipe_with(PipeFlags::CLOEXEC)
}

/// Raises the capacity of a pipe. A refusal changes nothing.
pub(crate) fn widen_pipe(pipe: &OwnedFd, bytes: usize) {
    let _ = rustix::pipe::fcntl_setpipe_size(pipe, bytes);
}

/// Converts permission bits to the system's type.
pub(crate) fn mode(bits: u32) -> RawMode {
    bits
}

/// Converts permission bits from the system's type.
pub(crate) fn bits(mode: RawMode) -> u32 {
    mode
}

/// Opens a path below a directory; no link is followed.
pub(crate) fn open_beneath(dir: impl AsFd, path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    openat2(dir, path, flags | OFlags::CLOEXEC, Mode::empty(), resolve)
}
