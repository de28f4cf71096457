//! The sessions that runs belong to: a run that names one has it made, if it is the first.

use super::rows;
use crate::Failed;
use crate::rows::NewRun;
use crate::sessions::NewSession;
use crate::sqlite::Trouble;
use rusqlite::Connection;
use tenure_core::session::{
    Backend, Kind, Mode, Refused, SessionKey, SessionRow, SpawnLimits, SpawnRequest, Work,
};

/// How many processes there may be is limited by how many runs there may be; a session as such costs a row.
const NO_LIMITS: SpawnLimits = SpawnLimits { depth: usize::MAX, children: usize::MAX };

/// Sees to it that the session of a run has a row. A run that is to be started in a session that is over is refused.
pub(in crate::sqlite) fn belong(db: &Connection, run: &NewRun) -> Result<(), Trouble> {
    let Some(key) = key(run) else { return Ok(()) };
    match rows::taken(db, &key)? {
        None => make(db, run, key),
        Some(state) if state.is_open() || run.is_started => Ok(()),
        Some(state) => Err(Trouble::Answer(Failed::SessionOver { key, state })),
    }
}

/// Older tickets may name what is no session's key; there is no row for that.
fn key(run: &NewRun) -> Option<SessionKey> {
    let text = run.ticket.session_id.as_deref()?;
    text.parse().ok().filter(|key: &SessionKey| key.as_str() == text)
}

/// A parent that has no row is none: there is nothing to be below. One that is over starts nothing new, not by way of
/// another session either: what it starts would not end with it. Of a run that lives, and below a parent whose row does
/// not agree, the session has no parent, but is as shut in as it would be.
fn make(db: &Connection, run: &NewRun, key: SessionKey) -> Result<(), Trouble> {
    let parent = match &run.session_parent {
        Some(parent) => rows::session(db, parent)?.map(|session| session.row),
        None => None,
    };
    let refused = match rows::spawn_session(db, &asked(run, key.clone(), parent.as_ref())) {
        Err(Trouble::Answer(Failed::NotSpawned(refused))) => refused,
        made => return made.map(drop),
    };
    match refused {
        Refused::ParentClosed { parent, state } if !run.is_started => {
            Err(Trouble::Answer(Failed::SessionOver { key: parent, state }))
        }
        _ => {
            let alone = NewSession { parent: None, ..asked(run, key, parent.as_ref()) };
            let request = SpawnRequest { by: None, ..alone.request };
            rows::spawn_session(db, &NewSession { request, ..alone }).map(drop)
        }
    }
}

fn asked(run: &NewRun, key: SessionKey, parent: Option<&SessionRow>) -> NewSession {
    let request = SpawnRequest {
        agent: None,
        kind: Kind::Exec,
        mode: Mode::Persistent,
        backend: run.ticket.backend_id.parse().unwrap_or(Backend::Run),
        by: parent.map(|parent| parent.key.clone()),
        instance: run.ticket.owner_instance_id.clone(),
        origin: None,
        interaction: None,
        sandboxed: parent.is_some_and(|parent| parent.sandboxed),
        work: Work::default(),
        now_ms: run.ticket.created_at_ms,
        key,
    };
    NewSession { request, parent: parent.map(|parent| parent.key.clone()), limits: NO_LIMITS, label: None }
}
