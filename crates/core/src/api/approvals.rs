//! Approvals of commands and tool calls, and the allowlist of commands that need none.

use crate::ids::RunId;
use crate::visible;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// A request for approval of a command, or of a tool call of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Approval {
    /// The id of the request. If it is about a command, the run gets the same id.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub id: RunId,
    /// `pending`, `allowed-once`, `allowed-always`, `denied` or `expired`.
    pub state: String,
    /// The command line. For an agent's tool call: the agent's title, followed by the command unless the title is
    /// exactly that.
    pub command: String,
    /// The directory in which the command would run.
    pub cwd: String,
    /// The session that asks.
    pub session_key: Option<String>,
    /// The names of the variables that the command would get.
    pub env_names: Vec<String>,
    /// These variables with their values, until the request is answered. Only the daemon's memory holds the values: a
    /// restarted daemon does not know them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// The reason why approval is needed.
    pub why: String,
    /// The programs that the command executes, as far as they are known; else empty.
    pub programs: Vec<String>,
    /// The reason why only this one execution can be allowed; `null` if the command can be allowed permanently.
    pub once_only: Option<String>,
    /// Details of an agent's tool call; a command has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<ToolDetails>,
    /// The answers that the agent offers; a command has none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<PermissionJson>,
    /// The id of the chosen answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub option: Option<String>,
    /// The time of the request.
    pub created_at_ms: u64,
    /// The time when the request expires.
    pub expires_at_ms: u64,
    /// The time of the answer.
    pub answered_at_ms: Option<u64>,
    /// The person or client that answered.
    pub answered_by: Option<String>,
}

/// Details of a tool call, the same for every agent. A text that is too long is cut in the middle; `… (N bytes) …`
/// is put there.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct ToolDetails {
    /// The kind of tool, as the agent says: `read`, `edit`, `execute` …
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The command in the tool's input; words are quoted for a shell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The files that the tool call names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
    /// The file changes that the tool would make.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub diffs: Vec<FileDiff>,
    /// The whole input of the tool, as JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw_input: Option<String>,
}

/// A change to a file.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FileDiff {
    /// The file's path.
    pub path: String,
    /// The changed lines: removed ones begin with `-`, added ones with `+`, the lines around them with a blank.
    pub diff: String,
}

impl ToolDetails {
    /// Returns a copy in which no text is longer than about this many bytes.
    #[must_use]
    pub fn cut(&self, most: usize) -> Self {
        let cut = |text: &String| visible::cut(text, most).into_owned();
        Self {
            kind: self.kind.clone(),
            command: self.command.as_ref().map(cut),
            paths: self.paths.iter().map(cut).collect(),
            diffs: self
                .diffs
                .iter()
                .map(|it| FileDiff { path: cut(&it.path), diff: cut(&it.diff) })
                .collect(),
            raw_input: self.raw_input.as_ref().map(cut),
        }
    }
}

/// An answer that an agent offers to a permission request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PermissionJson {
    /// The answer's id, by which it is chosen.
    pub id: String,
    /// The agent's label for the answer.
    pub name: String,
    /// `allow_once`, `allow_always`, `reject_once` or `reject_always`.
    pub kind: String,
}

/// `POST /v1/approvals/{id}/choose`: chooses one of the offered answers.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ChooseRequest {
    /// The id of the answer.
    pub option: String,
}

/// `GET /v1/approvals`: the approvals, the newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ApprovalList {
    /// The approvals.
    pub approvals: Vec<Approval>,
}

/// `POST /v1/allowlist`: adds an entry for commands that need no approval.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct AllowRequest {
    /// The program: an absolute path, which may hold `*`, or a bare name that is looked up in the PATH.
    pub program: String,
    /// A regular expression that its arguments match as a whole, joined by blanks; without it, any arguments.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub args: Option<String>,
    /// The agent to which the entry is limited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
}

/// An entry of the allowlist.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Allowed {
    /// The entry's number.
    pub id: u64,
    /// The allowed program and its arguments.
    pub entry: Value,
    /// The time when the entry was added.
    pub added_at_ms: u64,
    /// The person or client that added the entry.
    pub added_by: String,
    /// The time when a command last ran by this entry.
    pub last_used_at_ms: Option<u64>,
    /// The number of commands that ran by this entry.
    pub uses: u64,
    /// A note about what the entry covers, if it is added without a pattern of arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// `GET /v1/allowlist`: the entries, the oldest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AllowedList {
    /// The entries.
    pub entries: Vec<Allowed>,
}
