//! The daemon's own life: serving, draining, gone.

use crate::sync::lock;
use std::sync::Mutex;
use std::time::Duration;
use tenure_core::wall::{self, WallClock};
use tenure_os::{clock, reaper};
use tokio::sync::watch;

/// Time that requests under way may take when the daemon shuts down.
pub const DRAIN_TIMEOUT: Duration = Duration::from_secs(2);

/// The phases of the daemon's life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// The daemon serves.
    Serving,
    /// The daemon takes no more runs, and shuts down.
    Draining {
        /// True if its runs are cancelled first.
        cancel_runs: bool,
    },
    /// The daemon has shut down.
    Gone,
}

impl Phase {
    /// Returns true if the daemon shuts down or has done so, and its runs continue.
    pub fn leaves_runs(self) -> bool {
        matches!(self, Phase::Draining { cancel_runs: false } | Phase::Gone)
    }
}

/// The daemon's phase and clocks.
pub struct Lifecycle {
    /// The phase, for tasks that wait for the next.
    pub phase: watch::Sender<Phase>,
    /// Start of the daemon.
    pub started_at_ms: u64,
    /// True if every process below this one belongs to a run. The daemon is then the subreaper for orphans of runs that
    /// lost their keeper and nursery.
    pub(crate) adopts_orphans: bool,
    /// Decides if the wall clock can be trusted for removal by age.
    wall: Mutex<WallClock>,
}

impl Default for Lifecycle {
    fn default() -> Self {
        Self {
            phase: watch::Sender::new(Phase::Serving),
            started_at_ms: clock::unix_ms(),
            // The program that executed us may have left us children. They belong to no run, nor do their orphans.
            adopts_orphans: reaper::childless() && reaper::become_subreaper().is_ok(),
            wall: Mutex::new(WallClock::new(clock::since_boot(), clock::unix_ms())),
        }
    }
}

impl Lifecycle {
    /// Returns true if the daemon shuts down or has done so.
    pub fn is_draining(&self) -> bool {
        *self.phase.borrow() != Phase::Serving
    }

    /// Starts the shutdown: no more runs are taken. The first caller decides if runs are cancelled.
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
