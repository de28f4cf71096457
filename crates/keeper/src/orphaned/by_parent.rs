//! Closes runs from the subreaper, which inherits the orphans: it kills all of its descendants that belong to no
//! keeper, and closes each fallen run once no process is left that is, or may be, its own.

use super::{Closer, KEEPER_KILLED, Records, UNRECORDED};
use crate::rundir::RunDir;
use std::collections::{HashMap, HashSet};
use std::path::Path;
use tenure_core::defaults;
use tenure_core::ending::{Cause, Exit, ProcessNote};
use tenure_core::reconcile::closing::Round;
use tenure_core::record::Ending;
use tenure_core::signal::Signal;
use tenure_os::process::Sent;
use tenure_os::reaper::Ended;
use tenure_os::run_marks::RunMarks;
use tenure_os::{clock, tree};

/// A run whose keeper died before it wrote an ending.
#[derive(Debug)]
pub struct FallenRun {
    run: Closer,
    root_exit: Option<Exit>,
    /// The detail of the ending.
    detail: &'static str,
}

/// The ending of a closed run whose directory refused it.
#[derive(Debug)]
pub(crate) struct UnwrittenEnding {
    dir: RunDir,
    ending: Ending,
}

impl UnwrittenEnding {
    /// Tries again; returns true if no further attempt is needed.
    pub(crate) fn write(&self) -> bool {
        // If the directory was removed, nobody would read the ending.
        self.dir.write_ending(&self.ending, None).is_ok() || !self.dir.current_path().exists()
    }
}

impl FallenRun {
    /// Reads the records of a run whose keeper died, and of its heir. A run that has an ending is skipped.
    pub fn read(directory: &Path) -> Vec<Self> {
        Self::read_as(directory, KEEPER_KILLED)
    }

    /// Reads them for a keeper that exited because its ending could not be recorded.
    pub(crate) fn read_unrecorded(directory: &Path) -> Vec<Self> {
        Self::read_as(directory, UNRECORDED)
    }

    fn read_as(directory: &Path, detail: &'static str) -> Vec<Self> {
        let heir = RunDir::open(directory).ok().and_then(|dir| {
            dir.discard_unticketed_heir();
            dir.heir()
        });
        [Some(directory), heir.as_deref()]
            .into_iter()
            .flatten()
            .filter_map(|directory| Self::read_one(directory, detail))
            .collect()
    }

    fn read_one(directory: &Path, detail: &'static str) -> Option<Self> {
        let dir = RunDir::open(directory).ok()?;
        // A run with an ending is closed, and a run with a keeper is not ours.
        if matches!(dir.ending(), Ok(Some(_))) || !matches!(dir.has_keeper(), Ok(false)) {
            return None;
        }
        let (note, ticket) = (dir.note().ok().flatten(), dir.ticket().ok());
        let has_executed = note.is_some();
        let records = Records::new(dir, ticket.as_ref(), note);
        let run = Closer::begin(records, has_executed, Some(Cause::OwnerLost), Some(detail.to_owned()));
        Some(Self { run, root_exit: None, detail })
    }

    /// Takes the exit of a reaped child, if it was this run's root.
    pub fn reaped(&mut self, child: Ended) {
        if self.run.records.note.as_ref().is_some_and(|note| note.root.pid == child.pid) {
            self.root_exit = Some(child.exit);
        }
    }

    /// Returns true if a process is known to belong to this run.
    fn owns(&self, member: &tree::Member) -> bool {
        let Records { note, enclosure, mark, .. } = &self.run.records;
        note.as_ref().is_some_and(|note| note.root.pid == member.session())
            || enclosure.as_ref().is_some_and(|enclosure| enclosure.holds(member.pid()))
            || mark.as_ref().is_some_and(|mark| member.carries(mark))
    }

    /// Writes the ending; returns it if that failed.
    pub(super) fn close(mut self, is_empty: bool, survivors: Vec<ProcessNote>) -> Option<UnwrittenEnding> {
        let confirmed = is_empty && (tree::orphans_come_back() || self.run.records.leaves_nobody_unseen());
        let how = self.run.records.keeper_lost(self.root_exit, self.detail);
        let ending = self.run.end(how, confirmed, survivors);
        let records = self.run.records;
        let written = records.dir.write_ending(&ending, None);
        records.clean_up();
        super::complain_unwritten(&format_args!("run {}", records.dir.id()), &written.err()?);
        Some(UnwrittenEnding { dir: records.dir, ending })
    }
}

/// The orphans that one round found, held open.
#[derive(Debug)]
pub struct FoundOrphans {
    members: Vec<tree::Member>,
    /// The outcome of stopping each.
    stopped: HashMap<i32, Sent>,
    /// The number of fallen runs at the start of the round. Runs that fall later are searched again.
    known: usize,
}

/// Kills all descendants of this process except the `spared` and theirs, and all processes in the fallen runs'
/// cgroups. Closes each fallen run once no process is left that is, or may be, its own. Returns true if a process is
/// left.
pub fn stop_round(spared: &HashSet<i32>, fallen: &mut Vec<FallenRun>) -> bool {
    let found = find_orphans(spared, fallen);
    // A caller that closes one run sees that it has no ending, and reports that.
    kill_orphans(found, spared, fallen, &mut Vec::new())
}

/// Finds and stops the orphans: the first half of a round. An orphan's keeper may have died unnoticed; if the caller
/// reaps again before the second half, that is known too.
pub(crate) fn find_orphans(spared: &HashSet<i32>, fallen: &mut [FallenRun]) -> FoundOrphans {
    fallen.iter_mut().for_each(|fallen| fallen.run.kill_enclosure());
    let mut stopped = HashMap::new();
    // Stop them first: nothing tells a tree that exits from one that forks forever. Survivors of a stop that was
    // given up are only listed.
    let mut members = if fallen.is_empty() {
        tree::members(spared, &RunMarks::default())
    } else {
        let mut stopped_one = |member: &tree::Member, sent| {
            stopped.insert(member.pid(), sent);
        };
        let marks: Vec<RunMarks<'_>> = fallen.iter().map(|fallen| fallen.run.records.marks()).collect();
        tree::freeze(spared, &marks, clock::awake() + defaults::FREEZE, &mut stopped_one)
    };
    for enclosure in fallen.iter().filter_map(|fallen| fallen.run.records.enclosure.as_ref()) {
        let seen = members.iter().map(tree::Member::pid).chain(spared.iter().copied()).collect();
        members.extend(tree::in_enclosure(enclosure, &seen));
    }
    FoundOrphans { members, stopped, known: fallen.len() }
}

/// Kills the orphans and closes the runs: the second half of a round. Endings that could not be written are added to
/// `unwritten`.
pub(crate) fn kill_orphans(
    found: FoundOrphans,
    spared: &HashSet<i32>,
    fallen: &mut Vec<FallenRun>,
    unwritten: &mut Vec<UnwrittenEnding>,
) -> bool {
    let FoundOrphans { members, stopped, known } = found;
    let left: Vec<(Option<usize>, tree::Member)> =
        members.into_iter().map(|member| (owner(fallen, &member), member)).collect();
    for at in super::kill_order(left.iter().map(|(_, member)| member)) {
        let (owner, member) = &left[at];
        // Before the kill: a dead process has no executable to name.
        let named = member.note();
        let sent = super::kill(member);
        if owner.is_none() && sent == Sent::Gone {
            continue; // it was exiting, and had lost its marks when it was listed
        }
        let stop = stopped.get(&member.pid()).copied().unwrap_or(Sent::Gone);
        for (_, fallen) in fallen.iter_mut().enumerate().filter(|&(at, _)| concerns(*owner, at)) {
            fallen.run.journal.signalled(member, Signal::STOP, stop);
            fallen.run.killed(member, &named, sent, member.via().into());
        }
    }
    // A list can miss a process whose parent died while it was made; but then the process is our own child now.
    let listed: HashSet<i32> = left.iter().map(|(_, member)| member.pid()).collect();
    let complete = tree::own_children().iter().all(|pid| spared.contains(pid) || listed.contains(pid));
    for (at, mut one) in std::mem::take(fallen).into_iter().enumerate() {
        let theirs = left.iter().filter(|(owner, _)| concerns(*owner, at));
        let theirs: Vec<_> = theirs.map(|(_, member)| member).collect();
        let is_empty =
            complete && theirs.is_empty() && at < known && !tree::may_have_strayed(&one.run.records.marks());
        match one.run.round(is_empty) {
            Round::Close | Round::GiveUp => {
                unwritten.extend(one.close(is_empty, theirs.into_iter().map(tree::Member::note).collect()));
            }
            Round::Kill => {
                one.run.journal.write(&one.run.records.dir);
                fallen.push(one);
            }
        }
    }
    !(complete && left.is_empty())
}

/// Returns the run that a process belongs to, if it can be told. With one fallen run there is no other. A dying
/// process has no environment, but it was recognized before.
fn owner(fallen: &[FallenRun], member: &tree::Member) -> Option<usize> {
    let mut known = (0..fallen.len()).filter(|&at| fallen[at].run.leftovers.contains(member.pid()));
    match (fallen.len(), known.next(), known.next()) {
        (1, ..) => Some(0),
        (_, Some(at), None) => Some(at),
        (_, Some(_), Some(_)) => None,
        (_, None, _) => fallen.iter().position(|run| run.owns(member)),
    }
}

/// Returns true if a process counts for the run at this index. A process of unknown owner may belong to any run, so
/// it counts for all.
fn concerns(owner: Option<usize>, at: usize) -> bool {
    owner.is_none_or(|owner| owner == at)
}
