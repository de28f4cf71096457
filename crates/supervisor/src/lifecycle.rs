//! The daemon's own life: it serves, drains, and is gone.

use crate::sync::lock;
use std::sync::Mutex;
use std::time::Duration;
use tenure_core::wall::{self, WallClock};
use tenure_os::{clock, reaper};
use tokio::sync::watch;

/// Time that requests under way may take when the daemon leaves.
pub const FAREWELL: Duration = Duration::from_secs(2);

/// The phases of the daemon's life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// It serves.
    Serving,
    /// It takes no more runs, and leaves.
    Draining {
        /// True if its runs are ended first.
        cancel_runs: bool,
    },
    /// It has left.
    Gone,
}

impl Phase {
    /// Returns true if it leaves, or has left, and runs go on.
    pub fn leaves_runs(self) -> bool {
        matches!(self, Phase::Draining { cancel_runs: false } | Phase::Gone)
    }
}

/// The daemon's phase and clocks.
pub struct Lifecycle {
    /// The phase, for whoever waits for the next.
    pub phase: watch::Sender<Phase>,
    /// Start of the daemon.
    pub started_at_ms: u64,
    /// True if every process below this one belongs to a run. The daemon is then the subreaper for orphans of runs that
    /// lost their keeper and nursery.
    pub(crate) adopts_orphans: bool,
    /// Tells if the time of day can be trusted for removal by age.
    wall: Mutex<WallClock>,
}

impl Default for Lifecycle {
    fn default() -> Self {
        Self {
            phase: watch::Sender::new(Phase::Serving),
            started_at_ms: clock::unix_ms(),
            // The program that executed us may have left us children. These belong to no run, nor do their orphans.
            adopts_orphans: reaper::childless() && reaper::become_subreaper().is_ok(),
            wall: Mutex::new(WallClock::new(clock::since_boot(), clock::unix_ms())),
        }
    }
}

impl Lifecycle {
    /// Returns true if the daemon leaves or has left.
    pub fn is_draining(&self) -> bool {
        *self.phase.borrow() != Phase::Serving
    }

    /// Takes no more runs, and leaves. The first caller decides if runs are ended.
    pub fn drain(&self, cancel_runs: bool) {
        self.phase.send_if_modified(|phase| {
            let serving = *phase == Phase::Serving;
            if serving {
                *phase = Phase::Draining { cancel_runs };
            }
            serving
        });
    }

    /// Returns true if the wall clock can be trusted to remove things of this age.
    pub(crate) fn may_remove_by_age(&self, age: Duration) -> bool {
        let agreed_for = lock(&self.wall).agreed_for(clock::since_boot(), clock::unix_ms());
        wall::may_remove_by_age(agreed_for, age)
    }
}
