//! Exit codes as a shell counts them.

use crate::WAIT_LIMIT;
use crate::child_program::ChildProgram;
use std::os::unix::process::ExitStatusExt;
use std::time::Duration;

impl ChildProgram {
    /// Waits until it has ended and returns its exit code; a signal counts as 128 plus its number.
    #[track_caller]
    pub fn code(&mut self) -> i32 {
        self.code_within(WAIT_LIMIT)
    }

    /// [`Self::code`] with another limit.
    #[track_caller]
    pub fn code_within(&mut self, limit: Duration) -> i32 {
        let status = self.end_within(limit);
        status.code().or(status.signal().map(|signal| 128 + signal)).expect("a code or a signal")
    }
}
