//! The entries that a keeper adds to its run's journal, beside the signals that it sends.

use super::Keeper;
use tenure_core::ending::ProcessNote;
use tenure_core::journal::JournalEvent;
use tenure_core::state::State;
use tenure_core::watch::{LeftBehind, StopScope};
use tenure_core::wire::KeeperMessage;

impl Keeper {
    /// Records the start, later: the command must not wait for it.
    pub(super) fn note_start(&mut self) {
        let note = &self.note;
        let (exe, boundary) = (note.exe.clone(), note.boundary.clone());
        self.journal.note_later(JournalEvent::Started { pid: note.root.pid, exe, boundary });
    }

    /// Records that the run is `exiting`, if it is.
    pub(super) fn note_exiting(&mut self) {
        if self.state() == State::Exiting {
            let detail = self.watch.detail().map(str::to_owned);
            self.journal.note(JournalEvent::Exiting {
                cause: self.watch.cause(),
                exit: self.watch.exit(),
                detail,
            });
        }
    }

    /// Records the processes that outlived a root that exited by itself.
    pub(super) fn note_left(&mut self, left: &LeftBehind) {
        if left.leftovers > 0 {
            let (count, processes) = (left.leftovers, left.leftover_processes.clone());
            self.journal.note(JournalEvent::Leftovers { count, processes });
        }
        if !left.escapees.is_empty() {
            self.journal.note(JournalEvent::Escapees { processes: left.escapees.clone() });
        }
    }

    /// Writes the journal entries that are due, and notifies the holder if some of them are events.
    pub(super) fn write_journal(&mut self) {
        if self.journal.write_due(&self.dir) {
            self.peers
                .iter_mut()
                .filter(|peer| peer.is_holder())
                .for_each(|peer| peer.send(&KeeperMessage::Noted));
        }
    }

    /// Gives up the stop; returns the names of the survivors.
    pub(super) fn give_up(&mut self) -> Vec<ProcessNote> {
        let survivors = self.survivors();
        self.may_have_unlisted =
            survivors.is_empty() && self.watch.scope() == StopScope::All && !self.is_bare();
        self.journal.note(JournalEvent::GivenUp);
        self.journal.note(JournalEvent::Survivors { processes: survivors.clone() });
        survivors
    }
}
