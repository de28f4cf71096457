//! The processes of a run: everything below its keeper, and everything in its enclosure. A list only provides
//! targets; the run is empty only when the system says that there is no child any more.

pub use super::strays::{carriers, may_have_strayed, strays};
use crate::clock;
use crate::enclosure::Enclosure;
use crate::process::{self, Process, Sent};
use crate::root::Root;
use crate::run_marks::RunMarks;
use crate::system;
use crate::tree::{InputEnd, Member, Usage};
use std::collections::HashSet;
use std::io;
use std::time::Duration;
use tenure_core::identity::{Evidence, Identity};
use tenure_core::signal::Signal;
use tenure_core::wire::{BlockedView, ProcessView, Via};

impl Member {
    pub(crate) fn new(process: Process, via: Via) -> Self {
        Self { process, via }
    }

    /// Its parent's pid, as it was when it was listed.
    pub fn parent(&self) -> i32 {
        self.process.stat().parent
    }

    /// Returns the process group.
    pub fn group(&self) -> i32 {
        self.process.stat().group
    }

    /// Returns the session.
    pub fn session(&self) -> i32 {
        self.process.stat().session
    }

    /// Returns true if the process is in this session.
    pub fn is_of(&self, session: i32) -> bool {
        self.session() == session
    }

    /// Returns true if it was executed with `mark` in its environment; if that cannot be read, it counts as not.
    pub fn carries(&self, mark: &[u8]) -> bool {
        system::environment_has(self.pid(), mark).unwrap_or(false)
    }

    /// Returns the command line, for people.
    pub fn command(&self) -> String {
        system::command_line(self.pid())
    }

    /// Makes the process the root of a run of its own, if it is a child of this process.
    pub fn into_root(self) -> Option<Root> {
        Root::adopt(self.process)
    }

    /// Returns true if it is stopped or dead, so that it forks nothing.
    fn stands_still(&self) -> bool {
        !self.process.is_alive() || system::stands_still(self.pid())
    }

    /// Keeps it from forking, where the system permits that; a process of the superuser is exempt.
    pub fn forbid_forking(&self) {
        system::forbid_forking(&self.process);
    }

    /// Returns all facts to show; `root` is the run's root, which never had another parent.
    pub fn view(&self, root: i32) -> ProcessView {
        let stat = self.process.stat();
        ProcessView {
            note: self.note(),
            ppid: stat.parent,
            pgid: stat.group,
            sid: stat.session,
            command: self.command(),
            started_at_ms: self.process.started_at_ms(),
            cpu_ms: stat.cpu_ms(),
            rss_bytes: stat.rss_bytes,
            via: if self.pid() == root { Via::Child } else { self.via },
        }
    }
}

/// Returns the live processes below this one, parents first, except those in `spared` and below them, and those in
/// the enclosure. Only those that can be read, held open and examined in time: the others are still children.
pub fn members(spared: &HashSet<i32>, marks: &RunMarks<'_>) -> Vec<Member> {
    let mut found = Vec::new();
    let mut seen = with_own(spared);
    descend(vec![own()], &mut seen, &mut found, &mut |_| {});
    if let Some(enclosure) = marks.enclosure {
        found.extend(in_enclosure(enclosure, &seen));
    }
    // If strays cannot be read, there may be some; `is_bare` takes that into account.
    let strayed = strays(marks, &seen).unwrap_or_default();
    let tops: Vec<i32> = strayed.iter().map(Member::pid).collect();
    seen.extend(&tops);
    found.extend(strayed);
    descend(tops, &mut seen, &mut found, &mut |_| {});
    found
}

/// Returns true if a process that loses its parent is still found below its keeper. Elsewhere, processes must be
/// found before their parents are ended.
pub fn orphans_come_back() -> bool {
    system::ORPHANS_COME_BACK
}

/// Returns true if no process of a run is left except perhaps `kept`: this process has no other child, dead or
/// alive. Where orphans come back, its own children prove that nothing is below it.
pub fn is_bare(kept: Option<i32>, marks: &RunMarks<'_>) -> bool {
    own_children().into_iter().all(|pid| Some(pid) == kept)
        && (system::ORPHANS_COME_BACK || super::strays::all_are_among(&kept.into_iter().collect(), marks))
}

/// Returns this process's children, dead or alive.
pub fn own_children() -> Vec<i32> {
    children(own())
}

/// Stops everything below this process, and the strays of these runs, so that nothing forks any more, and lists it.
/// Children that a process forks until the stop arrives are found in the next round, and a stopped process has no
/// more: so this outruns forks. Gives up at `until`. Calls `stopped` with the result of each stop.
pub fn freeze(
    spared: &HashSet<i32>,
    marks: &[RunMarks<'_>],
    until: Duration,
    stopped: &mut dyn FnMut(&Member, Sent),
) -> Vec<Member> {
    let mut frozen: Vec<Member> = Vec::new();
    let mut seen = with_own(spared);
    // Processes that we may not stop are not waited for.
    let mut beyond = HashSet::new();
    loop {
        // A new process that is already dead may have left a child that is on no list yet.
        let before = seen.len();
        let still = frozen.iter().all(|member| beyond.contains(&member.pid()) || member.stands_still());
        let tops = [own()].into_iter().chain(frozen.iter().map(Member::pid)).collect();
        let mut stop = |member: &Member| {
            let sent = member.signal(Signal::STOP);
            stopped(member, sent);
            if sent == Sent::Denied {
                beyond.insert(member.pid());
            }
        };
        let mut whole = descend(tops, &mut seen, &mut frozen, &mut stop);
        for marks in marks {
            let Ok(strayed) = strays(marks, &seen) else {
                whole = false;
                continue;
            };
            strayed.iter().for_each(&mut stop);
            seen.extend(strayed.iter().map(Member::pid));
            frozen.extend(strayed);
        }
        let nobody_new = seen.len() == before;
        if (still && whole && nobody_new) || clock::awake() > until {
            return frozen;
        }
        if nobody_new {
            // The stop has yet to arrive; spinning would only delay it. A failed wait is a shorter one.
            let _ = crate::poll::wait(&[], Some(STOP_DELAY));
        }
    }
}

/// Time that a stop takes to arrive.
const STOP_DELAY: Duration = Duration::from_micros(200);

/// Time limit of one list: a fork bomb leaves thousands of dead processes alone.
const LIST_TIMEOUT: Duration = Duration::from_millis(100);

pub(super) fn own() -> i32 {
    rustix::process::getpid().as_raw_nonzero().get()
}

fn with_own(spared: &HashSet<i32>) -> HashSet<i32> {
    spared.iter().copied().chain([own()]).collect()
}

/// Adds the live processes below `parents` that were not seen yet. Calls `meet` for each before its children are
/// listed. Returns true if there was time and room for all of them.
fn descend(
    mut parents: Vec<i32>,
    seen: &mut HashSet<i32>,
    found: &mut Vec<Member>,
    meet: &mut dyn FnMut(&Member),
) -> bool {
    let own = own();
    let until = clock::awake() + LIST_TIMEOUT;
    let mut whole = true;
    while let Some(parent) = parents.pop() {
        // The youngest come last in the list, and of a fast fork bomb all older ones are dead.
        for pid in children(parent).into_iter().rev() {
            if seen.contains(&pid) {
                continue;
            }
            if clock::awake() > until {
                return false;
            }
            seen.insert(pid);
            let process = match Process::open(pid) {
                Ok(Some(process)) => process,
                Ok(None) => continue,
                // The process may not be read, or there are no descriptors left.
                Err(_) => {
                    whole = false;
                    continue;
                }
            };
            // The process must be a child of the one that we walked down from, or have been reparented to us
            // meanwhile.
            let its_parent = process.stat().parent;
            if its_parent != parent && its_parent != own {
                seen.remove(&pid);
                whole = false;
                continue;
            }
            if process.is_alive() {
                let via = if its_parent == own { Via::Adopted } else { Via::Child };
                let member = Member::new(process, via);
                meet(&member);
                found.push(member);
            }
            parents.push(pid);
        }
    }
    whole
}

/// Returns a recorded process, if it is alive and the same, and the live processes below it: a descendant of a
/// proven member by living parents is a member. `None` if it is not the same, or gone; an error if that is unknown
/// (I6).
pub fn below(recorded: &Identity) -> io::Result<Option<Vec<Member>>> {
    let process = match process::look(recorded) {
        (Evidence::Same(_), Some(process)) => process,
        (Evidence::Unreadable(why), _) => return Err(io::Error::other(why)),
        (Evidence::Same(_) | Evidence::Other | Evidence::Gone, _) => return Ok(None),
    };
    let pid = recorded.pid;
    let mut seen = HashSet::from([own(), pid]);
    let mut found = vec![Member::new(process, Via::Child)];
    descend(vec![pid], &mut seen, &mut found, &mut |_| {});
    // The process was still the same at the end, so its children were its own all the time.
    let still = found[0].process.is_alive();
    Ok(still.then_some(found))
}

/// Returns the live processes in an enclosure, except those that were seen already.
pub fn in_enclosure(enclosure: &Enclosure, seen: &HashSet<i32>) -> Vec<Member> {
    let mut found = Vec::new();
    let listed = enclosure.pids().unwrap_or_default();
    for pid in listed.into_iter().filter(|&pid| pid != own() && !seen.contains(&pid)) {
        if let Ok(Some(process)) = Process::open(pid)
            && enclosure.holds(pid)
            && process.is_alive()
        {
            found.push(Member::new(process, enclosure.via()));
        }
    }
    found
}

/// Returns the direct children of a process, zombies included.
pub fn children(pid: i32) -> Vec<i32> {
    system::children(pid)
}

/// Returns the resources used by these processes, and by the children that this process has reaped.
pub fn usage(members: &[Member]) -> Usage {
    let mut total = Usage { cpu: system::reaped_cpu(), io_bytes: 0 };
    for member in members {
        total.cpu += Duration::from_millis(member.process.stat().cpu_with_children_ms());
        total.io_bytes += system::io_bytes(member.pid());
    }
    total
}

/// Returns the calls that these processes are blocked in, and true if one of them waits for the run's own input.
pub fn blocked(members: &[Member], input: Option<InputEnd<'_>>) -> (Vec<BlockedView>, Option<bool>) {
    system::blocked_in(&mut members.iter().map(Member::pid), input)
}

/// Raises this process's priority while it chases forks, if the system permits it.
pub fn hurry() {
    system::hurry();
}
