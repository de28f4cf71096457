//! A progress line on the terminal while a command waits. It is erased at the end.

use std::io::{IsTerminal, Write, stderr};
use std::time::Duration;
use tenure_core::run_json::RunJson;
use tenure_os::clock;

/// Interval between two updates of the line.
const UPDATE_INTERVAL: Duration = Duration::from_secs(1);
/// Wait before the line is shown: most waits are shorter.
const FIRST_UPDATE_AFTER: Duration = Duration::from_secs(2);

/// The progress line. Without a terminal it shows nothing.
pub(super) struct Progress {
    began: Option<Duration>,
    shown: bool,
}

impl Progress {
    pub(super) fn new() -> Self {
        Self { began: stderr().is_terminal().then(clock::awake), shown: false }
    }

    /// Time to wait until the next update, at most `left`.
    pub(super) fn next_wait(&self, left: Option<Duration>) -> Option<Duration> {
        match self.began {
            Some(_) => Some(left.map_or(UPDATE_INTERVAL, |left| left.min(UPDATE_INTERVAL))),
            None => left,
        }
    }

    /// Shows the run that is being waited for.
    pub(super) fn show(&mut self, run: &RunJson) {
        let Some(waited) = self.began.map(|began| clock::awake().saturating_sub(began)) else { return };
        if waited < FIRST_UPDATE_AFTER {
            return;
        }
        let name = run.label.clone().unwrap_or_else(|| run.command_line());
        let name: String = crate::print::plain(&name).chars().take(40).collect();
        let id = crate::print::short(&run.run_id);
        let (state, output) = (run.state, crate::print::bytes(run.output.bytes));
        let line = format!(
            "\r\x1b[Kwaiting {} for {id} ({name}): {state}, {output} of output",
            crate::print::ago(waited)
        );
        // A closed terminal needs no progress line.
        let _ = stderr().write_all(line.as_bytes());
        self.shown = true;
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.shown {
            let _ = stderr().write_all(b"\r\x1b[K");
        }
    }
}
