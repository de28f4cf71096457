//! Forks the root into its cgroup, with a pidfd, in one call.

use crate::enclosure::Enclosure;
use crate::fork::SingleThread;
use crate::process::Process;
use crate::root::Root;
use crate::unix::calls::exec::Child;
use rustix::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use rustix::io::Errno;
use std::io;
use std::mem::MaybeUninit;

/// The flag that puts a forked process into a cgroup. The libc crate's constant is 32 bits wide and so becomes
/// zero.
const CLONE_INTO_CGROUP: u64 = 0x2_0000_0000;

/// Has this process killed when its parent dies.
pub(crate) fn die_with_parent() -> Result<(), Errno> {
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))
}

/// Makes this process a subreaper: a process below it that loses its parent becomes its child.
pub(crate) fn become_subreaper() -> Result<(), Errno> {
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))
}

/// Forks the root. The child never returns from here.
pub(crate) fn fork_root(
    _alone: &SingleThread,
    child: &Child<'_>,
    enclosure: Option<&Enclosure>,
) -> io::Result<Root> {
    let mut pidfd: libc::c_int = -1;
    // SAFETY: all zeroes are valid arguments: a plain fork.
    let mut args: libc::clone_args = unsafe { MaybeUninit::zeroed().assume_init() };
    args.flags = libc::CLONE_PIDFD as u64;
    args.pidfd = (&raw mut pidfd) as u64;
    args.exit_signal = libc::SIGCHLD as u64;
    if let Some(cgroup) = enclosure.map(AsFd::as_fd) {
        args.flags |= CLONE_INTO_CGROUP;
        args.cgroup = cgroup.as_raw_fd().cast_unsigned().into();
    }
    // SAFETY: like fork(2) in a process of one thread: the child gets its own copy of everything, and until it
    // executes or exits it makes system calls only.
    let pid = unsafe { libc::syscall(libc::SYS_clone3, &raw mut args, size_of::<libc::clone_args>()) };
    if pid == 0 {
        child.run();
    }
    let pid = i32::try_from(super::check(pid)?).map_err(io::Error::other)?;
    // SAFETY: the call returned a new descriptor that nobody else owns.
    let pidfd = unsafe { OwnedFd::from_raw_fd(pidfd) };
    let process = Process::hold(pidfd, pid)?;
    process.map(Root::new).ok_or_else(|| io::Error::other("the root cannot be found in /proc"))
}
