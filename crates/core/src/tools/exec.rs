//! `exec`: one command line for the shell, waited for or not.

use super::{FailureKind, Status};
use crate::api::Exact;
use crate::ending::Reason;
use crate::ids::RunId;
use crate::policy::Ask;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What `exec` is asked.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ExecRequest {
    /// The command line; it goes to the user's shell as it is, without profile or rc.
    pub command: String,
    /// Where it starts: a directory, taken literally. Without it, the caller's directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workdir: Option<String>,
    /// Variables beside the inherited ones. Names that change what other programs execute are refused.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// How long to wait for the end before the command goes on in the background: 10 to 120000 milliseconds, 10000
    /// unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub yield_ms: Option<u64>,
    /// Whether it goes to the background at once.
    #[serde(skip_serializing_if = "is_false")]
    pub background: bool,
    /// Ends the command after this long, in the background too; 1800 unless given, 0 is off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_seconds: Option<f64>,
    /// Ends the command after this long without output; off unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_output_timeout_seconds: Option<f64>,
    /// Whether it gets a terminal: for programs that draw on it or ask for a password.
    #[serde(skip_serializing_if = "is_false")]
    pub pty: bool,
    /// The session that it belongs to. A caller that is bound to a session can name no other.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_key: Option<String>,
    /// The scope of which it is to be the only run.
    #[serde(alias = "scope", skip_serializing_if = "Option::is_none")]
    pub scope_key: Option<String>,
    /// Whether the scope's current run is ended first.
    #[serde(skip_serializing_if = "is_false")]
    pub replace: bool,
    /// Whether a person is asked first. It can only be stricter than the settings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ask: Option<Ask>,
    /// Whether its end in the background is told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notify: Option<Notify>,
    /// A name for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The calling process. The command starts in its directory, and with its environment where no policy judges it.
    /// For our own command line: refused from everybody else.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub process: Option<Exact>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_false(is: &bool) -> bool {
    !is
}

/// When the end of a command in the background is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Notify {
    /// Unless it succeeded without a word.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// What `exec` answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ExecReply {
    /// What became of it. A non-zero exit is `completed`; `failed` comes with a `failureKind`.
    pub status: Status,
    /// The run. One that waits for a person's approval has its id already.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub run_id: RunId,
    /// The exit code, if it exited.
    pub exit_code: Option<i32>,
    /// The signal that ended it, if one did, as `SIGTERM`.
    pub exit_signal: Option<String>,
    /// Why it ended.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub exit_reason: Option<Reason>,
    /// What failed.
    pub failure_kind: Option<FailureKind>,
    /// How long it ran, or has run.
    pub duration_ms: u64,
    /// Its output as text, from the beginning, up to the cap.
    pub output: String,
    /// Whether there is more than `output` has.
    pub truncated: bool,
    /// The first line that is not shown; pass it to `process log` as `offset`.
    pub next_line: Option<u64>,
    /// The byte of the kept output where that is.
    pub next_offset: Option<u64>,
    /// The last of its output, while it runs and where `output` was cut.
    pub tail: String,
    /// What to do next, if there is something to do.
    pub follow_up: Option<String>,
    /// What was done differently from what was asked.
    pub warnings: Vec<String>,
}
