//! Closing the runs of keepers that fell: what they held is ended, and the ending says so. Whoever is the parent
//! of last resort does this: the nursery, or, if that fell too, the foreground caller; `forsaken` is for all others.
//! Endings are made by link, so the first to write one wins and a doubled effort changes nothing (I3).

use crate::journal::Journal;
use crate::launch;
use crate::leftovers::Leftovers;
use crate::rundir::RunDir;
use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::time::Duration;
use tenure_core::defaults;
use tenure_core::ending::{Cause, Exit, ProcessNote, Reason, Termination};
use tenure_core::journal::What;
use tenure_core::record::{Ending, KeeperNote};
use tenure_core::signal::Signal;
use tenure_os::complaint::complain;
use tenure_os::enclosure::Enclosure;
use tenure_os::kin::Kin;
use tenure_os::process::Sent;
use tenure_os::reaper::Ended;
use tenure_os::{clock, process, tree};

/// A run whose keeper fell before it wrote an ending.
#[derive(Debug)]
pub struct Fallen {
    dir: RunDir,
    note: Option<KeeperNote>,
    enclosure: Option<Enclosure>,
    /// What its processes carry in their environment.
    mark: Option<Vec<u8>>,
    since_ms: u64,
    root_exit: Option<Exit>,
    leftovers: Leftovers,
    journal: Journal,
    give_up: Duration,
    /// What is said of it.
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

impl Fallen {
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
        let note = dir.note().ok().flatten();
        let ticket = dir.ticket().ok();
        let mut journal = Journal::go_on(&dir);
        if note.is_some() {
            let (cause, detail) = (Some(Cause::OwnerLost), Some(detail.to_owned()));
            journal.note(What::Exiting { cause, exit: None, detail });
        }
        Some(Self {
            enclosure: enclosure(&dir, note.as_ref()),
            mark: ticket.as_ref().map(|ticket| launch::lease_mark(&ticket.lease_id)),
            since_ms: ticket.map_or(0, |ticket| ticket.created_at_ms),
            root_exit: None,
            leftovers: Leftovers::of(note.as_ref().map(|note| note.root.pid)),
            give_up: clock::awake() + defaults::GIVE_UP,
            journal,
            note,
            dir,
            detail,
        })
    }

    /// A child was reaped; perhaps it was this run's root.
    pub fn reaped(&mut self, child: Ended) {
        if self.note.as_ref().is_some_and(|note| note.root.pid == child.pid) {
            self.root_exit = Some(child.exit);
        }
    }

    /// By what its processes are known.
    fn kin(&self) -> Kin<'_> {
        Kin {
            enclosure: self.enclosure.as_ref(),
            root: self.note.as_ref().map(|note| &note.root),
            mark: self.mark.as_deref(),
            since_ms: self.since_ms,
            known: &[],
        }
    }

    /// Whether one of those who came back to us is known to be of this run.
    fn owns(&self, member: &tree::Member) -> bool {
        let in_session = self.note.as_ref().is_some_and(|note| note.root.pid == member.session());
        in_session
            || self.enclosure.as_ref().is_some_and(|enclosure| enclosure.holds(member.pid()))
            || self.mark.as_ref().is_some_and(|mark| member.carries(mark))
    }

    /// Whether nobody of it can live on unseen.
    fn is_all_seen(&self) -> bool {
        tree::orphans_come_back() || leaves_nobody_unseen(self.note.as_ref(), self.enclosure.as_ref())
    }

    /// Writes the ending of a run of which nothing is left, or of which `survivors` would not go. Returns it if it
    /// could not be written.
    fn close(mut self, confirmed: bool, survivors: Vec<ProcessNote>) -> Option<Unwritten> {
        self.leftovers.note(&mut self.journal);
        if !survivors.is_empty() {
            self.journal.note(What::GivenUp);
            self.journal.note(What::Survivors { processes: survivors.clone() });
        }
        self.journal.write(&self.dir);
        let termination = Termination { confirmed, survivors, ..self.leftovers.enter(self.verdict()) };
        let ending = Ending {
            run_id: self.dir.id().clone(),
            termination,
            ended_at_ms: clock::unix_ms(),
            last_output_at_ms: self.dir.last_output_at_ms(),
            output: self.dir.totals(),
            handed_over_to: Vec::new(),
            kills: self.journal.kills(),
        };
        let written = self.dir.write_ending(&ending, None);
        clear_away(&self.dir, self.enclosure.as_ref());
        let error = written.err()?;
        complain(format_args!("the ending of run {} cannot be written: {error}", self.dir.id()));
        Some(Unwritten { dir: self.dir, ending })
    }

    /// A command executes only after there is a note, so without one it never did.
    fn verdict(&self) -> Termination {
        match self.note {
            Some(_) => Termination::new(Reason::OwnerLost, self.root_exit, Some(self.detail.to_owned())),
            None => never_executed(),
        }
    }
}

/// What is said of every run whose keeper fell,
pub(crate) const KEEPER_KILLED: &str = "keeper-killed";
/// and of one whose keeper saw it end, but had nobody to give the ending to.
const UNRECORDED: &str = "ending-unrecorded";

/// How a run ended whose keeper fell before it noted a root.
pub(crate) fn never_executed() -> Termination {
    Termination::never_started("the keeper was killed before the command could be started".to_owned())
}

/// Closes a run that no keeper could be had for.
pub(crate) fn never_kept(directory: &Path, why: &str) {
    let written = RunDir::open(directory).and_then(|dir| {
        let ending = Ending::never_started(dir.id().clone(), why.to_owned(), clock::unix_ms());
        dir.write_ending(&ending, None)
    });
    if let Err(error) = written {
        complain(format_args!("the ending of {} cannot be written: {error}", directory.display()));
    }
}

/// Clears away what a keeper that fell after its ending did not come to.
pub fn tidy(directory: &Path) {
    if let Ok(dir) = RunDir::open(directory)
        && matches!(dir.ending(), Ok(Some(_)))
    {
        let note = dir.note().ok().flatten();
        clear_away(&dir, enclosure(&dir, note.as_ref()).as_ref());
    }
}

pub(crate) fn clear_away(dir: &RunDir, enclosure: Option<&Enclosure>) {
    dir.unlisten();
    if let Some(enclosure) = enclosure {
        // An occupied group stays for whoever looks later.
        let _ = enclosure.remove();
    }
}

/// A run's enclosure. A keeper that fell before it wrote its note may have made one.
pub(crate) fn enclosure(dir: &RunDir, note: Option<&KeeperNote>) -> Option<Enclosure> {
    match note {
        Some(note) => Enclosure::open(&note.boundary).ok().flatten(),
        None => Enclosure::find(&dir.ticket().ok()?.owner_instance_id, dir.id()).ok().flatten(),
    }
}

/// Whether nobody of a run that lost its keeper can live on unseen by one whom orphans do not come back to. Without an
/// enclosure, one that cleared its environment may; but what never started left nobody, a job that is gone took everybody
/// along, and nobody outlives a boot.
pub(crate) fn leaves_nobody_unseen(note: Option<&KeeperNote>, enclosure: Option<&Enclosure>) -> bool {
    let Some(note) = note else { return true };
    enclosure.is_some()
        || note.boundary.ends_with_its_keeper() && matches!(Enclosure::open(&note.boundary), Ok(None))
        || note.root.place.boot_id != process::here().boot_id
}

/// Those who came back to this process, found and held.
#[derive(Debug)]
pub struct Found {
    members: Vec<tree::Member>,
    /// What came of stopping each.
    stopped: HashMap<i32, Sent>,
    /// How many runs were known to have fallen when the look began: who falls later is looked for again.
    known: usize,
}

/// Kills everything below this process but for the `spared` and what is below them, and what is in the fallen
/// runs' cgroups; closes each fallen run once nothing is left that is its own or may be. Returns whether somebody
/// is left.
pub fn hunt(spared: &HashSet<i32>, fallen: &mut Vec<Fallen>) -> bool {
    let found = find(spared, fallen);
    // Whoever hunts for one run sees that there is no ending, and leaves with that.
    end(found, spared, fallen, &mut Vec::new())
}

/// The first half of a hunt. Somebody whom it finds may have lost a keeper that is not known to have fallen yet,
/// which shows before the second half if the dead are looked at again.
pub(crate) fn find(spared: &HashSet<i32>, fallen: &mut [Fallen]) -> Found {
    kill_enclosures(fallen);
    let mut stopped = HashMap::new();
    // Stopped first: nothing tells a tree that leaves from one that forks for ever. Those who are left after a stop
    // was given up are only looked at now and then.
    let mut members = if fallen.is_empty() {
        tree::members(spared, &Kin::default())
    } else {
        let mut stopped_one = |member: &tree::Member, sent| {
            stopped.insert(member.pid(), sent);
        };
        let kin: Vec<Kin<'_>> = fallen.iter().map(Fallen::kin).collect();
        tree::freeze(spared, &kin, clock::awake() + defaults::FREEZE, &mut stopped_one)
    };
    for enclosure in fallen.iter().filter_map(|run| run.enclosure.as_ref()) {
        let seen = members.iter().map(tree::Member::pid).chain(spared.iter().copied()).collect();
        members.extend(tree::in_enclosure(enclosure, &seen));
    }
    Found { members, stopped, known: fallen.len() }
}

/// The second half. Runs that were closed, but whose endings could not be written, become `unwritten`.
pub(crate) fn end(
    found: Found,
    spared: &HashSet<i32>,
    fallen: &mut Vec<Fallen>,
    unwritten: &mut Vec<Unwritten>,
) -> bool {
    let Found { members, stopped, known } = found;
    let left: Vec<(Option<usize>, tree::Member)> =
        members.into_iter().map(|member| (owner(fallen, &member), member)).collect();
    for (owner, member) in &left {
        // Before the kill: a dead process has no executable that could be named.
        let note = member.note();
        let sent = member.signal(Signal::KILL);
        if owner.is_none() && sent == Sent::Gone {
            continue; // it was on its way out, and was nobody's any more when it was looked at
        }
        let stop = stopped.get(&member.pid()).copied().unwrap_or(Sent::Gone);
        for (_, run) in fallen.iter_mut().enumerate().filter(|&(at, _)| concerns(*owner, at)) {
            run.journal.signalled(member, Signal::STOP, stop);
            run.journal.signalled(member, Signal::KILL, sent);
            run.leftovers.add(&note);
        }
    }
    // A list can miss whoever lost its parent while it was made; but then it is a child of ours now.
    let listed: HashSet<i32> = left.iter().map(|(_, member)| member.pid()).collect();
    let complete = tree::own_children().iter().all(|pid| spared.contains(pid) || listed.contains(pid));
    let now = clock::awake();
    for (at, mut run) in std::mem::take(fallen).into_iter().enumerate() {
        let theirs = left.iter().filter(|(owner, _)| concerns(*owner, at));
        let theirs: Vec<_> = theirs.map(|(_, member)| member).collect();
        let empty = complete && theirs.is_empty() && at < known && !tree::may_have_strayed(&run.kin());
        if empty || now > run.give_up {
            let confirmed = empty && run.is_all_seen();
            unwritten.extend(run.close(confirmed, theirs.into_iter().map(tree::Member::note).collect()));
        } else {
            run.journal.write(&run.dir);
            fallen.push(run);
        }
    }
    !(complete && left.is_empty())
}

/// Whose a process is, if that can be told. Where only one keeper fell, there is nobody else. One that dies has no
/// environment any more, but it was told before.
fn owner(fallen: &[Fallen], member: &tree::Member) -> Option<usize> {
    let mut known = (0..fallen.len()).filter(|&at| fallen[at].leftovers.contains(member.pid()));
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

/// At once, whoever forks; a kernel that cannot is served by the lists.
fn kill_enclosures(fallen: &mut [Fallen]) {
    for run in fallen {
        if let Some(enclosure) = &run.enclosure {
            run.leftovers.add_enclosure(enclosure);
            run.journal.kill_enclosure(enclosure);
        }
    }
}

#[cfg(test)]
mod tests;
