//! The names of sessions and agents. The gateway chooses a session's key. It must be one visible line and no path,
//! because logs, file names of other programs and people's screens show it.

use super::agent_of;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Maximum length of a session's key, in bytes.
pub const KEY_BYTES: usize = 512;
const AGENT_BYTES: usize = 64;

/// The key of a session. Surrounding blanks are removed; case matters.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SessionKey(String);

/// The name of an agent. Case matters, so a misspelt name is another agent and sees less.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct AgentId(String);

/// A text that is not a session key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadKey {
    /// The text is empty or blank.
    #[error("the session key is empty: use one such as agent:main:1")]
    Empty,
    /// The text is too long.
    #[error("the session key has {bytes} bytes: use at most {KEY_BYTES}")]
    TooLong {
        /// The text's length.
        bytes: usize,
    },
    /// The text has a character that is invisible or looks like another.
    #[error("the session key contains the invisible character {found}: remove it")]
    Unseen {
        /// The character, escaped.
        found: String,
    },
    /// The text is a path, or could be a part of one.
    #[error("the session key {key:?} looks like a path because of {part:?}: use names joined by colons")]
    Path {
        /// The key.
        key: String,
        /// The part that looks like a path.
        part: String,
    },
    /// The key begins like an agent's, but the agent's name is invalid.
    #[error("the session key {key:?} names no agent: write agent:NAME or agent:NAME:…; {why}")]
    Agent {
        /// The key.
        key: String,
        /// The error in the name.
        why: BadAgent,
    },
}

/// A text that is not an agent's name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{text:?} is not an agent name: use 1 to {AGENT_BYTES} of a-z, A-Z, 0-9, '-', '_' and '.', with a letter or digit first"
)]
pub struct BadAgent {
    text: String,
}

impl SessionKey {
    /// Returns the key's text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the agent that the key names.
    pub fn agent(&self) -> Option<AgentId> {
        agent_of(&self.0).map(|name| AgentId(name.to_owned()))
    }
}

impl AgentId {
    /// Returns the agent's name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns true if a text may be the beginning of an agent's name.
    pub(super) fn may_begin(text: &str) -> bool {
        text.len() <= AGENT_BYTES
            && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b))
            && !text.starts_with(['-', '_', '.'])
    }
}

fn check_key(key: &str) -> Result<(), BadKey> {
    if key.is_empty() {
        return Err(BadKey::Empty);
    }
    if key.len() > KEY_BYTES {
        return Err(BadKey::TooLong { bytes: key.len() });
    }
    if let Some(found) = key.chars().find(|&c| is_unseen(c)) {
        return Err(BadKey::Unseen { found: found.escape_default().to_string() });
    }
    if let Some(part) = path_part(key) {
        return Err(BadKey::Path { key: key.to_owned(), part: part.to_owned() });
    }
    match key.strip_prefix("agent:") {
        Some(rest) => check_agent(rest.split(':').next().unwrap_or_default())
            .map_err(|why| BadKey::Agent { key: key.to_owned(), why }),
        None => Ok(()),
    }
}

/// Returns the part of a key that looks like a path. Parts between colons count too, because agents are named there
/// and have directories.
fn path_part(key: &str) -> Option<&str> {
    if key.starts_with('/') {
        return Some("/");
    }
    if key.contains('\\') {
        return Some("\\");
    }
    key.split(['/', ':']).find(|part| matches!(*part, "." | ".."))
}

/// Returns true for control characters, unusual blanks, and characters that have no width or reverse the line.
pub(crate) fn is_unseen(c: char) -> bool {
    c.is_control()
        || (c.is_whitespace() && c != ' ')
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}')
        || matches!(c, '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

fn check_agent(name: &str) -> Result<(), BadAgent> {
    if !name.is_empty() && AgentId::may_begin(name) {
        Ok(())
    } else {
        Err(BadAgent { text: name.chars().take(AGENT_BYTES).collect() })
    }
}

impl FromStr for SessionKey {
    type Err = BadKey;

    fn from_str(text: &str) -> Result<Self, BadKey> {
        let key = text.trim_matches(' ');
        check_key(key).map(|()| Self(key.to_owned()))
    }
}

impl FromStr for AgentId {
    type Err = BadAgent;

    fn from_str(text: &str) -> Result<Self, BadAgent> {
        check_agent(text).map(|()| Self(text.to_owned()))
    }
}

impl TryFrom<String> for SessionKey {
    type Error = BadKey;

    fn try_from(text: String) -> Result<Self, BadKey> {
        text.parse()
    }
}

impl TryFrom<String> for AgentId {
    type Error = BadAgent;

    fn try_from(text: String) -> Result<Self, BadAgent> {
        text.parse()
    }
}

impl From<SessionKey> for String {
    fn from(key: SessionKey) -> String {
        key.0
    }
}

impl From<AgentId> for String {
    fn from(agent: AgentId) -> String {
        agent.0
    }
}

impl fmt::Display for SessionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for AgentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
