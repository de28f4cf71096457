//! The import of sessions that other programs recorded: its request and its report.

use crate::session::legacy::LegacyProcess;
use serde::{Deserialize, Serialize};

/// `POST /v1/sessions/import`: imports the sessions whose records are in a directory. No process is signalled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ImportRequest {
    /// The directory of the records, absolute. Subdirectories are not read.
    pub dir: String,
    /// The directory below which the generated wrappers of this installation are; absolute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wrapper_root: Option<String>,
    /// True to report the result without importing anything.
    #[serde(default)]
    pub dry_run: bool,
}

/// The report of an import, or of a dry run.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct ImportReport {
    /// True if nothing was written.
    pub dry_run: bool,
    /// The records that are sessions now, sorted by file.
    pub records: Vec<ImportedRecord>,
    /// The number of directory entries that are no record files by their name or kind.
    pub skipped: u64,
    /// The files and records that were not understood or not imported.
    pub failed: Vec<FailedRecord>,
}

/// A record that was imported now or earlier.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct ImportedRecord {
    /// The file's name.
    pub file: String,
    /// The session's key.
    pub key: String,
    /// The result for this record.
    pub outcome: ImportOutcome,
    /// The state of the recorded process, which is left alone.
    pub process: LegacyProcess,
    /// The recorded pid.
    pub pid: Option<i32>,
    /// The reason for that state, for people.
    pub why: String,
}

/// The result of importing a record. Frozen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ImportOutcome {
    /// The record is a session now; in a dry run, it would be.
    Imported,
    /// A session with that key exists and is left as it is.
    Exists,
}

/// A file or a record that was not imported.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct FailedRecord {
    /// The file's name.
    pub file: String,
    /// The session's key, if the record has one.
    pub key: Option<String>,
    /// The error, for people.
    pub why: String,
}
