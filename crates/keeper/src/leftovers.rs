//! The leftovers of a run: processes that outlived its keeper and were killed. All of them are counted, and the first
//! are named.

use crate::journal::Journal;
use crate::rundir::MOST_NAMED;
use std::collections::HashSet;
use tenure_core::ending::{ProcessNote, Termination};
use tenure_core::journal::JournalEvent;
use tenure_os::enclosure::Enclosure;
use tenure_os::process::Process;

#[derive(Debug, Default)]
pub(crate) struct Leftovers {
    /// The run's root, which does not count.
    root: Option<i32>,
    pids: HashSet<i32>,
    named: Vec<ProcessNote>,
    /// True if the enclosure was listed before it was first killed.
    is_enclosure_known: bool,
}

impl Leftovers {
    pub(crate) fn of(root: Option<i32>) -> Self {
        Self { root, ..Self::default() }
    }

    /// Adds a process that was named before it was killed: a dead one has no executable.
    pub(crate) fn add(&mut self, note: &ProcessNote) {
        if self.pids.insert(note.pid) && self.has_room_for(note.pid) {
            self.named.push(note.clone());
        }
    }

    /// Adds the processes of an enclosure that is about to be killed in one call, after which they have no names.
    /// Only the first call lists: later processes were forked meanwhile.
    pub(crate) fn add_enclosure(&mut self, enclosure: &Enclosure) {
        if std::mem::replace(&mut self.is_enclosure_known, true) {
            return;
        }
        let own = std::process::id().cast_signed();
        for pid in enclosure.pids().unwrap_or_default() {
            if pid == own || !self.pids.insert(pid) || !self.has_room_for(pid) {
                continue;
            }
            match Process::open(pid) {
                Ok(Some(process)) if process.is_alive() && enclosure.holds(pid) => {
                    self.named.push(process.note());
                }
                // The process exited already.
                _ => drop(self.pids.remove(&pid)),
            }
        }
    }

    fn has_room_for(&self, pid: i32) -> bool {
        Some(pid) != self.root && self.named.len() < MOST_NAMED
    }

    pub(crate) fn contains(&self, pid: i32) -> bool {
        self.pids.contains(&pid)
    }

    fn count(&self) -> u32 {
        let others = self.pids.iter().filter(|&&pid| Some(pid) != self.root).count();
        u32::try_from(others).unwrap_or(u32::MAX)
    }

    /// Records the leftovers in the run's journal, if there are any.
    pub(crate) fn note(&self, journal: &mut Journal) {
        if self.count() > 0 {
            journal.note(JournalEvent::Leftovers { count: self.count(), processes: self.named.clone() });
        }
    }

    /// Adds the leftovers to an ending.
    pub(crate) fn enter(&self, how: Termination) -> Termination {
        Termination { leftovers: self.count(), leftover_processes: self.named.clone(), ..how }
    }
}
