//! Processes of a run that no walk finds, because their parents died and the system gave them to somebody else. They are
//! known by the session that they were born in, by what they carry in their environment, or because they were seen before.

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
    !all_are_among(&HashSet::new(), kin)
}

/// Whether it is certain that none of them lives but those in `seen`.
pub(super) fn all_are_among(seen: &HashSet<i32>, kin: &Kin<'_>) -> bool {
    system::ORPHANS_COME_BACK || search(kin, seen).is_ok_and(|found| found.whole && found.members.is_empty())
}

/// What came of a search.
pub(crate) struct Found {
    pub(crate) members: Vec<Member>,
    /// Whether there can be nobody else.
    pub(crate) whole: bool,
}

/// What one process is to a run.
pub(crate) enum Looked {
    Stranger,
    Member(Member),
    /// It may have been of the run, and may have left a child.
    Vanished,
    /// What it carries cannot be read, as of one that is about to execute or to end: it is to be looked at again.
    Unreadable,
    /// It may be of the run, and nobody can tell.
    Doubtful,
}

/// How often those are looked for who came while the others were looked at.
const ROUNDS: usize = 64;

/// Looks at every process. While the root is the same, alive or unreaped, its session's number is nobody else's: the system
/// gives no number away that a process, a group or a session has. After that, whoever is in a session of that number may be
/// a stranger: it is no member, but nobody can say either that nobody is left. Only this user's processes that are young
/// enough are known by what they carry.
pub(crate) fn search(kin: &Kin<'_>, seen: &HashSet<i32>) -> io::Result<Found> {
    let pinned = kin.root.map_or(Ok(false), pins)?;
    let mut found = Found { members: Vec::new(), whole: true };
    let mut seen: HashSet<i32> = seen.iter().copied().chain([super::tree::own()]).collect();
    recognise(kin.known, &mut seen, &mut found);
    if kin.root.is_none() && kin.mark.is_none() {
        return Ok(found);
    }
    // A list is of one moment. Only who vanished since can have left somebody who is not on it, but is on the next. Who
    // cannot be read to the last is not taken for a stranger (I6).
    for round in 0..=ROUNDS {
        let mut again = false;
        for pid in system::all_pids()? {
            if pid <= 1 || !seen.insert(pid) {
                continue;
            }
            match look_at(pid, kin, pinned)? {
                Looked::Stranger => {}
                Looked::Member(member) => found.members.push(member),
                Looked::Vanished => again = true,
                Looked::Unreadable => again |= seen.remove(&pid),
                Looked::Doubtful => found.whole = false,
            }
        }
        if !again {
            break;
        }
        found.whole &= round < ROUNDS;
    }
    if pinned && !kin.root.map_or(Ok(false), pins)? {
        // Its number may have been another's while the list was made.
        found.members.retain(|member| member.via() != Via::Session);
        found.whole = false;
    }
    Ok(found)
}

/// Adds those who were seen before and are alive.
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

fn look_at(pid: i32, kin: &Kin<'_>, pinned: bool) -> io::Result<Looked> {
    if !system::is_of_user(pid) {
        return Ok(look_at_foreign(pid, kin, pinned));
    }
    let Some(process) = Process::open(pid)? else { return Ok(Looked::Vanished) };
    let in_session = kin.root.is_some_and(|root| root.pid == process.stat().session);
    // Whatever the clock says: it may have been set back.
    let of_session = in_session && pinned;
    let mark = kin.mark.filter(|_| !of_session && is_young(&process, kin.since_ms));
    let carries = mark.map_or(Ok(false), |mark| system::environment_has(pid, mark));
    Ok(match carries {
        _ if !process.is_alive() => Looked::Vanished,
        _ if of_session => Looked::Member(Member::new(process, Via::Session)),
        Ok(true) => Looked::Member(Member::new(process, Via::Mark)),
        Err(_) => Looked::Unreadable,
        Ok(false) if in_session => Looked::Doubtful,
        Ok(false) => Looked::Stranger,
    })
}

/// Whether it started after that, as far as is known.
fn is_young(process: &Process, since_ms: u64) -> bool {
    process.started_at_ms() + COARSE_MS >= since_ms
}

/// Another user's process is known by its session alone. Who may not hold it can still tell that somebody is there.
pub(crate) fn look_at_foreign(pid: i32, kin: &Kin<'_>, pinned: bool) -> Looked {
    let Ok(session) = rustix::process::getsid(rustix::process::Pid::from_raw(pid)) else {
        return Looked::Vanished;
    };
    let in_session = |session: i32| kin.root.is_some_and(|root| root.pid == session);
    if !in_session(session.as_raw_nonzero().get()) {
        return Looked::Stranger;
    }
    match Process::open(pid) {
        Ok(None) => Looked::Vanished,
        Ok(Some(process)) if !process.is_alive() => Looked::Vanished,
        Ok(Some(process)) if pinned && in_session(process.stat().session) => {
            Looked::Member(Member::new(process, Via::Session))
        }
        Ok(Some(_)) | Err(_) => Looked::Doubtful,
    }
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
/// `since_ms`. Whoever cleared its environment, or does not show it, is not found. An error means that it cannot be told (I6).
pub fn carriers(mark: &[u8], since_ms: u64) -> io::Result<Vec<Member>> {
    let own = super::tree::own();
    let mut found = Vec::new();
    for pid in system::all_pids()?.into_iter().filter(|&pid| pid > 1 && pid != own) {
        if system::is_of_user(pid)
            && let Some(process) = Process::open(pid)?
            && is_young(&process, since_ms)
            && system::environment_has(pid, mark).unwrap_or(false)
            && process.is_alive()
        {
            found.push(Member::new(process, Via::Adopted));
        }
    }
    Ok(found)
}
