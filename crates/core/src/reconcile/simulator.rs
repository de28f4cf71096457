//! A machine in miniature for the decider: processes with pids that come round, groups, marks and programs, a process
//! table that may be closed, and an executor that carries a verdict out as a daemon does, writing down whom it signals.
//! The cases of the seed are in `simulator::cases`.

mod cases;

use super::members::{Enclosure, Stranger, children_first};
use super::*;
use crate::ending::Reason;
use crate::ids::LeaseId;
use crate::lease::LeaseState;
use crate::signal::Signal;

const UID: u32 = 1000;

#[derive(Debug, Clone)]
struct Process {
    seen: Stranger,
    inode: u64,
    command: Vec<String>,
    ignores_term: bool,
}

#[derive(Debug, Clone)]
struct Machine {
    boot: &'static str,
    processes: Vec<Process>,
    /// Whether processes may be looked at.
    readable: bool,
    signalled: Vec<(i32, Signal)>,
}

/// What an installation keeps of one run.
#[derive(Debug, Clone)]
struct Record {
    identity: Option<Identity>,
    lease: Lease,
    lease_state: LeaseState,
    state: State,
    reason: Option<Reason>,
    stolen: bool,
}

#[derive(Debug, Clone)]
enum Lease {
    Leased { id: LeaseId, view: LeaseView },
    LegacyWrapper { root: &'static str },
    LegacyCommand { line: &'static str },
}

fn lease(n: u8) -> LeaseId {
    LeaseId::from_random([n; 12])
}

/// A process of this user, alone in its group, child of init; started at its pid's hundredfold.
fn process(pid: i32, command: &[&str]) -> Process {
    let start_time = u64::try_from(pid).unwrap() * 100;
    let seen = Stranger { pid, parent: 1, group: pid, uid: UID, start_time, lease: None, cgroup: None };
    let command = command.iter().map(ToString::to_string).collect();
    Process { seen, inode: start_time + 1, command, ignores_term: false }
}

impl Process {
    fn below(mut self, parent: i32, group: i32) -> Self {
        (self.seen.parent, self.seen.group) = (parent, group);
        self
    }

    fn marked(mut self, n: u8) -> Self {
        self.seen.lease = Some(lease(n));
        self
    }

    fn stubborn(mut self) -> Self {
        self.ignores_term = true;
        self
    }

    /// The pid is used again, in the very tick in which its former owner started.
    fn born_again(mut self) -> Self {
        self.inode += 1;
        self
    }
}

impl Machine {
    fn new(processes: impl IntoIterator<Item = Process>) -> Self {
        let processes = processes.into_iter().collect();
        Self { boot: "first", processes, readable: true, signalled: Vec::new() }
    }

    fn place(&self) -> Place {
        Place { machine_id: Some("m".into()), boot_id: self.boot.into(), pid_namespace: 1 }
    }

    fn find(&self, pid: i32) -> Option<&Process> {
        self.processes.iter().find(|it| it.seen.pid == pid)
    }

    fn sighting(&self, pid: i32) -> Sighting {
        match self.find(pid) {
            Some(it) => Sighting::Found { start_time: it.seen.start_time, pidfs_inode: Some(it.inode) },
            None => Sighting::NoSuchProcess,
        }
    }

    fn identity(&self, pid: i32) -> Identity {
        let it = self.find(pid).expect("there is such a process");
        Identity { place: self.place(), pid, start_time: it.seen.start_time, pidfs_inode: Some(it.inode) }
    }

    fn exits(&mut self, pid: i32) {
        self.processes.retain(|it| it.seen.pid != pid);
        for it in &mut self.processes {
            if it.seen.parent == pid {
                it.seen.parent = 1;
            }
        }
    }

    /// One signal, through the proof and nothing else.
    fn signal(&mut self, held: &Held, signal: Signal) {
        let pid = held.identity().pid;
        match identity::judge(held.identity(), &self.place(), &self.sighting(pid)) {
            Evidence::Same(_) => {}
            Evidence::Other | Evidence::Gone | Evidence::Unreadable(_) => return,
        }
        self.signalled.push((pid, signal));
        let deaf = self.find(pid).is_some_and(|it| it.ignores_term);
        if signal == Signal::KILL || !deaf {
            self.exits(pid);
        }
    }
}

impl Record {
    /// A running run of the first lease, whose root is recorded as it is now.
    fn of(root: &Process, view: LeaseView) -> Self {
        let machine = Machine::new([root.clone()]);
        let identity = Some(machine.identity(root.seen.pid));
        let lease = Lease::Leased { id: lease(1), view };
        let (lease_state, state) = (LeaseState::Open, State::Running);
        Self { identity, lease, lease_state, state, reason: None, stolen: false }
    }

    fn legacy(root: &Process, lease: Lease) -> Self {
        Self { lease, ..Self::of(root, LeaseView::Mine) }
    }

    /// The members of the run beside its root, as far as they are proven.
    fn members(&self, machine: &Machine, root: &RootEvidence) -> Result<Vec<Stranger>, String> {
        if !machine.readable {
            return Err("processes cannot be listed".into());
        }
        let pinned = match root {
            RootEvidence::Same(held) => Some(held.identity().pid),
            _ => None,
        };
        // A legacy run has no lease that anybody could carry: only what its root pins is its.
        let lease = match &self.lease {
            Lease::Leased { id, .. } => id.clone(),
            Lease::LegacyWrapper { .. } | Lease::LegacyCommand { .. } => lease(0xff),
        };
        let enclosure = Enclosure { lease, uid: UID, since: 4000, cgroup: None, pinned_group: pinned };
        let all = machine.processes.iter().map(|it| it.seen.clone());
        Ok(all.filter(|it| enclosure.proof(it).is_some()).collect())
    }

    fn case(&self, machine: &Machine) -> Case {
        let pid = self.identity.as_ref().map_or(0, |it| it.pid);
        // A legacy record knows the pid alone: whoever has it now is looked at.
        let recorded = match (&self.lease, machine.find(pid)) {
            (Lease::Leased { .. }, _) | (_, None) => self.identity.clone(),
            (Lease::LegacyWrapper { .. } | Lease::LegacyCommand { .. }, Some(_)) => {
                Some(machine.identity(pid))
            }
        };
        let root = RootEvidence::of(recorded.as_ref(), &machine.place(), &machine.sighting(pid));
        let leftovers = match self.members(machine, &root) {
            Ok(members) => {
                let others =
                    members.iter().filter(|it| it.pid != pid || !matches!(root, RootEvidence::Same(_)));
                Leftovers::Known(u32::try_from(others.count()).unwrap())
            }
            Err(why) => Leftovers::Unreadable(why),
        };
        Case {
            record: Recorded { state: self.state, orphan: Orphan::Terminate },
            us: Standing::Holding,
            lease: self.view(machine.find(pid)),
            ending: EndingEvidence::Missing,
            keeper: KeeperEvidence::LockFree,
            nursery: NurseryEvidence::LockFree,
            root,
            leftovers,
        }
    }

    fn view(&self, live: Option<&Process>) -> LeaseView {
        let command = live.map_or(&[][..], |it| &it.command);
        match &self.lease {
            Lease::Leased { view, .. } => view.clone(),
            Lease::LegacyWrapper { root } => {
                let script = command.get(1).map_or("", String::as_str);
                LeaseView::Legacy(Claim::Wrapper(wrapper_agrees(root, script)))
            }
            Lease::LegacyCommand { line } => LeaseView::Legacy(Claim::Command(command_agrees(line, command))),
        }
    }

    /// Decides and carries out, as a daemon does: steal, signal children first, record.
    fn reconcile(&mut self, machine: &mut Machine) -> Verdict {
        let case = self.case(machine);
        let verdict = decide(&case);
        self.stolen |= verdict.steals();
        if verdict.signals() {
            let members = self.members(machine, &case.root).expect("a signal needs a list");
            end(machine, &members);
        }
        if let Some(reason) = verdict.reason() {
            self.reason = Some(reason);
            self.state = State::Exited;
            let path: &[LeaseState] = match reason {
                Reason::ReconciledStale => &[LeaseState::Lost],
                _ => &[LeaseState::Closing, LeaseState::Closed],
            };
            for &to in path {
                self.lease_state = self.lease_state.advance(to).unwrap();
            }
        }
        verdict
    }
}

/// Asks everybody to leave, children first, and kills whoever stays.
fn end(machine: &mut Machine, members: &[Stranger]) {
    let place = machine.place();
    let held: Vec<Held> = children_first(members)
        .into_iter()
        .filter_map(|pid| match identity::judge(&machine.identity(pid), &place, &machine.sighting(pid)) {
            Evidence::Same(held) => Some(held),
            Evidence::Other | Evidence::Gone | Evidence::Unreadable(_) => None,
        })
        .collect();
    for signal in [Signal::TERM, Signal::KILL] {
        for held in &held {
            machine.signal(held, signal);
        }
    }
}
