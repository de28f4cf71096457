//! Notices that wait for the next turn of the session that is told. That they wait is no delivery: nobody has read them.

use super::rows::from_json;
use crate::sqlite::Trouble;
use crate::sqlite::columns::stored;
use crate::tasks::Queued;
use rusqlite::Connection;
use tenure_core::session::SessionKey;
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
