//! The requests and responses of the HTTP API. Requests with an unknown field are refused and the field is named;
//! nothing is guessed.

mod approvals;
mod import;
mod run;

pub use approvals::{
    AllowRequest, Allowed, AllowedList, Approval, ApprovalList, ChooseRequest, FileDiff, PermissionJson,
    ToolDetails,
};
pub use import::{FailedRecord, ImportOutcome, ImportReport, ImportRequest, ImportedRecord};
pub use run::{Exact, KEEPER_PROTOCOL, PASS_STDIN, RunRequest, STDIN_HEADER, Stdin};

use crate::ids::{InstanceId, RunId};
use crate::run_json::RunJson;
use serde::{Deserialize, Serialize};
use serde_json::Value;

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_false(is: &bool) -> bool {
    !is
}

/// `POST /v1/runs/{id}/cancel`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct CancelRequest {
    /// True to kill at once, without the grace period.
    pub now: bool,
}

/// Selects runs by exactly one of its fields.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Selector {
    /// A unique prefix of a run's id.
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
    /// The selected runs.
    pub which: Selector,
    /// True to kill at once, without the grace period.
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
    /// The absolute offset of the first byte. A repeat is ignored, a gap refused. Without it, the data is appended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    /// True to close the input after the data.
    #[serde(skip_serializing_if = "is_false")]
    pub eof: bool,
}

/// `POST /v1/runs/{id}/keys`: input in this order: literal text, bytes, keys.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct KeysRequest {
    /// Named keys, as `C-c` or `Up`.
    pub keys: Vec<String>,
    /// Text that is sent as it is.
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
    /// The text to paste.
    pub text: String,
    /// True to send the text as a bracketed paste; without it, the terminal's mode decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bracketed: Option<bool>,
}

/// `POST /v1/runs/{id}/wait`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct WaitRequest {
    /// The longest time to wait for the end of the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
}

/// `POST /v1/reap`: examines recorded runs and cleans up as their evidence demands.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ReapRequest {
    /// True to report the plan without acting on it.
    pub dry_run: bool,
    /// The selected runs; all, if no field is set.
    pub which: Selector,
}

/// A line of a reap's plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct ReapLine {
    /// The run.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub run_id: RunId,
    /// The planned action: a frozen word.
    pub verdict: String,
    /// The evidence, for people.
    pub evidence: String,
    /// The result of the action; `null` in a dry run.
    pub outcome: Option<String>,
}

/// `POST /v1/shutdown`: stops the daemon; runs go on without it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ShutdownRequest {
    /// True to end every run first.
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
    /// The id of the daemon's instance.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub instance_id: InstanceId,
    /// The daemon's pid.
    pub pid: u32,
    /// The time when the daemon started.
    pub started_at_ms: u64,
    /// The registry's URL.
    pub registry: String,
    /// The number of live runs.
    pub live_runs: usize,
    /// The number of runs that are queued.
    pub queued_runs: usize,
    /// The time when the daemon's leases expire.
    pub lease_expires_at_ms: u64,
    /// The configured loopback address, if there is one.
    pub listen: Option<String>,
    /// The error for which the daemon does not listen there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub listen_error: Option<String>,
}

/// An event of `GET /v1/events`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Event {
    /// The event's number. A heartbeat (`run-output`) has none, because it is not stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
    /// The time of the event.
    pub at_ms: u64,
    /// The kind of event: a frozen word.
    pub kind: String,
    /// The run that the event is about, if it is about a run.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub run_id: Option<RunId>,
    /// The run's session.
    pub session_id: Option<String>,
    /// The id of the instance that recorded the event.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub instance_id: InstanceId,
    /// The details, which depend on the kind.
    pub detail: Value,
}

/// A line of `GET /v1/runs/{id}/why`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct StoryLine {
    /// The time of the event.
    pub at_ms: u64,
    /// The source of the line: `registry` or `keeper`.
    pub source: String,
    /// The kind of event: a frozen word.
    pub what: String,
    /// The event in a sentence.
    pub text: String,
}

/// A page of runs, the newest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct RunList {
    /// The runs.
    pub runs: Vec<RunJson>,
    /// The value of `after` for the next page; `null` on the last page.
    pub next: Option<String>,
}

/// The reason for a refusal: `application/problem+json`.
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
    /// The error, and the way to fix it.
    pub detail: String,
}
