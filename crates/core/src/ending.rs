//! The cause for which a run was ended, and its ending. An ending is written once, by whoever saw it (I3); unknown
//! parts are `None` or [`Reason::ReconciledStale`], never a made-up number.

use crate::signal;
use serde::{Deserialize, Serialize};
use std::fmt::{self, Write as _};

/// The exit of the root process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Exit {
    /// The process exited with this code.
    Code(i32),
    /// The process was ended by this signal.
    Signal(i32),
}

/// The cause for which Tenure, not the command itself, ended the run. The first cause stands (I7).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// A client cancelled the run.
    ManualCancel,
    /// The overall limit passed.
    OverallTimeout,
    /// The command was silent for too long.
    NoOutputTimeout,
    /// The owner of the run is gone.
    OwnerLost,
}

/// The reason why a run ended, as every face spells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// The command exited by itself.
    Exit,
    /// A signal that Tenure did not send ended the command.
    Signal,
    /// A client cancelled the run.
    ManualCancel,
    /// The overall limit passed.
    OverallTimeout,
    /// The command was silent for too long.
    NoOutputTimeout,
    /// The command could not be started.
    SpawnError,
    /// A process left the run's session and outlived the root.
    OwnershipEscape,
    /// The owner of the run is gone.
    OwnerLost,
    /// A later reconcile found neither process nor ending: the true ending is unknown.
    ReconciledStale,
}

impl Reason {
    /// Every reason.
    pub const ALL: [Self; 9] = [
        Reason::Exit,
        Reason::Signal,
        Reason::ManualCancel,
        Reason::OverallTimeout,
        Reason::NoOutputTimeout,
        Reason::SpawnError,
        Reason::OwnershipEscape,
        Reason::OwnerLost,
        Reason::ReconciledStale,
    ];
}

impl From<Cause> for Reason {
    fn from(cause: Cause) -> Self {
        match cause {
            Cause::ManualCancel => Reason::ManualCancel,
            Cause::OverallTimeout => Reason::OverallTimeout,
            Cause::NoOutputTimeout => Reason::NoOutputTimeout,
            Cause::OwnerLost => Reason::OwnerLost,
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Reason::Exit => "exit",
            Reason::Signal => "signal",
            Reason::ManualCancel => "manual-cancel",
            Reason::OverallTimeout => "overall-timeout",
            Reason::NoOutputTimeout => "no-output-timeout",
            Reason::SpawnError => "spawn-error",
            Reason::OwnershipEscape => "ownership-escape",
            Reason::OwnerLost => "owner-lost",
            Reason::ReconciledStale => "reconciled-stale",
        })
    }
}

/// The error because of which a command could not be started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SpawnError {
    /// The step that failed, and the system's error text.
    pub detail: String,
    /// True if the program does not exist (exit code 127); false for any other error (126).
    pub not_found: bool,
}

/// The beginning of a spawn error's detail if no terminal could be opened. Frozen: the exec tool then tries again
/// without a terminal.
pub const NO_PTY: &str = "no pty can be had";

/// The number of leftovers that the sentence about an ending names.
const LEFTOVERS_IN_SENTENCE: usize = 3;

/// A process, described for people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProcessNote {
    /// The pid at the time.
    pub pid: i32,
    /// The executable, if it could be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exe: Option<String>,
}

/// The ending of a run: the `termination` of every face.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Termination {
    /// The reason.
    pub reason: Reason,
    /// The root's exit code, if the root was seen to exit.
    pub exit_code: Option<i32>,
    /// The signal that ended the root, if that was seen.
    pub signal: Option<i32>,
    /// True if every process of the boundary was seen gone (I8).
    pub confirmed: bool,
    /// The processes that were still alive when the stop was given up.
    #[serde(default)]
    pub survivors: Vec<ProcessNote>,
    /// The number of processes of the run's own session that outlived the root and were ended.
    #[serde(default)]
    pub leftovers: u32,
    /// The first of those leftovers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub leftover_processes: Vec<ProcessNote>,
    /// The processes that had left the session and outlived the root.
    #[serde(default)]
    pub escapees: Vec<ProcessNote>,
    /// True if a foreign process still held the output when reading was given up.
    #[serde(default)]
    pub output_open: bool,
    /// More details, for people.
    #[serde(default)]
    pub detail: Option<String>,
}

/// The number of SIGKILLs of each kind that the cleanup took. Only those that reached a process count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Kills {
    /// SIGKILLs to single processes.
    pub pid: u32,
    /// SIGKILLs to the root's whole group.
    pub pgid: u32,
    /// SIGKILLs to the run's whole cgroup.
    pub cgroup: u32,
    /// SIGKILLs to the run's whole job.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub job: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks like this")]
fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// Reduces an exit code to the byte that most systems have for it; a failure never becomes 0.
fn in_a_byte(code: i32) -> u8 {
    let [low, ..] = code.to_le_bytes();
    if low == 0 && code != 0 { u8::MAX } else { low }
}

impl Kills {
    /// Returns true if nothing had to be killed.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

impl Termination {
    /// Returns the ending of a command that was never executed: none of its processes is alive.
    pub fn not_started(error: &SpawnError) -> Self {
        let code = if error.not_found { 127 } else { 126 };
        Self { exit_code: Some(code), ..Self::new(Reason::SpawnError, None, Some(error.detail.clone())) }
    }

    /// Returns the ending of a command that was never executed because a part of Tenure failed or was killed. The
    /// command is not at fault: it may be started again.
    pub fn never_started(detail: String) -> Self {
        Self { exit_code: Some(125), ..Self::new(Reason::SpawnError, None, Some(detail)) }
    }

    /// Returns a confirmed ending with nothing left over.
    pub fn new(reason: Reason, exit: Option<Exit>, detail: Option<String>) -> Self {
        let (exit_code, signal) = match exit {
            Some(Exit::Code(code)) => (Some(code), None),
            Some(Exit::Signal(number)) => (None, Some(number)),
            None => (None, None),
        };
        Self {
            reason,
            exit_code,
            signal,
            confirmed: true,
            survivors: Vec::new(),
            leftovers: 0,
            leftover_processes: Vec::new(),
            escapees: Vec::new(),
            output_open: false,
            detail,
        }
    }

    /// Returns the exit code of `tenure run` and `tenure wait` for this ending.
    pub fn code(&self) -> u8 {
        match self.reason {
            Reason::Exit | Reason::Signal | Reason::SpawnError => match (self.exit_code, self.signal) {
                (Some(code), _) => in_a_byte(code),
                (None, Some(number)) => u8::try_from(128 + number).unwrap_or(125),
                (None, None) => 121,
            },
            Reason::OverallTimeout | Reason::NoOutputTimeout => 124,
            Reason::ManualCancel | Reason::OwnerLost => 123,
            Reason::OwnershipEscape => 122,
            Reason::ReconciledStale => 121,
        }
    }

    /// Returns the ending as one clause, as in the last line of `tenure run`.
    pub fn sentence(&self) -> String {
        let how = match (self.exit_code, self.signal) {
            (Some(code), _) => format!("exit {code}"),
            (None, Some(number)) => signal::name(number),
            (None, None) => "exit unknown".to_owned(),
        };
        let mut text = match self.reason {
            Reason::Exit => how,
            Reason::Signal => format!("ended by {how}"),
            Reason::SpawnError => "could not start".to_owned(),
            Reason::ManualCancel => "cancelled".to_owned(),
            Reason::OverallTimeout => "ended at its time limit".to_owned(),
            Reason::NoOutputTimeout => "ended after too long a silence".to_owned(),
            Reason::OwnershipEscape => format!("failed, a process escaped ({how})"),
            Reason::OwnerLost => "ended, its owner is gone".to_owned(),
            Reason::ReconciledStale => "how it ended is unknown".to_owned(),
        };
        let plural = |n: usize| if n == 1 { "process" } else { "processes" };
        if self.leftovers > 0 {
            let n = self.leftovers as usize;
            let _ = write!(text, "; {n} leftover {} ended{}", plural(n), self.leftover_names());
        }
        for (who, list) in [("escaped", &self.escapees), ("still alive", &self.survivors)] {
            if !list.is_empty() {
                let names: Vec<_> = list.iter().map(ToString::to_string).collect();
                let _ = write!(text, "; {who}: {}", names.join(", "));
            }
        }
        if !self.confirmed {
            text.push_str("; not confirmed");
        }
        if self.output_open {
            text.push_str("; a process outside the run still holds its output");
        }
        if let Some(detail) = &self.detail {
            let _ = write!(text, ": {detail}");
        }
        text
    }

    /// Returns the first leftovers' names for the sentence, if they are known.
    fn leftover_names(&self) -> String {
        let first = &self.leftover_processes[..self.leftover_processes.len().min(LEFTOVERS_IN_SENTENCE)];
        if first.is_empty() {
            return String::new();
        }
        let names: Vec<_> = first.iter().map(ToString::to_string).collect();
        let more = if self.leftovers as usize > first.len() { ", …" } else { "" };
        format!(": {}{more}", names.join(", "))
    }
}

impl fmt::Display for ProcessNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.exe {
            Some(exe) => write!(f, "{exe} ({})", self.pid),
            None => write!(f, "pid {}", self.pid),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(reason: Reason, exit: Option<Exit>) -> Termination {
        Termination::new(reason, exit, None)
    }

    #[test]
    fn every_reason_is_in_the_list_of_all() {
        // A new reason does not compile here, and once it does, the list must have it.
        let next = |reason| match reason {
            Reason::Exit => Some(Reason::Signal),
            Reason::Signal => Some(Reason::ManualCancel),
            Reason::ManualCancel => Some(Reason::OverallTimeout),
            Reason::OverallTimeout => Some(Reason::NoOutputTimeout),
            Reason::NoOutputTimeout => Some(Reason::SpawnError),
            Reason::SpawnError => Some(Reason::OwnershipEscape),
            Reason::OwnershipEscape => Some(Reason::OwnerLost),
            Reason::OwnerLost => Some(Reason::ReconciledStale),
            Reason::ReconciledStale => None,
        };
        assert!(std::iter::successors(Some(Reason::Exit), |&reason| next(reason)).eq(Reason::ALL));
    }

    #[test]
    fn exit_codes_are_those_of_the_contract() {
        assert_eq!(ended(Reason::Exit, Some(Exit::Code(7))).code(), 7);
        assert_eq!(ended(Reason::Signal, Some(Exit::Signal(9))).code(), 137);
        assert_eq!(ended(Reason::OverallTimeout, Some(Exit::Code(0))).code(), 124);
        assert_eq!(ended(Reason::NoOutputTimeout, None).code(), 124);
        assert_eq!(ended(Reason::ManualCancel, Some(Exit::Code(0))).code(), 123);
        assert_eq!(ended(Reason::OwnerLost, None).code(), 123);
        assert_eq!(ended(Reason::OwnershipEscape, Some(Exit::Code(0))).code(), 122);
        assert_eq!(ended(Reason::ReconciledStale, None).code(), 121);
        let missing = SpawnError { detail: String::new(), not_found: true };
        assert_eq!(Termination::not_started(&missing).code(), 127);
        let other = SpawnError { detail: String::new(), not_found: false };
        assert_eq!(Termination::not_started(&other).code(), 126);
        assert_eq!(Termination::never_started(String::new()).code(), 125);
    }

    #[test]
    fn a_code_that_fits_into_no_byte_is_still_no_success() {
        let code = |code| ended(Reason::Exit, Some(Exit::Code(code))).code();
        assert_eq!([0, 255, 256, 259, -1, i32::MIN].map(code), [0, 255, 255, 3, 255, 255]);
    }

    #[test]
    fn the_first_leftovers_are_named_and_the_rest_counted() {
        let note = |pid| ProcessNote { pid, exe: Some("/bin/sleep".to_owned()) };
        let with = |leftovers, leftover_processes| {
            let ended = ended(Reason::Exit, Some(Exit::Code(0)));
            Termination { leftovers, leftover_processes, ..ended }.sentence()
        };
        assert_eq!(with(1, vec![note(7)]), "exit 0; 1 leftover process ended: /bin/sleep (7)");
        let few = "/bin/sleep (1), /bin/sleep (2), /bin/sleep (3), …";
        assert_eq!(
            with(9, (1..=9).map(note).collect()),
            format!("exit 0; 9 leftover processes ended: {few}")
        );
        assert_eq!(with(2, Vec::new()), "exit 0; 2 leftover processes ended", "an older keeper's");
    }

    #[test]
    fn an_unknown_exit_is_never_success() {
        assert_eq!(ended(Reason::Exit, None).code(), 121);
    }

    #[test]
    fn reasons_are_spelled_as_they_are_stored() {
        for reason in
            [Reason::Exit, Reason::NoOutputTimeout, Reason::ReconciledStale, Reason::OwnershipEscape]
        {
            assert_eq!(serde_json::to_value(reason).unwrap(), reason.to_string());
        }
    }
}
