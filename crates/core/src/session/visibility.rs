//! Who may see a session (I11). [`can_see`] is the only decision there is, and it is not told what it is for: list,
//! history, send and status cannot come to differ. What was refused is put in words afterwards, by [`Reason::sentence`].

use super::a2a::AgentToAgent;
use super::key::{AgentId, SessionKey};
use super::row::SessionRow;
use super::words::{Action, Visibility};
use serde::{Deserialize, Serialize};

/// The session that wants to see. Somebody outside of all sessions is not asked here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Requester {
    /// Its key.
    pub key: SessionKey,
    /// Its agent.
    pub agent: Option<AgentId>,
    /// Whether it is shut in: then it sees nothing beyond its tree, whatever is set.
    pub sandboxed: bool,
}

impl Requester {
    /// The session with this row. One that is shut in cannot ask as if it were not.
    pub fn of(row: &SessionRow, sandboxed: bool) -> Self {
        Self { key: row.key.clone(), agent: row.agent.clone(), sandboxed: sandboxed || row.sandboxed }
    }

    /// A session that has no row: its key is all that is known of it.
    pub fn without_row(key: SessionKey, sandboxed: bool) -> Self {
        Self { agent: key.agent(), key, sandboxed }
    }
}

/// Whether a session may be seen.
#[must_use]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// It may.
    Allow,
    /// It may not.
    Deny(Reason),
}

impl Access {
    /// Whether it may be seen.
    pub fn is_allowed(self) -> bool {
        match self {
            Self::Allow => true,
            Self::Deny(_) => false,
        }
    }
}

/// Why a session may not be seen. It says nothing of that session that the requester did not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// The requester is shut in, and the session did not come from it.
    Sandboxed,
    /// Visibility is `self`, and it is another.
    NotSelf,
    /// Visibility is `tree`, and it did not come from the requester.
    NotInTree,
    /// Visibility is `agent`, and it is another agent's.
    OtherAgent,
    /// One of the two has no agent, so they are not of the same one and no route between agents is theirs.
    NoAgent,
    /// Visibility is `all`, but agents may not reach each other.
    AgentToAgentOff,
    /// Visibility is `all`, but this agent may not reach that one.
    AgentToAgentDenied,
}

/// Whether a row may be seen by a requester: the one decision behind list, history, send and status.
pub fn can_see(
    row: &SessionRow,
    requester: &Requester,
    visibility: Visibility,
    a2a: &AgentToAgent,
) -> Access {
    let itself = row.key == requester.key;
    let in_tree = itself || row.came_from(&requester.key);
    // The sandbox takes away and never gives: what is set is asked all the same.
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

/// How the agents of two sessions stand to each other.
enum Kinship<'a> {
    Same,
    Other { from: &'a AgentId, to: &'a AgentId },
    Unknown,
}

/// Two sessions without an agent are not of the same one.
fn kinship<'a>(row: &'a SessionRow, requester: &'a Requester) -> Kinship<'a> {
    match (&requester.agent, &row.agent) {
        (Some(from), Some(to)) if from == to => Kinship::Same,
        (Some(from), Some(to)) => Kinship::Other { from, to },
        (None, _) | (_, None) => Kinship::Unknown,
    }
}

impl Reason {
    /// Its word on the wire.
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

    /// What was refused, why, and what to do.
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
