//! The clock that stands still while the machine sleeps.

use rustix::time::{ClockId, clock_gettime};
use std::time::Duration;

pub(crate) fn awake() -> Duration {
    // Linux's monotonic clock stands still in suspend; the boot-time clock is the one that does not.
    let now = clock_gettime(ClockId::Monotonic);
    Duration::new(u64::try_from(now.tv_sec).unwrap_or(0), u32::try_from(now.tv_nsec).unwrap_or(0))
}
