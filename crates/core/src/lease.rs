//! The right to act on a run: who holds it, the states it goes through, and the heartbeat that keeps it. When a
//! holder counts as gone is decided by [`Observer`]; whether we ourselves may still act, by [`Tenancy`]. What
//! becomes of a run whose holder is gone is `reconcile`'s to say; committing is the registry's.

mod handover;
mod observer;
mod tenancy;
#[cfg(test)]
mod tests;

use crate::defaults;
use crate::ids::InstanceId;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

pub use handover::{Handover, KeptLease, PresentHolder, handover};
pub use observer::{Expired, Observer};
pub use tenancy::{NotTheNextBeat, Standing, Tenancy};

/// Who holds a run, and the fencing number of that hold.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Hold {
    /// The holder.
    pub instance: InstanceId,
    /// Raised by every steal; whoever comes with an older one is refused (I5).
    pub epoch: u64,
}

impl Hold {
    /// The hold after `thief` took it.
    #[must_use]
    pub fn stolen_by(&self, thief: InstanceId) -> Self {
        Self { instance: thief, epoch: self.epoch.saturating_add(1) }
    }

    /// Whether an order given under `epoch` is obeyed. A newer one is: the steal was committed before it was given.
    pub fn obeys(&self, epoch: u64) -> bool {
        epoch >= self.epoch
    }
}

/// How often a heartbeat is due, and how long the leases hold after the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Rhythm {
    /// How long the leases hold.
    pub ttl: Duration,
    /// How often they are renewed.
    pub heartbeat: Duration,
}

impl Default for Rhythm {
    fn default() -> Self {
        Self { ttl: defaults::LEASE_TTL, heartbeat: defaults::HEARTBEAT }
    }
}

/// An instance's heartbeat row: one for all its leases, so that holding many runs costs no more than holding one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Beat {
    /// Raised by every heartbeat.
    pub number: u64,
    /// Raised when the instance starts and when a lease of it is stolen, which makes its next heartbeat fail.
    pub incarnation: u64,
    /// When its leases expire, by the wall clock of the instance.
    pub expires_at_ms: u64,
}

impl Beat {
    /// What is seen of an instance that has no row.
    pub const NONE: Self = Self { number: 0, incarnation: 0, expires_at_ms: 0 };

    /// Whether both are one and the same heartbeat.
    pub fn is(&self, other: &Self) -> bool {
        (self.incarnation, self.number) == (other.incarnation, other.number)
    }
}

/// The state of the right to act on a run: `open → closing → closed`, and `lost` from the first two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "kebab-case")]
pub enum LeaseState {
    /// The run may be acted on.
    Open,
    /// The run is being ended.
    Closing,
    /// The run has ended.
    Closed,
    /// The run's keeper, or its processes, were gone before its ending was seen.
    Lost,
}

/// A move that the life of a lease does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a lease that is {from} cannot become {to}")]
pub struct IllegalLeaseMove {
    /// Where the lease is.
    pub from: LeaseState,
    /// Where it was asked to go.
    pub to: LeaseState,
}

impl LeaseState {
    /// The state after moving to `to`; staying is no move.
    pub fn advance(self, to: LeaseState) -> Result<LeaseState, IllegalLeaseMove> {
        use LeaseState::{Closed, Closing, Lost, Open};
        match (self, to) {
            (Open, Closing | Lost) | (Closing, Closed | Lost) => Ok(to),
            (Open, Open | Closed)
            | (Closing, Open | Closing)
            | (Closed | Lost, Open | Closing | Closed | Lost) => Err(IllegalLeaseMove { from: self, to }),
        }
    }
}

impl fmt::Display for LeaseState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            LeaseState::Open => "open",
            LeaseState::Closing => "closing",
            LeaseState::Closed => "closed",
            LeaseState::Lost => "lost",
        })
    }
}
