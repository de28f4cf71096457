//! The clock that stands still while the machine sleeps.

use std::mem::MaybeUninit;
use std::time::Duration;

pub(crate) fn awake() -> Duration {
    let mut now = MaybeUninit::<libc::timespec>::zeroed();
    // SAFETY: the place is ours, and all zeroes are a valid value of it. This clock is always there.
    let now = unsafe {
        libc::clock_gettime(libc::CLOCK_UPTIME_RAW, now.as_mut_ptr());
        now.assume_init()
    };
    Duration::new(u64::try_from(now.tv_sec).unwrap_or(0), u32::try_from(now.tv_nsec).unwrap_or(0))
}
