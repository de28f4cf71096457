//! The stop ladder: ask to leave, wait the grace, kill, and after `give_up` ask who is still there. It only
//! ever goes up, and for the same processes all the way.

use super::Do;
use crate::defaults::SETTLE;
use crate::limits::Limits;
use std::time::Duration;

/// Whom a stop is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Whom {
    /// Everybody of the boundary.
    All,
    /// The run's own session; escapees are spared.
    Session,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Ladder {
    pub(super) whom: Whom,
    rung: Rung,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rung {
    /// Nobody is to leave, or all have left.
    Ground,
    /// They should be gone without being asked: nobody was seen, or they finish what the root began.
    Wait { until: Duration },
    /// Asked to leave.
    Term { until: Duration },
    /// Being killed.
    Kill { until: Duration },
    /// Given up: the survivors' names are awaited, for as long as it takes.
    Look,
}

impl Ladder {
    pub(super) fn new() -> Self {
        Self { whom: Whom::All, rung: Rung::Ground }
    }

    pub(super) fn deadline(&self) -> Option<Duration> {
        match self.rung {
            Rung::Wait { until } | Rung::Term { until } | Rung::Kill { until } => Some(until),
            Rung::Ground | Rung::Look => None,
        }
    }

    pub(super) fn wait(&mut self, limits: &Limits, now: Duration) -> Do {
        self.rung = Rung::Wait { until: now.saturating_add(limits.grace) };
        Do::Nothing
    }

    /// Somebody outlived a root that ended by itself, and may be about to finish: what the root wrote last is
    /// still on its way through a `tee`.
    pub(super) fn settle(&mut self, limits: &Limits, now: Duration) -> Do {
        if limits.grace.is_zero() {
            return self.kill(limits, now);
        }
        self.rung = Rung::Wait { until: now.saturating_add(SETTLE.min(limits.grace)) };
        Do::Nothing
    }

    /// A grace of zero skips this rung.
    pub(super) fn term(&mut self, limits: &Limits, now: Duration) -> Do {
        if limits.grace.is_zero() {
            return self.kill(limits, now);
        }
        self.rung = Rung::Term { until: now.saturating_add(limits.grace) };
        Do::Term(self.whom)
    }

    pub(super) fn kill(&mut self, limits: &Limits, now: Duration) -> Do {
        self.rung = Rung::Kill { until: now.saturating_add(limits.give_up) };
        Do::Kill(self.whom)
    }

    /// The time of this rung is over.
    pub(super) fn climb(&mut self, limits: &Limits, now: Duration) -> Do {
        match self.rung {
            Rung::Wait { .. } => self.term(limits, now),
            Rung::Term { .. } => self.kill(limits, now),
            Rung::Kill { .. } => {
                self.rung = Rung::Look;
                Do::Look
            }
            Rung::Ground | Rung::Look => Do::Nothing,
        }
    }

    /// Skips what is left of the grace.
    pub(super) fn hasten(&mut self, limits: &Limits, now: Duration) -> Do {
        match self.rung {
            Rung::Wait { .. } | Rung::Term { .. } => self.kill(limits, now),
            Rung::Ground | Rung::Kill { .. } | Rung::Look => Do::Nothing,
        }
    }

    pub(super) fn given_up(&self) -> bool {
        self.rung == Rung::Look
    }

    pub(super) fn descend(&mut self) {
        self.rung = Rung::Ground;
    }
}
