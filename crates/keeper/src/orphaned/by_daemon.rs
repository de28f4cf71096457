//! Closes a run from the daemon, which is not the parent of the run's processes but holds its lease. It lists them by
//! proof, and changes nothing where processes cannot be read (I6).

use super::{Closer, KEEPER_KILLED, Records};
use crate::rundir::{RecordError, RunDir};
use std::collections::HashSet;
use std::io;
use std::path::Path;
use std::time::Duration;
use tenure_core::ending::{Cause, Reason, Termination};
use tenure_core::journal::Proof;
use tenure_core::reconcile::closing::Round;
use tenure_core::record::{self, BadRecord, Ending, KeeperNote, Ticket};
use tenure_os::enclosure::Enclosure;
use tenure_os::lock::Lock;
use tenure_os::poll;
use tenure_os::run_marks::RunMarks;
use tenure_os::tree::{self, Member};

/// Pause between two rounds.
const ROUND_PAUSE: Duration = Duration::from_millis(2);

/// A run without a keeper and a nursery.
#[derive(Debug)]
pub struct OrphanedRun {
    records: Records,
    /// The half-made run that its keeper was about to hand over to.
    heir: Option<Box<OrphanedRun>>,
}

/// Why a run could not be closed. The run is unchanged, except for processes that were killed.
#[derive(Debug, thiserror::Error)]
pub enum CloseError {
    /// The run has a keeper.
    #[error("the run has a keeper")]
    HasKeeper,
    /// The run's processes cannot be listed.
    #[error("the run cannot be read: {0}")]
    Unreadable(#[source] io::Error),
    /// No process is left, but the ending cannot be written.
    #[error("the run's ending cannot be written: {0}")]
    Unwritten(#[source] io::Error),
}

impl OrphanedRun {
    /// Reads the run's records, beside its ticket from the registry: the launcher may have died before the ticket was
    /// on disk. A half-made heir without a keeper is closed with it.
    pub fn read(dir: RunDir, ticket: &Ticket) -> Result<Self, RecordError> {
        let heir = match dir.heir().as_deref().and_then(half_made) {
            Some((heir, ticket)) => Some(Box::new(Self::read_one(heir, &ticket)?)),
            None => None,
        };
        Ok(Self { heir, ..Self::read_one(dir, ticket)? })
    }

    /// Reads one run without its heir. A torn note was never complete, so its root never executed.
    fn read_one(dir: RunDir, ticket: &Ticket) -> Result<Self, RecordError> {
        let note = match dir.note() {
            Err(RecordError::Bad { source: BadRecord::Torn, .. }) => None,
            note => note?,
        };
        Ok(Self { records: Records::new(dir, Some(ticket), note), heir: None })
    }

    /// Returns the live processes of the run and its heir.
    pub fn members(&self) -> io::Result<Vec<Member>> {
        let mut found: Vec<Member> =
            list_proven(&self.records)?.into_iter().map(|(member, _)| member).collect();
        if let Some(heir) = &self.heir {
            let seen: HashSet<i32> = found.iter().map(Member::pid).collect();
            found.extend(heir.members()?.into_iter().filter(|member| !seen.contains(&member.pid())));
        }
        Ok(found)
    }

    /// Returns the termination when only the loss of the keeper is known.
    pub fn keeper_killed(&self) -> Termination {
        self.records.keeper_lost(None, KEEPER_KILLED)
    }

    /// Starts closing the run. From here on, a keeper that is still starting finds the lock taken, or the ending.
    pub fn begin(mut self, how: Termination) -> Result<OrphanCloser, CloseError> {
        let dir = &self.records.dir;
        let lock = dir.lock().map_err(CloseError::Unreadable)?.ok_or(CloseError::HasKeeper)?;
        let noted = record::decode::<KeeperNote>(&lock.read().map_err(CloseError::Unreadable)?).is_ok();
        if noted && self.records.note.is_none() {
            return Err(CloseError::HasKeeper);
        }
        dir.discard_unticketed_heir();
        let heir = match self.heir.take() {
            Some(heir) => {
                let how = heir.keeper_killed();
                Some(Box::new(heir.begin(how)?))
            }
            None => None,
        };
        let cause = (how.reason == Reason::OwnerLost).then_some(Cause::OwnerLost);
        let run = Closer::begin(self.records, noted, cause, how.detail.clone());
        Ok(OrphanCloser { run, heir, how, _lock: lock })
    }

    /// Closes the run; returns the ending that is on disk.
    pub fn close(self, how: Termination) -> Result<Ending, CloseError> {
        let mut closing = self.begin(how)?;
        loop {
            if let Some(ending) = closing.run_round()? {
                return Ok(ending);
            }
            poll::wait(&[], Some(ROUND_PAUSE)).map_err(CloseError::Unreadable)?;
        }
    }
}

/// Lists the processes with their proofs: the root and its descendants, processes that carry the lease, and processes
/// in the enclosure.
fn list_proven(run: &Records) -> io::Result<Vec<(Member, Proof)>> {
    let mut found = Vec::new();
    let mut seen = HashSet::new();
    let mut add = |members: Vec<Member>, proof, found: &mut Vec<(Member, Proof)>| {
        let new = members.into_iter().filter(|member| seen.insert(member.pid()));
        found.extend(new.map(|member| (member, proof)));
    };
    if let Some(note) = &run.note {
        add(tree::below(&note.root)?.unwrap_or_default(), Proof::Child, &mut found);
    }
    add(
        tree::strays(&RunMarks { mark: None, ..run.marks() }, &HashSet::new())?,
        Proof::InSession,
        &mut found,
    );
    if let Some(mark) = &run.mark {
        add(tree::carriers(mark, run.since_ms)?, Proof::LeaseMark, &mut found);
    }
    if let Some(enclosure) = &run.enclosure {
        add(tree::in_enclosure(enclosure, &HashSet::new()), enclosure.via().into(), &mut found);
    }
    Ok(found)
}

/// Returns the heir if it has a ticket, but neither an ending nor a keeper.
fn half_made(directory: &Path) -> Option<(RunDir, Ticket)> {
    let dir = RunDir::open(directory).ok()?;
    let ended = matches!(dir.ending(), Ok(Some(_)));
    let open = !ended && matches!(dir.has_keeper(), Ok(false));
    let ticket = dir.ticket().ok().filter(|_| open)?;
    Some((dir, ticket))
}

/// An orphaned run that is being closed.
#[derive(Debug)]
pub struct OrphanCloser {
    run: Closer,
    heir: Option<Box<OrphanCloser>>,
    how: Termination,
    /// Opening and closing this file elsewhere in our process would drop the lock.
    _lock: Lock,
}

impl OrphanCloser {
    /// Runs one round. Once no process is left, or the stop is given up, writes the endings, the heir's first: nobody
    /// would look for it later. Returns the ending that is on disk then.
    pub fn run_round(&mut self) -> Result<Option<Ending>, CloseError> {
        let left = list_proven(&self.run.records).map_err(CloseError::Unreadable)?;
        let is_empty =
            left.is_empty() && !self.run.records.enclosure.as_ref().is_some_and(Enclosure::is_occupied);
        match self.run.round(is_empty) {
            Round::Kill => {
                self.kill(&left);
                return Ok(None);
            }
            Round::Close | Round::GiveUp => {}
        }
        if let Some(heir) = &mut self.heir
            && heir.run_round()?.is_none()
        {
            return Ok(None);
        }
        self.heir = None;
        self.finish(&left, is_empty).map(Some)
    }

    fn kill(&mut self, left: &[(Member, Proof)]) {
        // Before any kill: a dead process has no executable to name.
        let named: Vec<_> = left.iter().map(|(member, _)| member.note()).collect();
        named.iter().for_each(|note| self.run.leftovers.add(note));
        self.run.kill_enclosure();
        for at in super::kill_order(left.iter().map(|(member, _)| member)) {
            let (member, proof) = &left[at];
            let sent = super::kill(member);
            self.run.killed(member, &named[at], sent, *proof);
        }
        self.run.journal.write(&self.run.records.dir);
    }

    fn finish(&mut self, left: &[(Member, Proof)], is_empty: bool) -> Result<Ending, CloseError> {
        let confirmed = is_empty && self.run.records.leaves_nobody_unseen();
        let survivors = left.iter().map(|(member, _)| member.note()).collect();
        let ending = self.run.end(self.how.clone(), confirmed, survivors);
        let dir = &self.run.records.dir;
        dir.discard_torn_ending()
            .and_then(|()| dir.write_ending(&ending, None))
            .map_err(CloseError::Unwritten)?;
        self.run.records.clean_up();
        let written = dir.ending().map_err(|error| CloseError::Unwritten(io::Error::other(error)))?;
        written.ok_or_else(|| CloseError::Unwritten(io::Error::other("the ending was removed")))
    }
}
