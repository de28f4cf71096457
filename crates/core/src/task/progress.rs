//! The progress of a task, summarised and throttled: a burst of output is recorded once in a while, and its end
//! always is.

use crate::defaults;

/// The progress of a task.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Progress {
    /// The last output or words, for people who look at the task.
    pub said: String,
    /// The steps of an agent so far, counted, for owners who subscribed to changes. A channel never gets an agent's
    /// words in the middle of a turn.
    pub steps: Option<String>,
}

impl From<String> for Progress {
    fn from(said: String) -> Self {
        Self { said, steps: None }
    }
}

/// The time to record a summary.
#[must_use]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Emit {
    /// Now.
    Now,
    /// At this time, unless a newer summary replaces it.
    At(u64),
    /// Never: it equals the last recorded one.
    Never,
}

/// Returns the time to record a summary, given the last recorded one and its time.
pub fn progress(noted: Option<(&str, u64)>, summary: &str, now_ms: u64) -> Emit {
    let Some((last, at_ms)) = noted else {
        return if summary.is_empty() { Emit::Never } else { Emit::Now };
    };
    if summary == last || summary.is_empty() {
        return Emit::Never;
    }
    let every = millis(defaults::TASK_PROGRESS);
    match at_ms.saturating_add(every) {
        due if due <= now_ms => Emit::Now,
        // A clock that was set back delays nothing for longer than the interval.
        due => Emit::At(due.min(now_ms.saturating_add(every))),
    }
}

/// Returns true if an owner who subscribed to changes gets progress again.
pub(super) fn is_worth_telling(last_told_at_ms: Option<u64>, now_ms: u64) -> bool {
    let every = millis(defaults::TASK_CHANGES);
    last_told_at_ms.is_none_or(|at| now_ms.abs_diff(at) >= every)
}

/// Converts a duration to milliseconds, the unit of the times of tasks.
pub(super) fn millis(length: std::time::Duration) -> u64 {
    u64::try_from(length.as_millis()).unwrap_or(u64::MAX)
}
