//! What a keeper notes in its run's journal, beside the signals that it sends.

use super::Keeper;
use tenure_core::ending::ProcessNote;
use tenure_core::journal::What;
use tenure_core::state::State;
use tenure_core::watch::{Left, Whom};
use tenure_core::wire::KeeperMessage;

impl Keeper {
    /// Nobody waits for this, least of all the command.
    pub(super) fn note_start(&mut self) {
        let note = &self.note;
        let (exe, boundary) = (note.exe.clone(), note.boundary.clone());
        self.journal.note_later(What::Started { pid: note.root.pid, exe, boundary });
    }

    /// Notes that the run is `exiting`, if it is.
    pub(super) fn note_exiting(&mut self) {
        if self.state() == State::Exiting {
            let detail = self.watch.detail().map(str::to_owned);
            self.journal.note(What::Exiting { cause: self.watch.cause(), exit: self.watch.exit(), detail });
        }
    }

    /// Notes who outlived a root that ended by itself.
    pub(super) fn note_left(&mut self, left: &Left) {
        if left.leftovers > 0 {
            let (count, processes) = (left.leftovers, left.leftover_processes.clone());
            self.journal.note(What::Leftovers { count, processes });
        }
        if !left.escapees.is_empty() {
            self.journal.note(What::Escapees { processes: left.escapees.clone() });
        }
    }

    /// Writes the journal entries that are due, and tells the holder if some of them are events.
    pub(super) fn write_journal(&mut self) {
        if self.journal.write_due(&self.dir) {
            self.peers
                .iter_mut()
                .filter(|peer| peer.is_holder())
                .for_each(|peer| peer.tell(&KeeperMessage::Noted));
        }
    }

    /// The stop is given up: names who is still there.
    pub(super) fn give_up(&mut self) -> Vec<ProcessNote> {
        let survivors = self.survivors();
        self.unsure = survivors.is_empty() && self.watch.whom() == Whom::All && !self.is_bare();
        self.journal.note(What::GivenUp);
        self.journal.note(What::Survivors { processes: survivors.clone() });
        survivors
    }
}
