//! Notices that wait for the next turn of the owner's session. A waiting notice is not delivered, because nobody
//! has read it.

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

/// Maximum number of notices in one turn.
const OF_A_TURN: usize = 20;

/// Returns the text of a session's next turn: its waiting notices, and then the message. A session of commands gets
/// no notices.
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
        // Writing to a text cannot fail.
        let _ = writeln!(text, "- {}", queued.notice.text);
    }
    let keys: Vec<NoticeKey> = waiting.into_iter().map(|queued| queued.notice.key).collect();
    take(db, &session.key, &keys, at_ms)?;
    Ok(format!("{text}\n{message}"))
}
