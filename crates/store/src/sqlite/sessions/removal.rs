//! The removal of sessions. A session above an open one stays: otherwise nothing would prove that the open one is
//! below it, and a new session with the same key would inherit it. An unreadable one stays too.

use super::rows::{SESSION, readable, session_row};
use crate::events::sessions as told;
use crate::sessions::UnreadableSession;
use crate::sqlite::Trouble;
use crate::sqlite::columns::stored;
use crate::sqlite::events::tell;
use rusqlite::{Connection, OptionalExtension};
use tenure_core::session::{SessionKey, SessionRow};
use tenure_os::clock::unix_ms;

/// The condition that a session `s` is closed, and all below it.
const REMOVABLE: &str = "s.state = 'closed'
     AND NOT EXISTS (SELECT 1 FROM sessions c INDEXED BY sessions_children
         WHERE c.parent = s.key AND c.state <> 'closed')
     AND NOT EXISTS (SELECT 1 FROM session_ancestors a
         CROSS JOIN sessions d INDEXED BY sqlite_autoindex_sessions_1 ON d.key = a.session
         WHERE a.ancestor = s.key AND d.state <> 'closed')";

/// Returns the position among the closed sessions before which there are more than `most`.
fn oldest_kept(db: &Connection, most: u64) -> Result<(i64, String), Trouble> {
    let Some(before) = most.checked_sub(1) else { return Ok((i64::MAX, String::new())) };
    let place = db
        .prepare_cached(
            "SELECT closed_at_ms, key FROM sessions INDEXED BY sessions_closed WHERE state = 'closed'
             ORDER BY closed_at_ms DESC, key DESC LIMIT 1 OFFSET ?1",
        )?
        .query_row([stored(before)], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    Ok(place.unwrap_or_default())
}

pub(super) fn trim(
    db: &Connection,
    before_ms: u64,
    most: u64,
    limit: usize,
) -> Result<Vec<SessionKey>, Trouble> {
    let mut statement = db.prepare_cached(&format!(
        "SELECT {SESSION} FROM sessions s INDEXED BY sessions_closed
         WHERE (s.closed_at_ms, s.key) < (?1, ?2) AND {REMOVABLE} ORDER BY s.closed_at_ms, s.key"
    ))?;
    let too_old = (stored(before_ms), String::new());
    let mut rows = statement.query(oldest_kept(db, most)?.max(too_old))?;
    let mut gone = Vec::new();
    while gone.len() < limit
        && let Some(row) = rows.next()?
    {
        match readable(row)? {
            Ok(session) => gone.push(session.row),
            Err(UnreadableSession { key, why }) => tracing::warn!(key, why, "a session stays"),
        }
    }
    drop(rows);
    for row in &gone {
        remove(db, row)?;
    }
    Ok(gone.into_iter().map(|row| row.key).collect())
}

pub(super) fn forget(db: &Connection, key: &SessionKey) -> Result<bool, Trouble> {
    let mut statement =
        db.prepare_cached(&format!("SELECT {SESSION} FROM sessions s WHERE s.key = ?1 AND {REMOVABLE}"))?;
    let found = statement.query([key.as_str()])?.next()?.map(session_row).transpose()?;
    let Some(session) = found else { return Ok(false) };
    remove(db, &session.row)?;
    Ok(true)
}

/// Removes the row, and with it the session's turns and ancestors.
fn remove(db: &Connection, row: &SessionRow) -> Result<(), Trouble> {
    db.prepare_cached("DELETE FROM sessions WHERE key = ?1")?.execute([row.key.as_str()])?;
    tell(db, &told::removed(row, unix_ms()))?;
    Ok(())
}
