//! The processes of a run: everything below its keeper, and everything in its enclosure. A list is only ever a
//! list of targets: that nobody is left is known when the system says that there is no child any more.

pub use super::strays::{carriers, may_have_strayed, strays};
use crate::clock;
use crate::enclosure::Enclosure;
use crate::kin::Kin;
use crate::process::{self, Process, Sent};
use crate::pty::Pty;
use crate::root::Root;
use crate::stdio::Sink;
use crate::system;
use std::collections::HashSet;
use std::io;
use std::time::Duration;
use tenure_core::ending::ProcessNote;
use tenure_core::identity::{Evidence, Identity};
use tenure_core::signal::Signal;
use tenure_core::wire::{BlockedView, ProcessView, Via};

/// A live process of the run, held open.
#[derive(Debug)]
pub struct Member {
    process: Process,
    via: Via,
}

impl Member {
    pub(crate) fn new(process: Process, via: Via) -> Self {
        Self { process, via }
    }

    /// Its pid.
    pub fn pid(&self) -> i32 {
        self.process.identity().pid
    }

    /// Who it is.
    pub fn identity(&self) -> &Identity {
        self.process.identity()
    }

    /// How it belongs to its run.
    pub fn via(&self) -> Via {
        self.via
    }

    /// Its group.
    pub fn group(&self) -> i32 {
        self.process.stat().group
    }

    /// Its session.
    pub fn session(&self) -> i32 {
        self.process.stat().session
    }

    /// Whether it has stayed in this session.
    pub fn is_of(&self, session: i32) -> bool {
        self.session() == session
    }

    /// Whether it was executed with `mark` in its environment; one that cannot be read was not, as far as is known.
    pub fn carries(&self, mark: &[u8]) -> bool {
        system::environment_has(self.pid(), mark).unwrap_or(false)
    }

    /// Its command line, for people.
    pub fn command(&self) -> String {
        system::command_line(self.pid())
    }

    /// The words of its command line; all of it as one word where they cannot be told apart.
    pub fn words(&self) -> Vec<String> {
        self.process.words().unwrap_or_else(|_| vec![self.command()])
    }

    /// Its pid and executable, for people.
    pub fn note(&self) -> ProcessNote {
        self.process.note()
    }

    /// Signals it. Membership was proven when it was listed; this proves that it is still the same process.
    pub fn signal(&self, signal: Signal) -> Sent {
        match self.process.judge(self.process.identity()) {
            Evidence::Same(held) => self.process.signal(&held, signal),
            Evidence::Other | Evidence::Gone => Sent::Gone,
            Evidence::Unreadable(_) => Sent::Denied,
        }
    }

    /// Makes it the root of a run of its own, if it is a child of this process.
    pub fn into_root(self) -> Option<Root> {
        Root::adopt(self.process)
    }

    /// Whether it is stopped or dead, and so forks nothing.
    fn stands_still(&self) -> bool {
        !self.process.is_alive() || system::stands_still(self.pid())
    }

    /// Keeps it from forking, where the system lets us; a process of the superuser is not bound by it.
    pub fn forbid_forking(&self) {
        system::forbid_forking(&self.process);
    }

    /// All there is to show of it; `root` is the run's root, which was never anybody else's child.
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

/// The live processes below this one, parents first, but for those in `spared` and what is below them, and
/// those in the enclosure. As many as can be read, held open and looked at in time: who is left out is still a child.
pub fn members(spared: &HashSet<i32>, kin: &Kin<'_>) -> Vec<Member> {
    let mut found = Vec::new();
    let mut seen = with_own(spared);
    descend(vec![own()], &mut seen, &mut found, &mut |_| {});
    if let Some(enclosure) = kin.enclosure {
        found.extend(in_enclosure(enclosure, &seen));
    }
    // Where they cannot be told, there may be some: that is for who asks whether nobody is left.
    let strayed = strays(kin, &seen).unwrap_or_default();
    let tops: Vec<i32> = strayed.iter().map(Member::pid).collect();
    seen.extend(&tops);
    found.extend(strayed);
    descend(tops, &mut seen, &mut found, &mut |_| {});
    found
}

/// Whether whoever loses its parent is still found below its keeper. Elsewhere who is to be ended is looked for before
/// their parents are.
pub fn orphans_come_back() -> bool {
    system::ORPHANS_COME_BACK
}

/// Whether nobody is left of a run but perhaps `kept`: this process has no other child, dead or alive. Where orphans come
/// back to it, its own children are enough to know of everybody below.
pub fn is_bare(kept: Option<i32>, kin: &Kin<'_>) -> bool {
    own_children().into_iter().all(|pid| Some(pid) == kept)
        && (system::ORPHANS_COME_BACK || super::strays::all_are_among(&kept.into_iter().collect(), kin))
}

/// This process's children, dead or alive.
pub fn own_children() -> Vec<i32> {
    children(own())
}

/// Stops everything below this process, and who strayed from these runs, so that nothing forks any more, and lists it. What a process forks until
/// the stop reaches it is looked for again, and once it stands still there will be no more: so this outruns what
/// forks. Gives up when the time is over. Tells `stopped` what came of each stop.
pub fn freeze(
    spared: &HashSet<i32>,
    kin: &[Kin<'_>],
    until: Duration,
    stopped: &mut dyn FnMut(&Member, Sent),
) -> Vec<Member> {
    let mut frozen: Vec<Member> = Vec::new();
    let mut seen = with_own(spared);
    // Those whom we may not stop are waited for in vain.
    let mut beyond = HashSet::new();
    loop {
        // Somebody new who is dead already may have left a child behind who is on no list yet.
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
        for kin in kin {
            let Ok(strayed) = strays(kin, &seen) else {
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
            // The stop has yet to arrive; spinning would only keep it from that. A failed wait is a shorter one.
            let _ = crate::poll::wait(&[], Some(STOPPING));
        }
    }
}

/// How long a stop takes to arrive.
const STOPPING: Duration = Duration::from_micros(200);

/// How long one list may take: behind a bomb that goes off, the dead alone are thousands.
const LOOK: Duration = Duration::from_millis(100);

pub(super) fn own() -> i32 {
    rustix::process::getpid().as_raw_nonzero().get()
}

fn with_own(spared: &HashSet<i32>) -> HashSet<i32> {
    spared.iter().copied().chain([own()]).collect()
}

/// Adds the live processes below `parents` that were not seen yet. Each is met before its children are listed.
/// Returns whether there was time and room for all of them.
fn descend(
    mut parents: Vec<i32>,
    seen: &mut HashSet<i32>,
    found: &mut Vec<Member>,
    meet: &mut dyn FnMut(&Member),
) -> bool {
    let own = own();
    let until = clock::awake() + LOOK;
    let mut whole = true;
    while let Some(parent) = parents.pop() {
        // The youngest come last in the list, and behind what forks fast all others are dead.
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
                // It may not be read, or there are no more descriptors.
                Err(_) => {
                    whole = false;
                    continue;
                }
            };
            // It is a child of what we walked down from, or has come back to us meanwhile.
            let its_parent = process.stat().parent;
            if its_parent != parent && its_parent != own {
                seen.remove(&pid);
                whole = false;
                continue;
            }
            if process.is_alive() {
                let via = if its_parent == own { Via::Adopted } else { Via::Child };
                let member = Member { process, via };
                meet(&member);
                found.push(member);
            }
            parents.push(pid);
        }
    }
    whole
}

/// A recorded process, if it is alive and the same, and the live processes below it: who descends from a proven
/// member by living parents is one. `None` if it is not the same, or gone; an error means that it cannot be told (I6).
pub fn below(recorded: &Identity) -> io::Result<Option<Vec<Member>>> {
    let process = match process::look(recorded) {
        (Evidence::Same(_), Some(process)) => process,
        (Evidence::Unreadable(why), _) => return Err(io::Error::other(why)),
        (Evidence::Same(_) | Evidence::Other | Evidence::Gone, _) => return Ok(None),
    };
    let pid = recorded.pid;
    let mut seen = HashSet::from([own(), pid]);
    let mut found = vec![Member { process, via: Via::Child }];
    descend(vec![pid], &mut seen, &mut found, &mut |_| {});
    // While it was the same at the end, its children were its own all the time.
    let still = found[0].process.is_alive();
    Ok(still.then_some(found))
}

/// The live processes in an enclosure, but for those that were seen already.
pub fn in_enclosure(enclosure: &Enclosure, seen: &HashSet<i32>) -> Vec<Member> {
    let mut found = Vec::new();
    let listed = enclosure.pids().unwrap_or_default();
    for pid in listed.into_iter().filter(|&pid| pid != own() && !seen.contains(&pid)) {
        if let Ok(Some(process)) = Process::open(pid)
            && enclosure.holds(pid)
            && process.is_alive()
        {
            found.push(Member { process, via: enclosure.via() });
        }
    }
    found
}

/// The direct children of a process, zombies included.
pub fn children(pid: i32) -> Vec<i32> {
    system::children(pid)
}

/// What a tree has used of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// CPU time, of the living and of those that were waited for.
    pub cpu: Duration,
    /// Bytes read and written, by any call.
    pub io_bytes: u64,
}

/// What these processes, and the children that this process has reaped, have used.
pub fn usage(members: &[Member]) -> Usage {
    let mut total = Usage { cpu: system::reaped_cpu(), io_bytes: 0 };
    for member in members {
        total.cpu += Duration::from_millis(member.process.stat().cpu_with_children_ms());
        total.io_bytes += system::io_bytes(member.pid());
    }
    total
}

/// Where a run's input comes from.
#[derive(Debug, Clone, Copy)]
pub enum InputEnd<'a> {
    /// The end of a pipe that we write to.
    Pipe(&'a Sink),
    /// A terminal.
    Pty(&'a Pty),
}

/// What these processes are blocked in, and whether one of them waits for the run's own input.
pub fn blocked(members: &[Member], input: Option<InputEnd<'_>>) -> (Vec<BlockedView>, Option<bool>) {
    system::blocked_in(&mut members.iter().map(Member::pid), input)
}

/// Runs this process ahead of others while it hunts what forks, where the system lets us.
pub fn hurry() {
    system::hurry();
}
