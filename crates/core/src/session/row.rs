//! A session's row: its origin, owner and state. The ownership, with all ancestors, is written once when the
//! session is spawned, so that no decision needs another row.

use super::key::{AgentId, SessionKey};
use super::legacy::LegacyClaim;
use super::words::{Backend, Interaction, Kind, Mode, Permissions, SessionState};
use crate::ids::InstanceId;
use serde::{Deserialize, Serialize};

/// A session. On disk it is a record like the others: `record::encode` and `record::decode`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionRow {
    /// The session's key.
    pub key: SessionKey,
    /// The session's agent. A session without an agent is visible only to itself and to those that it came from.
    #[serde(rename = "agentId", default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentId>,
    /// The kind of session.
    pub kind: Kind,
    /// The lifetime of the session.
    pub mode: Mode,
    /// The session that spawned it; none if a client outside of all sessions did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spawned_by: Option<SessionKey>,
    /// The parent session.
    #[serde(rename = "parentSessionKey", default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<SessionKey>,
    /// The session that owns it: it ends with that one, and that one gets its notices.
    #[serde(rename = "ownerSessionKey", default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<SessionKey>,
    /// All sessions above it, the nearest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lineage: Vec<SessionKey>,
    /// The backend that runs its turns.
    #[serde(rename = "backendId")]
    pub backend: Backend,
    /// The installation that created it.
    #[serde(rename = "instanceId")]
    pub instance: InstanceId,
    /// The conversation in the gateway from which it was created.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    /// The party that the session talks to.
    pub interaction: Interaction,
    /// True if the session is sandboxed: it sees nothing beyond its tree, and neither does any session that it
    /// spawns.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sandboxed: bool,
    /// The settings of its turns.
    #[serde(default, skip_serializing_if = "Work::is_default")]
    pub work: Work,
    /// The state.
    pub state: SessionState,
    /// The time of creation.
    pub created_at_ms: u64,
    /// The time of the last change of state.
    pub updated_at_ms: u64,
    /// The time when it was closed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closed_at_ms: Option<u64>,
    /// The process of a session that was imported from before leases. Never shown, because a command may contain
    /// secrets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub legacy: Option<Box<LegacyClaim>>,
}

/// The settings of a session's turns. Agents find their conversations by the directory, so it never changes.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Work {
    /// The working directory, absolute; without it, the user's home.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The model; without it, that of the agent's description.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The time limit of a turn; without it, that of the agent's description.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// The policy for the agent's permission requests; without it, that of the agent's description.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permissions: Option<Permissions>,
}

impl Work {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// The conversation from which a session was created, in the gateway's words.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Origin {
    /// The channel, such as `slack`.
    pub channel: String,
    /// The recipient on the channel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// The thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<String>,
}

/// The reason why a row's ownership is not believed. Such a session ends only when it is closed itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "kebab-case")]
pub enum Disagreement {
    /// The session is its own ancestor.
    #[error("the session is among its own ancestors")]
    OwnAncestor,
    /// An ancestor is named twice.
    #[error("an ancestor is named twice")]
    RepeatedAncestor,
    /// Parent and lineage differ.
    #[error("the parent is not the nearest ancestor")]
    ParentIsNotNearest,
    /// Owner and parent differ.
    #[error("the owner is not the parent")]
    OwnerIsNotParent,
    /// The session was spawned by one that is not its ancestor.
    #[error("the spawning session is not an ancestor")]
    SpawnedByAStranger,
    /// The ancestors are not those of its parent.
    #[error("the ancestors are not those of the parent")]
    LineageDiffers,
    /// The parent has no row.
    #[error("the parent has no row")]
    ParentMissing,
    /// The session belongs to another installation than the session that is closed.
    #[error("the session belongs to another installation")]
    OtherInstance,
    /// The parent is not proven to be below the session that is closed.
    #[error("the parent's record does not place it below the closed session")]
    ParentNotBelow,
}

/// A transition that sessions do not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a session that is {from} cannot become {to}")]
pub struct IllegalSessionMove {
    /// The present state.
    pub from: SessionState,
    /// The requested state.
    pub to: SessionState,
}

impl SessionState {
    /// Returns the state after the transition to `to`; staying is not a transition.
    pub fn advance(self, to: Self) -> Result<Self, IllegalSessionMove> {
        use SessionState::{Busy, Closed, Closing, Idle};
        match (self, to) {
            (Idle, Busy | Closing) | (Busy, Idle | Closing) | (Closing, Closed) => Ok(to),
            (Idle, Idle | Closed)
            | (Busy, Busy | Closed)
            | (Closing, Idle | Busy | Closing)
            | (Closed, Idle | Busy | Closing | Closed) => Err(IllegalSessionMove { from: self, to }),
        }
    }

    /// Returns true if the session accepts work.
    pub fn is_open(self) -> bool {
        match self {
            Self::Idle | Self::Busy => true,
            Self::Closing | Self::Closed => false,
        }
    }
}

impl SessionRow {
    /// Changes the session's state at `now_ms`.
    pub fn advance(&mut self, to: SessionState, now_ms: u64) -> Result<(), IllegalSessionMove> {
        self.state = self.state.advance(to)?;
        self.updated_at_ms = now_ms;
        if self.state == SessionState::Closed {
            self.closed_at_ms = Some(now_ms);
        }
        Ok(())
    }

    /// Returns every session that it names as its origin: its owner, spawner, parent and all ancestors.
    pub fn sources(&self) -> impl Iterator<Item = &SessionKey> {
        [&self.owner, &self.spawned_by, &self.parent].into_iter().flatten().chain(&self.lineage)
    }

    /// Returns true if the session came from `key`. Any single field is enough: rows of other programs may have
    /// only one of them.
    pub fn came_from(&self, key: &SessionKey) -> bool {
        self.sources().any(|it| it == key)
    }

    /// Checks that the ownership fields agree with each other.
    pub fn agrees(&self) -> Result<(), Disagreement> {
        if self.lineage.contains(&self.key) {
            return Err(Disagreement::OwnAncestor);
        }
        if (1..self.lineage.len()).any(|n| self.lineage[n..].contains(&self.lineage[n - 1])) {
            return Err(Disagreement::RepeatedAncestor);
        }
        if self.parent.as_ref() != self.lineage.first() {
            return Err(Disagreement::ParentIsNotNearest);
        }
        if self.owner != self.parent {
            return Err(Disagreement::OwnerIsNotParent);
        }
        if self.spawned_by.as_ref().is_some_and(|by| !self.lineage.contains(by)) {
            return Err(Disagreement::SpawnedByAStranger);
        }
        Ok(())
    }

    /// Checks that the session is a child of `parent`, by both rows.
    pub fn agrees_with_parent(&self, parent: &Self) -> Result<(), Disagreement> {
        self.agrees()?;
        match self.lineage.split_first() {
            Some((nearest, rest)) if *nearest == parent.key && *rest == *parent.lineage => Ok(()),
            Some(_) | None => Err(Disagreement::LineageDiffers),
        }
    }
}
