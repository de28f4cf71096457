//! Instances: their heartbeats, and the right to act that expires with them.

use super::Trouble;
use super::columns::{number, parsed, stored};
use super::events::tell;
use crate::events;
use crate::rows::{Beat, InstanceRow};
use rusqlite::{Connection, OptionalExtension, Row};
use tenure_core::ids::InstanceId;
use tenure_os::clock::unix_ms;

fn beat_of(row: &Row<'_>) -> rusqlite::Result<Beat> {
    Ok(Beat { incarnation: number(row.get(0)?), number: number(row.get(1)?) })
}

/// Enrols an instance. The beat's number never falls, not even with a new incarnation, so no beat is ever seen
/// twice.
pub(super) fn enrol(
    db: &Connection,
    instance: &InstanceId,
    about: &str,
    expires_at_ms: u64,
) -> Result<Beat, Trouble> {
    let beat = db
        .prepare_cached(
            "INSERT INTO instances (id, incarnation, number, expires_at_ms, about) VALUES (?1, 1, 1, ?2, ?3)
             ON CONFLICT (id) DO UPDATE SET incarnation = incarnation + 1, number = number + 1,
                 expires_at_ms = excluded.expires_at_ms, about = excluded.about
             RETURNING incarnation, number",
        )?
        .query_row((instance.as_str(), stored(expires_at_ms), about), beat_of)?;
    tell(db, &events::enrolled(instance.clone(), beat, about, unix_ms()))?;
    Ok(beat)
}

/// Renews a heartbeat. Only the incarnation is compared: a beat whose reply was lost must not cost the instance its
/// leases.
pub(super) fn beat(
    db: &Connection,
    instance: &InstanceId,
    last: Beat,
    expires_at_ms: u64,
) -> Result<Option<Beat>, Trouble> {
    Ok(db
        .prepare_cached(
            "UPDATE instances SET number = number + 1, expires_at_ms = ?3 WHERE id = ?1 AND incarnation = ?2
             RETURNING incarnation, number",
        )?
        .query_row((instance.as_str(), stored(last.incarnation), stored(expires_at_ms)), beat_of)
        .optional()?)
}

pub(super) fn unseat(
    db: &Connection,
    instance: &InstanceId,
    seen: Beat,
    now_ms: u64,
) -> Result<Option<Beat>, Trouble> {
    let unseated = db
        .prepare_cached(
            "UPDATE instances SET incarnation = incarnation + 1
             WHERE id = ?1 AND incarnation = ?2 AND number = ?3 AND expires_at_ms < ?4
             RETURNING incarnation, number",
        )?
        .query_row(
            (instance.as_str(), stored(seen.incarnation), stored(seen.number), stored(now_ms)),
            beat_of,
        )
        .optional()?;
    if let Some(to) = unseated {
        tell(db, &events::unseated(instance.clone(), seen, to, now_ms))?;
    }
    Ok(unseated)
}

pub(super) fn all(db: &Connection) -> Result<Vec<InstanceRow>, Trouble> {
    let mut statement =
        db.prepare_cached("SELECT incarnation, number, id, expires_at_ms, about FROM instances ORDER BY id")?;
    let mut rows = statement.query([])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(InstanceRow {
            instance: parsed(&row.get::<_, String>(2)?)?,
            beat: beat_of(row)?,
            expires_at_ms: number(row.get(3)?),
            about: row.get(4)?,
        });
    }
    Ok(found)
}
