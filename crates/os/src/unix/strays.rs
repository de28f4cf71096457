//! Processes of a run that no walk finds, because their parents died and the system gave them to somebody else. They are
//! known by the session that they were born in, or by what they carry in their environment.

use crate::kin::Kin;
use crate::process::{self, Process};
use crate::system;
use crate::tree::Member;
use std::collections::HashSet;
use std::io;
use tenure_core::identity::{Evidence, Identity};
use tenure_core::wire::Via;

/// The boot time that start times may be counted from is known to the second.
const COARSE_MS: u64 = 2_000;

/// The live processes of a run that its keeper is not above, but for those in `seen`. Where orphans come back to the
/// keeper there are none. An error means that it cannot be told (I6).
pub fn strays(kin: &Kin<'_>, seen: &HashSet<i32>) -> io::Result<Vec<Member>> {
    if system::ORPHANS_COME_BACK { Ok(Vec::new()) } else { search(kin, seen).map(|found| found.members) }
}

/// Whether there may be such a process: also if that cannot be told (I6).
pub fn may_have_strayed(kin: &Kin<'_>) -> bool {
    !system::ORPHANS_COME_BACK
        && !search(kin, &HashSet::new()).is_ok_and(|found| found.whole && found.members.is_empty())
}

/// What came of a search.
pub(crate) struct Found {
    pub(crate) members: Vec<Member>,
    /// Whether nobody vanished while it was looked at, who may have left a child that is on no list yet.
    pub(crate) whole: bool,
}

/// Looks at every process of this user that is young enough. While the root is the same, alive or unreaped, its session's
/// number is nobody else's: the system gives no number away that a process, a group or a session has. After that, whoever
/// is in a session of that number may be a stranger: it is no member, but nobody can say either that nobody is left.
pub(crate) fn search(kin: &Kin<'_>, seen: &HashSet<i32>) -> io::Result<Found> {
    let session = kin.root.map(|root| root.pid);
    let pinned = kin.root.map_or(Ok(false), pins)?;
    let mut found = Found { members: Vec::new(), whole: true };
    if session.is_none() && kin.mark.is_none() {
        return Ok(found);
    }
    let own = super::tree::own();
    let others = system::all_pids()?.into_iter().filter(|pid| *pid > 1 && *pid != own && !seen.contains(pid));
    for pid in others.filter(|&pid| system::is_of_user(pid)) {
        let Some(process) = Process::open(pid)? else {
            found.whole = false;
            continue;
        };
        if process.started_at_ms() + COARSE_MS < kin.since_ms {
            continue;
        }
        let in_session = Some(process.stat().session) == session;
        let via = if in_session && pinned {
            Via::Session
        } else if kin.mark.is_some_and(|mark| system::environment_has(pid, mark)) {
            Via::Mark
        } else {
            found.whole &= !in_session;
            continue;
        };
        if process.is_alive() {
            found.members.push(Member::new(process, via));
        } else {
            found.whole &= Some(pid) == session;
        }
    }
    if pinned && !kin.root.map_or(Ok(false), pins)? {
        // Its number may have been another's while the list was made.
        found.members.retain(|member| member.via() != Via::Session);
        found.whole = false;
    }
    Ok(found)
}

/// Whether the number of a root, and of its session, is still the root's.
fn pins(root: &Identity) -> io::Result<bool> {
    match process::look(root).0 {
        Evidence::Same(_) => Ok(true),
        Evidence::Other | Evidence::Gone => Ok(false),
        Evidence::Unreadable(why) => Err(io::Error::other(why)),
    }
}

/// The live processes of this user that were executed with `mark` in their environment and started after
/// `since_ms`. Whoever cleared its environment is not found. An error means that it cannot be told (I6).
pub fn carriers(mark: &[u8], since_ms: u64) -> io::Result<Vec<Member>> {
    let own = super::tree::own();
    let mut found = Vec::new();
    for pid in system::all_pids()?.into_iter().filter(|&pid| pid > 1 && pid != own) {
        if system::is_of_user(pid)
            && let Some(process) = Process::open(pid)?
            && process.started_at_ms() + COARSE_MS >= since_ms
            && system::environment_has(pid, mark)
            && process.is_alive()
        {
            found.push(Member::new(process, Via::Adopted));
        }
    }
    Ok(found)
}
