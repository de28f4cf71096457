//! Pidfds: processes held by descriptor, their identity and state, and the system call that signals them.

use super::check;
use crate::process::Sent;
use rustix::fd::{AsRawFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;
use std::io;
use std::sync::OnceLock;
use std::time::Duration;
use tenure_core::identity::Place;
use tenure_core::signal::Signal;

pub(crate) fn here() -> &'static Place {
    static HERE: OnceLock<Place> = OnceLock::new();
    HERE.get_or_init(|| {
        let line = |path: &str| std::fs::read_to_string(path).ok().map(|text| text.trim().to_owned());
        Place {
            machine_id: line("/etc/machine-id").filter(|id| !id.is_empty()),
            boot_id: line("/proc/sys/kernel/random/boot_id").unwrap_or_default(),
            pid_namespace: rustix::fs::stat("/proc/self/ns/pid").map_or(0, |stat| stat.st_ino),
        }
    })
}

/// Opens a pidfd; `None` if there is no such process.
pub(crate) fn pidfd_open(pid: i32) -> io::Result<Option<OwnedFd>> {
    let Some(pid) = rustix::process::Pid::from_raw(pid) else { return Ok(None) };
    match rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()) {
        Ok(fd) => Ok(Some(fd)),
        // EINVAL and ENOENT: the number is a thread's, or its process is just exiting.
        Err(Errno::SRCH | Errno::INVAL | Errno::NOENT) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Returns the inode of a process, which is unique for one boot; `None` on kernels that give all the same.
pub(crate) fn pidfs_inode(pidfd: BorrowedFd<'_>) -> Option<u64> {
    const PID_FS_MAGIC: i64 = 0x5049_4446;
    static HAS: OnceLock<bool> = OnceLock::new();
    let has = *HAS.get_or_init(|| rustix::fs::fstatfs(pidfd).is_ok_and(|fs| fs.f_type == PID_FS_MAGIC));
    if has { rustix::fs::fstat(pidfd).ok().map(|stat| stat.st_ino) } else { None }
}

fn pidfd_send(pidfd: BorrowedFd<'_>, signal: i32, flags: libc::c_uint) -> io::Result<()> {
    let no_info = std::ptr::null::<libc::siginfo_t>();
    // SAFETY: the descriptor is open for the call's length and a null siginfo is what kill(2) would send.
    check(unsafe { libc::syscall(libc::SYS_pidfd_send_signal, pidfd.as_raw_fd(), signal, no_info, flags) })
        .map(drop)
}

/// Returns true if the process has not been reaped yet.
pub(crate) fn exists(pidfd: BorrowedFd<'_>) -> io::Result<bool> {
    match pidfd_send(pidfd, 0, 0) {
        Ok(()) => Ok(true),
        Err(error) => match error.raw_os_error() {
            Some(libc::ESRCH) => Ok(false),
            Some(libc::EPERM) => Ok(true),
            _ => Err(error),
        },
    }
}

/// Returns true if the process can still run: a pidfd becomes readable when its process has ended.
pub(crate) fn is_alive(pidfd: BorrowedFd<'_>) -> bool {
    let interest = crate::poll::Interest { on: pidfd, read: true, write: false };
    crate::poll::wait(&[interest], Some(Duration::ZERO)).is_ok_and(|ready| !ready[0].read)
}

/// The reach of a signal.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Reach {
    Process,
    /// The whole group that this process leads; the caller pins the leader.
    Group {
        leader: i32,
    },
}

pub(crate) fn pidfd_signal(pidfd: BorrowedFd<'_>, signal: Signal, reach: Reach) -> Sent {
    const PIDFD_SIGNAL_PROCESS_GROUP: libc::c_uint = 1 << 2;
    let result = match reach {
        Reach::Process => pidfd_send(pidfd, signal.0, 0),
        Reach::Group { leader } => match pidfd_send(pidfd, signal.0, PIDFD_SIGNAL_PROCESS_GROUP) {
            // Kernels before 6.9 do not signal groups here; the unreaped leader makes the number safe.
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => kill_group(leader, signal),
            other => other,
        },
    };
    match result.map_err(|error| error.raw_os_error()) {
        Ok(()) => Sent::Yes,
        Err(Some(libc::EPERM)) => Sent::Denied,
        Err(_) => Sent::Gone,
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the one place: an old kernel, a pinned group, checked above one"
)]
fn kill_group(leader: i32, signal: Signal) -> io::Result<()> {
    assert!(leader > 1, "group {leader} is never signalled");
    // SAFETY: no memory is passed; the number is negative below -1, so it names exactly one group.
    check(libc::c_long::from(unsafe { libc::kill(-leader, signal.0) })).map(drop)
}
