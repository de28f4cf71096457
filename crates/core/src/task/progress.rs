//! How a task goes on, in few words and not too often: what a program prints in bursts is noted once in a while, and
//! the last of it always is.

use crate::defaults;

/// How a task goes on.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Progress {
    /// What was printed or said last: for whoever looks at the task.
    pub said: String,
    /// What an agent has done so far, counted: for whoever is told of changes. A channel never gets an agent's words
    /// in the middle of a turn.
    pub steps: Option<String>,
}

impl From<String> for Progress {
    fn from(said: String) -> Self {
        Self { said, steps: None }
    }
}

/// When something is noted.
#[must_use]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Emit {
    /// At once.
    Now,
    /// Then, if nothing newer has come by.
    At(u64),
    /// It is what was noted last.
    Never,
}

/// When a new summary is noted after what was noted last, and when that was.
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
        // A clock that was set back makes nobody wait for longer than that.
        due => Emit::At(due.min(now_ms.saturating_add(every))),
    }
}

/// Whether an owner who wants to hear of changes hears of progress again.
pub(super) fn is_worth_telling(last_told_at_ms: Option<u64>, now_ms: u64) -> bool {
    let every = millis(defaults::TASK_CHANGES);
    last_told_at_ms.is_none_or(|at| now_ms.abs_diff(at) >= every)
}

/// Milliseconds, as the times of tasks are.
pub(super) fn millis(length: std::time::Duration) -> u64 {
    u64::try_from(length.as_millis()).unwrap_or(u64::MAX)
}
