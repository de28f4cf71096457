//! A miniature machine for the decider: processes whose pids are reused, sessions, marks and programs, a process
//! table that may be closed, and an executor that carries a verdict out as a daemon does and records its signals.
//! The cases of the seed are in `simulator::cases`.

mod cases;

use super::closing::{self, Left, Round};
use super::members::{Carried, Marks, Membership, ObservedProcess};
use super::*;
use crate::ending::Reason;
use crate::identity::{self, Sighting};
use crate::ids::LeaseId;
use crate::signal::Signal;
use std::time::Duration;

#[derive(Debug, Clone)]
struct Process {
    pid: i32,
    parent: i32,
    session: i32,
    start_time: u64,
    lease: Option<LeaseId>,
    inode: u64,
    command: Vec<String>,
    ignores_term: bool,
}

#[derive(Debug, Clone)]
struct Machine {
    boot: &'static str,
    processes: Vec<Process>,
    /// True if processes may be examined.
    readable: bool,
    signalled: Vec<(i32, Signal)>,
}

/// The records of an installation about one run.
#[derive(Debug, Clone)]
struct Record {
    identity: Option<Identity>,
    lease: Lease,
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

/// A process of this user, alone in its session, child of init; started so many seconds after boot as its pid says.
fn process(pid: i32, command: &[&str]) -> Process {
    let start_time = u64::try_from(pid).unwrap() * 1000;
    let command = command.iter().map(ToString::to_string).collect();
    let inode = start_time + 1;
    Process { pid, parent: 1, session: pid, start_time, lease: None, inode, command, ignores_term: false }
}

impl Process {
    fn below(mut self, parent: i32, session: i32) -> Self {
        (self.parent, self.session) = (parent, session);
        self
    }

    fn marked(mut self, n: u8) -> Self {
        self.lease = Some(lease(n));
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
        self.processes.iter().find(|it| it.pid == pid)
    }

    fn sighting(&self, pid: i32) -> Sighting {
        match self.find(pid) {
            Some(it) => Sighting::Found { start_time: it.start_time, pidfs_inode: Some(it.inode) },
            None => Sighting::NoSuchProcess,
        }
    }

    fn identity(&self, pid: i32) -> Identity {
        let it = self.find(pid).expect("there is such a process");
        Identity { place: self.place(), pid, start_time: it.start_time, pidfs_inode: Some(it.inode) }
    }

    fn exits(&mut self, pid: i32) {
        self.processes.retain(|it| it.pid != pid);
        for it in &mut self.processes {
            if it.parent == pid {
                it.parent = 1;
            }
        }
    }

    /// A signal to each of these, children first.
    fn signal_all(&mut self, members: &[Process], signal: Signal) {
        let place = self.place();
        let listed: Vec<(i32, i32)> = members.iter().map(|it| (it.pid, it.parent)).collect();
        for at in closing::children_first(&listed) {
            let pid = listed[at].0;
            match identity::judge(&self.identity(pid), &place, &self.sighting(pid)) {
                Evidence::Same(held) => self.signal(&held, signal),
                other => panic!("{pid} is not what it is: {other:?}"),
            }
        }
    }

    /// Sends a signal, through the proof and nothing else.
    fn signal(&mut self, held: &SignalProof, signal: Signal) {
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
        let identity = Some(machine.identity(root.pid));
        let lease = Lease::Leased { id: lease(1), view };
        Self { identity, lease, state: State::Running, reason: None, stolen: false }
    }

    fn legacy(root: &Process, lease: Lease) -> Self {
        Self { lease, ..Self::of(root, LeaseView::Mine) }
    }

    /// The members of the run, its root included, as far as they are proven.
    fn members(&self, machine: &Machine, root: &RootEvidence) -> Result<Vec<Process>, String> {
        if !machine.readable {
            return Err("processes cannot be listed".into());
        }
        // A legacy run has no lease that a process could carry: only the processes that its root pins are its own.
        let lease = match &self.lease {
            Lease::Leased { id, .. } => Some(id),
            Lease::LegacyWrapper { .. } | Lease::LegacyCommand { .. } => None,
        };
        let marks = Marks {
            is_session_pinned: matches!(root, RootEvidence::Same(held) if machine.find(held.identity().pid).is_some()),
            has_lease: lease.is_some(),
            since_ms: 40_000,
        };
        let recorded = self.identity.as_ref().map(|it| it.pid);
        let is_member = |it: &&Process| {
            let carries = it.lease.is_some() && it.lease.as_ref() == lease;
            let seen = ObservedProcess {
                pid: it.pid,
                is_in_session: recorded == Some(it.session),
                is_own_users: true,
                started_at_ms: it.start_time,
                lease: if carries { Carried::Yes } else { Carried::No },
                is_alive: true,
            };
            matches!(marks.judge(&seen), Membership::Member(_))
        };
        Ok(machine.processes.iter().filter(is_member).cloned().collect())
    }

    fn case(&self, machine: &Machine) -> Case {
        let pid = self.identity.as_ref().map_or(0, |it| it.pid);
        // A legacy record knows only the pid: the process that has it now is examined.
        let recorded = match (&self.lease, machine.find(pid)) {
            (Lease::Leased { .. }, _) | (_, None) => self.identity.clone(),
            (Lease::LegacyWrapper { .. } | Lease::LegacyCommand { .. }, Some(_)) => {
                Some(machine.identity(pid))
            }
        };
        let root = RootEvidence::of(recorded.as_ref(), &machine.place(), |root| {
            (identity::judge(root, &machine.place(), &machine.sighting(pid)), machine.find(pid).is_some())
        });
        let leftovers = match self.members(machine, &root) {
            Ok(members) => {
                let others =
                    members.iter().filter(|it| it.pid != pid || !matches!(root, RootEvidence::Same(_)));
                Leftovers::Known(u32::try_from(others.count()).unwrap())
            }
            Err(why) => Leftovers::Unreadable(why),
        };
        Case {
            record: Recorded { state: self.state, orphan: Orphan::Terminate, is_taken_over: false },
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

    /// Decides and carries out, as a daemon does: steal, end by rounds, record.
    fn reconcile(&mut self, machine: &mut Machine) -> Verdict {
        let case = self.case(machine);
        let verdict = decide(&case);
        self.stolen |= verdict.steals();
        if verdict.signals() {
            self.close(machine, &case.root);
        }
        if let Some(reason) = verdict.reason() {
            self.reason = Some(reason);
            self.state = State::Exited;
        }
        verdict
    }

    /// Goes by the rounds that `tenure-keeper` goes by.
    fn close(&self, machine: &mut Machine, root: &RootEvidence) {
        let (mut now, give_up) = (Duration::ZERO, closing::give_up_at(Duration::ZERO));
        loop {
            let members = self.members(machine, root).expect("a signal needs a list");
            let left = if members.is_empty() { Left::Nobody } else { Left::Somebody };
            match closing::round(left, now, give_up) {
                Round::Kill => machine.signal_all(&members, closing::SIGNAL),
                Round::Close | Round::GiveUp => return,
            }
            now += Duration::from_secs(1);
        }
    }
}
