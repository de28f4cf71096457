//! One observer's memory of the others' heartbeats, on its own clock that stops while the machine sleeps. Wall
//! clocks differ and jump, so a date in a row proves nothing alone: an instance is gone only when its heartbeat was
//! *watched* standing still for a full TTL.

use super::{Beat, Rhythm};
use crate::ids::InstanceId;
use std::collections::BTreeMap;
use std::time::Duration;

/// What one observer remembers.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Observer {
    rhythm: Rhythm,
    seen: BTreeMap<InstanceId, Watched>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Watched {
    beat: Beat,
    /// Since when it has been this same heartbeat, watched without a long pause.
    since: Duration,
    /// The last look.
    last: Duration,
}

/// An instance whose leases have expired, and its heartbeat then. It comes only out of [`Observer::expired`]. Whoever
/// steals raises the incarnation of exactly this heartbeat: if the instance has renewed meanwhile, that fails.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Expired {
    instance: InstanceId,
    beat: Beat,
}

impl Expired {
    /// Whose leases.
    pub fn instance(&self) -> &InstanceId {
        &self.instance
    }

    /// The heartbeat that stood still.
    pub fn beat(&self) -> Beat {
        self.beat
    }
}

impl Observer {
    /// An observer that has seen nobody yet.
    pub fn new(rhythm: Rhythm) -> Self {
        Self { rhythm, seen: BTreeMap::new() }
    }

    /// Takes in an instance's row as it is `now`, on the awake clock; [`Beat::NONE`] where there is none. To be told
    /// at every heartbeat of one's own.
    pub fn see(&mut self, instance: &InstanceId, beat: Beat, now: Duration) {
        let since = match self.seen.get(instance) {
            Some(known) if known.beat.is(&beat) && self.recent(known, now) => known.since,
            Some(_) | None => now,
        };
        self.seen.insert(instance.clone(), Watched { beat, since, last: now });
    }

    /// Whether the instance's leases may be stolen: see [`Observer::expired`].
    pub fn is_expired(&self, instance: &InstanceId, wall_now_ms: u64, now: Duration) -> bool {
        self.expired(instance, wall_now_ms, now).is_some()
    }

    /// The proof that the instance is past its date and was watched without a new heartbeat for a full TTL. An
    /// observer that has just started or woken has not watched, and one that has not looked lately must look first.
    pub fn expired(&self, instance: &InstanceId, wall_now_ms: u64, now: Duration) -> Option<Expired> {
        let known = self.seen.get(instance)?;
        let past = wall_now_ms > known.beat.expires_at_ms;
        let stood_still = known.last.saturating_sub(known.since) >= self.rhythm.ttl;
        (past && stood_still && self.recent(known, now))
            .then(|| Expired { instance: instance.clone(), beat: known.beat })
    }

    /// The heartbeat of an instance as it was seen last.
    pub fn last_seen(&self, instance: &InstanceId) -> Option<Beat> {
        self.seen.get(instance).map(|known| known.beat)
    }

    /// Forgets an instance that holds nothing any more.
    pub fn forget(&mut self, instance: &InstanceId) {
        self.seen.remove(instance);
    }

    /// Whether the pause since the last look still counts as watching. Whoever was stopped for longer may have been
    /// stopped together with those it watches, and begins anew.
    fn recent(&self, known: &Watched, now: Duration) -> bool {
        now.saturating_sub(known.last) <= self.rhythm.heartbeat.saturating_mul(2)
    }
}
