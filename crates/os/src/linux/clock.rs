//! The clock that stops while the machine sleeps, and the one that does not.

use rustix::time::{ClockId, clock_gettime};
use std::time::Duration;

pub(crate) fn awake() -> Duration {
    // Linux's monotonic clock stops in suspend; the boot-time clock does not.
    read(ClockId::Monotonic)
}

pub(crate) fn since_boot() -> Duration {
    read(ClockId::Boottime)
}

fn read(clock: ClockId) -> Duration {
    let now = clock_gettime(clock);
    Duration::new(u64::try_from(now.tv_sec).unwrap_or(0), u32::try_from(now.tv_nsec).unwrap_or(0))
}
