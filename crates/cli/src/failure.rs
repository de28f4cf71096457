//! A command's error: one line for standard error, and the exit code.

use std::fmt::Display;
use tenure_os::stderr::complain;

/// Error of a command.
#[derive(Debug)]
pub(crate) struct Failure {
    code: u8,
    text: String,
    daemon: DaemonState,
}

/// The daemon's state, as far as a failure tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DaemonState {
    /// The failure tells nothing about the daemon.
    Unknown,
    /// The daemon runs and does not answer.
    Silent,
    /// The daemon went away before it had answered.
    Lost,
}

impl Failure {
    /// Tenure itself failed to start or to wait for a command.
    pub(crate) fn tenure_failed(error: impl Display) -> Self {
        Self { code: 125, text: error.to_string(), daemon: DaemonState::Unknown }
    }

    /// The command cannot be started: it is too long.
    pub(crate) fn not_startable(error: impl Display) -> Self {
        Self { code: 126, text: error.to_string(), daemon: DaemonState::Unknown }
    }

    /// The request was refused, or failed.
    pub(crate) fn refused(error: impl Display) -> Self {
        Self { code: 1, text: error.to_string(), daemon: DaemonState::Unknown }
    }

    /// The daemon runs and does not answer.
    pub(crate) fn daemon_silent(error: impl Display) -> Self {
        Self { daemon: DaemonState::Silent, ..Self::refused(error) }
    }

    /// The daemon went away before it had answered.
    pub(crate) fn daemon_lost(error: impl Display) -> Self {
        Self { daemon: DaemonState::Lost, ..Self::refused(error) }
    }

    /// The daemon cannot serve any more. Its warden or service manager may restart it.
    pub(crate) fn try_again(error: impl Display) -> Self {
        Self { code: 75, ..Self::refused(error) }
    }

    /// The command line is invalid.
    pub(crate) fn usage(error: impl Display) -> Self {
        Self { code: 2, text: error.to_string(), daemon: DaemonState::Unknown }
    }

    /// A signal ended this process before it had started anything.
    pub(crate) fn cancelled(error: impl Display) -> Self {
        Self { code: 123, text: error.to_string(), daemon: DaemonState::Unknown }
    }

    /// The named object does not exist.
    pub(crate) fn no_such(error: impl Display) -> Self {
        Self { code: 4, text: error.to_string(), daemon: DaemonState::Unknown }
    }

    /// The named run does not exist.
    pub(crate) fn no_such_run(text: &str) -> Self {
        Self {
            code: 4,
            text: format!("no run has the id {text:?}: `tenure ps --all` lists them"),
            daemon: DaemonState::Unknown,
        }
    }

    /// The ending of a run cannot be known.
    pub(crate) fn unknown(text: String) -> Self {
        Self { code: 121, text, daemon: DaemonState::Unknown }
    }

    /// Maps the exit code for `run` and `wait`, whose low exit codes are the command's own.
    pub(crate) fn with_run_code(self) -> Self {
        if matches!(self.code, 4 | 121 | 123 | 126) { self } else { Self { code: 125, ..self } }
    }

    /// Returns true if the daemon runs and does not answer: the caller can read the files instead.
    pub(crate) fn is_silent(&self) -> bool {
        self.daemon == DaemonState::Silent
    }

    /// Returns true if the daemon went away before it had answered: the caller can ask the next one.
    pub(crate) fn is_lost(&self) -> bool {
        self.daemon == DaemonState::Lost
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn code(&self) -> u8 {
        self.code
    }

    pub(crate) fn report(&self) {
        complain(format_args!("{}", self.text.replace('\n', " ")));
    }
}
