//! Forks the root. Nothing ends it together with its keeper: the nursery does that, when it learns of the keeper's
//! death.

use crate::enclosure::Enclosure;
use crate::fork::SingleThread;
use crate::process::Process;
use crate::root::Root;
use crate::unix::calls::exec::Child;
use rustix::io::Errno;
use std::io;

/// Does nothing: the system has no such call.
#[expect(clippy::unnecessary_wraps, reason = "elsewhere it can fail")]
pub(crate) fn die_with_parent() -> Result<(), Errno> {
    Ok(())
}

/// Does nothing: the system has no subreapers, see `ORPHANS_COME_BACK`.
#[expect(clippy::unnecessary_wraps, reason = "elsewhere it can fail")]
pub(crate) fn become_subreaper() -> Result<(), Errno> {
    Ok(())
}

/// Forks the root. The child never returns from here.
pub(crate) fn fork_root(_alone: &SingleThread, child: &Child<'_>, _: Option<&Enclosure>) -> io::Result<Root> {
    // SAFETY: in a process of one thread the child gets its own copy of everything, and until it executes or exits
    // it makes system calls only.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        child.run();
    }
    super::check(pid.into())?;
    // The process is our child, so its pid is its own until we reap it.
    Process::open(pid)?.map(Root::new).ok_or_else(|| io::Error::other("the root cannot be found"))
}
