//! Closing by the parent of last resort, to whom the orphans come back: it ends all that is below it but is no keeper's,
//! and each fallen run is closed once nothing is left that is its own or may be.

use super::{Closer, KEEPER_KILLED, Records, UNRECORDED};
use crate::rundir::RunDir;
use std::collections::{HashMap, HashSet};
use std::path::Path;
use tenure_core::defaults;
use tenure_core::ending::{Cause, Exit, ProcessNote};
use tenure_core::reconcile::closing::Round;
use tenure_core::record::Ending;
use tenure_core::signal::Signal;
use tenure_os::kin::Kin;
use tenure_os::process::Sent;
use tenure_os::reaper::Ended;
use tenure_os::{clock, tree};

/// A run whose keeper fell before it wrote an ending.
#[derive(Debug)]
pub struct FallenRun {
    run: Closer,
    root_exit: Option<Exit>,
    /// The detail of its ending.
    detail: &'static str,
}

/// The ending of a run that is closed, but whose directory would not take it.
#[derive(Debug)]
pub(crate) struct Unwritten {
    dir: RunDir,
    ending: Ending,
}

impl Unwritten {
    /// Tries again; whether that is done with.
    pub(crate) fn write(&self) -> bool {
        // A run whose directory was removed has nobody left who would read it.
        self.dir.write_ending(&self.ending, None).is_ok() || !self.dir.current_path().exists()
    }
}

impl FallenRun {
    /// Reads what is known of a run that a keeper fell from, and of the one that it may have handed over to.
    /// Those that have their endings are none of our business.
    pub fn read(directory: &Path) -> Vec<Self> {
        Self::read_as(directory, KEEPER_KILLED)
    }

    /// The same for a keeper that left because nobody took the ending: the run is to be closed without it.
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
        // One with an ending is closed, and one with a keeper is not ours.
        if matches!(dir.ending(), Ok(Some(_))) || !matches!(dir.kept(), Ok(false)) {
            return None;
        }
        let (note, ticket) = (dir.note().ok().flatten(), dir.ticket().ok());
        let has_executed = note.is_some();
        let records = Records::new(dir, ticket.as_ref(), note);
        let run = Closer::begin(records, has_executed, Some(Cause::OwnerLost), Some(detail.to_owned()));
        Some(Self { run, root_exit: None, detail })
    }

    /// A child was reaped; perhaps it was this run's root.
    pub fn reaped(&mut self, child: Ended) {
        if self.run.records.note.as_ref().is_some_and(|note| note.root.pid == child.pid) {
            self.root_exit = Some(child.exit);
        }
    }

    /// Whether one of those who came back to us is known to be of this run.
    fn owns(&self, member: &tree::Member) -> bool {
        let Records { note, enclosure, mark, .. } = &self.run.records;
        note.as_ref().is_some_and(|note| note.root.pid == member.session())
            || enclosure.as_ref().is_some_and(|enclosure| enclosure.holds(member.pid()))
            || mark.as_ref().is_some_and(|mark| member.carries(mark))
    }

    /// Writes the ending. Returns it if it could not be written.
    pub(super) fn close(mut self, is_empty: bool, survivors: Vec<ProcessNote>) -> Option<Unwritten> {
        let confirmed = is_empty && (tree::orphans_come_back() || self.run.records.leaves_nobody_unseen());
        let how = self.run.records.keeper_lost(self.root_exit, self.detail);
        let ending = self.run.end(how, confirmed, survivors);
        let records = self.run.records;
        let written = records.dir.write_ending(&ending, None);
        records.clean_up();
        super::complain_unwritten(&format_args!("run {}", records.dir.id()), &written.err()?);
        Some(Unwritten { dir: records.dir, ending })
    }
}

/// The processes that came back to this one, found and held.
#[derive(Debug)]
pub struct Found {
    members: Vec<tree::Member>,
    /// The outcome of stopping each.
    stopped: HashMap<i32, Sent>,
    /// The number of runs that were known to have fallen when the look began: those that fall later are looked for again.
    known: usize,
}

/// Kills everything below this process but for the `spared` and what is below them, and what is in the fallen
/// runs' cgroups; closes each fallen run once nothing is left that is its own or may be. Returns whether somebody
/// is left.
pub fn stop_round(spared: &HashSet<i32>, fallen: &mut Vec<FallenRun>) -> bool {
    let found = find(spared, fallen);
    // Whoever closes one run sees that there is no ending, and leaves with that.
    end(found, spared, fallen, &mut Vec::new())
}

/// The first half of a round. Somebody whom it finds may have lost a keeper that is not known to have fallen yet,
/// which shows before the second half if the dead are looked at again.
pub(crate) fn find(spared: &HashSet<i32>, fallen: &mut [FallenRun]) -> Found {
    fallen.iter_mut().for_each(|fallen| fallen.run.kill_enclosure());
    let mut stopped = HashMap::new();
    // Stopped first: nothing tells a tree that leaves from one that forks for ever. Those who are left after a stop
    // was given up are only looked at now and then.
    let mut members = if fallen.is_empty() {
        tree::members(spared, &Kin::default())
    } else {
        let mut stopped_one = |member: &tree::Member, sent| {
            stopped.insert(member.pid(), sent);
        };
        let kin: Vec<Kin<'_>> = fallen.iter().map(|fallen| fallen.run.records.kin()).collect();
        tree::freeze(spared, &kin, clock::awake() + defaults::FREEZE, &mut stopped_one)
    };
    for enclosure in fallen.iter().filter_map(|fallen| fallen.run.records.enclosure.as_ref()) {
        let seen = members.iter().map(tree::Member::pid).chain(spared.iter().copied()).collect();
        members.extend(tree::in_enclosure(enclosure, &seen));
    }
    Found { members, stopped, known: fallen.len() }
}

/// The second half. Runs that were closed, but whose endings could not be written, become `unwritten`.
pub(crate) fn end(
    found: Found,
    spared: &HashSet<i32>,
    fallen: &mut Vec<FallenRun>,
    unwritten: &mut Vec<Unwritten>,
) -> bool {
    let Found { members, stopped, known } = found;
    let left: Vec<(Option<usize>, tree::Member)> =
        members.into_iter().map(|member| (owner(fallen, &member), member)).collect();
    for at in super::kill_order(left.iter().map(|(_, member)| member)) {
        let (owner, member) = &left[at];
        // Before the kill: a dead process has no executable that could be named.
        let named = member.note();
        let sent = super::kill(member);
        if owner.is_none() && sent == Sent::Gone {
            continue; // it was on its way out, and was nobody's any more when it was looked at
        }
        let stop = stopped.get(&member.pid()).copied().unwrap_or(Sent::Gone);
        for (_, fallen) in fallen.iter_mut().enumerate().filter(|&(at, _)| concerns(*owner, at)) {
            fallen.run.journal.signalled(member, Signal::STOP, stop);
            fallen.run.killed(member, &named, sent, member.via().into());
        }
    }
    // A list can miss whoever lost its parent while it was made; but then it is a child of ours now.
    let listed: HashSet<i32> = left.iter().map(|(_, member)| member.pid()).collect();
    let complete = tree::own_children().iter().all(|pid| spared.contains(pid) || listed.contains(pid));
    for (at, mut one) in std::mem::take(fallen).into_iter().enumerate() {
        let theirs = left.iter().filter(|(owner, _)| concerns(*owner, at));
        let theirs: Vec<_> = theirs.map(|(_, member)| member).collect();
        let is_empty =
            complete && theirs.is_empty() && at < known && !tree::may_have_strayed(&one.run.records.kin());
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

/// The run that a process belongs to, if that can be told. Where only one keeper fell, there is no other. One that dies has
/// no environment any more, but it was told before.
fn owner(fallen: &[FallenRun], member: &tree::Member) -> Option<usize> {
    let mut known = (0..fallen.len()).filter(|&at| fallen[at].run.leftovers.contains(member.pid()));
    match (fallen.len(), known.next(), known.next()) {
        (1, ..) => Some(0),
        (_, Some(at), None) => Some(at),
        (_, Some(_), Some(_)) => None,
        (_, None, _) => fallen.iter().position(|run| run.owns(member)),
    }
}

/// One that cannot be told may be anybody's, so it is named with all.
fn concerns(owner: Option<usize>, at: usize) -> bool {
    owner.is_none_or(|owner| owner == at)
}
