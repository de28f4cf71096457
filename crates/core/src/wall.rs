//! Decides whether the wall clock can be trusted to remove old records. A wall clock that was set a month ahead makes
//! everything a month older at once; a clock that counts from the boot does not jump.

use crate::defaults::{CLOCKS_AGREE_FOR, CLOCKS_MAY_DIFFER};
use std::time::Duration;

/// The moment since which the wall clock has agreed with the clock that counts from the boot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WallClock {
    since_boot: Duration,
    wall_ms: u64,
}

impl WallClock {
    /// Begins at this moment; `since_boot` includes the machine's sleep.
    pub fn new(since_boot: Duration, wall_ms: u64) -> Self {
        Self { since_boot, wall_ms }
    }

    /// Compares the clocks and returns how long they have agreed. A jump in either direction starts over.
    pub fn agreed_for(&mut self, since_boot: Duration, wall_ms: u64) -> Duration {
        let passed = since_boot.saturating_sub(self.since_boot);
        let millis = |length: Duration| u64::try_from(length.as_millis()).unwrap_or(u64::MAX);
        let expected = self.wall_ms.saturating_add(millis(passed));
        if expected.abs_diff(wall_ms) > millis(CLOCKS_MAY_DIFFER) {
            *self = Self::new(since_boot, wall_ms);
            return Duration::ZERO;
        }
        passed
    }
}

/// Returns true if records that are kept for `age` may be removed by the wall clock. A record from before the clocks
/// began to agree is at least as old as their agreement, so a shorter age needs no longer agreement.
pub fn may_remove_by_age(agreed_for: Duration, age: Duration) -> bool {
    agreed_for >= CLOCKS_AGREE_FOR.min(age)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_mins(1);
    const DAY_MS: u64 = 24 * 3_600_000;
    const WEEK: Duration = Duration::from_hours(7 * 24);

    #[test]
    fn nothing_goes_by_age_until_the_clocks_agreed_for_an_hour() {
        let mut clock = WallClock::new(MINUTE, 1_000 * DAY_MS);
        let agreed = clock.agreed_for(60 * MINUTE, 1_000 * DAY_MS + 59 * 60_000);
        assert!(!may_remove_by_age(agreed, WEEK));
        let agreed = clock.agreed_for(61 * MINUTE, 1_000 * DAY_MS + 60 * 60_000);
        assert!(may_remove_by_age(agreed, WEEK));
    }

    #[test]
    fn a_wall_clock_that_jumps_starts_over_in_either_direction() {
        for jumped in [1_030 * DAY_MS, 970 * DAY_MS] {
            let mut clock = WallClock::new(MINUTE, 1_000 * DAY_MS);
            assert!(clock.agreed_for(61 * MINUTE, 1_000 * DAY_MS + 60 * 60_000) >= CLOCKS_AGREE_FOR);
            assert_eq!(clock.agreed_for(62 * MINUTE, jumped), Duration::ZERO);
            assert!(!may_remove_by_age(clock.agreed_for(63 * MINUTE, jumped + 60_000), WEEK));
            assert!(may_remove_by_age(clock.agreed_for(122 * MINUTE, jumped + 60 * 60_000), WEEK));
        }
    }

    #[test]
    fn a_clock_that_is_corrected_by_seconds_still_agrees() {
        let mut clock = WallClock::new(MINUTE, 1_000 * DAY_MS);
        assert_eq!(clock.agreed_for(2 * MINUTE, 1_000 * DAY_MS + 65_000), MINUTE);
    }

    #[test]
    fn an_age_below_an_hour_needs_agreement_for_that_age_only() {
        assert!(may_remove_by_age(MINUTE, MINUTE));
        assert!(!may_remove_by_age(MINUTE, 2 * MINUTE));
        assert!(may_remove_by_age(Duration::ZERO, Duration::ZERO));
    }
}
