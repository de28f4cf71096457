//! The clock that stops while the machine sleeps, and the one that does not.

use std::time::Duration;
use windows_sys::Win32::System::SystemInformation::GetTickCount64;
use windows_sys::Win32::System::WindowsProgramming::QueryUnbiasedInterruptTime;

/// Ticks of the system's clocks per millisecond.
pub(crate) const TICKS_PER_MS: u64 = 10_000;

pub(crate) fn awake() -> Duration {
    let mut ticks = 0;
    // SAFETY: the number is ours and written by the call.
    unsafe { QueryUnbiasedInterruptTime(&raw mut ticks) };
    Duration::from_micros(ticks / 10)
}

pub(crate) fn since_boot() -> Duration {
    // SAFETY: the call only reads a counter. `QueryInterruptTime` is finer, but Wine lacks it.
    Duration::from_millis(unsafe { GetTickCount64() })
}
