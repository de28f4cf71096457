//! Why a command failed, in one line, and with which exit code.

use std::fmt::Display;
use tenure_os::complaint::complain;

/// A command that did not do what was asked.
#[derive(Debug)]
pub(crate) struct Failure {
    code: u8,
    text: String,
}

impl Failure {
    /// Tenure itself failed to start or to wait for a command.
    pub(crate) fn ours(error: impl Display) -> Self {
        Self { code: 125, text: error.to_string() }
    }

    /// Refused or failed.
    pub(crate) fn refused(error: impl Display) -> Self {
        Self { code: 1, text: error.to_string() }
    }

    /// The words of the command line do not say what to do.
    pub(crate) fn usage(error: impl Display) -> Self {
        Self { code: 2, text: error.to_string() }
    }

    /// Somebody made us leave before there was anything to end.
    pub(crate) fn cancelled(error: impl Display) -> Self {
        Self { code: 123, text: error.to_string() }
    }

    /// No such thing, in somebody else's words.
    pub(crate) fn no_such(error: impl Display) -> Self {
        Self { code: 4, text: error.to_string() }
    }

    /// No such run.
    pub(crate) fn no_such_run(text: &str) -> Self {
        Self { code: 4, text: format!("no run has the id {text:?}: `tenure ps --all` lists them") }
    }

    /// How a run ended cannot be known.
    pub(crate) fn unknown(text: String) -> Self {
        Self { code: 121, text }
    }

    /// The same failure of `run` or `wait`, whose low exit codes are the command's own.
    pub(crate) fn of_run(self) -> Self {
        if matches!(self.code, 4 | 121 | 123) { self } else { Self { code: 125, ..self } }
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
