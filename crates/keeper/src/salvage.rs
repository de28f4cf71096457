//! Closing the runs of keepers that fell: what they held is ended, and the ending says so. Whoever is the parent
//! of last resort does this: the nursery, or, if that fell too, the foreground caller. Endings are made by link,
//! so the first to write one wins and a doubled effort changes nothing (I3).

use crate::launch;
use crate::rundir::RunDir;
use std::collections::HashSet;
use std::path::Path;
use std::time::Duration;
use tenure_core::defaults;
use tenure_core::ending::{Exit, Reason, Termination};
use tenure_core::record::{Boundary, Ending, KeeperNote, Ticket};
use tenure_core::signal::Signal;
use tenure_os::cgroup::Cgroup;
use tenure_os::complaint::complain;
use tenure_os::reaper::Ended;
use tenure_os::{clock, tree};

/// A run whose keeper fell before it wrote an ending.
#[derive(Debug)]
pub struct Fallen {
    dir: RunDir,
    note: Option<KeeperNote>,
    cgroup: Option<Cgroup>,
    root_exit: Option<Exit>,
    ended: HashSet<i32>,
    give_up: Duration,
}

impl Fallen {
    /// Reads what is known of a run that a keeper fell from, and of the one that it may have handed over to.
    /// Those that have their endings are none of our business.
    pub fn read(directory: &Path) -> Vec<Self> {
        let heir = RunDir::open(directory).ok().and_then(|dir| dir.heir());
        [Some(directory), heir.as_deref()].into_iter().flatten().filter_map(Self::read_one).collect()
    }

    fn read_one(directory: &Path) -> Option<Self> {
        let dir = RunDir::open(directory).ok()?;
        // One with an ending is closed, and one with a keeper is not ours.
        if matches!(dir.ending(), Ok(Some(_))) || !matches!(dir.kept(), Ok(false)) {
            return None;
        }
        let note = dir.note().ok().flatten();
        let cgroup = cgroup(&dir, note.as_ref());
        let give_up = clock::awake() + defaults::GIVE_UP;
        Some(Self { dir, note, cgroup, root_exit: None, ended: HashSet::new(), give_up })
    }

    /// A child was reaped; perhaps it was this run's root.
    pub fn reaped(&mut self, child: Ended) {
        if self.note.as_ref().is_some_and(|note| note.root.pid == child.pid) {
            self.root_exit = Some(child.exit);
        }
    }

    /// Writes the ending of a run of which nothing is left, or of which `survivors` would not go.
    fn close(self, confirmed: bool, survivors: &[tree::Member]) {
        let mut termination =
            Termination::new(Reason::OwnerLost, self.root_exit, Some("keeper-killed".to_owned()));
        termination.confirmed = confirmed;
        termination.survivors = survivors.iter().map(tree::Member::note).collect();
        let root = self.note.as_ref().map(|note| note.root.pid);
        let others = self.ended.iter().filter(|&&pid| Some(pid) != root).count();
        termination.leftovers = u32::try_from(others).unwrap_or(u32::MAX);
        let ending = Ending {
            run_id: self.dir.id().clone(),
            termination,
            ended_at_ms: clock::unix_ms(),
            last_output_at_ms: None,
            output: self.dir.totals(),
            handed_over_to: Vec::new(),
        };
        if let Err(error) = self.dir.write_ending(&ending, None) {
            complain(format_args!("the ending of run {} cannot be written: {error}", self.dir.id()));
        }
        clear_away(&self.dir, self.cgroup.as_ref());
    }
}

/// Clears away what a keeper that fell after its ending did not come to.
pub fn tidy(directory: &Path) {
    if let Ok(dir) = RunDir::open(directory)
        && matches!(dir.ending(), Ok(Some(_)))
    {
        let note = dir.note().ok().flatten();
        clear_away(&dir, cgroup(&dir, note.as_ref()).as_ref());
    }
}

pub(crate) fn clear_away(dir: &RunDir, cgroup: Option<&Cgroup>) {
    dir.unlisten();
    if let Some(cgroup) = cgroup {
        // An occupied group stays for whoever looks later.
        let _ = cgroup.remove();
    }
}

/// A run's cgroup. A keeper that fell before it wrote its note may have made one.
pub(crate) fn cgroup(dir: &RunDir, note: Option<&KeeperNote>) -> Option<Cgroup> {
    match note.map(|note| &note.boundary) {
        Some(Boundary::Cgroup { path }) => Cgroup::open(Path::new(path)).ok().flatten(),
        Some(Boundary::Subreaper { .. }) => None,
        None => Cgroup::find(&dir.ticket().ok()?.owner_instance_id, dir.id()).ok().flatten(),
    }
}

/// Kills everything below this process but for the `spared` and what is below them, and what is in the fallen
/// runs' cgroups; closes the fallen runs once nothing is left. Returns whether somebody is left.
pub fn hunt(spared: &HashSet<i32>, fallen: &mut Vec<Fallen>) -> bool {
    kill_cgroups(fallen);
    // Stopped first: nothing tells a tree that leaves from one that forks for ever. Those who are left after a stop
    // was given up are only looked at now and then.
    let mut left = if fallen.is_empty() {
        tree::members(spared, None)
    } else {
        tree::freeze(spared, clock::awake() + defaults::FREEZE)
    };
    for cgroup in fallen.iter().filter_map(|run| run.cgroup.as_ref()) {
        let known = left.iter().map(tree::Member::pid).chain(spared.iter().copied()).collect();
        left.extend(tree::in_cgroup(cgroup, &known));
    }
    for member in &left {
        member.signal(Signal::KILL);
    }
    let now = clock::awake();
    for run in fallen.iter_mut() {
        run.ended.extend(left.iter().map(tree::Member::pid));
    }
    // A list can miss whoever lost its parent while it was made; but then it is a child of ours now.
    let empty = left.is_empty() && tree::own_children().iter().all(|pid| spared.contains(pid));
    let (closing, waiting) = fallen.drain(..).partition(|run| empty || now > run.give_up);
    *fallen = waiting;
    for run in Vec::<Fallen>::into_iter(closing) {
        run.close(empty, &left);
    }
    !empty
}

/// At once, whoever forks; a kernel that cannot is served by the lists.
fn kill_cgroups(fallen: &[Fallen]) {
    for cgroup in fallen.iter().filter_map(|run| run.cgroup.as_ref()) {
        let _ = cgroup.kill();
    }
}

/// For one who is not the parent of last resort: kills what is in the fallen runs' cgroups and what carries the
/// run's lease in its environment, and closes the runs once nothing is left. Where processes cannot be read,
/// everything is left as it is (I6).
pub fn sweep(fallen: &mut Vec<Fallen>, ticket: &Ticket) {
    let mark = launch::lease_mark(&ticket.lease_id);
    kill_cgroups(fallen);
    let Ok(mut left) = tree::carriers(&mark, ticket.created_at_ms) else { return };
    for run in fallen.iter_mut() {
        let known = left.iter().map(tree::Member::pid).collect();
        left.extend(run.cgroup.iter().flat_map(|cgroup| tree::in_cgroup(cgroup, &known)));
        for member in &left {
            member.forbid_forking();
            member.signal(Signal::KILL);
        }
        run.ended.extend(left.iter().map(tree::Member::pid));
    }
    let occupied = |cgroup: &Cgroup| !cgroup.pids().is_ok_and(|pids| pids.is_empty());
    let empty = left.is_empty() && !fallen.iter().any(|run| run.cgroup.as_ref().is_some_and(occupied));
    let now = clock::awake();
    let (closing, waiting) = fallen.drain(..).partition(|run| empty || now > run.give_up);
    *fallen = waiting;
    for run in Vec::<Fallen>::into_iter(closing) {
        // Without a cgroup, one that cleared its environment may live on unseen; without a note, nobody.
        let confirmed = empty && (run.cgroup.is_some() || run.note.is_none());
        run.close(confirmed, &left);
    }
}

/// Whether somebody is in a run's cgroup, or that cannot be told.
pub(crate) fn is_occupied(cgroup: &Cgroup) -> bool {
    !cgroup.pids().is_ok_and(|pids| pids.is_empty())
}
