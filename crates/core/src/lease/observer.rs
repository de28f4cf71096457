//! An observer's memory of the others' heartbeats, on its own clock that stops while the machine sleeps. Wall
//! clocks differ and jump, so a date in a row proves nothing alone: an instance is gone only when its heartbeat was
//! *watched* standing still for a full TTL.

use super::{Beat, Rhythm};
use crate::ids::InstanceId;
use std::collections::BTreeMap;
use std::time::Duration;

/// The memory of one observer.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Observer {
    rhythm: Rhythm,
    seen: BTreeMap<InstanceId, Watched>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Watched {
    beat: Beat,
    /// The time since which it has been this same heartbeat, watched without a long pause.
    since: Duration,
    /// The time of the last look.
    last: Duration,
}

/// An instance whose leases have expired, and its last heartbeat. Only [`Observer::expired`] makes it. A steal
/// raises the incarnation of exactly this heartbeat: if the instance has renewed meanwhile, the steal fails.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Expired {
    instance: InstanceId,
    beat: Beat,
}

impl Expired {
    /// Returns the instance.
    pub fn instance(&self) -> &InstanceId {
        &self.instance
    }

    /// Returns the heartbeat that stood still.
    pub fn beat(&self) -> Beat {
        self.beat
    }
}

impl Observer {
    /// Makes an observer that has seen no instance yet.
    pub fn new(rhythm: Rhythm) -> Self {
        Self { rhythm, seen: BTreeMap::new() }
    }

    /// Takes an instance's row as of `now`, on the awake clock; [`Beat::NONE`] if there is none. Call this at every
    /// heartbeat of one's own.
    pub fn see(&mut self, instance: &InstanceId, beat: Beat, now: Duration) {
        let since = match self.seen.get(instance) {
            Some(known) if known.beat.is(&beat) && self.recent(known, now) => known.since,
            Some(_) | None => now,
        };
        self.seen.insert(instance.clone(), Watched { beat, since, last: now });
    }

    /// Returns true if the instance's leases may be stolen: see [`Observer::expired`].
    pub fn is_expired(&self, instance: &InstanceId, wall_now_ms: u64, now: Duration) -> bool {
        self.expired(instance, wall_now_ms, now).is_some()
    }

    /// Returns the proof that the instance is past its date and was watched without a new heartbeat for a full TTL.
    /// An observer that has just started or woken has not watched, and one that has not looked recently must look
    /// first.
    pub fn expired(&self, instance: &InstanceId, wall_now_ms: u64, now: Duration) -> Option<Expired> {
        let known = self.seen.get(instance)?;
        let past = wall_now_ms > known.beat.expires_at_ms;
        let stood_still = known.last.saturating_sub(known.since) >= self.rhythm.ttl;
        (past && stood_still && self.recent(known, now))
            .then(|| Expired { instance: instance.clone(), beat: known.beat })
    }

    /// Returns the last seen heartbeat of an instance.
    pub fn last_seen(&self, instance: &InstanceId) -> Option<Beat> {
        self.seen.get(instance).map(|known| known.beat)
    }

    /// Forgets an instance that holds no lease any more.
    pub fn forget(&mut self, instance: &InstanceId) {
        self.seen.remove(instance);
    }

    /// Returns true if the pause since the last look still counts as watching. An observer that was stopped for
    /// longer may have been stopped together with the observed, and starts over.
    fn recent(&self, known: &Watched, now: Duration) -> bool {
        now.saturating_sub(known.last) <= self.rhythm.heartbeat.saturating_mul(2)
    }
}
