//! Notices that wait for the next turn of the session that is told. That they wait is no delivery: nobody has read them.

use super::rows::from_json;
use crate::sqlite::Trouble;
use crate::sqlite::columns::stored;
use crate::tasks::Queued;
use rusqlite::Connection;
use std::fmt::Write;
use tenure_core::session::{SessionKey, SessionRow};
use tenure_core::task::NoticeKey;

pub(super) fn waiting(db: &Connection, session: &SessionKey, limit: usize) -> Result<Vec<Queued>, Trouble> {
    let mut statement = db.prepare_cached(
        "SELECT payload, last_error FROM outbox INDEXED BY outbox_queued
         WHERE session = ?1 AND state = 'queued' ORDER BY seq LIMIT ?2",
    )?;
    let mut rows = statement.query((session.as_str(), stored(limit as u64)))?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(Queued { notice: from_json(&row.get::<_, String>(0)?)?, last_error: row.get(1)? });
    }
    Ok(found)
}

pub(super) fn take(
    db: &Connection,
    session: &SessionKey,
    keys: &[NoticeKey],
    at_ms: u64,
) -> Result<u64, Trouble> {
    let mut statement = db.prepare_cached(
        "UPDATE outbox SET state = 'taken', settled_at_ms = ?3
         WHERE key = ?1 AND session = ?2 AND state = 'queued'",
    )?;
    let mut taken = 0;
    for key in keys {
        taken += statement.execute((key.as_str(), session.as_str(), stored(at_ms)))?;
    }
    Ok(taken as u64)
}

/// How many notices one turn is told.
const OF_A_TURN: usize = 20;

/// What a session's next turn is told: what waits for it, and then the message. A session of commands is told nothing.
pub(in crate::sqlite) fn hand_over(
    db: &Connection,
    session: &SessionRow,
    message: &str,
    at_ms: u64,
) -> Result<String, Trouble> {
    if !session.backend.reads_notices() {
        return Ok(message.to_owned());
    }
    let waiting = waiting(db, &session.key, OF_A_TURN)?;
    if waiting.is_empty() {
        return Ok(message.to_owned());
    }
    let mut text = String::from("While you were away:\n");
    for queued in &waiting {
        // Writing to a text does not fail.
        let _ = writeln!(text, "- {}", queued.notice.text);
    }
    let keys: Vec<NoticeKey> = waiting.into_iter().map(|queued| queued.notice.key).collect();
    take(db, &session.key, &keys, at_ms)?;
    Ok(format!("{text}\n{message}"))
}
