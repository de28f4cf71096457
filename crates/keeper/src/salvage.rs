//! Closing the runs of keepers that fell: what they held is ended, and the ending says so. Whoever is the parent
//! of last resort does this: the nursery, or, if that fell too, the foreground caller. Endings are made by link,
//! so the first to write one wins and a doubled effort changes nothing (I3).

use crate::launch;
use crate::rundir::RunDir;
use std::collections::HashSet;
use std::io;
use std::path::Path;
use std::time::Duration;
use tenure_core::defaults;
use tenure_core::ending::{Exit, Reason, Termination};
use tenure_core::record::{Boundary, Ending, KeeperNote, Ticket};
use tenure_core::signal::Signal;
use tenure_os::cgroup::Cgroup;
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
    /// Reads what is known of a run; `None` if it has its ending, or nothing can be known.
    pub fn read(directory: &Path) -> Option<Self> {
        let dir = RunDir::open(directory).ok()?;
        if matches!(dir.ending(), Ok(Some(_))) {
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
    fn close(self, survivors: &[tree::Member]) {
        let mut termination =
            Termination::new(Reason::OwnerLost, self.root_exit, Some("keeper-killed".to_owned()));
        termination.confirmed = survivors.is_empty();
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
            eprintln!("tenure: the ending of run {} cannot be written: {error}", self.dir.id());
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

fn clear_away(dir: &RunDir, cgroup: Option<&Cgroup>) {
    dir.unlisten();
    if let Some(cgroup) = cgroup {
        // An occupied group stays for whoever looks later.
        let _ = cgroup.remove();
    }
}

/// A run's cgroup. A keeper that fell before it wrote its note may have made one.
fn cgroup(dir: &RunDir, note: Option<&KeeperNote>) -> Option<Cgroup> {
    match note.map(|note| &note.boundary) {
        Some(Boundary::Cgroup { path }) => Cgroup::open(Path::new(path)).ok().flatten(),
        Some(Boundary::Subreaper { .. }) => None,
        None => Cgroup::find(&dir.ticket().ok()?.owner_instance_id, dir.id()).ok().flatten(),
    }
}

/// Kills everything below this process but for the `spared` and what is below them, and what is in the fallen
/// runs' cgroups; closes the fallen runs once nothing is left. Returns whether somebody is left.
pub fn hunt(spared: &HashSet<i32>, fallen: &mut Vec<Fallen>) -> bool {
    let mut left = kill(spared, None);
    for run in fallen.iter() {
        if let Some(cgroup) = &run.cgroup {
            // A kernel without it is served by the list.
            let _ = cgroup.kill();
            left.extend(kill(spared, Some(cgroup)));
        }
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
        run.close(&left);
    }
    !empty
}

/// Kills the members there are now, and lists them.
fn kill(spared: &HashSet<i32>, cgroup: Option<&Cgroup>) -> Vec<tree::Member> {
    let members = tree::members(spared, cgroup).unwrap_or_default();
    for member in &members {
        member.forbid_forking();
        member.signal(Signal::KILL);
    }
    members
}

/// For one who is not the parent of last resort: kills what is in the fallen runs' cgroups and what carries the
/// run's lease in its environment, and closes the runs once nothing is left. What cannot be read is not gone (I6).
pub fn sweep(fallen: &mut Vec<Fallen>, ticket: &Ticket) {
    let mark = launch::lease_mark(&ticket.lease_id);
    let mut empty = true;
    for run in fallen.iter_mut() {
        let mut left = Vec::new();
        let mut found = |members: io::Result<Vec<tree::Member>>| match members {
            Ok(members) => left.extend(members),
            Err(_) => empty = false,
        };
        if let Some(cgroup) = &run.cgroup {
            // A list alone would miss who forks faster than it is read. A kernel without it is served by the list.
            let _ = cgroup.kill();
            found(tree::in_cgroup(cgroup, &HashSet::new()));
        }
        found(tree::carriers(&mark, ticket.created_at_ms));
        for member in &left {
            member.forbid_forking();
            member.signal(Signal::KILL);
        }
        run.ended.extend(left.iter().map(tree::Member::pid));
        let occupied = |cgroup: &Cgroup| !cgroup.pids().is_ok_and(|pids| pids.is_empty());
        empty &= left.is_empty() && !run.cgroup.as_ref().is_some_and(occupied);
    }
    if empty {
        fallen.drain(..).for_each(|run| run.close(&[]));
    }
}
