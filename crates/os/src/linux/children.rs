//! This process's children: waiting for them, listing them, forking them.

use super::stat;
use super::{all_pids, exists};
use crate::fork::Alone;
use crate::reaper::Ended;
use rustix::fd::BorrowedFd;
use std::io;
use std::mem::MaybeUninit;
use std::time::Duration;
use tenure_core::ending::Exit;

/// Whether a wait takes the child off the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reap {
    Look,
    Take,
}

/// What a wait for anybody found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Waited {
    Ended(Ended),
    Nobody,
    NoChildren,
}

/// Looks for any ended child, of whatever kind.
pub(crate) fn wait_any(reap: Reap) -> Waited {
    wait(libc::P_ALL, 0, reap)
}

/// Looks whether this child has ended.
pub(crate) fn wait_one(pid: i32, reap: Reap) -> Option<Ended> {
    match wait(libc::P_PID, pid.unsigned_abs(), reap) {
        Waited::Ended(ended) => Some(ended),
        Waited::Nobody | Waited::NoChildren => None,
    }
}

fn wait(kind: libc::idtype_t, id: libc::id_t, reap: Reap) -> Waited {
    let keep = if reap == Reap::Look { libc::WNOWAIT } else { 0 };
    let options = libc::WEXITED | libc::WNOHANG | libc::__WALL | keep;
    let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
    // SAFETY: the info is ours, of the right type, and all zeroes are a valid value of it.
    let (result, info) = unsafe { (libc::waitid(kind, id, info.as_mut_ptr(), options), info.assume_init()) };
    if result < 0 {
        return match io::Error::last_os_error().raw_os_error() {
            Some(libc::EINTR) => wait(kind, id, reap),
            _ => Waited::NoChildren,
        };
    }
    // SAFETY: waitid filled the fields of a child's state change, or left them zero.
    let (pid, status) = unsafe { (info.si_pid(), info.si_status()) };
    if pid == 0 {
        return Waited::Nobody;
    }
    let exit = if info.si_code == libc::CLD_EXITED { Exit::Code(status) } else { Exit::Signal(status) };
    Waited::Ended(Ended { pid, exit })
}

/// The direct children of a process: from the kernel's list, or from everybody's parent where it keeps none.
pub(crate) fn children(pid: i32) -> Vec<i32> {
    children_listed(pid).unwrap_or_else(|| children_scanned(pid))
}

/// `None`: this kernel has no such list.
pub(crate) fn children_listed(pid: i32) -> Option<Vec<i32>> {
    let tasks = format!("/proc/{pid}/task");
    let Ok(threads) = std::fs::read_dir(&tasks) else { return Some(Vec::new()) };
    let mut found = Vec::new();
    for thread in threads.flatten() {
        match std::fs::read_to_string(thread.path().join("children")) {
            Ok(text) => found.extend(text.split_ascii_whitespace().filter_map(|pid| pid.parse::<i32>().ok())),
            // The thread ended meanwhile, or there is no such list at all.
            Err(_) if thread.path().exists() => return None,
            Err(_) => {}
        }
    }
    Some(found)
}

pub(crate) fn children_scanned(parent: i32) -> Vec<i32> {
    let is_child = |pid: &i32| matches!(stat::Stat::read(*pid), Ok(Some(stat)) if stat.parent == parent);
    all_pids().unwrap_or_default().into_iter().filter(is_child).collect()
}

/// The CPU time of every child that this process has reaped, and of theirs.
pub(crate) fn reaped_cpu() -> Duration {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the struct is ours and all zeroes are a valid value of it.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_CHILDREN, usage.as_mut_ptr());
        usage.assume_init()
    };
    let length = |t: libc::timeval| {
        Duration::from_secs(t.tv_sec.unsigned_abs()) + Duration::from_micros(t.tv_usec.unsigned_abs())
    };
    length(usage.ru_utime) + length(usage.ru_stime)
}

/// Sets the soft limit alone: if the number came to mean another process in between, that one gets its own back.
pub(crate) fn forbid_forking(pidfd: BorrowedFd<'_>, pid: i32) {
    let is_it = || exists(pidfd).unwrap_or(false);
    if !is_it() {
        return;
    }
    let Some(now) = process_limit(pid, None) else { return };
    let before = process_limit(pid, Some(libc::rlimit { rlim_cur: 0, ..now }));
    if !is_it() {
        before.map(|before| process_limit(pid, Some(before)));
    }
}

/// How many processes the user of a process may have, before it is set to `new`. A refusal changes nothing.
fn process_limit(pid: i32, new: Option<libc::rlimit>) -> Option<libc::rlimit> {
    let mut before = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    let new = new.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: the new limit is null or read only, the old one is ours and written by the call.
    let result = unsafe { libc::prlimit(pid, libc::RLIMIT_NPROC, new, &raw mut before) };
    (result == 0).then_some(before)
}

/// Runs before ordinary processes, where the system lets us.
pub(crate) fn hurry() {
    // SAFETY: no memory is passed. A refusal changes nothing.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, -20) };
}

pub(crate) fn fork(_alone: &Alone, work: impl FnOnce() -> u8) -> io::Result<i32> {
    // SAFETY: the process has one thread, so the child's copy of every lock and of the heap is consistent.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            let code = work();
            // SAFETY: ends the child without running what its parent registered for its own end.
            unsafe { libc::_exit(i32::from(code)) }
        }
        pid => Ok(pid),
    }
}
