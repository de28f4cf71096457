//! A stretch of silence: its limit and, if CPU and I/O count as activity, the tree's work during it. The tree is
//! measured at half the limit and at the limit, and only then.

use super::Alarm;
use crate::defaults::{ACTIVE_CPU_PERCENT, ACTIVE_IO_BYTES};
use crate::limits::Activity;
use std::time::Duration;

/// The resources that the tree has used since it started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    /// CPU time.
    pub cpu: Duration,
    /// Bytes read and written.
    pub io_bytes: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Silence {
    limit: Duration,
    activity: Activity,
    since: Duration,
    samples: Samples,
}

/// The progress of the measurements. While a result is awaited there is no deadline, and no other one is requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Samples {
    None,
    FirstAsked,
    First { usage: Usage, at: Duration },
    LastAsked { first: Usage, at: Duration },
}

impl Silence {
    pub(super) fn new(limit: Duration, activity: Activity, now: Duration) -> Self {
        Self { limit, activity, since: now, samples: Samples::None }
    }

    /// Restarts the silence after output. Earlier measurements belong to a silence that is over.
    pub(super) fn restart(&mut self, now: Duration) {
        self.since = now;
        self.samples = Samples::None;
    }

    pub(super) fn alarm(&self) -> Option<(Duration, Alarm)> {
        let end = self.since.saturating_add(self.limit);
        match (self.activity, self.samples) {
            (Activity::Output, _) => Some((end, Alarm::Silence)),
            (Activity::Cpu, Samples::None) => {
                Some((self.since.saturating_add(self.limit / 2), Alarm::Sample))
            }
            // If the first result came late, the second must not follow so soon that the interval is too short to
            // judge.
            (Activity::Cpu, Samples::First { at, .. }) => {
                Some((end.max(at.saturating_add(self.limit / 4)), Alarm::Sample))
            }
            (Activity::Cpu, Samples::FirstAsked | Samples::LastAsked { .. }) => None,
        }
    }

    /// Notes that a measurement was requested.
    pub(super) fn ask(&mut self) {
        self.samples = match self.samples {
            Samples::None | Samples::FirstAsked => Samples::FirstAsked,
            Samples::First { usage: first, at } | Samples::LastAsked { first, at } => {
                Samples::LastAsked { first, at }
            }
        };
    }

    /// Takes a measurement; returns true if the tree was idle for too long.
    pub(super) fn sampled(&mut self, usage: Usage, now: Duration) -> bool {
        match self.samples {
            // The result of a request that output has made pointless.
            Samples::None | Samples::First { .. } => false,
            Samples::FirstAsked => {
                self.samples = Samples::First { usage, at: now };
                false
            }
            Samples::LastAsked { first, at } if worked(first, usage, now.saturating_sub(at)) => {
                self.restart(now);
                false
            }
            Samples::LastAsked { .. } => true,
        }
    }
}

/// Returns true if a tree worked between two measurements. Totals can shrink when a process leaves the tree: that
/// is no work.
pub fn worked(first: Usage, last: Usage, within: Duration) -> bool {
    let cpu = last.cpu.saturating_sub(first.cpu).as_nanos();
    let io = last.io_bytes.saturating_sub(first.io_bytes);
    let busy = cpu > 0 && cpu * 100 >= within.as_nanos() * u128::from(ACTIVE_CPU_PERCENT);
    busy || io >= ACTIVE_IO_BYTES
}
