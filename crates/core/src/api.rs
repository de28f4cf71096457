//! The words of the HTTP API: what clients send and what they are answered. A field that is not here is refused by
//! its name; nothing is guessed.

mod approvals;
mod import;

pub use approvals::{
    AllowRequest, Allowed, AllowedList, Approval, ApprovalList, ChooseRequest, FileDiff, PermissionJson,
    ToolDetails,
};
pub use import::{FailedRecord, ImportOutcome, ImportReport, ImportRequest, ImportedRecord};

use crate::ids::{InstanceId, RunId};
use crate::limits::Activity;
use crate::output::Keep;
use crate::resources::Resources;
use crate::run_json::RunJson;
use crate::spec::{OnEscape, Orphan, Size};
use crate::task::NotifyPolicy;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// `POST /v1/runs`: the flags of `tenure run`. The answer comes when the command executes, or could not be.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct RunRequest {
    /// The program and its arguments.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// One verbatim line for the shell, on a terminal; instead of `command`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pty_command: Option<String>,
    /// Whether it gets a terminal of its own.
    #[serde(skip_serializing_if = "is_false")]
    pub pty: bool,
    /// The terminal's size.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pty_size: Option<Size>,
    /// Where it starts; absolute. Without it, the user's home.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Variables beside those of the daemon's cleaned environment.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Ends it after this long; 0 is off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// Ends it after this long without output; 0 is off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_output_timeout_ms: Option<u64>,
    /// What counts against the no-output limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub activity: Option<Activity>,
    /// How long it may take to leave before it is killed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grace_ms: Option<u64>,
    /// The session it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The scope of which it is to be the only run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// Whether the scope's current run is ended first.
    #[serde(skip_serializing_if = "is_false")]
    pub replace: bool,
    /// A name for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// What becomes of escapees.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_escape: Option<OnEscape>,
    /// What becomes of it when its owner is lost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub orphan: Option<Orphan>,
    /// How long after the owner's loss.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub orphan_grace_ms: Option<u64>,
    /// Whether its input stays writable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stdin: Option<Stdin>,
    /// What of it is told, if nobody waits for it: how it ended, unless this says otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notify: Option<NotifyPolicy>,
    /// What it may use.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Object>))]
    pub resources: Option<Resources>,
    /// The caller's own process: exact bytes that JSON has no words for. Instead of `command`, `cwd` and `env`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exact: Option<Exact>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_false(is: &bool) -> bool {
    !is
}

/// The input of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Stdin {
    /// It can be written to.
    Open,
    /// It is at its end from the beginning.
    Closed,
}

/// The header by which a foreground caller says that it can pass its standard input to the keeper: the descriptor itself,
/// so that the command takes no more of it than it reads.
pub const STDIN_HEADER: &str = "tenure-stdin";
/// What that header says then.
pub const PASS_STDIN: &str = "pass";

/// A caller's command, directory and environment as bytes, and what else its process hands down.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Exact {
    /// Base64 of: the directory, the command's words and the environment's entries, each ended by a NUL.
    pub words: String,
    /// How many of the words are the command's.
    pub argc: usize,
    /// The file mode creation mask.
    pub umask: u32,
    /// The soft and hard limits of open descriptors.
    pub nofile: (u64, u64),
    /// The names of the variables that were set on purpose.
    #[serde(default)]
    pub env_names: Vec<String>,
    /// How much of the output is kept, where the caller's environment says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep: Option<Keep>,
}

/// `POST /v1/runs/{id}/cancel`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct CancelRequest {
    /// Without the grace.
    pub now: bool,
}

/// Which runs are meant; exactly one field.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Selector {
    /// One run, by a unique beginning of its id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// The runs of a scope.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// The runs of a session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The runs of an agent's sessions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
}

/// `POST /v1/cancel`: every live run of a scope, session or agent.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct CancelManyRequest {
    /// Which.
    pub which: Selector,
    /// Without the grace.
    pub now: bool,
}

/// `POST /v1/runs/{id}/stdin`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct StdinRequest {
    /// Text to write.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
    /// Bytes to write, as base64; instead of `data`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data_base64: Option<String>,
    /// The absolute offset of the first byte: a repeat is ignored, a gap refused. Without it: after the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    /// Whether the input ends after that.
    #[serde(skip_serializing_if = "is_false")]
    pub eof: bool,
}

/// `POST /v1/runs/{id}/keys`: typed in this order: literal text, bytes, keys.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct KeysRequest {
    /// Named keys, as `C-c` or `Up`.
    pub keys: Vec<String>,
    /// Text as it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub literal: Option<String>,
    /// Bytes in hexadecimal.
    pub hex: Vec<String>,
}

/// `POST /v1/runs/{id}/paste`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PasteRequest {
    /// What to paste.
    pub text: String,
    /// Whether to mark it as pasted; without it, if the program asked for that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bracketed: Option<bool>,
}

/// `POST /v1/runs/{id}/wait`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct WaitRequest {
    /// Answers after this long even if it has not ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
}

/// `POST /v1/reap`: looks at recorded runs and does what their evidence asks for.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ReapRequest {
    /// Only says what would be done.
    pub dry_run: bool,
    /// Which runs; all if none is named.
    pub which: Selector,
}

/// One line of a reap's plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct ReapLine {
    /// The run.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub run_id: RunId,
    /// What is to be done: a frozen word.
    pub verdict: String,
    /// The evidence, for people.
    pub evidence: String,
    /// What came of it; `null` in a dry run.
    pub outcome: Option<String>,
}

/// `POST /v1/shutdown`: the daemon leaves; runs go on without it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ShutdownRequest {
    /// Whether every run is ended first.
    pub cancel_runs: bool,
}

/// `POST /v1/backup`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BackupRequest {
    /// The new file, absolute.
    pub path: String,
}

/// `GET /v1/health`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Health {
    /// `ok`, `draining`, or `registry-unavailable`.
    pub status: String,
    /// The program's version.
    pub version: String,
    /// Whose daemon this is.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub instance_id: InstanceId,
    /// Its process.
    pub pid: u32,
    /// Since when.
    pub started_at_ms: u64,
    /// The registry's URL.
    pub registry: String,
    /// How many runs it holds.
    pub live_runs: usize,
    /// How many runs wait for a place.
    pub queued_runs: usize,
    /// Until when its leases hold.
    pub lease_expires_at_ms: u64,
    /// The configured loopback address, if there is one.
    pub listen: Option<String>,
    /// The reason why the daemon does not listen there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub listen_error: Option<String>,
}

/// Something that happened: one event of `GET /v1/events`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Event {
    /// Its number. A heartbeat (`run-output`) has none: it is not kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
    /// When.
    pub at_ms: u64,
    /// What: a frozen word.
    pub kind: String,
    /// The run, if it is about one.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub run_id: Option<RunId>,
    /// The run's session.
    pub session_id: Option<String>,
    /// Whose daemon saw it.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub instance_id: InstanceId,
    /// More.
    pub detail: Value,
}

/// One line of `GET /v1/runs/{id}/why`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct StoryLine {
    /// When.
    pub at_ms: u64,
    /// Who saw it: `registry` or `keeper`.
    pub source: String,
    /// What: a frozen word.
    pub what: String,
    /// It, for people.
    pub text: String,
}

/// A page of runs, the newest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct RunList {
    /// The runs.
    pub runs: Vec<RunJson>,
    /// Pass it as `after` to get the next page; `null` if this is the last.
    pub next: Option<String>,
}

/// Why something was refused: `application/problem+json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Problem {
    /// The HTTP status.
    pub status: u16,
    /// A frozen word for programs.
    pub code: String,
    /// The status in words.
    pub title: String,
    /// What is wrong and what to do.
    pub detail: String,
}
