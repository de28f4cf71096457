//! Our own side of the heartbeat: the right to act on runs that are ours by the registry. It is denied as long as
//! another instance could consider us gone, so that two never act on one run.

use super::{Beat, Rhythm};
use std::time::Duration;

/// An incarnation of an instance: from the start of a daemon, or from the loss of its leases, to the next.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Tenancy {
    rhythm: Rhythm,
    incarnation: u64,
    number: u64,
    renewed: Option<Renewal>,
    superseded: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Renewal {
    /// The start of the commit, which may have taken long; others count from the moment they see it.
    begun: Duration,
    expires_at_ms: u64,
}

/// Our standing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Standing {
    /// We may act.
    Holding,
    /// Our last heartbeat is too old or missing: nothing is done until one is committed.
    Unrenewed,
    /// Another instance considered us gone and raised our incarnation: all our leases are lost. Only a new tenancy
    /// may act again, on the runs that are then ours.
    Superseded,
}

/// A heartbeat that is not the next one of this tenancy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "heartbeat {found} of incarnation {incarnation} is not the next one: {expected} of {ours} is, unless superseded"
)]
pub struct NotTheNextBeat {
    found: u64,
    incarnation: u64,
    expected: u64,
    ours: u64,
}

impl Tenancy {
    /// Begins the tenancy of an instance that has just raised its incarnation to this.
    pub fn begin(incarnation: u64, rhythm: Rhythm) -> Self {
        Self { rhythm, incarnation, number: 0, renewed: None, superseded: false }
    }

    /// Returns the incarnation.
    pub fn incarnation(&self) -> u64 {
        self.incarnation
    }

    /// Returns the time when the leases expire, once a heartbeat was committed.
    pub fn expires_at_ms(&self) -> Option<u64> {
        self.renewed.map(|renewal| renewal.expires_at_ms)
    }

    /// Returns the row to commit next, on condition that its incarnation is still ours.
    pub fn next(&self, wall_now_ms: u64) -> Beat {
        let ttl = u64::try_from(self.rhythm.ttl.as_millis()).unwrap_or(u64::MAX);
        Beat {
            number: self.number.saturating_add(1),
            incarnation: self.incarnation,
            expires_at_ms: wall_now_ms.saturating_add(ttl),
        }
    }

    /// Notes that the heartbeat was committed; `begun` is the start of the commit, on the awake clock.
    pub fn renewed(&mut self, beat: Beat, begun: Duration) -> Result<(), NotTheNextBeat> {
        let expected = self.number.saturating_add(1);
        if self.superseded || (beat.incarnation, beat.number) != (self.incarnation, expected) {
            return Err(NotTheNextBeat {
                found: beat.number,
                incarnation: beat.incarnation,
                expected,
                ours: self.incarnation,
            });
        }
        self.number = beat.number;
        self.renewed = Some(Renewal { begun, expires_at_ms: beat.expires_at_ms });
        Ok(())
    }

    /// Notes the incarnation that the heartbeat found in its row. Any but our own means that all our leases are
    /// lost.
    pub fn found(&mut self, incarnation: u64) {
        if incarnation != self.incarnation {
            self.superseded = true;
        }
    }

    /// Returns our standing now. The awake clock does not count the machine's sleep, which other machines do not
    /// share; the wall clock does.
    pub fn standing(&self, now: Duration, wall_now_ms: u64) -> Standing {
        if self.superseded {
            return Standing::Superseded;
        }
        match self.renewed {
            Some(Renewal { begun, expires_at_ms })
                if now.saturating_sub(begun) < self.rhythm.ttl && wall_now_ms < expires_at_ms =>
            {
                Standing::Holding
            }
            Some(_) | None => Standing::Unrenewed,
        }
    }

    /// Returns true if we may act at all.
    pub fn may_act(&self, now: Duration, wall_now_ms: u64) -> bool {
        match self.standing(now, wall_now_ms) {
            Standing::Holding => true,
            Standing::Unrenewed | Standing::Superseded => false,
        }
    }
}
