//! Three clocks: one for limits, which stops while the machine sleeps (I12), one that counts from the boot without
//! a stop, and one for people.

use crate::system;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Returns the time since some fixed moment of this boot, without the machine's sleep.
pub fn awake() -> Duration {
    system::awake()
}

/// Returns the time since the boot, including the machine's sleep.
pub fn since_boot() -> Duration {
    system::since_boot()
}

/// Returns the time of day, in Unix milliseconds.
pub fn unix_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
