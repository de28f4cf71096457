//! The end of a keeper: the rest of the output, the ending, and only then the telling (I4).

use super::{Draining, Keeper};
use std::io;
use std::time::Duration;
use tenure_core::defaults;
use tenure_core::ending::Termination;
use tenure_core::record::Ending;
use tenure_core::wire::Tell;
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
        let held_up = !self.outlet.ended() && self.outlet.readable(self.taken()).next().is_none();
        self.outlet.ended() || (!held_up && clock::awake() >= draining.until)
    }

    /// Writes the ending and tells.
    pub(super) fn finish(&mut self) -> io::Result<()> {
        let Some(draining) = self.draining.take() else { return Ok(()) };
        let mut termination = draining.termination;
        termination.output_open = !self.outlet.ended();
        let ending = Ending {
            run_id: self.dir.id().clone(),
            termination,
            ended_at_ms: clock::unix_ms(),
            last_output_at_ms: self.outlet.last_at_ms(),
            output: self.outlet.totals(),
            handed_over_to: Vec::new(),
        };
        pause::point("keeper-before-ending");
        self.dir.write_ending(&ending, self.ending_space.take())?;
        pause::point("keeper-after-ending");
        self.listener = None;
        self.dir.unlisten();
        if let Some(cgroup) = &self.cgroup {
            // One that is still occupied stays, and the ending says who is in it.
            let _ = cgroup.remove();
        }
        self.tell_growth();
        for peer in &mut self.peers {
            peer.tell(&Tell::Ended { ending: Box::new(ending.clone()) });
            let patience = if peer.is_required() { FOR_CALLER } else { COURTESY };
            let _ = peer.frames.send_all(patience);
        }
        Ok(())
    }
}

/// A foreground caller may be owed bytes that are nowhere else.
const FOR_CALLER: Duration = Duration::from_hours(24);
