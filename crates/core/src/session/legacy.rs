//! Sessions that other programs recorded before there were leases: their files, the rows made of them, and the
//! evidence about their processes. Reading files and inspecting processes is done elsewhere.

mod fields;
mod instant;
mod read;
mod root;
#[cfg(test)]
mod tests;

pub use read::{BadLegacy, read};
pub use root::{Finding, LegacyProcess, Live, ObservedRoot, START_SLACK_MS, judge};

use super::key::{AgentId, SessionKey};
use super::row::{SessionRow, Work};
use super::spawn::{Known, Refused, SpawnLimits, SpawnRequest, spawn};
use super::words::{Backend, Kind, Mode, SessionState};
use crate::ids::InstanceId;
use serde::{Deserialize, Serialize};

/// A session as another program recorded it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LegacyRecord {
    /// The session's key here; the same each time the record is read.
    pub key: SessionKey,
    /// The session's agent.
    pub agent: Option<AgentId>,
    /// The kind of session.
    pub kind: Kind,
    /// The backend that ran its turns.
    pub backend: Backend,
    /// The parent session.
    pub parent: Option<SessionKey>,
    /// The working directory, absolute.
    pub cwd: Option<String>,
    /// The label for people.
    pub label: Option<String>,
    /// The agent's own id of the conversation.
    pub resume: Option<String>,
    /// The time of creation.
    pub created_at_ms: Option<u64>,
    /// True if the session is closed.
    pub closed: bool,
    /// The time when it was closed.
    pub closed_at_ms: Option<u64>,
    /// The last process that ran the session.
    pub root: Option<LegacyRoot>,
    /// The program names in the command of its adapter; an agent can be derived from one of them.
    pub programs: Vec<String>,
}

/// A process as a record from before leases describes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LegacyRoot {
    /// The pid, which proves nothing alone.
    pub pid: i32,
    /// The start time.
    pub started_at_ms: Option<u64>,
    /// The executed command.
    pub command: Option<LegacyCommand>,
    /// True if a generated wrapper was executed.
    pub wrapper: bool,
}

/// The process of an imported session, stored with its row. It may end with the session if it is proven to be the
/// recorded one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LegacyClaim {
    /// The process as the record describes it.
    pub root: LegacyRoot,
    /// The directory of this installation's generated wrappers, as given to the import.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wrapper_root: Option<String>,
}

/// A command as it was recorded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum LegacyCommand {
    /// A line, quoted for a shell.
    Line(String),
    /// The words of the command.
    Words(Vec<String>),
}

impl LegacyCommand {
    /// Returns the bare names of the programs in the command, without directories, npm scopes, versions and
    /// endings.
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
    /// Makes the session's row. It belongs to its parent as any session does, but the spawn limits do not apply.
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
        // A closed session may be below a closed one.
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
