//! Lists the children of a process, and keeps a process from having more.

use super::stat;
use super::{all_pids, exists};
use crate::process::Process;
use rustix::fd::AsFd;

/// Waits for cloned children as well.
pub(crate) const ANY_CHILD: libc::c_int = libc::__WALL;

/// Returns the direct children of a process: from the kernel's list or, if there is none, from the parents of all
/// processes.
pub(crate) fn children(pid: i32) -> Vec<i32> {
    children_listed(pid).unwrap_or_else(|| children_scanned(pid))
}

/// Returns the kernel's list of children; `None` if this kernel has no such lists.
pub(crate) fn children_listed(pid: i32) -> Option<Vec<i32>> {
    let tasks = format!("/proc/{pid}/task");
    let Ok(threads) = std::fs::read_dir(&tasks) else { return Some(Vec::new()) };
    let mut found = Vec::new();
    for thread in threads.flatten() {
        match std::fs::read_to_string(thread.path().join("children")) {
            Ok(text) => found.extend(text.split_ascii_whitespace().filter_map(|pid| pid.parse::<i32>().ok())),
            // The thread ended meanwhile, or the kernel has no such list.
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

/// Keeps a process from forking. Only the soft limit is set: if the pid came to mean another process in between,
/// that one gets its own limit back.
pub(crate) fn forbid_forking(process: &Process) {
    let pid = process.identity().pid;
    let is_it = || exists(process.as_fd()).unwrap_or(false);
    if !is_it() {
        return;
    }
    let Some(now) = process_limit(pid, None) else { return };
    let before = process_limit(pid, Some(libc::rlimit { rlim_cur: 0, ..now }));
    if !is_it() {
        before.map(|before| process_limit(pid, Some(before)));
    }
}

/// Returns the limit on processes of a process's user, and then sets it to `new`. A refusal changes nothing.
fn process_limit(pid: i32, new: Option<libc::rlimit>) -> Option<libc::rlimit> {
    let mut before = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    let new = new.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: the new limit is null or read only, the old one is ours and written by the call.
    let result = unsafe { libc::prlimit(pid, libc::RLIMIT_NPROC, new, &raw mut before) };
    (result == 0).then_some(before)
}
