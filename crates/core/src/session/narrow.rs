//! Lookups with which a registry finds the candidates for a list of sessions, so that it need not read every row. Each term
//! is one lookup in an index; together they find every row that the requester may see. They decide nothing:
//! [`can_see`](super::can_see) judges every row that is found.

use super::a2a::{AgentToAgent, Pattern};
use super::key::SessionKey;
use super::row::SessionRow;
use super::visibility::Requester;
use super::words::Visibility;

/// The candidates of a list: the rows that any of the terms finds.
#[must_use]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Narrowing {
    /// The terms, without duplicates.
    pub any_of: Vec<Term>,
}

/// A single lookup.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Term {
    /// The session itself.
    Key(SessionKey),
    /// Sessions that this one owns.
    Owner(SessionKey),
    /// Sessions that this one spawned.
    SpawnedBy(SessionKey),
    /// Sessions right below it.
    Parent(SessionKey),
    /// Sessions anywhere below it.
    Lineage(SessionKey),
    /// Sessions of matching agents; sessions without an agent never match.
    Agent(Pattern),
}

impl Term {
    /// Returns true if the lookup finds the row.
    pub fn finds(&self, row: &SessionRow) -> bool {
        match self {
            Self::Key(key) => row.key == *key,
            Self::Owner(key) => row.owner.as_ref() == Some(key),
            Self::SpawnedBy(key) => row.spawned_by.as_ref() == Some(key),
            Self::Parent(key) => row.parent.as_ref() == Some(key),
            Self::Lineage(key) => row.lineage.contains(key),
            Self::Agent(pattern) => row.agent.as_ref().is_some_and(|agent| pattern.matches(agent)),
        }
    }
}

impl Narrowing {
    /// Returns true if any of the lookups finds the row.
    pub fn finds(&self, row: &SessionRow) -> bool {
        self.any_of.iter().any(|term| term.finds(row))
    }
}

/// Returns the terms for a requester's list.
pub fn narrow(requester: &Requester, visibility: Visibility, a2a: &AgentToAgent) -> Narrowing {
    let key = || requester.key.clone();
    let tree = || {
        vec![
            Term::Key(key()),
            Term::Owner(key()),
            Term::SpawnedBy(key()),
            Term::Parent(key()),
            Term::Lineage(key()),
        ]
    };
    let any_of = match (visibility, requester.sandboxed) {
        (Visibility::SelfOnly, true | false) => vec![Term::Key(key())],
        (Visibility::Tree, true | false) | (Visibility::Agent | Visibility::All, true) => tree(),
        (Visibility::Agent, false) => {
            let own = requester.agent.clone().map(|agent| Term::Agent(Pattern::Exact(agent)));
            [Term::Key(key()), Term::Owner(key())].into_iter().chain(own).collect()
        }
        (Visibility::All, false) => tree().into_iter().chain(agents(requester, a2a)).collect(),
    };
    Narrowing { any_of }
}

/// Returns terms for the requester's agent and those that it may reach, without terms that another one covers.
fn agents(requester: &Requester, a2a: &AgentToAgent) -> Vec<Term> {
    let Some(own) = &requester.agent else { return Vec::new() };
    let routes = a2a.allow.iter().filter(|route| a2a.enabled && route.from.matches(own));
    let mut kept: Vec<Pattern> = Vec::new();
    for pattern in routes.map(|route| route.to.clone()).chain([Pattern::Exact(own.clone())]) {
        if kept.iter().any(|it| covers(it, &pattern)) {
            continue;
        }
        kept.retain(|it| !covers(&pattern, it));
        kept.push(pattern);
    }
    kept.into_iter().map(Term::Agent).collect()
}

/// Returns true if `wide` finds everything that `narrow` finds.
fn covers(wide: &Pattern, narrow: &Pattern) -> bool {
    match (wide, narrow) {
        (Pattern::Exact(_), Pattern::Exact(_)) => wide == narrow,
        (Pattern::Exact(_), Pattern::Prefix(_)) => false,
        (Pattern::Prefix(_), Pattern::Exact(agent)) => wide.matches(agent),
        (Pattern::Prefix(wide), Pattern::Prefix(narrow)) => narrow.starts_with(wide.as_str()),
    }
}
