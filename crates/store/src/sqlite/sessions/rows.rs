//! Changes of sessions: each function is the work of one transaction, with its event.

use super::{queue, turns};
use crate::Failed;
use crate::events::sessions as told;
use crate::sessions::{Move, Moved, NewSession, Session, UnreadableSession};
use crate::sqlite::Trouble;
use crate::sqlite::columns::{from_text, number, parsed, stored, to_text};
use crate::sqlite::events::tell;
use rusqlite::{Connection, OptionalExtension, Row};
use tenure_core::session::{AgentId, Known, Refused, SessionKey, SessionRow, SessionState, spawn};

/// The columns of a [`Session`], for a query over `sessions s`.
pub(super) const SESSION: &str = "s.key, s.record, s.label, s.resume, s.turns, \
     (SELECT count(*) FROM messages m WHERE m.session = s.key)";

/// Reads the columns of [`SESSION`].
pub(super) fn session_row(row: &Row<'_>) -> Result<Session, Trouble> {
    let key: String = row.get(0)?;
    let record = row.get_ref(1)?.as_str().map_err(|error| unreadable(&key, error))?;
    Ok(Session {
        row: from_text(record).map_err(|error| unreadable(&key, error))?,
        label: row.get(2)?,
        resume: row.get(3)?,
        turns: number(row.get(4)?),
        queued: number(row.get(5)?),
    })
}

/// Reads a session, or the reason why it cannot be read. That is no reason not to read the others.
pub(super) fn readable(row: &Row<'_>) -> Result<Result<Session, UnreadableSession>, Trouble> {
    Ok(match session_row(row) {
        Ok(session) => Ok(session),
        Err(trouble) => Err(UnreadableSession { key: row.get(0)?, why: Failed::from(trouble).to_string() }),
    })
}

pub(super) fn unreadable(key: &str, error: impl std::fmt::Display) -> Trouble {
    Trouble::Answer(Failed::Unavailable(format!("the record of session {key} cannot be read: {error}")))
}

pub(super) fn session(db: &Connection, key: &SessionKey) -> Result<Option<Session>, Trouble> {
    let mut statement = db.prepare_cached(&format!("SELECT {SESSION} FROM sessions s WHERE s.key = ?1"))?;
    let mut rows = statement.query([key.as_str()])?;
    rows.next()?.map(session_row).transpose()
}

/// Returns the row of a session; `None` if it cannot be read.
pub(in crate::sqlite) fn row(db: &Connection, key: &SessionKey) -> Result<Option<SessionRow>, Trouble> {
    match session(db, key) {
        Err(Trouble::Answer(why)) => {
            tracing::warn!(%key, %why, "a session is not asked whom to tell");
            Ok(None)
        }
        read => Ok(read?.map(|session| session.row)),
    }
}

/// Returns a session that must exist.
pub(super) fn known(db: &Connection, key: &SessionKey) -> Result<Session, Trouble> {
    session(db, key)?.ok_or_else(|| Trouble::Answer(Failed::NoSession { key: key.clone() }))
}

pub(super) fn spawn_session(db: &Connection, new: &NewSession) -> Result<Session, Trouble> {
    let parent = new.parent.as_ref().map(|parent| known(db, parent)).transpose()?.map(|parent| parent.row);
    let children = match &parent {
        Some(parent) => open_children(db, &parent.key)?,
        None => 0,
    };
    let known = Known { taken: taken(db, &new.request.key)?, children };
    let row = spawn(parent.as_ref(), new.request.clone(), known, new.limits).map_err(refused)?;
    insert(db, &row, new.label.as_deref(), None)
}

fn refused(why: Refused) -> Trouble {
    Trouble::Answer(match why {
        Refused::Taken { key, state } => Failed::SessionTaken { key, state },
        other => Failed::NotSpawned(other),
    })
}

pub(super) fn adopt(
    db: &Connection,
    row: &SessionRow,
    label: Option<&str>,
    resume: Option<&str>,
) -> Result<Session, Trouble> {
    if let Some(state) = taken(db, &row.key)? {
        return Err(Trouble::Answer(Failed::SessionTaken { key: row.key.clone(), state }));
    }
    match row.state {
        SessionState::Idle | SessionState::Closed => insert(db, row, label, resume),
        // Nothing here leaves a session in this state, and nothing would ever end it.
        state @ (SessionState::Busy | SessionState::Closing) => {
            let text = format!("session {} cannot be taken in while it is {state}", row.key);
            Err(Trouble::Answer(Failed::Unavailable(text)))
        }
    }
}

/// Returns the state of the session with this key, even if its row cannot be read.
pub(in crate::sqlite) fn taken(db: &Connection, key: &SessionKey) -> Result<Option<SessionState>, Trouble> {
    let state: Option<String> = db
        .prepare_cached("SELECT state FROM sessions WHERE key = ?1")?
        .query_row([key.as_str()], |row| row.get(0))
        .optional()?;
    state.map(|word| parsed(&word)).transpose()
}

fn open_children(db: &Connection, key: &SessionKey) -> Result<usize, Trouble> {
    let count = db
        .prepare_cached(
            "SELECT count(*) FROM sessions INDEXED BY sessions_children WHERE parent = ?1 AND state <> 'closed'",
        )?
        .query_row([key.as_str()], |row| row.get(0))?;
    Ok(usize::try_from(number(count)).unwrap_or(usize::MAX))
}

fn insert(
    db: &Connection,
    row: &SessionRow,
    label: Option<&str>,
    resume: Option<&str>,
) -> Result<Session, Trouble> {
    let text = |key: &Option<SessionKey>| key.as_ref().map(|key| key.as_str().to_owned());
    db.prepare_cached(
        "INSERT INTO sessions (key, created_at_ms, agent, kind, backend, state, parent, owner, spawned_by, instance,
             closed_at_ms, label, resume, record)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
    )?
    .execute((
        row.key.as_str(),
        stored(row.created_at_ms),
        row.agent.as_ref().map(AgentId::as_str),
        row.kind.word(),
        row.backend.word(),
        row.state.word(),
        text(&row.parent),
        text(&row.owner),
        text(&row.spawned_by),
        row.instance.as_str(),
        row.closed_at_ms.map(stored),
        label,
        resume,
        to_text(row),
    ))?;
    // A row of another program may name an ancestor twice.
    let mut above = db.prepare_cached(
        "INSERT OR IGNORE INTO session_ancestors (ancestor, created_at_ms, session) VALUES (?1, ?2, ?3)",
    )?;
    for ancestor in &row.lineage {
        above.execute((ancestor.as_str(), stored(row.created_at_ms), row.key.as_str()))?;
    }
    tell(db, &told::created(row, label))?;
    let (label, resume) = (label.map(Into::into), resume.map(Into::into));
    Ok(Session { row: row.clone(), label, resume, turns: 0, queued: 0 })
}

/// Changes a session's state, in its record and in the columns that mirror it.
pub(super) fn set_state(
    db: &Connection,
    row: &mut SessionRow,
    to: SessionState,
    at_ms: u64,
) -> Result<(), Trouble> {
    let from = row.state;
    row.advance(to, at_ms)
        .map_err(|_| Trouble::Answer(Failed::BadMove { key: row.key.clone(), from, to }))?;
    db.prepare_cached("UPDATE sessions SET state = ?2, closed_at_ms = ?3, record = ?4 WHERE key = ?1")?
        .execute((row.key.as_str(), row.state.word(), row.closed_at_ms.map(stored), to_text(row)))?;
    Ok(())
}

pub(super) fn advance(db: &Connection, key: &SessionKey, step: &Move) -> Result<Option<Moved>, Trouble> {
    use SessionState::{Busy, Closed, Closing, Idle};
    let &Move { from, to, at_ms, .. } = step;
    let mut session = known(db, key)?;
    match (from, to) {
        (Idle | Busy, Closing) | (Closing, Closed) => {}
        (_, Idle | Busy) | (Closing | Closed, Closing) | (Idle | Busy | Closed, Closed) => {
            return Err(Trouble::Answer(Failed::BadMove { key: key.clone(), from, to }));
        }
    }
    if session.row.state != from {
        return Ok(None);
    }
    if to == Closed
        && let Some(turn) = turns::active_id(db, key)?
    {
        return Err(Trouble::Answer(Failed::SessionBusy { key: key.clone(), turn }));
    }
    set_state(db, &mut session.row, to, at_ms)?;
    let moved = Moved { withdrawn: queue::clear(db, key, at_ms)? };
    let event = match to {
        Closed => told::closed(&session.row, step, session.turns),
        Idle | Busy | Closing => told::closing(&session.row, step, &moved),
    };
    tell(db, &event)?;
    Ok(Some(moved))
}

pub(super) fn set_resume(db: &Connection, key: &SessionKey, resume: Option<&str>) -> Result<bool, Trouble> {
    let changed = db
        .prepare_cached("UPDATE sessions SET resume = ?2 WHERE key = ?1")?
        .execute((key.as_str(), resume))?;
    Ok(changed > 0)
}

pub(super) fn set_label(db: &Connection, key: &SessionKey, label: Option<&str>) -> Result<bool, Trouble> {
    let changed =
        db.prepare_cached("UPDATE sessions SET label = ?2 WHERE key = ?1")?.execute((key.as_str(), label))?;
    Ok(changed > 0)
}
