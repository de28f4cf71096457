//! Sample sessions for a registry, and messages to them.

use crate::sample::{NOW, instance};
use std::sync::Arc;
use tenure_core::ids::TurnId;
use tenure_core::session::{
    Backend, Kind, Mode, SessionKey, SessionRow, SessionState, SpawnLimits, SpawnRequest, Work,
};
use tenure_store::{
    FinalText, Move, NewSession, NewTurn, Outcome, Registry, Session, SessionQuery, Turn, TurnEnd,
};

pub(crate) fn key(text: &str) -> SessionKey {
    text.parse().unwrap()
}

/// An id made of a number.
pub(crate) fn turn_id(number: u64) -> TurnId {
    let mut bytes = [0; 12];
    bytes[4..].copy_from_slice(&number.to_be_bytes());
    TurnId::from_random(bytes)
}

/// A session of instance 1 that nobody spawned.
pub(crate) fn asked(text: &str) -> NewSession {
    let request = SpawnRequest {
        key: key(text),
        agent: None,
        kind: Kind::Cli,
        mode: Mode::Persistent,
        backend: Backend::Cli,
        by: None,
        instance: instance(1),
        origin: None,
        interaction: None,
        sandboxed: false,
        work: Work::default(),
        now_ms: NOW,
    };
    NewSession { request, parent: None, limits: SpawnLimits { depth: 99, children: 99 }, label: None }
}

/// A session that its parent spawned.
pub(crate) fn below(parent: &str, text: &str) -> NewSession {
    let mut new = asked(text);
    new.request.by = Some(key(parent));
    NewSession { parent: Some(key(parent)), ..new }
}

/// Creates sessions that nobody spawned.
pub(crate) async fn spawned(registry: &Arc<dyn Registry>, keys: &[&str]) {
    for key in keys {
        registry.spawn_session(asked(key)).await.unwrap();
    }
}

pub(crate) async fn session(registry: &Arc<dyn Registry>, text: &str) -> Session {
    registry.session(key(text)).await.unwrap().unwrap()
}

pub(crate) async fn state(registry: &Arc<dyn Registry>, text: &str) -> SessionState {
    session(registry, text).await.row.state
}

/// A message to a session.
pub(crate) fn say(number: u64, session: &str) -> NewTurn {
    NewTurn {
        id: turn_id(number),
        session: key(session),
        message: format!("message {number}"),
        asked_by: "uid 1000".to_owned(),
        sent_at_ms: NOW + number,
    }
}

/// Begins a turn of instance 1.
pub(crate) async fn begun(registry: &Arc<dyn Registry>, number: u64, session: &str) -> Turn {
    registry.begin_turn(say(number, session), None, instance(1), NOW + number).await.unwrap()
}

pub(crate) fn end(outcome: Outcome) -> TurnEnd {
    TurnEnd {
        outcome,
        stop: None,
        at_ms: NOW + 9,
        text: Some(FinalText::whole("done")),
        error: None,
        resume: None,
    }
}

pub(crate) fn to(from: SessionState, to: SessionState) -> Move {
    Move { from, to, at_ms: NOW + 8, reason: Some("enough".to_owned()) }
}

/// Closes an idle session.
pub(crate) async fn close(registry: &Arc<dyn Registry>, text: &str, at_ms: u64) {
    use SessionState::{Closed, Closing, Idle};
    for step in [to(Idle, Closing), to(Closing, Closed)] {
        assert!(registry.advance_session(key(text), Move { at_ms, ..step }).await.unwrap().is_some());
    }
}

/// Returns the rows of every page of a list, read page by page.
pub(crate) async fn listed(registry: &Arc<dyn Registry>, mut query: SessionQuery) -> Vec<SessionRow> {
    let mut found = Vec::new();
    loop {
        let page = registry.sessions(query.clone()).await.unwrap();
        assert!(page.sessions.len() <= query.limit);
        found.extend(page.sessions.into_iter().map(|session| session.row));
        match page.next {
            Some(next) => query.after = Some(next),
            None => return found,
        }
    }
}

/// Returns the kinds of the events of a session, in their order.
pub(crate) async fn told(registry: &Arc<dyn Registry>, session: &str) -> Vec<String> {
    let events = registry.events(0, None, usize::MAX >> 1).await.unwrap();
    let of = events.into_iter().filter(|row| row.event.session.as_deref() == Some(session));
    of.map(|row| row.event.kind).collect()
}
