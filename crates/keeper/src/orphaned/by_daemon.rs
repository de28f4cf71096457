//! Closing by one who is not the parent of the run's processes: the holder of its lease. They are listed by proof, and where
//! processes cannot be read everything is left as it is (I6).

use super::{Closer, KEEPER_KILLED, Records};
use crate::rundir::{RunDir, Unread};
use std::collections::HashSet;
use std::io;
use std::path::Path;
use std::time::Duration;
use tenure_core::ending::{Cause, Reason, Termination};
use tenure_core::journal::Proof;
use tenure_core::reconcile::closing::Round;
use tenure_core::record::{self, BadRecord, Ending, KeeperNote, Ticket};
use tenure_os::enclosure::Enclosure;
use tenure_os::kin::Kin;
use tenure_os::lock::Lock;
use tenure_os::poll;
use tenure_os::tree::{self, Member};

/// The pause between two rounds.
const ROUND: Duration = Duration::from_millis(2);

/// A run without keeper and nursery.
#[derive(Debug)]
pub struct OrphanedRun {
    records: Records,
    /// The run that its keeper was about to hand over to.
    heir: Option<Box<OrphanedRun>>,
}

/// Why a run could not be closed. It is as it was, but for whoever was killed.
#[derive(Debug, thiserror::Error)]
pub enum NotClosed {
    /// It is not orphaned.
    #[error("a keeper turned up")]
    Kept,
    /// It cannot be told who is left of it.
    #[error("it cannot be read: {0}")]
    Unreadable(#[source] io::Error),
    /// Nobody is left of it, but the disk does not take that.
    #[error("its ending cannot be written: {0}")]
    Unwritten(#[source] io::Error),
}

impl OrphanedRun {
    /// Reads what is known of it, beside its ticket as the registry has it: whoever was to start it may have fallen
    /// before there was one on disk. A half-made heir that nobody keeps is closed with it.
    pub fn read(dir: RunDir, ticket: &Ticket) -> Result<Self, Unread> {
        let heir = match dir.heir().as_deref().and_then(half_made) {
            Some((heir, ticket)) => Some(Box::new(Self::alone(heir, &ticket)?)),
            None => None,
        };
        Ok(Self { heir, ..Self::alone(dir, ticket)? })
    }

    /// A note that was cut off was never finished, so its root never executed.
    fn alone(dir: RunDir, ticket: &Ticket) -> Result<Self, Unread> {
        let note = match dir.note() {
            Err(Unread::Bad { source: BadRecord::Torn, .. }) => None,
            note => note?,
        };
        Ok(Self { records: Records::new(dir, Some(ticket), note), heir: None })
    }

    /// The live processes of it and its heir.
    pub fn members(&self) -> io::Result<Vec<Member>> {
        let mut found: Vec<Member> = proven(&self.records)?.into_iter().map(|(member, _)| member).collect();
        if let Some(heir) = &self.heir {
            let seen: HashSet<i32> = found.iter().map(Member::pid).collect();
            found.extend(heir.members()?.into_iter().filter(|member| !seen.contains(&member.pid())));
        }
        Ok(found)
    }

    /// How it ended for one who knows no more than that its keeper is gone.
    pub fn keeper_killed(&self) -> Termination {
        self.records.keeper_lost(None, KEEPER_KILLED)
    }

    /// Begins to close it: from here on a keeper that is on its way finds the lock taken, or the ending.
    pub fn begin(mut self, how: Termination) -> Result<Closing, NotClosed> {
        let dir = &self.records.dir;
        let lock = dir.lock().map_err(NotClosed::Unreadable)?.ok_or(NotClosed::Kept)?;
        let noted = record::decode::<KeeperNote>(&lock.read().map_err(NotClosed::Unreadable)?).is_ok();
        if noted && self.records.note.is_none() {
            return Err(NotClosed::Kept);
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
        Ok(Closing { run, heir, how, _lock: lock })
    }

    /// Closes it; returns the ending that is on disk.
    pub fn close(self, how: Termination) -> Result<Ending, NotClosed> {
        let mut closing = self.begin(how)?;
        loop {
            if let Some(ending) = closing.go_on()? {
                return Ok(ending);
            }
            poll::wait(&[], Some(ROUND)).map_err(NotClosed::Unreadable)?;
        }
    }
}

/// The root and what is below it, what carries the lease, and what is in the enclosure; each with its proof.
fn proven(run: &Records) -> io::Result<Vec<(Member, Proof)>> {
    let mut found = Vec::new();
    let mut seen = HashSet::new();
    let mut add = |members: Vec<Member>, proof, found: &mut Vec<(Member, Proof)>| {
        let new = members.into_iter().filter(|member| seen.insert(member.pid()));
        found.extend(new.map(|member| (member, proof)));
    };
    if let Some(note) = &run.note {
        add(tree::below(&note.root)?.unwrap_or_default(), Proof::Child, &mut found);
    }
    add(tree::strays(&Kin { mark: None, ..run.kin() }, &HashSet::new())?, Proof::InSession, &mut found);
    if let Some(mark) = &run.mark {
        add(tree::carriers(mark, run.since_ms)?, Proof::LeaseMark, &mut found);
    }
    if let Some(enclosure) = &run.enclosure {
        add(tree::in_enclosure(enclosure, &HashSet::new()), enclosure.via().into(), &mut found);
    }
    Ok(found)
}

/// A run that was named as heir, has a ticket, and has neither an ending nor a keeper.
fn half_made(directory: &Path) -> Option<(RunDir, Ticket)> {
    let dir = RunDir::open(directory).ok()?;
    let ended = matches!(dir.ending(), Ok(Some(_)));
    let open = !ended && matches!(dir.kept(), Ok(false));
    let ticket = dir.ticket().ok().filter(|_| open)?;
    Some((dir, ticket))
}

/// An orphaned run that is being closed.
#[derive(Debug)]
pub struct Closing {
    run: Closer,
    heir: Option<Box<Closing>>,
    how: Termination,
    /// Whoever opens and closes this file in our process drops it.
    _lock: Lock,
}

impl Closing {
    /// Goes one round. Once nobody is left, or that is given up, writes the endings, the heir's first: nobody would look for
    /// it again. Returns the one that is on disk then.
    pub fn go_on(&mut self) -> Result<Option<Ending>, NotClosed> {
        let left = proven(&self.run.records).map_err(NotClosed::Unreadable)?;
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
            && heir.go_on()?.is_none()
        {
            return Ok(None);
        }
        self.heir = None;
        self.finish(&left, is_empty).map(Some)
    }

    fn kill(&mut self, left: &[(Member, Proof)]) {
        // Before any kill: a dead process has no executable that could be named.
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

    fn finish(&mut self, left: &[(Member, Proof)], is_empty: bool) -> Result<Ending, NotClosed> {
        let confirmed = is_empty && self.run.records.leaves_nobody_unseen();
        let survivors = left.iter().map(|(member, _)| member.note()).collect();
        let ending = self.run.end(self.how.clone(), confirmed, survivors);
        let dir = &self.run.records.dir;
        dir.discard_torn_ending()
            .and_then(|()| dir.write_ending(&ending, None))
            .map_err(NotClosed::Unwritten)?;
        self.run.records.clean_up();
        let written = dir.ending().map_err(|error| NotClosed::Unwritten(io::Error::other(error)))?;
        written.ok_or_else(|| NotClosed::Unwritten(io::Error::other("it is gone again")))
    }
}
