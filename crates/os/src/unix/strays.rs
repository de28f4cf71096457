//! Processes of a run that no walk finds, because their parents died and the system reparented them elsewhere. They
//! are known by their session, by the mark in their environment, or because they were seen before.

use crate::process::{self, Process};
use crate::run_marks::RunMarks;
use crate::system;
use crate::tree::Member;
use std::collections::HashSet;
use std::io;
use tenure_core::identity::{Evidence, Identity};
use tenure_core::reconcile::members::{Carried, Marks, Membership, ObservedProcess};
use tenure_core::wire::Via;

/// Returns the live processes of a run that are not below its keeper, except those in `seen`. Where orphans come
/// back to the keeper there are none. An error means that they cannot be found out (I6).
pub fn strays(marks: &RunMarks<'_>, seen: &HashSet<i32>) -> io::Result<Vec<Member>> {
    if system::ORPHANS_COME_BACK { Ok(Vec::new()) } else { search(marks, seen).map(|found| found.members) }
}

/// Returns true if there may be such a process, or if that is unknown (I6).
pub fn may_have_strayed(marks: &RunMarks<'_>) -> bool {
    !all_are_among(&HashSet::new(), marks)
}

/// Returns true if it is certain that none of them is alive except those in `seen`.
pub(super) fn all_are_among(seen: &HashSet<i32>, marks: &RunMarks<'_>) -> bool {
    system::ORPHANS_COME_BACK
        || search(marks, seen).is_ok_and(|found| found.whole && found.members.is_empty())
}

/// The result of a search.
pub(crate) struct Found {
    pub(crate) members: Vec<Member>,
    /// True if there can be no other member.
    pub(crate) whole: bool,
}

/// Maximum number of searches for processes that were started during the search.
const ROUNDS: usize = 64;

/// Examines every process. While the root is the same, alive or unreaped, its session's number belongs to it alone:
/// the system assigns no number that a process, a group or a session has. After that, a process in a session with
/// that number may be a stranger: it is no member, but the run does not count as empty either. Only this user's
/// processes that are young enough are known by their environment.
pub(crate) fn search(marks: &RunMarks<'_>, seen: &HashSet<i32>) -> io::Result<Found> {
    let pinned = marks.root.map_or(Ok(false), pins)?;
    let mut found = Found { members: Vec::new(), whole: true };
    let mut seen: HashSet<i32> = seen.iter().copied().chain([super::tree::own()]).collect();
    recognise(marks.known, &mut seen, &mut found);
    if marks.root.is_none() && marks.mark.is_none() {
        return Ok(found);
    }
    // A list is of one moment. Only a process that vanished since can have left a child that is not on it, but is
    // on the next. A process that stays unreadable is not taken for a stranger (I6).
    for round in 0..=ROUNDS {
        let mut again = false;
        for pid in system::all_pids()? {
            if !seen.insert(pid) {
                continue;
            }
            let (membership, process) = look_at(pid, marks, pinned)?;
            match (membership, process) {
                (Membership::Stranger, _) => {}
                (Membership::Member(via), Some(process)) => found.members.push(Member::new(process, via)),
                (Membership::Vanished, _) => again = true,
                (Membership::Unreadable, _) => again |= seen.remove(&pid),
                (Membership::Doubtful | Membership::Member(_), _) => found.whole = false,
            }
        }
        if !again {
            break;
        }
        found.whole &= round < ROUNDS;
    }
    if pinned && !marks.root.map_or(Ok(false), pins)? {
        // The session's number may have been another's while the list was made.
        found.members.retain(|member| member.via() != Via::Session);
        found.whole = false;
    }
    Ok(found)
}

/// Adds the processes that were seen before and are alive.
fn recognise(known: &[Identity], seen: &mut HashSet<i32>, found: &mut Found) {
    for one in known {
        if seen.contains(&one.pid) {
            continue;
        }
        match process::look(one) {
            (Evidence::Same(_), Some(process)) if process.is_alive() => {
                seen.insert(one.pid);
                found.members.push(Member::new(process, Via::Child));
            }
            (Evidence::Unreadable(_), _) => found.whole = false,
            (Evidence::Same(_) | Evidence::Other | Evidence::Gone, _) => {}
        }
    }
}

/// The relation of one process to a run, and the process if it could be held.
fn look_at(pid: i32, marks: &RunMarks<'_>, pinned: bool) -> io::Result<(Membership, Option<Process>)> {
    if pid <= 1 {
        return Ok((Membership::Stranger, None));
    }
    if system::is_of_user(pid) {
        let Some(process) = Process::open(pid)? else { return Ok((Membership::Vanished, None)) };
        return Ok((judge(&process, true, marks, pinned), Some(process)));
    }
    Ok(look_at_foreign(pid, marks, pinned))
}

/// Does the same for another user's process. Most of them are strangers and are not held.
pub(crate) fn look_at_foreign(pid: i32, marks: &RunMarks<'_>, pinned: bool) -> (Membership, Option<Process>) {
    let Ok(session) = rustix::process::getsid(rustix::process::Pid::from_raw(pid)) else {
        return (Membership::Vanished, None);
    };
    if !is_roots(session.as_raw_nonzero().get(), marks) {
        return (Membership::Stranger, None);
    }
    match Process::open(pid) {
        Ok(None) => (Membership::Vanished, None),
        Ok(Some(process)) => match judge(&process, false, marks, pinned) {
            // The process has just left the session.
            Membership::Stranger => (Membership::Doubtful, None),
            membership => (membership, Some(process)),
        },
        // A user who may not hold the process can still see that it exists.
        Err(_) => (Membership::Doubtful, None),
    }
}

fn judge(process: &Process, is_own_users: bool, marks: &RunMarks<'_>, pinned: bool) -> Membership {
    let pid = process.identity().pid;
    let criteria =
        Marks { is_session_pinned: pinned, has_lease: marks.mark.is_some(), since_ms: marks.since_ms };
    let (is_in_session, started_at_ms) = (is_roots(process.stat().session, marks), process.started_at_ms());
    let mark = marks.mark.filter(|_| is_own_users && criteria.asks_for_lease(is_in_session, started_at_ms));
    let lease = match mark.map_or(Ok(false), |mark| system::environment_has(pid, mark)) {
        Ok(true) => Carried::Yes,
        Ok(false) => Carried::No,
        Err(_) => Carried::Unreadable,
    };
    // Checked last, because a process that ends shows an empty environment.
    let is_alive = process.is_alive();
    criteria.judge(&ObservedProcess { pid, is_in_session, is_own_users, started_at_ms, lease, is_alive })
}

fn is_roots(session: i32, marks: &RunMarks<'_>) -> bool {
    marks.root.is_some_and(|root| root.pid == session)
}

/// Returns true if the pid of a root, which is also its session's number, still belongs to the root.
fn pins(root: &Identity) -> io::Result<bool> {
    match process::look(root).0 {
        Evidence::Same(_) => Ok(true),
        Evidence::Other | Evidence::Gone => Ok(false),
        Evidence::Unreadable(why) => Err(io::Error::other(why)),
    }
}

/// Returns the live processes of this user that were executed with `mark` in their environment and started after
/// `since_ms`. A process that cleared its environment, or hides it, is not found. An error means that they cannot
/// be found out (I6).
pub fn carriers(mark: &[u8], since_ms: u64) -> io::Result<Vec<Member>> {
    let own = super::tree::own();
    let marks = RunMarks { mark: Some(mark), since_ms, ..RunMarks::default() };
    let mut found = Vec::new();
    for pid in system::all_pids()?.into_iter().filter(|&pid| pid != own && system::is_of_user(pid)) {
        if let (Membership::Member(via), Some(process)) = look_at(pid, &marks, false)? {
            found.push(Member::new(process, via));
        }
    }
    Ok(found)
}
