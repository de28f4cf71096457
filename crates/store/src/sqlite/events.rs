//! Events and counters.

use super::Trouble;
use super::columns::{count_name, count_of, number, parsed, stored};
use crate::Failed;
use crate::events::journal::ToldOfJournal;
use crate::events::kind;
use crate::rows::{Count, EventRow, NewEvent};
use rusqlite::{Connection, OptionalExtension, Row};
use tenure_core::ids::{InstanceId, RunId};

/// Adds an event; returns its number.
pub(super) fn tell(db: &Connection, event: &NewEvent) -> Result<u64, Trouble> {
    db.prepare_cached(
        "INSERT INTO events (at_ms, kind, instance, run_id, session, detail) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?
    .execute((
        stored(event.at_ms),
        &event.kind,
        event.instance.as_str(),
        event.run_id.as_ref().map(RunId::as_str),
        &event.session,
        event.detail.to_string(),
    ))?;
    Ok(number(db.last_insert_rowid()))
}

pub(super) fn after(
    db: &Connection,
    after: u64,
    run: Option<&RunId>,
    limit: usize,
) -> Result<Vec<EventRow>, Trouble> {
    const COLUMNS: &str = "SELECT seq, at_ms, kind, instance, run_id, session, detail FROM events";
    let limit = stored(limit as u64);
    let read = |rows: &mut rusqlite::Rows<'_>| {
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            found.push(event_row(row)?);
        }
        Ok(found)
    };
    if let Some(run) = run {
        let sql = format!("{COLUMNS} WHERE run_id = ?1 AND seq > ?2 ORDER BY seq LIMIT ?3");
        read(&mut db.prepare_cached(&sql)?.query((run.as_str(), stored(after), limit))?)
    } else {
        let sql = format!("{COLUMNS} WHERE seq > ?1 ORDER BY seq LIMIT ?2");
        read(&mut db.prepare_cached(&sql)?.query((stored(after), limit))?)
    }
}

/// Returns the last events of a session, the oldest first.
pub(super) fn of_session(db: &Connection, session: &str, limit: usize) -> Result<Vec<EventRow>, Trouble> {
    let mut statement = db.prepare_cached(
        "SELECT seq, at_ms, kind, instance, run_id, session, detail FROM events WHERE session = ?1
         ORDER BY seq DESC LIMIT ?2",
    )?;
    let mut rows = statement.query((session, stored(limit as u64)))?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(event_row(row)?);
    }
    found.reverse();
    Ok(found)
}

fn event_row(row: &Row<'_>) -> Result<EventRow, Trouble> {
    let seq = number(row.get(0)?);
    let detail =
        serde_json::from_str(row.get_ref(6)?.as_str().map_err(rusqlite::Error::from)?).map_err(|error| {
            Trouble::Answer(Failed::Unavailable(format!("event {seq} cannot be read: {error}")))
        })?;
    let run_id = row.get::<_, Option<String>>(4)?;
    let event = NewEvent {
        at_ms: number(row.get(1)?),
        kind: row.get(2)?,
        instance: parsed(&row.get::<_, String>(3)?)?,
        run_id: run_id.as_deref().map(parsed).transpose()?,
        session: row.get(5)?,
        detail,
    };
    Ok(EventRow { seq, event })
}

/// Returns the part of a run's journal that was told as events.
pub(super) fn told_of_journal(db: &Connection, run: &RunId) -> Result<ToldOfJournal, Trouble> {
    let (next, signals) = db
        .prepare_cached(
            "SELECT max(detail ->> 'entry'), count(*) FILTER (WHERE kind = ?2) FROM events
             WHERE run_id = ?1 AND kind IN (?2, ?3)",
        )?
        .query_row((run.as_str(), kind::RUN_SIGNALLED, kind::RUN_ESCAPED), |row| {
            Ok((row.get::<_, Option<i64>>(0)?, row.get(1)?))
        })?;
    let next = next.map_or(0, |last| number(last) + 1);
    Ok(ToldOfJournal { next, signals: number(signals) })
}

/// Returns the last number that was assigned, even if that event is trimmed away.
pub(super) fn last(db: &Connection) -> Result<u64, Trouble> {
    let seq = db
        .prepare_cached("SELECT seq FROM sqlite_sequence WHERE name = 'events'")?
        .query_row([], |row| row.get(0))
        .optional()?;
    Ok(seq.map_or(0, number))
}

pub(super) fn trim(db: &Connection, before_ms: u64, most: u64) -> Result<(), Trouble> {
    db.execute("DELETE FROM events WHERE at_ms < ?1", [stored(before_ms)])?;
    db.execute(
        "DELETE FROM events WHERE seq <= (SELECT seq FROM events ORDER BY seq DESC LIMIT 1 OFFSET ?1)",
        [stored(most)],
    )?;
    Ok(())
}

pub(super) fn count(db: &Connection, instance: &InstanceId, count: Count, times: u64) -> Result<(), Trouble> {
    let (name, label) = count_name(count);
    db.prepare_cached(
        "INSERT INTO counters (instance, name, label, value) VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT (instance, name, label) DO UPDATE SET value = value + excluded.value",
    )?
    .execute((instance.as_str(), name, label, stored(times)))?;
    Ok(())
}

pub(super) fn counts(db: &Connection, instance: &InstanceId) -> Result<Vec<(Count, u64)>, Trouble> {
    let mut statement = db.prepare_cached("SELECT name, label, value FROM counters WHERE instance = ?1")?;
    let rows = statement.query_map([instance.as_str()], |row| {
        Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?, number(row.get(2)?)))
    })?;
    let mut found = Vec::new();
    for row in rows {
        let (name, label, value) = row?;
        // A later Tenure with the same schema may have more counters; those are not ours to report.
        found.extend(count_of(&name, &label).map(|count| (count, value)));
    }
    found.sort_unstable();
    Ok(found)
}
