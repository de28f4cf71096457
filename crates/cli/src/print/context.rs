//! Context of printed text besides the record itself: the output's width and colours, the time, and the time zone.

use super::{Style, ago};
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use std::time::Duration;
use tenure_os::clock;

/// Output style, time and time zone of a printed text.
#[derive(Debug, Clone)]
pub(crate) struct Context {
    pub(crate) style: Style,
    pub(crate) now_ms: u64,
    pub(crate) zone: TimeZone,
}

impl Context {
    /// Standard output of this process, now.
    pub(crate) fn of_stdout() -> Self {
        Self { style: Style::of_stdout(), now_ms: clock::unix_ms(), zone: TimeZone::system() }
    }

    /// Plain text of this width, at this time, in UTC.
    #[cfg(test)]
    pub(crate) fn fixed(width: u16, now_ms: u64) -> Self {
        Self { style: Style { width, colour: false }, now_ms, zone: TimeZone::UTC }
    }

    /// Returns the time since `at_ms`.
    pub(crate) fn since(&self, at_ms: u64) -> Duration {
        Duration::from_millis(self.now_ms.saturating_sub(at_ms))
    }

    /// Formats a time in the local zone, to the millisecond.
    pub(crate) fn exact(&self, at_ms: u64) -> String {
        self.zoned(at_ms).strftime("%Y-%m-%d %H:%M:%S%.3f").to_string()
    }

    /// Formats a time in the local zone, and its age.
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
