//! Exit codes as a shell counts them.

use crate::PATIENCE;
use crate::started::Started;
use std::os::unix::process::ExitStatusExt;
use std::time::Duration;

impl Started {
    /// Waits until it has ended and returns its exit code; a signal counts as 128 and its number.
    #[track_caller]
    pub fn code(&mut self) -> i32 {
        self.code_within(PATIENCE)
    }

    /// The same of one that takes longer than most.
    #[track_caller]
    pub fn code_within(&mut self, limit: Duration) -> i32 {
        let status = self.end_within(limit);
        status.code().or(status.signal().map(|signal| 128 + signal)).expect("a code or a signal")
    }
}
