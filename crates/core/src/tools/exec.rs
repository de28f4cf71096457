//! `exec`: runs one command line in the shell, in the foreground or background.

use super::{FailureKind, Status};
use crate::api::Exact;
use crate::ending::Reason;
use crate::ids::RunId;
use crate::policy::Ask;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The request of `exec`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ExecRequest {
    /// The command line; passed to the user's shell unchanged, without profile or rc.
    pub command: String,
    /// The working directory, taken literally. Default: the caller's directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workdir: Option<String>,
    /// Additional environment variables. Names that change what other programs execute are refused.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// The wait for the end before the command goes on in the background: 10 to 120000 milliseconds. Default:
    /// 10000.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub yield_ms: Option<u64>,
    /// True to put the command in the background at once.
    #[serde(skip_serializing_if = "is_false")]
    pub background: bool,
    /// The time limit of the command, in the background too. Default: 1800; 0 turns it off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_seconds: Option<f64>,
    /// The longest silence: ends the command after this long without output. Default: off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_output_timeout_seconds: Option<f64>,
    /// True to run the command on a terminal, for programs that draw on it or ask for a password.
    #[serde(skip_serializing_if = "is_false")]
    pub pty: bool,
    /// The session of the command. A caller that is bound to a session can name no other.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_key: Option<String>,
    /// A key for which only one run may be live at a time.
    #[serde(alias = "scope", skip_serializing_if = "Option::is_none")]
    pub scope_key: Option<String>,
    /// True to end the live run of the same scope first.
    #[serde(skip_serializing_if = "is_false")]
    pub replace: bool,
    /// The cases in which a person must approve. It can only be stricter than the settings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ask: Option<Ask>,
    /// The cases in which the end of a background command is told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notify: Option<Notify>,
    /// A name for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The calling process. The command starts in its directory and, if no policy judges it, with its environment.
    /// Only for our own command line: refused from all other clients.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub process: Option<Exact>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_false(is: &bool) -> bool {
    !is
}

/// The cases in which the end of a background command is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Notify {
    /// Unless it succeeded without output.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// The reply of `exec`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ExecReply {
    /// The status. A non-zero exit is `completed`; `failed` comes with a `failureKind`.
    pub status: Status,
    /// The run's id, also while the command waits for approval.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub run_id: RunId,
    /// The exit code, if the command exited.
    pub exit_code: Option<i32>,
    /// The signal that ended the command, such as `SIGTERM`.
    pub exit_signal: Option<String>,
    /// The reason why the command ended.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub exit_reason: Option<Reason>,
    /// The kind of failure.
    pub failure_kind: Option<FailureKind>,
    /// The duration so far, or until the end.
    pub duration_ms: u64,
    /// The output as text, from the beginning, up to the cap.
    pub output: String,
    /// True if there is more output than `output` shows.
    pub truncated: bool,
    /// The first line that is not shown; pass it to `process log` as `offset`.
    pub next_line: Option<u64>,
    /// The byte offset of that line in the kept output.
    pub next_offset: Option<u64>,
    /// The end of the output, while the command runs and if `output` was cut.
    pub tail: String,
    /// The suggested next step, if there is one.
    pub follow_up: Option<String>,
    /// The differences between the request and its execution.
    pub warnings: Vec<String>,
}
