//! The clock that stops while the machine sleeps, and the one that does not.

use std::mem::MaybeUninit;
use std::time::Duration;

pub(crate) fn awake() -> Duration {
    read(libc::CLOCK_UPTIME_RAW)
}

pub(crate) fn since_boot() -> Duration {
    read(libc::CLOCK_MONOTONIC_RAW)
}

fn read(clock: libc::clockid_t) -> Duration {
    let mut now = MaybeUninit::<libc::timespec>::zeroed();
    // SAFETY: the place is ours, and all zeroes are a valid value of it. These clocks always exist.
    let now = unsafe {
        libc::clock_gettime(clock, now.as_mut_ptr());
        now.assume_init()
    };
    Duration::new(u64::try_from(now.tv_sec).unwrap_or(0), u32::try_from(now.tv_nsec).unwrap_or(0))
}
