//! The outbox: notices for channels. A notice is created with the event that it tells. Its deliverer claims it for
//! a while, and reports the result under the number of the attempt. A crash in between repeats the attempt, under
//! the same key.

use super::rows::{self, from_json, to_json};
use crate::events::tasks as told;
use crate::sqlite::Trouble;
use crate::sqlite::columns::{number, stored};
use crate::sqlite::events::tell;
use crate::sqlite::sessions;
use crate::tasks::{Backlog, Claim, Claimed, Tried};
use rusqlite::{Connection, OptionalExtension};
use tenure_core::ids::{InstanceId, TaskId};
use tenure_core::session::SessionKey;
use tenure_core::task::text::line;
use tenure_core::task::{
    DeliveryStatus, Destination, Due, NoticeKey, NotifyPolicy, Purpose, Standing, TaskRow,
};
use tenure_core::tools::tasks::TaskNotice;

/// Maximum length of a stored error.
const ERROR_CHARS: usize = 400;

/// Puts a notice into the outbox. A task's end is there once, whatever happens (I10).
pub(super) fn add(db: &Connection, row: &TaskRow, due: &Due, at_ms: u64) -> Result<(), Trouble> {
    let (state, channel) = match &due.to {
        Destination::Channel(channel) => ("due", Some(channel)),
        Destination::Session(_) => ("queued", None),
    };
    db.prepare_cached(
        "INSERT INTO outbox (key, task_id, purpose, channel, session, state, created_at_ms, next_at_ms, payload)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?7, ?8) ON CONFLICT DO NOTHING",
    )?
    .execute((
        due.notice.key.as_str(),
        row.id.as_str(),
        due.purpose.word(),
        channel,
        row.owner.as_ref().map(SessionKey::as_str),
        state,
        stored(at_ms),
        to_json(&due.notice),
    ))?;
    Ok(())
}

/// Drops notices of changes, which the next notice replaces, unless they are being delivered.
pub(super) fn drop_changes(db: &Connection, task: &TaskId, at_ms: u64) -> Result<(), Trouble> {
    db.prepare_cached(
        "UPDATE outbox INDEXED BY outbox_of_task SET state = 'dropped', settled_at_ms = ?2
         WHERE task_id = ?1 AND purpose = 'change' AND state IN ('due', 'queued') AND claimed_by IS NULL",
    )?
    .execute((task.as_str(), stored(at_ms)))?;
    Ok(())
}

/// The claimable notices of a channel: of each task the first unsettled one comes first, so that no owner hears of
/// an end before its beginning.
pub(super) const CLAIMABLE: &str = "SELECT o.key FROM outbox o INDEXED BY outbox_due
     WHERE o.state = 'due' AND o.channel = ?1 AND o.next_at_ms <= ?2 AND NOT EXISTS (
         SELECT 1 FROM outbox e INDEXED BY outbox_of_task
         WHERE e.task_id = o.task_id AND e.seq < o.seq AND e.state = 'due' AND e.channel = o.channel)
     ORDER BY o.next_at_ms, o.seq LIMIT ?3";

pub(super) fn claim(
    db: &Connection,
    channel: &str,
    by: &InstanceId,
    (now_ms, until_ms): (u64, u64),
    limit: usize,
) -> Result<Vec<Claimed>, Trouble> {
    let mut statement = db.prepare_cached(CLAIMABLE)?;
    let keys = statement
        .query_map((channel, stored(now_ms), stored(limit as u64)), |row| row.get::<_, String>(0))?
        .collect::<Result<Vec<_>, _>>()?;
    let mut take = db.prepare_cached(
        "UPDATE outbox SET claimed_by = ?2, next_at_ms = ?3, attempts = attempts + 1, tries = tries + 1
         WHERE key = ?1 RETURNING attempts, tries, payload",
    )?;
    let mut claimed = Vec::new();
    for key in keys {
        let (attempt, tries, payload): (i64, i64, String) = take
            .query_row((&key, by.as_str(), stored(until_ms)), |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?))
            })?;
        claimed.push(Claimed {
            claim: Claim { key: NoticeKey::stored(key), attempt: number(attempt) },
            notice: from_json(&payload)?,
            tries: u32::try_from(tries).unwrap_or(u32::MAX),
        });
    }
    Ok(claimed)
}

/// The condition that a notice is still due, and the claim valid.
const VALID_CLAIM: &str = "key = ?1 AND attempts = ?2 AND state = 'due' AND claimed_by IS NOT NULL";

pub(super) fn renew(db: &Connection, claim: &Claim, until_ms: u64) -> Result<bool, Trouble> {
    let changed = db
        .prepare_cached(&format!("UPDATE outbox SET next_at_ms = ?3 WHERE {VALID_CLAIM}"))?
        .execute((claim.key.as_str(), stored(claim.attempt), stored(until_ms)))?;
    Ok(changed > 0)
}

pub(super) fn settle(db: &Connection, claim: &Claim, tried: &Tried, at_ms: u64) -> Result<bool, Trouble> {
    let found: Option<(String, String)> = db
        .prepare_cached(&format!("SELECT task_id, purpose FROM outbox WHERE {VALID_CLAIM}"))?
        .query_row((claim.key.as_str(), stored(claim.attempt)), |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let Some((task, purpose)) = found else { return Ok(false) };
    let row = rows::by_id(db, &crate::sqlite::columns::parsed(&task)?)?;
    let is_of_end = is_of_end(&purpose);
    // An owner who has asked for silence meanwhile does not get the next attempt either.
    let is_unwanted = row.as_ref().is_some_and(|row| row.policy == NotifyPolicy::Silent);
    let (state, error, next_at_ms, delivery) = match tried {
        Tried::Delivered | Tried::Told(_) => ("delivered", None, at_ms, Some(DeliveryStatus::Delivered)),
        Tried::Again { error, .. } | Tried::GivenUp { error } if is_unwanted => {
            ("dropped", Some(error), at_ms, Some(DeliveryStatus::NotApplicable))
        }
        Tried::Again { error, at_ms } => ("due", Some(error), *at_ms, None),
        // A change is not worth reading later.
        Tried::GivenUp { error } if !is_of_end => ("dropped", Some(error), at_ms, None),
        Tried::GivenUp { error } => {
            let owner = row.as_ref().and_then(|row| row.owner.as_ref());
            if is_read(db, owner)? {
                ("queued", Some(error), at_ms, Some(DeliveryStatus::SessionQueued))
            } else {
                ("failed", Some(error), at_ms, Some(DeliveryStatus::Failed))
            }
        }
    };
    let settled_at_ms = (state != "due").then_some(stored(at_ms));
    db.prepare_cached(
        "UPDATE outbox SET state = ?2, last_error = coalesce(?3, last_error), next_at_ms = ?4, settled_at_ms = ?5,
             claimed_by = NULL
         WHERE key = ?1",
    )?
    .execute((
        claim.key.as_str(),
        state,
        error.map(|error| line(error, ERROR_CHARS)),
        stored(next_at_ms),
        settled_at_ms,
    ))?;
    match (row, delivery) {
        (Some(mut row), Some(delivery)) if is_of_end => {
            set_delivery(db, &mut row, &purpose, delivery, at_ms)?;
        }
        _ => {}
    }
    if let Tried::Told(event) = tried {
        tell(db, event)?;
    }
    Ok(true)
}

/// Returns true if a notice with this purpose tells the owner that its task ended.
pub(super) fn is_of_end(purpose: &str) -> bool {
    [Purpose::Terminal, Purpose::Correction].iter().any(|of_end| of_end.word() == purpose)
}

/// Returns true if the next turn of a session reads its queue. An unreadable row counts as true.
fn is_read(db: &Connection, owner: Option<&SessionKey>) -> Result<bool, Trouble> {
    let Some(owner) = owner else { return Ok(false) };
    Ok(match super::lifecycle::standing(db, Some(owner))? {
        Standing::Open => sessions::row(db, owner)?.is_none_or(|row| row.backend.reads_notices()),
        Standing::Nobody | Standing::Over => false,
    })
}

/// Stores the delivery status of a task's end. After a correction, the correction counts.
fn set_delivery(
    db: &Connection,
    row: &mut TaskRow,
    purpose: &str,
    delivery: DeliveryStatus,
    at_ms: u64,
) -> Result<(), Trouble> {
    let is_corrected: bool = purpose == "terminal"
        && db
            .prepare_cached(
                "SELECT EXISTS (SELECT 1 FROM outbox INDEXED BY outbox_once
                     WHERE task_id = ?1 AND purpose = 'correction' AND purpose <> 'change')",
            )?
            .query_row([row.id.as_str()], |row| row.get(0))?;
    if is_corrected || row.delivery == delivery {
        return Ok(());
    }
    stand(db, row, delivery, at_ms)
}

/// Writes the delivery status, with its event.
pub(super) fn stand(
    db: &Connection,
    row: &mut TaskRow,
    delivery: DeliveryStatus,
    at_ms: u64,
) -> Result<(), Trouble> {
    row.delivery = delivery;
    db.prepare_cached("UPDATE tasks SET delivery = ?2 WHERE task_id = ?1")?
        .execute((row.id.as_str(), delivery.word()))?;
    tell(db, &told::delivery(row, at_ms))?;
    Ok(())
}

/// Releases the claims of an instance. An unfinished attempt does not count: however often daemons die, a channel
/// gets all its attempts.
pub(super) fn release(db: &Connection, of: &InstanceId, now_ms: u64) -> Result<u64, Trouble> {
    let changed = db
        .prepare_cached(
            "UPDATE outbox INDEXED BY outbox_claimed SET claimed_by = NULL, next_at_ms = ?2, tries = max(tries - 1, 0)
             WHERE claimed_by = ?1 AND state = 'due'",
        )?
        .execute((of.as_str(), stored(now_ms)))?;
    Ok(changed as u64)
}

/// Steps from one channel to the next: there are few, however many notices wait.
pub(super) const NEXT: &str = "SELECT channel, next_at_ms FROM outbox INDEXED BY outbox_due
     WHERE state = 'due' AND channel > ?1 ORDER BY channel, next_at_ms LIMIT 1";

pub(super) fn next(db: &Connection) -> Result<Vec<(String, u64)>, Trouble> {
    let mut statement = db.prepare_cached(NEXT)?;
    let mut found: Vec<(String, u64)> = Vec::new();
    loop {
        let after = found.last().map_or("", |(channel, _)| channel.as_str());
        let next = statement.query_row([after], |row| Ok((row.get(0)?, number(row.get(1)?)))).optional()?;
        match next {
            Some(next) => found.push(next),
            None => return Ok(found),
        }
    }
}

pub(super) fn of_task(db: &Connection, task: &TaskId) -> Result<Vec<TaskNotice>, Trouble> {
    let mut statement = db.prepare_cached(
        "SELECT key, purpose, channel, state, attempts, created_at_ms, next_at_ms, settled_at_ms, last_error
         FROM outbox INDEXED BY outbox_of_task WHERE task_id = ?1 AND purpose <> 'exec-ended' ORDER BY seq",
    )?;
    let rows = statement.query_map([task.as_str()], |row| {
        let state: String = row.get(3)?;
        Ok(TaskNotice {
            key: NoticeKey::stored(row.get(0)?),
            purpose: row.get(1)?,
            channel: row.get(2)?,
            next_at_ms: (state == "due").then_some(number(row.get(6)?)),
            state,
            attempts: number(row.get(4)?),
            created_at_ms: number(row.get(5)?),
            settled_at_ms: row.get::<_, Option<i64>>(7)?.map(number),
            last_error: row.get(8)?,
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

pub(super) fn backlog(db: &Connection) -> Result<Backlog, Trouble> {
    let mut notices = db.prepare_cached(
        "SELECT count(*) FROM outbox INDEXED BY outbox_open
         WHERE state = ?1 AND state IN ('due', 'queued', 'failed') AND purpose <> 'exec-ended'",
    )?;
    let mut notices = |state: &str| notices.query_row([state], |row| row.get(0)).map(number);
    let mut tasks =
        db.prepare_cached("SELECT count(*) FROM tasks INDEXED BY tasks_status WHERE status = ?1")?;
    let mut tasks = |status: &str| tasks.query_row([status], |row| row.get(0)).map(number);
    Ok(Backlog {
        tasks_queued: tasks("queued")?,
        tasks_running: tasks("running")?,
        notices_due: notices("due")?,
        notices_queued: notices("queued")?,
        notices_failed: notices("failed")?,
    })
}
