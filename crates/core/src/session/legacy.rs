//! Sessions that others recorded before there were leases: what is read out of their files, the row that is made of it,
//! and what is to be believed of the process that they name. Files are read and processes looked at elsewhere.

mod fields;
mod instant;
mod read;
mod root;
#[cfg(test)]
mod tests;

pub use read::{BadLegacy, read};
pub use root::{Finding, LegacyProcess, Live, START_SLACK_MS, Seen, judge};

use super::key::{AgentId, SessionKey};
use super::row::{SessionRow, Work};
use super::spawn::{Known, Refused, SpawnLimits, SpawnRequest, spawn};
use super::words::{Backend, Kind, Mode, SessionState};
use crate::ids::InstanceId;
use serde::{Deserialize, Serialize};

/// A session as somebody else recorded it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LegacyRecord {
    /// What it is to be called here; the same each time the record is read.
    pub key: SessionKey,
    /// Whose it was.
    pub agent: Option<AgentId>,
    /// What it was to its agent.
    pub kind: Kind,
    /// What carried out its turns.
    pub backend: Backend,
    /// The session right above it.
    pub parent: Option<SessionKey>,
    /// Where it worked; absolute.
    pub cwd: Option<String>,
    /// What people called it.
    pub label: Option<String>,
    /// What the agent itself calls the conversation.
    pub resume: Option<String>,
    /// When it was made.
    pub created_at_ms: Option<u64>,
    /// Whether it is over.
    pub closed: bool,
    /// Since when.
    pub closed_at_ms: Option<u64>,
    /// The process that carried it out last.
    pub root: Option<LegacyRoot>,
    /// The names that stand in the command of its adapter: one of them tells whose it was.
    pub programs: Vec<String>,
}

/// A process as a record from before leases knows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LegacyRoot {
    /// Its pid, which proves nothing alone.
    pub pid: i32,
    /// When it was started.
    pub started_at_ms: Option<u64>,
    /// What was executed.
    pub command: Option<LegacyCommand>,
    /// Whether a generated wrapper was.
    pub wrapper: bool,
}

/// The process of an imported session, kept with its row: it may end with the session if it is proven to be that one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LegacyClaim {
    /// What the record says of it.
    pub root: LegacyRoot,
    /// Where the generated wrappers of this installation lie, as the import was told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wrapper_root: Option<String>,
}

/// A command as it was recorded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum LegacyCommand {
    /// One line, quoted for a shell.
    Line(String),
    /// Its words.
    Words(Vec<String>),
}

impl LegacyCommand {
    /// The bare names of what stands in it, without directories, npm scopes, versions and endings.
    fn programs(&self) -> Vec<String> {
        let words: Vec<&str> = match self {
            Self::Line(line) => line.split_whitespace().collect(),
            Self::Words(words) => words.iter().map(String::as_str).collect(),
        };
        let bare = |word: &&str| {
            let word = word.trim_matches(['\'', '"']);
            let name = word.rsplit('/').next().unwrap_or(word);
            let name = name.split('@').next().unwrap_or(name);
            let name =
                [".mjs", ".cjs", ".js", ".exe"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
            (!name.is_empty() && !name.starts_with('-')).then(|| name.to_owned())
        };
        words.iter().filter_map(bare).collect()
    }
}

impl LegacyRecord {
    /// The row that is made of it. It belongs to its parent as any session does; no limit is asked.
    pub fn row(
        &self,
        parent: Option<&SessionRow>,
        instance: InstanceId,
        now_ms: u64,
    ) -> Result<SessionRow, Refused> {
        let request = SpawnRequest {
            key: self.key.clone(),
            agent: self.agent.clone(),
            kind: self.kind,
            mode: Mode::Persistent,
            backend: self.backend,
            by: None,
            instance,
            origin: None,
            interaction: None,
            sandboxed: false,
            work: Work { cwd: self.cwd.clone(), ..Work::default() },
            now_ms: self.created_at_ms.unwrap_or(now_ms).min(now_ms),
        };
        // What is over may stand below what is over.
        let opened =
            parent.filter(|_| self.closed).map(|it| SessionRow { state: SessionState::Idle, ..it.clone() });
        let limits = SpawnLimits { depth: usize::MAX, children: usize::MAX };
        let mut row = spawn(opened.as_ref().or(parent), request, Known::default(), limits)?;
        if self.closed {
            let at = self.closed_at_ms.unwrap_or(now_ms).clamp(row.created_at_ms, now_ms);
            row.state = SessionState::Closed;
            (row.updated_at_ms, row.closed_at_ms) = (at, Some(at));
        }
        Ok(row)
    }
}
