//! A run whose keeper and nursery are both gone: who of it is still alive, proven, and its closing by one who is not
//! their parent. Whoever holds its lease does this. Where processes cannot be read, everything is left as it is (I6).

use crate::journal::Journal;
use crate::launch::lease_mark;
use crate::leftovers::Leftovers;
use crate::rundir::{RunDir, Unread};
use crate::salvage;
use std::collections::HashSet;
use std::io;
use std::path::Path;
use std::time::Duration;
use tenure_core::defaults;
use tenure_core::ending::{Cause, Reason, Termination};
use tenure_core::journal::{Proof, What};
use tenure_core::record::{self, BadRecord, Ending, KeeperNote, Ticket};
use tenure_core::signal::Signal;
use tenure_os::enclosure::Enclosure;
use tenure_os::kin::Kin;
use tenure_os::lock::Lock;
use tenure_os::tree::{self, Member};
use tenure_os::{clock, poll};

/// How long between two looks at those who were killed.
const LOOK: Duration = Duration::from_millis(2);

/// A run that nobody keeps.
#[derive(Debug)]
pub struct Forsaken {
    dir: RunDir,
    ticket: Ticket,
    note: Option<KeeperNote>,
    enclosure: Option<Enclosure>,
    /// The run that its keeper was about to hand over to.
    heir: Option<Box<Forsaken>>,
}

/// Why a run could not be closed. It is as it was, but for whoever was killed.
#[derive(Debug, thiserror::Error)]
pub enum NotClosed {
    /// It is not forsaken.
    #[error("a keeper turned up")]
    Kept,
    /// It cannot be told who is left of it.
    #[error("it cannot be read: {0}")]
    Unreadable(#[source] io::Error),
    /// Nobody is left of it, but the disk does not take that.
    #[error("its ending cannot be written: {0}")]
    Unwritten(#[source] io::Error),
}

impl Forsaken {
    /// Reads what is known of it, beside its ticket as the registry has it: whoever was to start it may have fallen
    /// before there was one on disk. A half-made heir that nobody keeps is closed with it.
    pub fn read(dir: RunDir, ticket: Ticket) -> Result<Self, Unread> {
        let heir = match dir.heir().as_deref().and_then(half_made) {
            Some((heir, ticket)) => Some(Box::new(Self::alone(heir, ticket)?)),
            None => None,
        };
        Ok(Self { heir, ..Self::alone(dir, ticket)? })
    }

    /// A note that was cut off was never finished, so its root never executed.
    fn alone(dir: RunDir, ticket: Ticket) -> Result<Self, Unread> {
        let note = match dir.note() {
            Err(Unread::Bad { source: BadRecord::Torn, .. }) => None,
            note => note?,
        };
        let enclosure = salvage::enclosure(&dir, note.as_ref());
        Ok(Self { dir, ticket, note, enclosure, heir: None })
    }

    /// Who of it and its heir is alive.
    pub fn members(&self) -> io::Result<Vec<Member>> {
        let mut found: Vec<Member> = self.proven()?.into_iter().map(|(member, _)| member).collect();
        if let Some(heir) = &self.heir {
            let seen: HashSet<i32> = found.iter().map(Member::pid).collect();
            found.extend(heir.members()?.into_iter().filter(|member| !seen.contains(&member.pid())));
        }
        Ok(found)
    }

    /// Its root and what is below it, what carries its lease, and what is in its enclosure; each with what proves it.
    fn proven(&self) -> io::Result<Vec<(Member, Proof)>> {
        let mut found = Vec::new();
        let mut seen = HashSet::new();
        let mut add = |members: Vec<Member>, proof, found: &mut Vec<(Member, Proof)>| {
            let new = members.into_iter().filter(|member| seen.insert(member.pid()));
            found.extend(new.map(|member| (member, proof)));
        };
        if let Some(note) = &self.note {
            add(tree::below(&note.root)?.unwrap_or_default(), Proof::Child, &mut found);
        }
        let mark = lease_mark(&self.ticket.lease_id);
        let kin = Kin {
            enclosure: self.enclosure.as_ref(),
            root: self.note.as_ref().map(|note| &note.root),
            mark: None,
            since_ms: self.ticket.created_at_ms,
            known: &[],
        };
        add(tree::strays(&kin, &HashSet::new())?, Proof::InSession, &mut found);
        add(tree::carriers(&mark, self.ticket.created_at_ms)?, Proof::LeaseMark, &mut found);
        if let Some(enclosure) = &self.enclosure {
            add(tree::in_enclosure(enclosure, &HashSet::new()), enclosure.via().into(), &mut found);
        }
        Ok(found)
    }

    /// How it ended for one who knows no more than that its keeper is gone.
    pub fn keeper_killed(&self) -> Termination {
        match self.note {
            Some(_) => Termination::new(Reason::OwnerLost, None, Some(salvage::KEEPER_KILLED.to_owned())),
            None => salvage::never_executed(),
        }
    }

    /// Begins to close it: from here on a keeper that is on its way finds the lock taken, or the ending.
    pub fn begin(mut self, how: Termination) -> Result<Closing, NotClosed> {
        let lock = self.dir.lock().map_err(NotClosed::Unreadable)?.ok_or(NotClosed::Kept)?;
        let noted = record::decode::<KeeperNote>(&lock.read().map_err(NotClosed::Unreadable)?).is_ok();
        if noted && self.note.is_none() {
            return Err(NotClosed::Kept);
        }
        self.dir.discard_unticketed_heir();
        let heir = match self.heir.take() {
            Some(heir) => {
                let how = heir.keeper_killed();
                Some(Box::new(heir.begin(how)?))
            }
            None => None,
        };
        let mut journal = Journal::go_on(&self.dir);
        if noted {
            let cause = (how.reason == Reason::OwnerLost).then_some(Cause::OwnerLost);
            journal.note(What::Exiting { cause, exit: None, detail: how.detail.clone() });
        }
        let give_up = clock::awake() + defaults::GIVE_UP;
        let leftovers = Leftovers::of(self.note.as_ref().map(|note| note.root.pid));
        Ok(Closing { run: self, heir, how, _lock: lock, journal, leftovers, give_up })
    }

    /// Closes it; returns the ending that is on disk.
    pub fn close(self, how: Termination) -> Result<Ending, NotClosed> {
        let mut closing = self.begin(how)?;
        loop {
            if let Some(ending) = closing.go_on()? {
                return Ok(ending);
            }
            poll::wait(&[], Some(LOOK)).map_err(NotClosed::Unreadable)?;
        }
    }
}

/// A run that was named as heir, has a ticket, and has neither an ending nor a keeper.
fn half_made(directory: &Path) -> Option<(RunDir, Ticket)> {
    let dir = RunDir::open(directory).ok()?;
    let ended = matches!(dir.ending(), Ok(Some(_)));
    let open = !ended && matches!(dir.kept(), Ok(false));
    let ticket = dir.ticket().ok().filter(|_| open)?;
    Some((dir, ticket))
}

/// A forsaken run that is being closed.
#[derive(Debug)]
pub struct Closing {
    run: Forsaken,
    heir: Option<Box<Closing>>,
    /// As what.
    how: Termination,
    /// Whoever opens and closes this file in our process drops it.
    _lock: Lock,
    journal: Journal,
    leftovers: Leftovers,
    give_up: Duration,
}

impl Closing {
    /// Kills whoever is left, children first. Once nobody is, or that is given up, writes the endings, the heir's
    /// first: nobody would look for it again. Returns the one that is on disk then.
    pub fn go_on(&mut self) -> Result<Option<Ending>, NotClosed> {
        let left = self.run.proven().map_err(NotClosed::Unreadable)?;
        let empty = left.is_empty() && !self.run.enclosure.as_ref().is_some_and(Enclosure::is_occupied);
        if !empty && clock::awake() <= self.give_up {
            self.kill(&left);
            return Ok(None);
        }
        if let Some(heir) = &mut self.heir
            && heir.go_on()?.is_none()
        {
            return Ok(None);
        }
        self.heir = None;
        self.finish(&left, empty).map(Some)
    }

    fn kill(&mut self, left: &[(Member, Proof)]) {
        left.iter().for_each(|(member, _)| self.leftovers.add(&member.note()));
        if let Some(enclosure) = &self.run.enclosure {
            // At once, whoever forks; a kernel that cannot is served by the list.
            self.journal.kill_enclosure(enclosure);
        }
        for (member, proof) in left.iter().rev() {
            member.forbid_forking();
            let sent = member.signal(Signal::KILL);
            self.journal.signalled_as(member, Signal::KILL, sent, *proof);
        }
        self.journal.write(&self.run.dir);
    }

    fn finish(&mut self, left: &[(Member, Proof)], empty: bool) -> Result<Ending, NotClosed> {
        let survivors: Vec<_> = left.iter().map(|(member, _)| member.note()).collect();
        self.leftovers.note(&mut self.journal);
        if !survivors.is_empty() {
            self.journal.note(What::GivenUp);
            self.journal.note(What::Survivors { processes: survivors.clone() });
        }
        let dir = &self.run.dir;
        self.journal.write(dir);
        let termination = Termination {
            confirmed: empty
                && salvage::leaves_nobody_unseen(self.run.note.as_ref(), self.run.enclosure.as_ref()),
            survivors,
            ..self.leftovers.enter(self.how.clone())
        };
        let ending = Ending {
            output: dir.totals(),
            last_output_at_ms: dir.last_output_at_ms(),
            kills: self.journal.kills(),
            ..Ending::unseen(dir.id().clone(), termination, clock::unix_ms())
        };
        dir.discard_torn_ending()
            .and_then(|()| dir.write_ending(&ending, None))
            .map_err(NotClosed::Unwritten)?;
        salvage::clear_away(dir, self.run.enclosure.as_ref());
        let written = dir.ending().map_err(|error| NotClosed::Unwritten(io::Error::other(error)))?;
        written.ok_or_else(|| NotClosed::Unwritten(io::Error::other("it is gone again")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::with_heir;
    use crate::state_root::StateRoot;

    #[test]
    fn a_half_made_heir_gets_an_ending_too() {
        let root = tempfile::tempdir().expect("a directory");
        let state = StateRoot::open(root.path()).expect("a state root");
        let (dir, heir) = with_heir(&state, true);
        let ticket = dir.ticket().expect("a ticket");
        let run = Forsaken::read(RunDir::open(dir.path()).expect("a run"), ticket).expect("records");
        let how = run.keeper_killed();
        run.close(how).expect("nobody is left");
        for dir in [&dir, &heir] {
            let ended = dir.ending().expect("a record").expect("an ending").termination;
            assert_eq!((ended.reason, ended.confirmed, ended.code()), (Reason::SpawnError, true, 125));
            assert!(
                ended.detail.is_some_and(|detail| detail.contains("before the command could be started"))
            );
        }
    }

    #[test]
    fn an_heir_without_a_ticket_is_discarded_by_who_closes_and_not_by_who_looks() {
        let root = tempfile::tempdir().expect("a directory");
        let state = StateRoot::open(root.path()).expect("a state root");
        let (dir, heir) = with_heir(&state, false);
        let ticket = dir.ticket().expect("a ticket");
        let run = Forsaken::read(RunDir::open(dir.path()).expect("a run"), ticket).expect("records");
        assert!(run.members().expect("a process table").is_empty() && heir.path().exists());
        let how = run.keeper_killed();
        run.close(how).expect("nobody is left");
        assert!(!heir.path().exists());
    }
}
