//! The stop ladder: SIGTERM, the grace, SIGKILL, and after `give_up` the names of the survivors. It only climbs,
//! and for the same processes all the way.

use super::Step;
use crate::defaults::SETTLE;
use crate::limits::Limits;
use std::time::Duration;

/// The processes that a stop is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StopScope {
    /// All processes of the boundary.
    All,
    /// The run's own session; escapees are spared.
    Session,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Ladder {
    pub(super) scope: StopScope,
    rung: Rung,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rung {
    /// Nothing is being stopped, or all are gone.
    Ground,
    /// No signal yet: no process was seen, or the leftovers may finish the root's work.
    Wait { until: Duration },
    /// SIGTERM was sent.
    Term { until: Duration },
    /// SIGKILL is sent, repeatedly.
    Kill { until: Duration },
    /// Given up: waits for the survivors' names, without a limit.
    Look,
}

impl Ladder {
    pub(super) fn new() -> Self {
        Self { scope: StopScope::All, rung: Rung::Ground }
    }

    pub(super) fn deadline(&self) -> Option<Duration> {
        match self.rung {
            Rung::Wait { until } | Rung::Term { until } | Rung::Kill { until } => Some(until),
            Rung::Ground | Rung::Look => None,
        }
    }

    pub(super) fn wait(&mut self, limits: &Limits, now: Duration) -> Step {
        self.rung = Rung::Wait { until: now.saturating_add(limits.grace) };
        Step::Nothing
    }

    /// Gives leftovers of a root that exited by itself a moment to finish: the root's last output may still be on
    /// its way through a `tee`.
    pub(super) fn settle(&mut self, limits: &Limits, now: Duration) -> Step {
        if limits.grace.is_zero() {
            return self.kill(limits, now);
        }
        self.rung = Rung::Wait { until: now.saturating_add(SETTLE.min(limits.grace)) };
        Step::Nothing
    }

    /// Sends SIGTERM; a grace of zero skips this rung.
    pub(super) fn term(&mut self, limits: &Limits, now: Duration) -> Step {
        if limits.grace.is_zero() {
            return self.kill(limits, now);
        }
        self.rung = Rung::Term { until: now.saturating_add(limits.grace) };
        Step::Term(self.scope)
    }

    pub(super) fn kill(&mut self, limits: &Limits, now: Duration) -> Step {
        self.rung = Rung::Kill { until: now.saturating_add(limits.give_up) };
        Step::Kill(self.scope)
    }

    /// Climbs to the next rung, because the time of this one has passed.
    pub(super) fn climb(&mut self, limits: &Limits, now: Duration) -> Step {
        match self.rung {
            Rung::Wait { .. } => self.term(limits, now),
            Rung::Term { .. } => self.kill(limits, now),
            Rung::Kill { .. } => {
                self.rung = Rung::Look;
                Step::ListSurvivors
            }
            Rung::Ground | Rung::Look => Step::Nothing,
        }
    }

    /// Skips the rest of the grace.
    pub(super) fn hasten(&mut self, limits: &Limits, now: Duration) -> Step {
        match self.rung {
            Rung::Wait { .. } | Rung::Term { .. } => self.kill(limits, now),
            Rung::Ground | Rung::Kill { .. } | Rung::Look => Step::Nothing,
        }
    }

    pub(super) fn given_up(&self) -> bool {
        self.rung == Rung::Look
    }

    pub(super) fn descend(&mut self) {
        self.rung = Rung::Ground;
    }
}
