//! Making a session. What it belongs to is settled here, once and for all: whoever spawns cannot say it differently.

use super::key::{AgentId, SessionKey};
use super::row::{Disagreement, Origin, SessionRow, Work};
use super::words::{Backend, Interaction, Kind, Mode, SessionState};
use crate::defaults;
use crate::ids::InstanceId;

/// What is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpawnRequest {
    /// What it is to be called.
    pub key: SessionKey,
    /// Whose it is to be. Otherwise it is the agent's that its key names, or its parent's.
    pub agent: Option<AgentId>,
    /// What it is to its agent.
    pub kind: Kind,
    /// How long it lasts.
    pub mode: Mode,
    /// What carries out its turns.
    pub backend: Backend,
    /// The session that asks; none for somebody outside of all sessions. It is who asks, not what they say they are.
    pub by: Option<SessionKey>,
    /// The installation that makes it.
    pub instance: InstanceId,
    /// Where it was asked for. It is not inherited: a child in the background speaks to no channel.
    pub origin: Option<Origin>,
    /// With whom it is to speak. Otherwise with its parent only, if it has one.
    pub interaction: Option<Interaction>,
    /// Whether it is to be shut in. Whatever is below one that is, is so, too.
    pub sandboxed: bool,
    /// How its turns are to be carried out.
    pub work: Work,
    /// When.
    pub now_ms: u64,
}

/// What the registry knows, in the transaction that writes the row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Known {
    /// How the session is that has the key already.
    pub taken: Option<SessionState>,
    /// How many children of the parent are not closed.
    pub children: usize,
}

/// How many sessions there may be below one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpawnLimits {
    /// How many may stand above a session.
    pub depth: usize,
    /// How many children of one session may be open at a time.
    pub children: usize,
}

impl Default for SpawnLimits {
    fn default() -> Self {
        Self { depth: defaults::SESSION_DEPTH, children: defaults::SESSION_CHILDREN }
    }
}

/// Why there is no new session.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The key is taken.
    #[error("there is a session {key} already, and it is {state}: give the new one another key{or}",
        or = if .state.is_open() { ", or send to that one" } else { "" })]
    Taken {
        /// The key.
        key: SessionKey,
        /// How that session is.
        state: SessionState,
    },
    /// It would stand above itself.
    #[error("session {key} would be its own ancestor: give the new session another key, or another parent")]
    OwnAncestor {
        /// The key.
        key: SessionKey,
    },
    /// The parent is over.
    #[error("the parent {parent} is {state} and can have no more children: name a parent that is open")]
    ParentClosed {
        /// The parent.
        parent: SessionKey,
        /// How it is.
        state: SessionState,
    },
    /// What the parent's row says of its own ancestors cannot be.
    #[error("what is recorded of the parent {parent} does not agree ({why}): close it and name another")]
    ParentDisagrees {
        /// The parent.
        parent: SessionKey,
        /// What does not agree.
        why: Disagreement,
    },
    /// Too far down.
    #[error(
        "{parent} is {limit} below the first session already: do the work in it, or raise the limit of depth"
    )]
    TooDeep {
        /// The parent.
        parent: SessionKey,
        /// How deep it may be.
        limit: usize,
    },
    /// Too many next to it.
    #[error("{parent} has {limit} open children already: close one of them, or raise the limit of children")]
    TooManyChildren {
        /// The parent.
        parent: SessionKey,
        /// How many there may be.
        limit: usize,
    },
    /// A session wants one that is not below it.
    #[error("session {by} can spawn only below itself: name {by} or a session below it as the parent")]
    NotBelow {
        /// Who asks.
        by: SessionKey,
    },
    /// The key says that it is another agent's.
    #[error(
        "the key {key} is one of agent {named}, not of {asked}: write agent:{asked}:… or name agent {named}"
    )]
    OtherAgent {
        /// The key.
        key: SessionKey,
        /// The agent in the key.
        named: AgentId,
        /// The agent that was asked for.
        asked: AgentId,
    },
    /// It is to speak with a parent that it does not have.
    #[error("session {key} has no parent to speak with: name one, or make the session interactive")]
    NoParent {
        /// The key.
        key: SessionKey,
    },
}

/// The row of the new session.
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

/// All that will stand above the new session.
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

/// Key and row name the same agent: what an agent may execute goes by the key, what it may see by the row.
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
