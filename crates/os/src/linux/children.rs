//! Listing the children of a process, and keeping one from having more.

use super::stat;
use super::{all_pids, exists};
use crate::process::Process;
use rustix::fd::AsFd;

/// Also those that were cloned.
pub(crate) const ANY_CHILD: libc::c_int = libc::__WALL;

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

/// Sets the soft limit alone: if the number came to mean another process in between, that one gets its own back.
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

/// How many processes the user of a process may have, before it is set to `new`. A refusal changes nothing.
fn process_limit(pid: i32, new: Option<libc::rlimit>) -> Option<libc::rlimit> {
    let mut before = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    let new = new.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: the new limit is null or read only, the old one is ours and written by the call.
    let result = unsafe { libc::prlimit(pid, libc::RLIMIT_NPROC, new, &raw mut before) };
    (result == 0).then_some(before)
}
