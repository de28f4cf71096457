//! Sessions that others recorded: what is asked of an import, and what it tells.

use crate::session::legacy::LegacyProcess;
use serde::{Deserialize, Serialize};

/// `POST /v1/sessions/import`: takes in the sessions whose records lie in a directory. No process is signalled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ImportRequest {
    /// Where the records are; absolute. Only files right in it are read.
    pub dir: String,
    /// Below which directory the generated wrappers of this installation lie; absolute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wrapper_root: Option<String>,
    /// Only says what would be done.
    #[serde(default)]
    pub dry_run: bool,
}

/// What an import did, or would do.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct ImportReport {
    /// Whether nothing was written.
    pub dry_run: bool,
    /// The records that are sessions now, in the order of their files.
    pub records: Vec<ImportedRecord>,
    /// How many entries of the directory are no record's file by their name or kind.
    pub skipped: u64,
    /// The files and records that were not understood or not taken in.
    pub failed: Vec<FailedRecord>,
}

/// A record that was taken in, or was before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct ImportedRecord {
    /// Its file's name.
    pub file: String,
    /// The session's key.
    pub key: String,
    /// What became of it.
    pub outcome: ImportOutcome,
    /// What became of its process, which is left as it is.
    pub process: LegacyProcess,
    /// The pid that was recorded.
    pub pid: Option<i32>,
    /// How that is known, for people.
    pub why: String,
}

/// What became of a record. Frozen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ImportOutcome {
    /// It is a session now; in a dry run, it would be.
    Imported,
    /// There is a session of that key, which is left as it is.
    Exists,
}

/// A file or a record that was not taken in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct FailedRecord {
    /// Its file's name.
    pub file: String,
    /// The session's key, where there is one.
    pub key: Option<String>,
    /// What is wrong, for people.
    pub why: String,
}
