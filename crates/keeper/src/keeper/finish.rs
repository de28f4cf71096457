//! The end of a keeper: the rest of the output, the ending, and only then the telling (I4).

use super::heir::Heir;
use super::{Draining, Keeper, RootState};
use std::io;
use std::os::fd::AsFd;
use std::time::Duration;
use tenure_core::defaults;
use tenure_core::ending::Termination;
use tenure_core::record::Ending;
use tenure_core::wire::Tell;
use tenure_os::poll::{self, Interest};
use tenure_os::{clock, pause};

/// How long a peer may take to hear of the ending. It is on disk; this is a courtesy.
const COURTESY: Duration = Duration::from_secs(1);

impl Keeper {
    /// The tree is gone: what it wrote is still to be read.
    pub(super) fn start_draining(&mut self, termination: Termination) {
        let until = clock::awake() + defaults::DRAIN;
        self.hunt = None;
        self.draining = Some(Draining { termination, until });
    }

    /// Whether nothing more is to be read: everything was closed, or somebody outside holds it for too long. A
    /// foreground caller that has not taken enough is waited for, since the rest would be lost to it.
    pub(super) fn drained(&self) -> bool {
        let Some(draining) = &self.draining else { return false };
        let held_up = !self.outlet.ended() && self.readable().next().is_none();
        self.outlet.ended() || (!held_up && clock::awake() >= draining.until)
    }

    /// Writes the ending and tells. What was allowed to live on is another run's by then.
    pub(super) fn finish(&mut self) -> io::Result<Option<Heir>> {
        let Some(draining) = self.draining.take() else { return Ok(None) };
        self.let_go_of_root();
        let heir = self.find_heir()?;
        let mut termination = draining.termination;
        termination.output_open = heir.is_none() && !self.outlet.ended();
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
        };
        pause::point("keeper-before-ending");
        self.dir.write_ending(&ending, self.ending_space.take())?;
        pause::point("keeper-after-ending");
        self.listener = None;
        self.dir.unlisten();
        if let (Some(cgroup), None) = (&self.cgroup, &heir) {
            // One that is still occupied stays, and the ending says who is in it.
            let _ = cgroup.remove();
        }
        self.tell_growth();
        for peer in &mut self.peers {
            peer.tell(&Tell::Ended { ending: Box::new(ending.clone()) });
            let patience = if peer.is_required() { FOR_CALLER } else { COURTESY };
            let _ = peer.frames.send_all(patience);
        }
        Ok(heir)
    }

    /// A root that never executed is still on its way out, and would occupy the cgroup.
    fn let_go_of_root(&mut self) {
        let deadline = clock::awake() + defaults::DRAIN;
        while let RootState::Alive(root) = &self.root
            && root.exit().is_none()
            && clock::awake() < deadline
        {
            let interest = Interest { on: self.signals.as_fd(), read: true, write: false };
            // Woken early or not at all, the root is looked at again.
            let _ = poll::wait(&[interest], Some(Duration::from_millis(1)));
            while self.signals.next().is_some() {}
        }
    }
}

/// A foreground caller may be owed bytes that are nowhere else.
const FOR_CALLER: Duration = Duration::from_hours(24);
