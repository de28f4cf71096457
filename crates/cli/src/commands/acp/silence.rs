//! Notices about a silent agent: the first after a minute, the next each time the silence has doubled.

use std::time::Duration;
use tenure_core::duration::show;
use tokio::time::Instant;

/// Silence before the first notice.
const FIRST_NOTICE: Duration = Duration::from_mins(1);

/// A period of silence.
#[derive(Debug)]
pub(super) struct Silence {
    since: Instant,
    notice_after: Duration,
}

impl Silence {
    pub(super) fn new(now: Instant) -> Self {
        Self { since: now, notice_after: FIRST_NOTICE }
    }

    /// Time of the next notice.
    pub(super) fn due(&self) -> Instant {
        self.since + self.notice_after
    }

    /// Returns the due notice. The next is due when the silence is twice as long.
    pub(super) fn notice(&mut self) -> String {
        let lasted = show(self.notice_after);
        self.notice_after *= 2;
        format!("no answer for {lasted}: the turn goes on")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silence_is_reported_after_a_minute_and_each_time_it_doubles() {
        let now = Instant::now();
        let mut silence = Silence::new(now);
        for (minutes, words) in [(1, "1 min 0 s"), (2, "2 min 0 s"), (4, "4 min 0 s")] {
            assert_eq!(silence.due(), now + Duration::from_mins(minutes));
            assert_eq!(silence.notice(), format!("no answer for {words}: the turn goes on"));
        }
    }
}
