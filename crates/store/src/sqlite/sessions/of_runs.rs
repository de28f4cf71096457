//! The sessions of runs: the first run that names a session creates it.

use super::rows;
use crate::Failed;
use crate::rows::NewRun;
use crate::sessions::NewSession;
use crate::sqlite::Trouble;
use rusqlite::Connection;
use tenure_core::session::{
    Backend, Kind, Mode, Refused, SessionKey, SessionRow, SpawnLimits, SpawnRequest, Work,
};

/// No limits: the limit on runs limits processes, and a session itself costs only a row.
const NO_LIMITS: SpawnLimits = SpawnLimits { depth: usize::MAX, children: usize::MAX };

/// Makes sure that the session of a run has a row. A new run in a closed session is refused.
pub(in crate::sqlite) fn belong(db: &Connection, run: &NewRun) -> Result<(), Trouble> {
    let Some(key) = key(run) else { return Ok(()) };
    match rows::taken(db, &key)? {
        None => make(db, run, key),
        Some(state) if state.is_open() || run.is_started => Ok(()),
        Some(state) => Err(Trouble::Answer(Failed::SessionOver { key, state })),
    }
}

/// Returns the session's key. Older tickets may name something else, for which there is no row.
fn key(run: &NewRun) -> Option<SessionKey> {
    let text = run.ticket.options.session_id.as_deref()?;
    text.parse().ok().filter(|key: &SessionKey| key.as_str() == text)
}

/// Creates the session. A parent without a row counts as none, because there is nothing to be below. A closed
/// parent refuses, because the run would not end with it, not even by way of another session. If the run is alive
/// already, or the parent's row contradicts itself, the session gets no parent, but the sandbox that it would have
/// inherited.
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
