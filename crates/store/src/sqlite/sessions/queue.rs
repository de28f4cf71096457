//! The queue of messages of a session. A message becomes a turn in one transaction, so it is in exactly one of the
//! two tables.

use super::{rows, turns};
use crate::Failed;
use crate::events::sessions as session_events;
use crate::sqlite::Trouble;
use crate::sqlite::columns::{number, parsed, stored};
use crate::sqlite::events::tell;
use crate::sqlite::tasks;
use crate::tasks::NewTask;
use crate::turns::{Message, NewTurn, Turn};
use rusqlite::{Connection, Row};
use tenure_core::ids::{InstanceId, TurnId};
use tenure_core::session::{SessionKey, SessionState};

const MESSAGE: &str = "SELECT place, id, session, message, asked_by, sent_at_ms FROM messages \
     INDEXED BY messages_of_session WHERE session = ?1 ORDER BY place";

fn message_row(row: &Row<'_>) -> Result<Message, Trouble> {
    let turn = NewTurn {
        id: parsed(&row.get::<_, String>(1)?)?,
        session: parsed(&row.get::<_, String>(2)?)?,
        message: row.get(3)?,
        asked_by: row.get(4)?,
        sent_at_ms: number(row.get(5)?),
    };
    Ok(Message { turn, place: number(row.get(0)?) })
}

/// Refuses an id that is queued or was a turn: a duplicate would block the queue when its turn starts.
pub(super) fn refuse_known(db: &Connection, id: &TurnId) -> Result<(), Trouble> {
    let known: bool = db
        .prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM turns WHERE id = ?1) OR EXISTS (SELECT 1 FROM messages WHERE id = ?1)",
        )?
        .query_row([id.as_str()], |row| row.get(0))?;
    if known { Err(Trouble::Answer(Failed::TurnTaken { turn: id.clone() })) } else { Ok(()) }
}

pub(super) fn add(
    db: &Connection,
    message: &NewTurn,
    task: Option<&NewTask>,
    depth: usize,
) -> Result<u64, Trouble> {
    let session = turns::open(db, &message.session)?;
    refuse_known(db, &message.id)?;
    let waiting = session.queued;
    if waiting >= depth as u64 {
        return Err(Trouble::Answer(Failed::QueueFull { key: message.session.clone(), waiting }));
    }
    db.prepare_cached(
        "INSERT INTO messages (id, session, asked_by, sent_at_ms, message) VALUES (?1, ?2, ?3, ?4, ?5)",
    )?
    .execute((
        message.id.as_str(),
        message.session.as_str(),
        &message.asked_by,
        stored(message.sent_at_ms),
        &message.message,
    ))?;
    tell(db, &session_events::message_queued(&session.row, message, waiting))?;
    if let Some(task) = task {
        let at_ms = message.sent_at_ms;
        tasks::track_turn(db, task, &message.id, &session.row, (at_ms, at_ms))?;
    }
    Ok(waiting)
}

pub(super) fn take(
    db: &Connection,
    key: &SessionKey,
    by: &InstanceId,
    at_ms: u64,
) -> Result<Option<Turn>, Trouble> {
    let session = rows::known(db, key)?;
    if session.row.state != SessionState::Idle {
        return Ok(None);
    }
    let mut statement = db.prepare_cached(MESSAGE)?;
    let next = statement.query([key.as_str()])?.next()?.map(message_row).transpose()?;
    let Some(Message { turn, place }) = next else { return Ok(None) };
    db.prepare_cached("DELETE FROM messages WHERE place = ?1")?.execute([stored(place)])?;
    turns::start(db, session, &turn, by, at_ms).map(Some)
}

pub(super) fn all(db: &Connection, key: &SessionKey) -> Result<Vec<Message>, Trouble> {
    let mut statement = db.prepare_cached(MESSAGE)?;
    let mut rows = statement.query([key.as_str()])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(message_row(row)?);
    }
    Ok(found)
}

pub(super) fn withdraw(db: &Connection, key: &SessionKey, id: &TurnId, at_ms: u64) -> Result<bool, Trouble> {
    let changed = db
        .prepare_cached("DELETE FROM messages WHERE id = ?1 AND session = ?2")?
        .execute((id.as_str(), key.as_str()))?;
    if changed == 0 {
        return Ok(false);
    }
    tell(db, &session_events::message_withdrawn(&rows::known(db, key)?.row, id, at_ms))?;
    tasks::turn_withdrawn(db, id, at_ms)?;
    Ok(true)
}

/// Withdraws all queued messages; returns their ids.
pub(super) fn clear(db: &Connection, key: &SessionKey, at_ms: u64) -> Result<Vec<TurnId>, Trouble> {
    let waiting: Vec<_> = all(db, key)?.into_iter().map(|message| message.turn.id).collect();
    db.prepare_cached("DELETE FROM messages WHERE session = ?1")?.execute([key.as_str()])?;
    for id in &waiting {
        tasks::turn_withdrawn(db, id, at_ms)?;
    }
    Ok(waiting)
}

pub(super) fn waiting(db: &Connection, of: &InstanceId) -> Result<Vec<SessionKey>, Trouble> {
    let mut statement = db.prepare_cached(
        "SELECT DISTINCT m.session FROM messages m INDEXED BY messages_of_session
         CROSS JOIN sessions s ON s.key = m.session WHERE s.state = 'idle' AND s.instance = ?1 ORDER BY m.session",
    )?;
    let keys = statement.query_map([of.as_str()], |row| row.get::<_, String>(0))?;
    keys.map(|key| parsed(&key?)).collect()
}
