//! The visibility of sessions (I11). [`can_see`] is the only decision, and it does not know the action: list,
//! history, send and status cannot differ. [`Reason::sentence`] puts a refusal in words afterwards.

use super::a2a::AgentToAgent;
use super::key::{AgentId, SessionKey};
use super::row::SessionRow;
use super::words::{Action, Visibility};
use serde::{Deserialize, Serialize};

/// The session that asks. Clients outside of all sessions do not get here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Requester {
    /// The session's key.
    pub key: SessionKey,
    /// The session's agent.
    pub agent: Option<AgentId>,
    /// True if the session is sandboxed: it sees nothing beyond its tree, whatever the settings say.
    pub sandboxed: bool,
}

impl Requester {
    /// Makes the requester of a row. A sandboxed session cannot ask as if it were not.
    pub fn of(row: &SessionRow, sandboxed: bool) -> Self {
        Self { key: row.key.clone(), agent: row.agent.clone(), sandboxed: sandboxed || row.sandboxed }
    }

    /// Makes the requester of a session without a row: only its key is known.
    pub fn without_row(key: SessionKey, sandboxed: bool) -> Self {
        Self { agent: key.agent(), key, sandboxed }
    }
}

/// The decision about visibility.
#[must_use]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// The session may be seen.
    Allow,
    /// The session must not be seen.
    Deny(Reason),
}

impl Access {
    /// Returns true if the session may be seen.
    pub fn is_allowed(self) -> bool {
        match self {
            Self::Allow => true,
            Self::Deny(_) => false,
        }
    }
}

/// The reason why a session must not be seen. It reveals nothing about that session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// The requester is sandboxed, and the session did not come from it.
    Sandboxed,
    /// Visibility is `self`, and the session is another one.
    NotSelf,
    /// Visibility is `tree`, and the session did not come from the requester.
    NotInTree,
    /// Visibility is `agent`, and the session belongs to another agent.
    OtherAgent,
    /// The two sessions share no agent, because one has none, and no route between agents applies.
    NoAgent,
    /// Visibility is `all`, but agents may not reach each other.
    AgentToAgentOff,
    /// Visibility is `all`, but the requester's agent may not reach the other one.
    AgentToAgentDenied,
}

/// Decides if a requester may see a row: the one decision behind list, history, send and status.
pub fn can_see(
    row: &SessionRow,
    requester: &Requester,
    visibility: Visibility,
    a2a: &AgentToAgent,
) -> Access {
    let itself = row.key == requester.key;
    let in_tree = itself || row.came_from(&requester.key);
    // The sandbox only takes away; the settings apply all the same.
    if requester.sandboxed && !in_tree {
        return Access::Deny(Reason::Sandboxed);
    }
    match visibility {
        Visibility::SelfOnly => allow_if(itself, Reason::NotSelf),
        Visibility::Tree => allow_if(in_tree, Reason::NotInTree),
        Visibility::Agent if itself || row.owner.as_ref() == Some(&requester.key) => Access::Allow,
        Visibility::Agent => match kinship(row, requester) {
            Kinship::Same => Access::Allow,
            Kinship::Unknown => Access::Deny(Reason::NoAgent),
            Kinship::Other { .. } => Access::Deny(Reason::OtherAgent),
        },
        Visibility::All if in_tree => Access::Allow,
        Visibility::All => match kinship(row, requester) {
            Kinship::Same => Access::Allow,
            Kinship::Unknown => Access::Deny(Reason::NoAgent),
            Kinship::Other { .. } if !a2a.enabled => Access::Deny(Reason::AgentToAgentOff),
            Kinship::Other { from, to } => allow_if(a2a.allows(from, to), Reason::AgentToAgentDenied),
        },
    }
}

fn allow_if(allowed: bool, otherwise: Reason) -> Access {
    if allowed { Access::Allow } else { Access::Deny(otherwise) }
}

/// The relation between the agents of two sessions.
enum Kinship<'a> {
    Same,
    Other { from: &'a AgentId, to: &'a AgentId },
    Unknown,
}

/// Compares the agents. Two sessions without an agent do not share one.
fn kinship<'a>(row: &'a SessionRow, requester: &'a Requester) -> Kinship<'a> {
    match (&requester.agent, &row.agent) {
        (Some(from), Some(to)) if from == to => Kinship::Same,
        (Some(from), Some(to)) => Kinship::Other { from, to },
        (None, _) | (_, None) => Kinship::Unknown,
    }
}

impl Reason {
    /// Returns the word on the wire.
    pub fn word(self) -> &'static str {
        match self {
            Self::Sandboxed => "sandboxed",
            Self::NotSelf => "not-self",
            Self::NotInTree => "not-in-tree",
            Self::OtherAgent => "other-agent",
            Self::NoAgent => "no-agent",
            Self::AgentToAgentOff => "agent-to-agent-off",
            Self::AgentToAgentDenied => "agent-to-agent-denied",
        }
    }

    /// Returns the refusal, its reason, and the way out.
    pub fn sentence(self, action: Action) -> String {
        let refused = match action {
            Action::List => "the session cannot be listed",
            Action::History => "the session's history cannot be read",
            Action::Send => "nothing can be sent to the session",
            Action::Status => "the session's status cannot be asked for",
        };
        format!("{refused}: {}", self.why())
    }

    fn why(self) -> &'static str {
        match self {
            Self::Sandboxed => {
                "the requester is sandboxed and sees only itself and what it spawned; \
                 have it done from outside of the sandbox"
            }
            Self::NotSelf => {
                "visibility is self, so the requester sees only itself; have the operator set tree, agent or all"
            }
            Self::NotInTree => {
                "visibility is tree, so the requester sees only itself and what it spawned; \
                 have the operator set agent or all"
            }
            Self::OtherAgent => {
                "visibility is agent, so the requester sees only its agent's sessions and those that it owns; \
                 have the operator set all and allow agent-to-agent access"
            }
            Self::NoAgent => {
                "the requester or that session has no agent, so neither is a session of the other's agent; \
                 have the operator spawn both with an agent"
            }
            Self::AgentToAgentOff => {
                "it is another agent's, and agent-to-agent access is off; have the operator switch it on"
            }
            Self::AgentToAgentDenied => {
                "it is another agent's, and agent-to-agent access does not allow that one; \
                 have the operator add REQUESTER->TARGET to what is allowed"
            }
        }
    }
}
