//! Two clocks: one for limits, which stops while the machine sleeps (I12), and one for people.

use rustix::time::{ClockId, clock_gettime};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The time since some fixed moment of this boot, not counting the machine's sleep.
pub fn awake() -> Duration {
    // Linux's monotonic clock stands still in suspend; the boot-time clock is the one that does not.
    let now = clock_gettime(ClockId::Monotonic);
    Duration::new(u64::try_from(now.tv_sec).unwrap_or(0), u32::try_from(now.tv_nsec).unwrap_or(0))
}

/// The time of day, in Unix milliseconds.
pub fn unix_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
