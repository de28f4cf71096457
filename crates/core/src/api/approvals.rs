//! What a person is asked before the exec tool runs it, and what needs no asking.

use crate::ids::RunId;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Something that a person is asked about: a command, or what an agent wants to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Approval {
    /// The id of the question; that of the run, if it is about a command.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub id: RunId,
    /// `pending`, `allowed-once`, `allowed-always`, `denied` or `expired`.
    pub state: String,
    /// The command line, or what the agent says that it wants to do.
    pub command: String,
    /// Where it is to run.
    pub cwd: String,
    /// The session that wants it.
    pub session_key: Option<String>,
    /// The names of the variables that it is given.
    pub env_names: Vec<String>,
    /// Why it is asked about.
    pub why: String,
    /// The programs that it executes, as far as that can be told; empty if it cannot.
    pub programs: Vec<String>,
    /// Why it can be allowed this time only; `null` if it can be allowed for always.
    pub once_only: Option<String>,
    /// What an agent that asks offers as answers; a command has none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<PermissionJson>,
    /// Which of these was chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub option: Option<String>,
    /// When it was asked.
    pub created_at_ms: u64,
    /// Until when it can be answered.
    pub expires_at_ms: u64,
    /// When it was answered.
    pub answered_at_ms: Option<u64>,
    /// By whom.
    pub answered_by: Option<String>,
}

/// An answer that an agent offers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PermissionJson {
    /// Its id, by which it is chosen.
    pub id: String,
    /// What the agent calls it.
    pub name: String,
    /// `allow_once`, `allow_always`, `reject_once` or `reject_always`.
    pub kind: String,
}

/// `POST /v1/approvals/{id}/choose`: which of the offered answers.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ChooseRequest {
    /// The id of the answer.
    pub option: String,
}

/// `GET /v1/approvals`: the newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ApprovalList {
    /// The commands.
    pub approvals: Vec<Approval>,
}

/// `POST /v1/allowlist`: what needs no asking.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct AllowRequest {
    /// The program: an absolute path, which may hold `*`, or a bare name that is looked up in the PATH.
    pub program: String,
    /// A regular expression that its arguments match as a whole, joined by blanks; without it, any arguments.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub args: Option<String>,
    /// Only for this agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
}

/// An entry of the allowlist.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Allowed {
    /// Its number.
    pub id: u64,
    /// What it allows.
    pub entry: Value,
    /// When it was added.
    pub added_at_ms: u64,
    /// By whom.
    pub added_by: String,
    /// When something last ran by it.
    pub last_used_at_ms: Option<u64>,
    /// How often.
    pub uses: u64,
}

/// `GET /v1/allowlist`: the oldest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AllowedList {
    /// The entries.
    pub entries: Vec<Allowed>,
}
