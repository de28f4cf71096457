//! The end of a keeper: reads the rest of the output, writes the ending, and only then reports it (I4).

use super::handover::Heir;
use super::peers::Peer;
use super::{Draining, Keeper, RootState};
use std::time::Duration;
use tenure_core::defaults;
use tenure_core::ending::Termination;
use tenure_core::record::Ending;
use tenure_core::wire::KeeperMessage;
use tenure_os::enclosure::Enclosure;
use tenure_os::poll::{self, Interest};
use tenure_os::stderr::complain;
use tenure_os::{clock, pause};

/// Time limit for peers to receive the ending. It is on disk, so they do not depend on this.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(1);

impl Keeper {
    /// Starts reading the rest of the output, after the tree is gone.
    pub(super) fn start_draining(&mut self, termination: Termination) {
        let until = clock::awake() + defaults::DRAIN;
        self.stop_rounds = None;
        self.output.hang_up_terminal();
        self.draining = Some(Draining { termination, until });
    }

    /// Returns true if no more output is expected: all writers closed it, or a process outside the run keeps it open
    /// for too long. A slow foreground caller is waited for, because the rest would be lost to it.
    pub(super) fn drained(&mut self) -> bool {
        let Some(draining) = &self.draining else { return false };
        if self.output.ended() {
            return true;
        }
        if self.is_paused() || clock::awake() < draining.until {
            return false;
        }
        // The delay may be our own, if the machine stood still: read what the tree wrote.
        self.readable().collect::<Vec<_>>().into_iter().for_each(|stream| self.read_output(stream));
        !self.is_paused()
    }

    /// Extends the drain by the time in which a caller did not read.
    pub(super) fn extend_drain(&mut self) {
        if let Some(draining) = &mut self.draining {
            draining.until = clock::awake() + defaults::DRAIN;
        }
    }

    /// Writes the ending and reports it. Returns the heir that took over the escapees.
    pub(super) fn finish(&mut self) -> Option<Heir> {
        let draining = self.draining.take()?;
        self.wait_for_root();
        let mut termination = draining.termination;
        termination.confirmed &= !self.may_have_unlisted;
        let heir = self.find_heir().unwrap_or_else(|error| {
            // The command's own ending stands. No keeper has the escapees, so they are killed.
            termination.detail =
                Some(format!("the escaped processes could not become a run and were killed: {error}"));
            termination.confirmed = self.kill_rest();
            None
        });
        if self.enclosure.as_ref().is_some_and(Enclosure::ran_out_of_memory) {
            termination.detail = Some(out_of_memory(termination.detail));
        }
        // If processes survived, an open output is no surprise.
        termination.output_open = heir.is_none() && termination.confirmed && !self.output.ended();
        if let Some(heir) = &heir {
            termination.detail = Some(format!("the escaped processes were handed over to run {}", heir.id()));
        }
        let ending = Ending {
            run_id: self.dir.id().clone(),
            termination,
            ended_at_ms: clock::unix_ms(),
            last_output_at_ms: self.output.last_at_ms(),
            output: self.output.totals(),
            handed_over_to: heir.iter().map(|heir| heir.id().clone()).collect(),
            kills: self.journal.kills(),
        };
        // An occupied enclosure stays, and the ending names its processes.
        let is_confirmed = ending.termination.confirmed;
        self.journal.write(&self.dir);
        pause::point("keeper-before-ending");
        let report = match self.dir.write_ending(&ending, self.ending_space.take()) {
            Ok(_) => KeeperMessage::Ended { ending: Box::new(ending) },
            // The holder can store the ending in the registry. Without a holder the nursery closes the run, and how
            // it ended is lost.
            Err(error) => {
                let how = ending.termination.sentence();
                let why = format!("the run ended ({how}), but that cannot be recorded: {error}");
                complain(format_args!("run {}: {why}", self.dir.id()));
                KeeperMessage::Unrecorded { why, ending: Some(Box::new(ending)) }
            }
        };
        pause::point("keeper-after-ending");
        self.listener = None;
        self.dir.remove_socket();
        let is_removed = heir.is_some() || self.enclosure.as_ref().is_none_or(|group| group.remove().is_ok());
        self.send_growth();
        self.peers.iter_mut().for_each(|peer| peer.send(&report));
        // The heir's peers must not wait for the old run's.
        let with_holder = self.flush_peers(heir.is_none());
        self.unrecorded |= matches!(report, KeeperMessage::Unrecorded { .. }) && !with_holder;
        if !is_removed && is_confirmed {
            self.remove_enclosure();
        }
        heir
    }

    /// Removes the enclosure of a tree that is gone. Its last process may still be exiting, and the keeper cannot
    /// wait for a process that is not its child.
    fn remove_enclosure(&self) {
        let deadline = clock::awake() + FLUSH_TIMEOUT;
        while clock::awake() < deadline
            && self.enclosure.as_ref().is_some_and(|group| group.remove().is_err())
        {
            self.wait_for_child_exit();
        }
    }

    /// Waits a moment until all peers have received the ending. A foreground caller with output that is stored
    /// nowhere else is waited for as long as it lives, if `may_wait`. Returns true if a holder has received it.
    fn flush_peers(&mut self, may_wait: bool) -> bool {
        let courtesy = clock::awake() + FLUSH_TIMEOUT;
        let mut holder_received = false;
        loop {
            self.peers.retain(|peer| {
                let pending = peer.frames.pending();
                holder_received |= peer.is_holder() && peer.is_connected() && !pending;
                peer.is_connected() && pending
            });
            let owed = may_wait && self.peers.iter().any(Peer::is_required);
            let left = courtesy.saturating_sub(clock::awake());
            if self.peers.is_empty() || (left.is_zero() && !owed) {
                return holder_received;
            }
            let interests: Vec<_> = self.peers.iter().map(|peer| peer.frames.interest()).collect();
            if poll::wait(&interests, (!owed).then_some(left)).is_err() {
                return holder_received;
            }
            for peer in &mut self.peers {
                peer.frames.flush();
                peer.frames.fill();
            }
        }
    }

    /// Kills all descendants without the decider: the run is over. Returns true if none is left.
    fn kill_rest(&mut self) -> bool {
        let deadline = clock::awake() + defaults::GIVE_UP;
        while !self.is_bare() && clock::awake() < deadline {
            self.freeze_and_kill(deadline);
            self.wait_for_child_exit();
            self.reap();
        }
        self.is_bare()
    }

    /// Waits for a root that never executed: while it exits, it occupies the enclosure.
    fn wait_for_root(&mut self) {
        let deadline = clock::awake() + defaults::DRAIN;
        while let RootState::Alive(root) = &self.root
            && root.exit().is_none()
            && clock::awake() < deadline
        {
            self.wait_for_child_exit();
        }
    }

    /// Waits for a child to exit, or a moment. The caller checks again afterwards, so an early return does no harm.
    fn wait_for_child_exit(&self) {
        let _ = poll::wait(&[Interest::reading(&self.signals)], Some(Duration::from_millis(1)));
        while self.signals.next().is_some() {}
    }
}

/// Adds the note that memory ran out to the other details.
fn out_of_memory(detail: Option<String>) -> String {
    let what = Enclosure::OUT_OF_MEMORY;
    detail.map_or_else(|| what.to_owned(), |detail| format!("{detail}; {what}"))
}
