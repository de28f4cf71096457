//! What a text depends on besides the record that it shows: where it is printed, when, and in which time zone.

use super::{Face, ago};
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use std::time::Duration;
use tenure_os::clock;

/// Where and when a text is printed.
#[derive(Debug, Clone)]
pub(crate) struct Context {
    pub(crate) face: Face,
    pub(crate) now_ms: u64,
    pub(crate) zone: TimeZone,
}

impl Context {
    /// This process's standard output, now.
    pub(crate) fn of_stdout() -> Self {
        Self { face: Face::of_stdout(), now_ms: clock::unix_ms(), zone: TimeZone::system() }
    }

    /// Plain text of this width, printed at this moment, in UTC.
    #[cfg(test)]
    pub(crate) fn fixed(width: u16, now_ms: u64) -> Self {
        Self { face: Face { width, colour: false }, now_ms, zone: TimeZone::UTC }
    }

    /// Returns the time since a moment.
    pub(crate) fn since(&self, at_ms: u64) -> Duration {
        Duration::from_millis(self.now_ms.saturating_sub(at_ms))
    }

    /// Formats a moment in local time, to the millisecond.
    pub(crate) fn exact(&self, at_ms: u64) -> String {
        self.zoned(at_ms).strftime("%Y-%m-%d %H:%M:%S%.3f").to_string()
    }

    /// Formats a moment in local time, and says how long ago it was.
    pub(crate) fn moment(&self, at_ms: u64) -> String {
        let at = self.zoned(at_ms);
        format!("{} ({} ago)", at.strftime("%Y-%m-%d %H:%M:%S"), ago(self.since(at_ms)))
    }

    fn zoned(&self, at_ms: u64) -> Zoned {
        let at =
            i64::try_from(at_ms).ok().and_then(|ms| Timestamp::from_millisecond(ms).ok()).unwrap_or_default();
        at.to_zoned(self.zone.clone())
    }
}
