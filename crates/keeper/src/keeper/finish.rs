//! The end of a keeper: the rest of the output, the ending, and only then the telling (I4).

use super::heir::Heir;
use super::peers::Peer;
use super::{Draining, Keeper, RootState};
use std::time::Duration;
use tenure_core::defaults;
use tenure_core::ending::Termination;
use tenure_core::record::Ending;
use tenure_core::wire::KeeperMessage;
use tenure_os::complaint::complain;
use tenure_os::enclosure::Enclosure;
use tenure_os::poll::{self, Interest};
use tenure_os::{clock, pause};

/// How long a peer may take to hear of the ending. It is on disk; this is a courtesy.
const COURTESY: Duration = Duration::from_secs(1);

impl Keeper {
    /// The tree is gone: what it wrote is still to be read.
    pub(super) fn start_draining(&mut self, termination: Termination) {
        let until = clock::awake() + defaults::DRAIN;
        self.hunt = None;
        self.outlet.nobody_is_left();
        self.draining = Some(Draining { termination, until });
    }

    /// Whether nothing more is to be read: everything was closed, or somebody outside holds it for too long. A
    /// foreground caller that has not taken enough is waited for, since the rest would be lost to it.
    pub(super) fn drained(&mut self) -> bool {
        let Some(draining) = &self.draining else { return false };
        if self.outlet.ended() {
            return true;
        }
        if self.is_held_up() || clock::awake() < draining.until {
            return false;
        }
        // It may be this late because we stood still: what the tree wrote is there all the same.
        self.readable().collect::<Vec<_>>().into_iter().for_each(|stream| self.read_output(stream));
        !self.is_held_up()
    }

    /// The time in which a caller held us up is not the output's.
    pub(super) fn put_off_giving_up(&mut self) {
        if let Some(draining) = &mut self.draining {
            draining.until = clock::awake() + defaults::DRAIN;
        }
    }

    /// Writes the ending and tells. What was allowed to live on is another run's by then.
    pub(super) fn finish(&mut self) -> Option<Heir> {
        let draining = self.draining.take()?;
        self.let_go_of_root();
        let mut termination = draining.termination;
        termination.confirmed &= !self.unsure;
        let heir = self.find_heir().unwrap_or_else(|error| {
            // The command's own ending stands. Nobody can keep what escaped, so it is ended.
            termination.detail = Some(format!("what escaped could not become a run, and was ended: {error}"));
            termination.confirmed = self.end_rest();
            None
        });
        if self.enclosure.as_ref().is_some_and(Enclosure::ran_out_of_memory) {
            termination.detail = Some(out_of_memory(termination.detail));
        }
        // A survivor that holds it is no stranger.
        termination.output_open = heir.is_none() && termination.confirmed && !self.outlet.ended();
        if let Some(heir) = &heir {
            termination.detail = Some(format!("what escaped was handed over to run {}", heir.id()));
        }
        let ending = Ending {
            run_id: self.dir.id().clone(),
            termination,
            ended_at_ms: clock::unix_ms(),
            last_output_at_ms: self.outlet.last_at_ms(),
            output: self.outlet.totals(),
            handed_over_to: heir.iter().map(|heir| heir.id().clone()).collect(),
            kills: self.journal.kills(),
        };
        // An enclosure that is still occupied stays, and the ending says who is in it.
        let is_confirmed = ending.termination.confirmed;
        self.journal.write(&self.dir);
        pause::point("keeper-before-ending");
        let told = match self.dir.write_ending(&ending, self.ending_space.take()) {
            Ok(_) => KeeperMessage::Ended { ending: Box::new(ending) },
            // The holder has another place for it. Without one the nursery closes the run, and does not say how it ended.
            Err(error) => {
                let how = ending.termination.sentence();
                let why = format!("the run ended ({how}), but that cannot be recorded: {error}");
                complain(format_args!("run {}: {why}", self.dir.id()));
                KeeperMessage::Unrecorded { why, ending: Some(Box::new(ending)) }
            }
        };
        pause::point("keeper-after-ending");
        self.listener = None;
        self.dir.unlisten();
        let is_removed = heir.is_some() || self.enclosure.as_ref().is_none_or(|group| group.remove().is_ok());
        self.tell_growth();
        self.peers.iter_mut().for_each(|peer| peer.tell(&told));
        // What the heir's peers ask is not to wait for the old run's.
        let with_holder = self.take_leave(heir.is_none());
        self.unrecorded |= matches!(told, KeeperMessage::Unrecorded { .. }) && !with_holder;
        if !is_removed && is_confirmed {
            self.remove_enclosure();
        }
        heir
    }

    /// Removes the enclosure of a tree that is gone. The last process may still be exiting: the keeper cannot wait for
    /// a process that is not its child.
    fn remove_enclosure(&self) {
        let deadline = clock::awake() + COURTESY;
        while clock::awake() < deadline
            && self.enclosure.as_ref().is_some_and(|group| group.remove().is_err())
        {
            self.wait_for_a_death();
        }
    }

    /// Waits until everybody has heard, for a moment; for a foreground caller that is owed bytes which are
    /// nowhere else as long as it lives, unless there is more to do. Returns whether a holder has heard.
    fn take_leave(&mut self, may_wait: bool) -> bool {
        let courtesy = clock::awake() + COURTESY;
        let mut heard = false;
        loop {
            self.peers.retain(|peer| {
                let pending = peer.frames.pending();
                heard |= peer.is_holder() && peer.stays() && !pending;
                peer.stays() && pending
            });
            let owed = may_wait && self.peers.iter().any(Peer::is_required);
            let left = courtesy.saturating_sub(clock::awake());
            if self.peers.is_empty() || (left.is_zero() && !owed) {
                return heard;
            }
            let interests: Vec<_> = self.peers.iter().map(|peer| peer.frames.interest()).collect();
            if poll::wait(&interests, (!owed).then_some(left)).is_err() {
                return heard;
            }
            for peer in &mut self.peers {
                peer.frames.flush();
                peer.frames.fill();
            }
        }
    }

    /// Ends everybody below us, without the decider: the run is over. Returns whether nobody is left.
    fn end_rest(&mut self) -> bool {
        let deadline = clock::awake() + defaults::GIVE_UP;
        while !self.is_bare() && clock::awake() < deadline {
            self.freeze_and_kill(deadline);
            self.wait_for_a_death();
            self.bury();
        }
        self.is_bare()
    }

    /// A root that never executed is still on its way out, and would occupy the enclosure.
    fn let_go_of_root(&mut self) {
        let deadline = clock::awake() + defaults::DRAIN;
        while let RootState::Alive(root) = &self.root
            && root.exit().is_none()
            && clock::awake() < deadline
        {
            self.wait_for_a_death();
        }
    }

    /// Whoever waits looks again afterwards, so that being woken early or not at all does not matter.
    fn wait_for_a_death(&self) {
        let _ = poll::wait(&[Interest::reading(&self.signals)], Some(Duration::from_millis(1)));
        while self.signals.next().is_some() {}
    }
}

/// What is said of a run whose memory was not enough, beside what else there is to say.
fn out_of_memory(detail: Option<String>) -> String {
    let what = Enclosure::OUT_OF_MEMORY;
    detail.map_or_else(|| what.to_owned(), |detail| format!("{detail}; {what}"))
}
