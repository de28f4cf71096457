//! Creates sessions. Ownership is decided here, once and for all; the spawner cannot override it.

use super::key::{AgentId, SessionKey};
use super::row::{Disagreement, Origin, SessionRow, Work};
use super::words::{Backend, Interaction, Kind, Mode, SessionState};
use crate::defaults;
use crate::ids::InstanceId;

/// A request for a new session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpawnRequest {
    /// The requested key.
    pub key: SessionKey,
    /// The requested agent; without it, the agent of the key, or of the parent.
    pub agent: Option<AgentId>,
    /// The kind of session.
    pub kind: Kind,
    /// The lifetime of the session.
    pub mode: Mode,
    /// The backend that runs its turns.
    pub backend: Backend,
    /// The requesting session, as the daemon identified it; none for a client outside of all sessions.
    pub by: Option<SessionKey>,
    /// The installation that creates it.
    pub instance: InstanceId,
    /// The conversation in the gateway. It is not inherited: a child in the background talks to no channel.
    pub origin: Option<Origin>,
    /// The party that the session talks to; without it, its parent only, if it has one.
    pub interaction: Option<Interaction>,
    /// True to sandbox the session. Every session below a sandboxed one is sandboxed too.
    pub sandboxed: bool,
    /// The settings of its turns.
    pub work: Work,
    /// The time of the request.
    pub now_ms: u64,
}

/// The registry's facts, read in the transaction that writes the row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Known {
    /// The state of the session that already has the key.
    pub taken: Option<SessionState>,
    /// The number of the parent's children that are not closed.
    pub children: usize,
}

/// Limits on the sessions below a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpawnLimits {
    /// Maximum number of ancestors of a session.
    pub depth: usize,
    /// Maximum number of open children of a session.
    pub children: usize,
}

impl Default for SpawnLimits {
    fn default() -> Self {
        Self { depth: defaults::SESSION_DEPTH, children: defaults::SESSION_CHILDREN }
    }
}

/// The reason why a session was not created.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The key exists already.
    #[error("session {key} exists already and is {state}: use another key{or}",
        or = if .state.is_open() { ", or send to that one" } else { "" })]
    Taken {
        /// The key.
        key: SessionKey,
        /// The existing session's state.
        state: SessionState,
    },
    /// The session would be its own ancestor.
    #[error("session {key} would be its own ancestor: give the new session another key, or another parent")]
    OwnAncestor {
        /// The key.
        key: SessionKey,
    },
    /// The parent is closed.
    #[error("the parent {parent} is {state} and can have no more children: name a parent that is open")]
    ParentClosed {
        /// The parent.
        parent: SessionKey,
        /// The parent's state.
        state: SessionState,
    },
    /// The parent's row contradicts itself.
    #[error("the records of the parent {parent} are inconsistent ({why}): close it and name another one")]
    ParentDisagrees {
        /// The parent.
        parent: SessionKey,
        /// The disagreement.
        why: Disagreement,
    },
    /// The session would be too deep.
    #[error("{parent} is already {limit} levels deep: do the work in it, or raise sessions.depth")]
    TooDeep {
        /// The parent.
        parent: SessionKey,
        /// The maximum depth.
        limit: usize,
    },
    /// The parent has too many children.
    #[error("{parent} has {limit} open children already: close one of them, or raise sessions.children")]
    TooManyChildren {
        /// The parent.
        parent: SessionKey,
        /// The maximum number of children.
        limit: usize,
    },
    /// A session asked for a parent that is not below it.
    #[error("session {by} can spawn only below itself: name {by} or a session below it as the parent")]
    NotBelow {
        /// The requesting session.
        by: SessionKey,
    },
    /// The key names another agent.
    #[error(
        "the key {key} belongs to agent {named}, not to {asked}: use agent:{asked}:… or name agent {named}"
    )]
    OtherAgent {
        /// The key.
        key: SessionKey,
        /// The agent in the key.
        named: AgentId,
        /// The requested agent.
        asked: AgentId,
    },
    /// The session is to talk with its parent, but has none.
    #[error("session {key} has no parent to report to: name one, or make the session interactive")]
    NoParent {
        /// The key.
        key: SessionKey,
    },
}

/// Creates the row of a new session.
pub fn spawn(
    parent: Option<&SessionRow>,
    request: SpawnRequest,
    known: Known,
    limits: SpawnLimits,
) -> Result<SessionRow, Refused> {
    let lineage = lineage_below(parent, &request)?;
    if let Some(state) = known.taken {
        return Err(Refused::Taken { key: request.key, state });
    }
    if let Some(parent) = parent {
        check_limits(parent, known, limits)?;
    }
    let agent = agent(parent, &request)?;
    let interaction = interaction(parent, &request)?;
    Ok(SessionRow {
        key: request.key,
        agent,
        kind: request.kind,
        mode: request.mode,
        spawned_by: request.by,
        parent: lineage.first().cloned(),
        owner: lineage.first().cloned(),
        lineage,
        backend: request.backend,
        instance: request.instance,
        origin: request.origin,
        interaction,
        sandboxed: request.sandboxed || parent.is_some_and(|parent| parent.sandboxed),
        work: request.work,
        state: SessionState::Idle,
        created_at_ms: request.now_ms,
        updated_at_ms: request.now_ms,
        closed_at_ms: None,
        legacy: None,
    })
}

/// Returns the lineage of the new session.
fn lineage_below(parent: Option<&SessionRow>, request: &SpawnRequest) -> Result<Vec<SessionKey>, Refused> {
    let lineage: Vec<_> = match parent {
        None => Vec::new(),
        Some(parent) => {
            parent.agrees().map_err(|why| Refused::ParentDisagrees { parent: parent.key.clone(), why })?;
            if !parent.state.is_open() {
                return Err(Refused::ParentClosed { parent: parent.key.clone(), state: parent.state });
            }
            std::iter::once(&parent.key).chain(&parent.lineage).cloned().collect()
        }
    };
    if lineage.contains(&request.key) {
        return Err(Refused::OwnAncestor { key: request.key.clone() });
    }
    match &request.by {
        // Otherwise a session would get children that no limit counts and that do not end with it.
        Some(by) if !lineage.contains(by) => Err(Refused::NotBelow { by: by.clone() }),
        Some(_) | None => Ok(lineage),
    }
}

fn check_limits(parent: &SessionRow, known: Known, limits: SpawnLimits) -> Result<(), Refused> {
    if parent.lineage.len() >= limits.depth {
        return Err(Refused::TooDeep { parent: parent.key.clone(), limit: limits.depth });
    }
    if known.children >= limits.children {
        return Err(Refused::TooManyChildren { parent: parent.key.clone(), limit: limits.children });
    }
    Ok(())
}

/// Returns the agent, which is the same in key and row: the exec policy goes by the key, visibility by the row.
fn agent(parent: Option<&SessionRow>, request: &SpawnRequest) -> Result<Option<AgentId>, Refused> {
    match (request.key.agent(), &request.agent) {
        (Some(named), Some(asked)) if named != *asked => {
            Err(Refused::OtherAgent { key: request.key.clone(), named, asked: asked.clone() })
        }
        (Some(agent), _) => Ok(Some(agent)),
        (None, Some(asked)) => Ok(Some(asked.clone())),
        (None, None) => Ok(parent.and_then(|parent| parent.agent.clone())),
    }
}

fn interaction(parent: Option<&SessionRow>, request: &SpawnRequest) -> Result<Interaction, Refused> {
    match (request.interaction, parent) {
        (Some(Interaction::ParentOwnedBackground), None) => {
            Err(Refused::NoParent { key: request.key.clone() })
        }
        (Some(asked), _) => Ok(asked),
        (None, Some(_)) => Ok(Interaction::ParentOwnedBackground),
        (None, None) => Ok(Interaction::Interactive),
    }
}
