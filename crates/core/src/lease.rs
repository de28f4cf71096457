//! The right to act on a run: its holder, its states, and the heartbeat that keeps it. [`Observer`] decides if a
//! holder counts as gone, [`Tenancy`] if we ourselves may still act. `reconcile` decides about a run whose holder
//! is gone; the registry commits.

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

pub use handover::{Handover, KeptLease, PresentHolder, handover, loses_its_lease, next_holder};
pub use observer::{Expired, Observer};
pub use tenancy::{NotTheNextBeat, Standing, Tenancy};

/// The holder of a run, and the fencing number of that hold.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Hold {
    /// The holder.
    pub instance: InstanceId,
    /// Raised by every steal; a holder with an older one is refused (I5).
    pub epoch: u64,
}

/// The timing of heartbeats and leases.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Rhythm {
    /// The time that the leases hold after the last heartbeat.
    pub ttl: Duration,
    /// The interval between two heartbeats.
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
    /// The time when its leases expire, by the wall clock of the instance.
    pub expires_at_ms: u64,
}

impl Beat {
    /// The heartbeat of an instance that has no row.
    pub const NONE: Self = Self { number: 0, incarnation: 0, expires_at_ms: 0 };

    /// Returns true if both are the same heartbeat.
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
