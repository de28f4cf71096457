//! The rules by which agents may reach other agents. They apply to unrelated sessions only: a session always
//! reaches those that it spawned, whatever their agent.

use super::key::AgentId;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The rules by which agents may reach other agents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentToAgent {
    /// True if agents may reach each other at all.
    #[serde(default)]
    pub enabled: bool,
    /// The allowed routes, once enabled; without the field all, with an empty list none.
    #[serde(default = "everybody")]
    pub allow: Vec<Route>,
}

/// A route from agents to agents, written `REQUESTER->TARGET`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Route {
    /// The agents that may reach others.
    pub from: Pattern,
    /// The agents that may be reached.
    pub to: Pattern,
}

/// A pattern of agent names: `*` matches all, `lab-*` those with this prefix, anything else one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Pattern {
    /// Exactly this agent.
    Exact(AgentId),
    /// Agents with this prefix; an empty prefix matches all that have a name.
    Prefix(String),
}

/// A text that is not a route between agents.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{text:?} is not a route: use REQUESTER->TARGET, each an agent name, a prefix of one followed by *, or *"
)]
pub struct BadRoute {
    text: String,
}

impl AgentToAgent {
    /// Returns true if one agent may reach the other.
    pub fn allows(&self, from: &AgentId, to: &AgentId) -> bool {
        self.enabled && self.allow.iter().any(|route| route.from.matches(from) && route.to.matches(to))
    }
}

impl Default for AgentToAgent {
    fn default() -> Self {
        Self { enabled: false, allow: everybody() }
    }
}

fn everybody() -> Vec<Route> {
    let all = || Pattern::Prefix(String::new());
    vec![Route { from: all(), to: all() }]
}

impl Pattern {
    /// Returns true if the agent matches.
    pub fn matches(&self, agent: &AgentId) -> bool {
        match self {
            Self::Exact(name) => name == agent,
            Self::Prefix(prefix) => agent.as_str().starts_with(prefix.as_str()),
        }
    }

    fn read(text: &str) -> Option<Self> {
        match text.strip_suffix('*') {
            Some(prefix) => AgentId::may_begin(prefix).then(|| Self::Prefix(prefix.to_owned())),
            None => text.parse().ok().map(Self::Exact),
        }
    }
}

impl FromStr for Route {
    type Err = BadRoute;

    fn from_str(text: &str) -> Result<Self, BadRoute> {
        let read = || {
            let (from, to) = text.split_once("->")?;
            Some(Self { from: Pattern::read(from.trim())?, to: Pattern::read(to.trim())? })
        };
        read().ok_or_else(|| BadRoute { text: text.chars().take(160).collect() })
    }
}

impl TryFrom<String> for Route {
    type Error = BadRoute;

    fn try_from(text: String) -> Result<Self, BadRoute> {
        text.parse()
    }
}

impl From<Route> for String {
    fn from(route: Route) -> String {
        route.to_string()
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exact(name) => write!(f, "{name}"),
            Self::Prefix(prefix) => write!(f, "{prefix}*"),
        }
    }
}

impl fmt::Display for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}->{}", self.from, self.to)
    }
}
