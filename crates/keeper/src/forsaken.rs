//! A run whose keeper and nursery are both gone: who of it is still alive, proven, and its closing. Whoever holds
//! its lease does this. Where processes cannot be read, everything is left as it is (I6).

use crate::launch::lease_mark;
use crate::rundir::{RunDir, Unread};
use crate::salvage;
use std::collections::HashSet;
use std::io;
use std::time::Duration;
use tenure_core::defaults;
use tenure_core::ending::{Reason, SpawnError, Termination};
use tenure_core::record::{self, BadRecord, Ending, KeeperNote, Ticket};
use tenure_core::signal::Signal;
use tenure_os::cgroup::Cgroup;
use tenure_os::tree::{self, Member};
use tenure_os::{clock, poll, process};

/// How long between two looks at those who were killed.
const LOOK: Duration = Duration::from_millis(2);

/// A run that nobody keeps.
#[derive(Debug)]
pub struct Forsaken {
    dir: RunDir,
    ticket: Ticket,
    note: Option<KeeperNote>,
    cgroup: Option<Cgroup>,
}

/// Why a forsaken run is closed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Closing {
    /// As what.
    pub reason: Reason,
    /// In a person's words.
    pub detail: String,
}

impl Closing {
    /// The ending of a run of which nobody was left.
    pub fn termination(&self) -> Termination {
        match self.reason {
            Reason::SpawnError => {
                Termination::not_started(&SpawnError { detail: self.detail.clone(), not_found: false })
            }
            reason => Termination::new(reason, None, Some(self.detail.clone())),
        }
    }
}

impl Forsaken {
    /// Reads what is known of it, beside its ticket as the registry has it: whoever was to start it may have fallen
    /// before there was one on disk. A note that was cut off was never finished, so its root never executed.
    pub fn read(dir: RunDir, ticket: Ticket) -> Result<Self, Unread> {
        let note = match dir.note() {
            Err(Unread::Bad { source: BadRecord::Torn, .. }) => None,
            note => note?,
        };
        let cgroup = salvage::cgroup(&dir, note.as_ref());
        Ok(Self { dir, ticket, note, cgroup })
    }

    /// Its root and what is below it, what carries its lease, and what is in its cgroup.
    pub fn members(&self) -> io::Result<Vec<Member>> {
        let mut found = match &self.note {
            Some(note) => tree::below(&note.root)?.unwrap_or_default(),
            None => Vec::new(),
        };
        let mut seen: HashSet<i32> = found.iter().map(Member::pid).collect();
        for member in tree::carriers(&lease_mark(&self.ticket.lease_id), self.ticket.created_at_ms)? {
            if seen.insert(member.pid()) {
                found.push(member);
            }
        }
        if let Some(cgroup) = &self.cgroup {
            found.extend(tree::in_cgroup(cgroup, &seen));
        }
        Ok(found)
    }

    /// Ends whoever is left of it, children first, and writes its ending; returns the one that is on disk. An error
    /// means that it is as it was: a keeper turned up, or something cannot be read or written.
    pub fn close(self, closing: &Closing) -> io::Result<Ending> {
        // A keeper that is on its way finds the lock taken, or the ending.
        let lock = self.dir.lock()?.ok_or_else(|| io::Error::other("it has a keeper"))?;
        if self.note.is_none() && record::decode::<KeeperNote>(&lock.read()?).is_ok() {
            return Err(io::Error::other("its keeper has just noted a root"));
        }
        let (ended, left) = self.end_members()?;
        let mut termination = closing.termination();
        termination.confirmed = left.is_empty() && self.leaves_nobody_unseen();
        termination.survivors = left.iter().map(Member::note).collect();
        let root = self.note.as_ref().map(|note| note.root.pid);
        let others = ended.iter().filter(|&&pid| Some(pid) != root).count();
        termination.leftovers = u32::try_from(others).unwrap_or(u32::MAX);
        let ending = Ending {
            output: self.dir.totals(),
            ..Ending::unseen(self.dir.id().clone(), termination, clock::unix_ms())
        };
        self.dir.discard_torn_ending()?;
        self.dir.write_ending(&ending, None)?;
        salvage::clear_away(&self.dir, self.cgroup.as_ref());
        drop(lock);
        let written = self.dir.ending().map_err(io::Error::other)?;
        written.ok_or_else(|| io::Error::other("the ending is gone again"))
    }

    /// Without a cgroup, one that cleared its environment may live on unseen; but what never started left nobody, and
    /// nobody outlives a boot.
    fn leaves_nobody_unseen(&self) -> bool {
        let Some(note) = &self.note else { return true };
        self.cgroup.is_some() || note.root.place.boot_id != process::here().boot_id
    }

    /// Kills them until nobody is left or that is given up. Returns who was killed and who is left.
    fn end_members(&self) -> io::Result<(HashSet<i32>, Vec<Member>)> {
        let give_up = clock::awake() + defaults::GIVE_UP;
        let mut ended = HashSet::new();
        loop {
            let members = self.members()?;
            let occupied = self.cgroup.as_ref().is_some_and(salvage::is_occupied);
            if (members.is_empty() && !occupied) || clock::awake() > give_up {
                return Ok((ended, members));
            }
            if let Some(cgroup) = &self.cgroup {
                // At once, whoever forks; a kernel that cannot is served by the list.
                let _ = cgroup.kill();
            }
            for member in members.iter().rev() {
                member.forbid_forking();
                member.signal(Signal::KILL);
                ended.insert(member.pid());
            }
            poll::wait(&[], Some(LOOK))?;
        }
    }
}
