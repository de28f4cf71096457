//! Closes runs that lost their keeper: kills their processes and writes the ending. The subreaper does it
//! ([`by_parent`]: the nursery, or a foreground caller whose nursery died too); without one, the holder of the lease
//! does ([`by_daemon`]). Endings are made by link, so the first writer wins and a second attempt changes nothing
//! (I3).

pub mod by_daemon;
pub mod by_parent;

use crate::journal::Journal;
use crate::launch;
use crate::leftovers::Leftovers;
use crate::rundir::RunDir;
use std::io;
use std::path::Path;
use std::time::Duration;
use tenure_core::ending::{Cause, Exit, ProcessNote, Reason, Termination};
use tenure_core::journal::{JournalEvent, Proof};
use tenure_core::reconcile::closing::{self, Left, Round};
use tenure_core::record::{Ending, KeeperNote, Ticket};
use tenure_os::enclosure::Enclosure;
use tenure_os::process::Sent;
use tenure_os::run_marks::RunMarks;
use tenure_os::stderr::complain;
use tenure_os::tree::Member;
use tenure_os::{clock, process};

/// The detail of an ending whose keeper was killed.
const KEEPER_KILLED: &str = "keeper-killed";
/// The detail of an ending that the keeper saw, but that neither the disk nor a holder took.
const UNRECORDED: &str = "ending-unrecorded";

/// The records of a run that lost its keeper.
#[derive(Debug)]
struct Records {
    dir: RunDir,
    note: Option<KeeperNote>,
    /// The boundary that still exists. A keeper that died before it wrote its note may have made one.
    enclosure: Option<Enclosure>,
    /// The environment entry of the run's processes.
    mark: Option<Vec<u8>>,
    /// The time before which no process of the run started, in Unix milliseconds.
    since_ms: u64,
}

impl Records {
    fn new(dir: RunDir, ticket: Option<&Ticket>, note: Option<KeeperNote>) -> Self {
        Self {
            enclosure: enclosure(&dir, note.as_ref()),
            mark: ticket.map(|ticket| launch::lease_mark(&ticket.lease_id)),
            since_ms: ticket.map_or(0, |ticket| ticket.created_at_ms),
            note,
            dir,
        }
    }

    fn marks(&self) -> RunMarks<'_> {
        RunMarks {
            enclosure: self.enclosure.as_ref(),
            root: self.note.as_ref().map(|note| &note.root),
            mark: self.mark.as_deref(),
            since_ms: self.since_ms,
            known: &[],
        }
    }

    /// Returns the termination of a run when only the loss of its keeper is known. A command executes only after the
    /// note is written, so without a note it never did.
    fn keeper_lost(&self, root_exit: Option<Exit>, detail: &str) -> Termination {
        if self.note.is_none() {
            let why = "the keeper was killed before the command could be started";
            return Termination::never_started(why.to_owned());
        }
        Termination::new(Reason::OwnerLost, root_exit, Some(detail.to_owned()))
    }

    /// Returns true if no process can be alive unseen on systems without a subreaper. Without an enclosure, a process
    /// that cleared its environment may be; but a run that never started left none, the end of a job killed all of
    /// its processes, and none survives a reboot.
    fn leaves_nobody_unseen(&self) -> bool {
        let Some(note) = &self.note else { return true };
        self.enclosure.is_some()
            || note.boundary.ends_with_its_keeper() && matches!(Enclosure::open(&note.boundary), Ok(None))
            || note.root.place.boot_id != process::here().boot_id
    }

    /// Removes the files and the boundary that a keeper removes after its ending.
    fn clean_up(&self) {
        self.dir.remove_socket();
        if let Some(enclosure) = &self.enclosure {
            // An occupied group stays for a later sweep.
            let _ = enclosure.remove();
        }
    }
}

/// A run that is being closed.
#[derive(Debug)]
struct Closer {
    records: Records,
    journal: Journal,
    leftovers: Leftovers,
    give_up: Duration,
}

impl Closer {
    /// Starts closing a run. The journal records why, if the command may have executed.
    fn begin(records: Records, has_executed: bool, cause: Option<Cause>, detail: Option<String>) -> Self {
        let mut journal = Journal::resume(&records.dir);
        if has_executed {
            journal.note(JournalEvent::Exiting { cause, exit: None, detail });
        }
        let leftovers = Leftovers::of(records.note.as_ref().map(|note| note.root.pid));
        Self { records, journal, leftovers, give_up: closing::give_up_at(clock::awake()) }
    }

    fn round(&self, is_empty: bool) -> Round {
        let left = if is_empty { Left::Nobody } else { Left::Somebody };
        closing::round(left, clock::awake(), self.give_up)
    }

    /// Kills the enclosure in one call, which no fork outruns. If the kernel cannot do that, the caller's lists do
    /// the work.
    fn kill_enclosure(&mut self) {
        if let Some(enclosure) = &self.records.enclosure {
            self.leftovers.add_enclosure(enclosure);
            self.journal.kill_enclosure(enclosure);
        }
    }

    /// Records a killed member under the name it had before the kill: a dead process has no executable.
    fn killed(&mut self, member: &Member, named: &ProcessNote, sent: Sent, proof: Proof) {
        self.leftovers.add(named);
        self.journal.signalled_as(member, closing::SIGNAL, sent, proof);
    }

    /// Returns the ending of a run that is empty, or whose `survivors` could not be killed. The journal is on disk
    /// then.
    fn end(&mut self, how: Termination, confirmed: bool, survivors: Vec<ProcessNote>) -> Ending {
        self.leftovers.note(&mut self.journal);
        if !survivors.is_empty() {
            self.journal.note(JournalEvent::GivenUp);
            self.journal.note(JournalEvent::Survivors { processes: survivors.clone() });
        }
        let dir = &self.records.dir;
        self.journal.write(dir);
        let termination = Termination { confirmed, survivors, ..self.leftovers.enter(how) };
        Ending {
            output: dir.totals(),
            last_output_at_ms: dir.last_output_at_ms(),
            kills: self.journal.kills(),
            ..Ending::unseen(dir.id().clone(), termination, clock::unix_ms())
        }
    }
}

/// Returns the members' indices in kill order.
fn kill_order<'a>(members: impl Iterator<Item = &'a Member>) -> Vec<usize> {
    let listed: Vec<(i32, i32)> = members.map(|member| (member.pid(), member.parent())).collect();
    closing::children_first(&listed)
}

fn kill(member: &Member) -> Sent {
    member.forbid_forking();
    member.signal(closing::SIGNAL)
}

fn enclosure(dir: &RunDir, note: Option<&KeeperNote>) -> Option<Enclosure> {
    match note {
        Some(note) => Enclosure::open(&note.boundary).ok().flatten(),
        None => Enclosure::find(&dir.ticket().ok()?.owner_instance_id, dir.id()).ok().flatten(),
    }
}

/// Closes a run that got no keeper.
pub(crate) fn close_unkept(directory: &Path, why: &str) {
    let written = RunDir::open(directory).and_then(|dir| {
        let ending = Ending::never_started(dir.id().clone(), why.to_owned(), clock::unix_ms());
        dir.write_ending(&ending, None)
    });
    if let Err(error) = written {
        complain_unwritten(&directory.display(), &error);
    }
}

fn complain_unwritten(run: &dyn std::fmt::Display, error: &io::Error) {
    complain(format_args!("the ending of {run} cannot be written: {error}"));
}

/// Removes files of a keeper that died between its ending and its cleanup.
pub fn clean_up(directory: &Path) {
    if let Ok(dir) = RunDir::open(directory)
        && matches!(dir.ending(), Ok(Some(_)))
    {
        let note = dir.note().ok().flatten();
        Records::new(dir, None, note).clean_up();
    }
}

#[cfg(test)]
mod tests;
