//! The retry schedule of deliveries: pauses grow, differ between notices, and end.

use crate::defaults;
use std::time::Duration;

/// The number of attempts and the pauses between them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Schedule {
    /// The number of attempts.
    pub tries: u32,
    /// The pause after the first attempt; each later one is twice as long.
    pub pause: Duration,
    /// The longest pause.
    pub most: Duration,
}

impl Default for Schedule {
    fn default() -> Self {
        Self {
            tries: defaults::NOTICE_TRIES,
            pause: defaults::NOTICE_PAUSE,
            most: defaults::NOTICE_PAUSE_MOST,
        }
    }
}

impl Schedule {
    /// Returns the pause after so many failed attempts; `None` if that was the last. The random number takes off up
    /// to a half, so that deliveries that failed together do not come back together.
    pub fn pause_after(&self, tries: u32, random: u64) -> Option<Duration> {
        if tries >= self.tries {
            return None;
        }
        let doubled =
            2_u32.checked_pow(tries.saturating_sub(1)).and_then(|times| self.pause.checked_mul(times));
        let whole = doubled.map_or(self.most, |pause| pause.min(self.most));
        let half = whole / 2;
        let share = u64::try_from(half.as_millis()).unwrap_or(u64::MAX).saturating_add(1);
        Some(whole.saturating_sub(Duration::from_millis(random % share)))
    }
}
