//! The children of this process: waiting for them, and forking them.

use crate::fork::SingleThread;
use crate::reaper::Ended;
use crate::system;
use std::io;
use std::mem::MaybeUninit;
use std::time::Duration;
use tenure_core::ending::Exit;

/// The effect of a wait on the child.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reap {
    Look,
    Take,
}

/// The result of a wait for any child.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Waited {
    Ended(Ended),
    Nobody,
    NoChildren,
}

/// Waits for any ended child, of whatever kind.
pub(crate) fn wait_any(reap: Reap) -> Waited {
    wait(libc::P_ALL, 0, reap)
}

/// Returns this child's exit, if it has ended.
pub(crate) fn wait_one(pid: i32, reap: Reap) -> Option<Ended> {
    match wait(libc::P_PID, pid.unsigned_abs(), reap) {
        Waited::Ended(ended) => Some(ended),
        Waited::Nobody | Waited::NoChildren => None,
    }
}

/// Waits for the imminent exit of a child and reaps it; `None` if it is not a child.
pub(crate) fn wait_out(pid: i32) -> Option<Ended> {
    match wait_with(libc::P_PID, pid.unsigned_abs(), libc::WEXITED | system::ANY_CHILD) {
        Waited::Ended(ended) => Some(ended),
        Waited::Nobody | Waited::NoChildren => None,
    }
}

fn wait(kind: libc::idtype_t, id: libc::id_t, reap: Reap) -> Waited {
    let keep = if reap == Reap::Look { libc::WNOWAIT } else { 0 };
    wait_with(kind, id, libc::WEXITED | libc::WNOHANG | system::ANY_CHILD | keep)
}

fn wait_with(kind: libc::idtype_t, id: libc::id_t, options: libc::c_int) -> Waited {
    let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
    // SAFETY: the info is ours, of the right type, and all zeroes are a valid value of it.
    let (result, info) = unsafe { (libc::waitid(kind, id, info.as_mut_ptr(), options), info.assume_init()) };
    if result < 0 {
        return match io::Error::last_os_error().raw_os_error() {
            Some(libc::EINTR) => wait_with(kind, id, options),
            _ => Waited::NoChildren,
        };
    }
    // SAFETY: waitid filled the fields of a child's state change, or left them zero.
    let (pid, status) = unsafe { (info.si_pid(), info.si_status()) };
    if pid == 0 {
        return Waited::Nobody;
    }
    // macOS reports more than the eight bits of an exit code.
    let status = status & 0xff;
    let exit = if info.si_code == libc::CLD_EXITED { Exit::Code(status) } else { Exit::Signal(status) };
    Waited::Ended(Ended { pid, exit })
}

/// Returns the CPU time of every child that this process has reaped, and of their children.
pub(crate) fn reaped_cpu() -> Duration {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the struct is ours and all zeroes are a valid value of it.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_CHILDREN, usage.as_mut_ptr());
        usage.assume_init()
    };
    let length = |t: libc::timeval| {
        let (seconds, micros) = (u64::try_from(t.tv_sec), u64::try_from(t.tv_usec));
        Duration::from_secs(seconds.unwrap_or(0)) + Duration::from_micros(micros.unwrap_or(0))
    };
    length(usage.ru_utime) + length(usage.ru_stime)
}

/// Raises this process's priority over ordinary processes, if the system permits it.
pub(crate) fn hurry() {
    // SAFETY: no memory is passed. A refusal changes nothing.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, -20) };
}

pub(crate) fn fork(_alone: &SingleThread, work: impl FnOnce() -> u8) -> io::Result<i32> {
    // SAFETY: the process has one thread, so the child's copy of every lock and of the heap is consistent.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            let code = work();
            // SAFETY: ends the child without the exit handlers that its parent registered.
            unsafe { libc::_exit(i32::from(code)) }
        }
        pid => Ok(pid),
    }
}
