//! What a person sees while a command waits: one line on their terminal, which goes again.

use std::io::{IsTerminal, Write, stderr};
use std::time::Duration;
use tenure_core::run_json::RunJson;
use tenure_os::clock;

/// How often the line changes.
const EVERY: Duration = Duration::from_secs(1);
/// How long nothing is shown: most waits are short.
const PATIENCE: Duration = Duration::from_secs(2);

/// The line, where there is a terminal for it.
pub(super) struct Progress {
    began: Option<Duration>,
    shown: bool,
}

impl Progress {
    pub(super) fn new() -> Self {
        Self { began: stderr().is_terminal().then(clock::awake), shown: false }
    }

    /// How long to wait before the line changes, if it does.
    pub(super) fn slice(&self, left: Option<Duration>) -> Option<Duration> {
        match self.began {
            Some(_) => Some(left.map_or(EVERY, |left| left.min(EVERY))),
            None => left,
        }
    }

    /// Says what is waited for.
    pub(super) fn show(&mut self, run: &RunJson) {
        let Some(waited) = self.began.map(|began| clock::awake().saturating_sub(began)) else { return };
        if waited < PATIENCE {
            return;
        }
        let name = run.label.clone().unwrap_or_else(|| run.command.join(" "));
        let name: String = crate::print::plain(&name).chars().take(40).collect();
        let id = crate::print::short(&run.run_id);
        let (state, output) = (run.state, crate::print::bytes(run.output.bytes));
        let line = format!(
            "\r\x1b[Kwaiting {} for {id} ({name}): {state}, {output} of output",
            crate::print::ago(waited)
        );
        // A terminal that is gone needs no progress.
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
