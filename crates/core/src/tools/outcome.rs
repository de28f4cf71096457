//! The ending of a run in the terms of the agent's tools. A timeout is never a success, whatever the command's exit
//! code.

use crate::ending::{Reason, Termination};
use crate::signal;
use serde::{Deserialize, Serialize};

/// The status of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// The command exited by itself, with any exit code.
    Completed,
    /// The command did not finish; `failureKind` says why.
    Failed,
    /// The command is still running.
    Running,
    /// The command waits for a person's approval.
    ApprovalPending,
}

/// The kind of failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum FailureKind {
    /// The shell found no such command (127).
    ShellCommandNotFound,
    /// The shell could not execute the command (126).
    ShellNotExecutable,
    /// The overall limit passed.
    OverallTimeout,
    /// The command was silent for too long.
    NoOutputTimeout,
    /// A signal that Tenure did not send ended the command.
    Signal,
    /// The run was cancelled, its owner was lost, or its ending is unknown.
    Aborted,
    /// The command could not be started.
    SpawnError,
    /// A process left the run and outlived the root.
    OwnershipEscape,
}

/// The ending of a run, in the terms of the tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// `completed` or `failed`.
    pub status: Status,
    /// The exit code, if the command exited.
    pub exit_code: Option<i32>,
    /// The name of the signal that ended the command.
    pub exit_signal: Option<String>,
    /// The reason why the command ended.
    pub exit_reason: Reason,
    /// The kind of failure.
    pub failure_kind: Option<FailureKind>,
}

/// Translates an ending.
pub fn outcome(termination: &Termination) -> Outcome {
    let failure_kind = failure(termination);
    Outcome {
        status: if failure_kind.is_some() { Status::Failed } else { Status::Completed },
        exit_code: termination.exit_code,
        exit_signal: termination.signal.map(signal::name),
        exit_reason: termination.reason,
        failure_kind,
    }
}

fn failure(termination: &Termination) -> Option<FailureKind> {
    match (termination.reason, termination.exit_code) {
        (Reason::Exit, Some(127)) => Some(FailureKind::ShellCommandNotFound),
        (Reason::Exit, Some(126)) => Some(FailureKind::ShellNotExecutable),
        (Reason::Exit, _) => None,
        (Reason::Signal, _) => Some(FailureKind::Signal),
        (Reason::OverallTimeout, _) => Some(FailureKind::OverallTimeout),
        (Reason::NoOutputTimeout, _) => Some(FailureKind::NoOutputTimeout),
        (Reason::SpawnError, _) => Some(FailureKind::SpawnError),
        (Reason::OwnershipEscape, _) => Some(FailureKind::OwnershipEscape),
        (Reason::ManualCancel | Reason::OwnerLost | Reason::ReconciledStale, _) => Some(FailureKind::Aborted),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(reason: Reason, exit_code: Option<i32>, signal: Option<i32>) -> Outcome {
        let termination = serde_json::json!({
            "reason": reason, "exitCode": exit_code, "signal": signal, "confirmed": true,
        });
        outcome(&serde_json::from_value(termination).unwrap())
    }

    #[test]
    fn a_non_zero_exit_is_completed() {
        let it = ended(Reason::Exit, Some(3), None);
        assert_eq!((it.status, it.exit_code, it.failure_kind), (Status::Completed, Some(3), None));
    }

    #[test]
    fn a_timeout_is_a_failure_though_the_command_exited_with_zero() {
        for (reason, kind) in [
            (Reason::OverallTimeout, FailureKind::OverallTimeout),
            (Reason::NoOutputTimeout, FailureKind::NoOutputTimeout),
        ] {
            let it = ended(reason, Some(0), None);
            assert_eq!((it.status, it.failure_kind), (Status::Failed, Some(kind)));
        }
    }

    #[test]
    fn every_reason_but_an_exit_is_a_failure() {
        for (reason, code, kind) in [
            (Reason::Exit, Some(127), FailureKind::ShellCommandNotFound),
            (Reason::Exit, Some(126), FailureKind::ShellNotExecutable),
            (Reason::Signal, None, FailureKind::Signal),
            (Reason::ManualCancel, Some(0), FailureKind::Aborted),
            (Reason::SpawnError, None, FailureKind::SpawnError),
            (Reason::OwnershipEscape, Some(0), FailureKind::OwnershipEscape),
            (Reason::OwnerLost, None, FailureKind::Aborted),
            (Reason::ReconciledStale, None, FailureKind::Aborted),
        ] {
            let it = ended(reason, code, None);
            assert_eq!((it.status, it.failure_kind), (Status::Failed, Some(kind)), "{reason}");
        }
    }

    #[test]
    fn a_signal_is_named() {
        assert_eq!(ended(Reason::Signal, None, Some(9)).exit_signal.as_deref(), Some("SIGKILL"));
    }
}
