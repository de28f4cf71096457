//! The root's birth. Nothing ends it with its keeper: that is left to the nursery, which hears of the keeper's death.

use crate::enclosure::Enclosure;
use crate::fork::Alone;
use crate::process::Process;
use crate::root::Root;
use crate::unix::calls::exec::Child;
use rustix::io::Errno;
use std::io;

/// The system cannot do that.
#[expect(clippy::unnecessary_wraps, reason = "elsewhere it can fail")]
pub(crate) fn die_with_parent() -> Result<(), Errno> {
    Ok(())
}

/// The system cannot do that: see `ORPHANS_COME_BACK`.
#[expect(clippy::unnecessary_wraps, reason = "elsewhere it can fail")]
pub(crate) fn become_subreaper() -> Result<(), Errno> {
    Ok(())
}

/// Forks the root. The child never returns from here.
pub(crate) fn fork_root(_alone: &Alone, child: &Child<'_>, _: Option<&Enclosure>) -> io::Result<Root> {
    // SAFETY: in a process of one thread the child gets its own copy of everything, and until it executes or exits it makes
    // system calls only.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        child.run();
    }
    super::check(pid.into())?;
    // It is our child, so its number is its own until we reap it.
    Process::open(pid)?.map(Root::new).ok_or_else(|| io::Error::other("the root cannot be found"))
}
