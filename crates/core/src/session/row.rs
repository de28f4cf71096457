//! A session's row: who made it, to whom it belongs and how it is. Its ownership is written once, when it is spawned,
//! with all ancestors, so that nothing about it ever has to be looked up in another row.

use super::key::{AgentId, SessionKey};
use super::legacy::LegacyClaim;
use super::words::{Backend, Interaction, Kind, Mode, Permissions, SessionState};
use crate::ids::InstanceId;
use serde::{Deserialize, Serialize};

/// A session. On disk it is a record like the others: `record::encode` and `record::decode`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionRow {
    /// What it is called.
    pub key: SessionKey,
    /// Whose session it is. Without an agent it is seen by itself and by those that it came from.
    #[serde(rename = "agentId", default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentId>,
    /// What it is to its agent.
    pub kind: Kind,
    /// How long it lasts.
    pub mode: Mode,
    /// The session that asked for it; none if somebody outside of all sessions did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spawned_by: Option<SessionKey>,
    /// The session right above it.
    #[serde(rename = "parentSessionKey", default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<SessionKey>,
    /// The session that it belongs to: it ends with that one, and that one is told.
    #[serde(rename = "ownerSessionKey", default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<SessionKey>,
    /// All sessions above it, the nearest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lineage: Vec<SessionKey>,
    /// What carries out its turns.
    #[serde(rename = "backendId")]
    pub backend: Backend,
    /// The installation that made it.
    #[serde(rename = "instanceId")]
    pub instance: InstanceId,
    /// Where it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    /// With whom it speaks.
    pub interaction: Interaction,
    /// Whether it is shut in: then it sees nothing beyond its tree, and neither does what it spawns.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sandboxed: bool,
    /// How its turns are carried out.
    #[serde(default, skip_serializing_if = "Work::is_default")]
    pub work: Work,
    /// How it is.
    pub state: SessionState,
    /// When it was made.
    pub created_at_ms: u64,
    /// When its state last changed.
    pub updated_at_ms: u64,
    /// When it was closed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closed_at_ms: Option<u64>,
    /// The process of a session that was imported from before leases. Not shown: a command may hold secrets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub legacy: Option<Box<LegacyClaim>>,
}

/// How a session's turns are carried out. Agents find their conversations by the directory, so it stays the same.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Work {
    /// Where; absolute. Without it, in the user's home.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// With which model; without it, as the agent's description says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// How long one may take; without it, as the agent's description says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// How the agent is answered that asks before it does something; without it, as its description says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permissions: Option<Permissions>,
}

impl Work {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// Where a session was asked for, in the gateway's words.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Origin {
    /// The channel, such as `slack`.
    pub channel: String,
    /// To whom on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// In which thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<String>,
}

/// Why a row's ownership is not believed. Such a session is ended by nobody's end but its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "kebab-case")]
pub enum Disagreement {
    /// It stands above itself.
    #[error("the session is among its own ancestors")]
    OwnAncestor,
    /// One stands above it twice.
    #[error("an ancestor is named twice")]
    RepeatedAncestor,
    /// Parent and lineage differ.
    #[error("the parent is not the nearest ancestor")]
    ParentIsNotNearest,
    /// Owner and parent differ.
    #[error("the owner is not the parent")]
    OwnerIsNotParent,
    /// It was asked for by a session that does not stand above it.
    #[error("the session that asked for it is no ancestor")]
    SpawnedByAStranger,
    /// Its ancestors are not those of its parent.
    #[error("the ancestors are not those of the parent")]
    LineageDiffers,
    /// Its parent has no row.
    #[error("the parent has no row")]
    ParentMissing,
    /// It was made by another installation than the session that is closed.
    #[error("the session is another installation's")]
    OtherInstance,
    /// Its parent is not proven to be below the session that it names.
    #[error("the parent is not shown to be below the session that is closed")]
    ParentNotBelow,
}

/// A move that the life of a session does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a session that is {from} cannot become {to}")]
pub struct IllegalSessionMove {
    /// Where the session is.
    pub from: SessionState,
    /// Where it was asked to go.
    pub to: SessionState,
}

impl SessionState {
    /// The state after moving to `to`; staying is no move.
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

    /// Whether it can be worked with.
    pub fn is_open(self) -> bool {
        match self {
            Self::Idle | Self::Busy => true,
            Self::Closing | Self::Closed => false,
        }
    }
}

impl SessionRow {
    /// Moves the session on at `now_ms`.
    pub fn advance(&mut self, to: SessionState, now_ms: u64) -> Result<(), IllegalSessionMove> {
        self.state = self.state.advance(to)?;
        self.updated_at_ms = now_ms;
        if self.state == SessionState::Closed {
            self.closed_at_ms = Some(now_ms);
        }
        Ok(())
    }

    /// Every session that it says it came from: its owner, who asked for it, its parent and all above.
    pub fn sources(&self) -> impl Iterator<Item = &SessionKey> {
        [&self.owner, &self.spawned_by, &self.parent].into_iter().flatten().chain(&self.lineage)
    }

    /// Whether it came from a session. Each field counts alone: rows of others may have only one of them.
    pub fn came_from(&self, key: &SessionKey) -> bool {
        self.sources().any(|it| it == key)
    }

    /// Whether the fields that say to whom it belongs say the same.
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

    /// Whether it is a child of `parent`, as far as both rows can tell.
    pub fn agrees_with_parent(&self, parent: &Self) -> Result<(), Disagreement> {
        self.agrees()?;
        match self.lineage.split_first() {
            Some((nearest, rest)) if *nearest == parent.key && *rest == *parent.lineage => Ok(()),
            Some(_) | None => Err(Disagreement::LineageDiffers),
        }
    }
}
