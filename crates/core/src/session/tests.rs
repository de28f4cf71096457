//! The small world of the tests: two agents, and sessions created as in production.

mod ends;
mod keys;
mod matrix;
mod named_cases;
mod properties;
mod random;
mod rows;
mod spawning;

use super::*;
use crate::ids::InstanceId;

/// A way to spoil a row, and the disagreement that follows.
type Break = (fn(&mut SessionRow), Disagreement);

fn key(text: &str) -> SessionKey {
    text.parse().unwrap()
}

fn agent(name: &str) -> AgentId {
    name.parse().unwrap()
}

fn asked(text: &str) -> SpawnRequest {
    SpawnRequest {
        key: key(text),
        agent: None,
        kind: Kind::Acp,
        mode: Mode::Persistent,
        backend: Backend::Acp,
        by: None,
        instance: InstanceId::from_random([7; 12]),
        origin: None,
        interaction: None,
        sandboxed: false,
        work: Work::default(),
        now_ms: 1,
    }
}

/// A session that nobody spawned.
fn root(text: &str) -> SessionRow {
    spawn(None, asked(text), Known::default(), SpawnLimits::default()).unwrap()
}

/// A session that its parent spawned.
fn child(parent: &SessionRow, text: &str) -> SessionRow {
    let request = SpawnRequest { by: Some(parent.key.clone()), ..asked(text) };
    spawn(Some(parent), request, Known::default(), SpawnLimits::default()).unwrap()
}

fn a2a(enabled: bool, allow: &[&str]) -> AgentToAgent {
    AgentToAgent { enabled, allow: allow.iter().map(|route| route.parse().unwrap()).collect() }
}

fn sees(row: &SessionRow, requester: &Requester, visibility: Visibility, a2a: &AgentToAgent) -> bool {
    can_see(row, requester, visibility, a2a).is_allowed()
}
