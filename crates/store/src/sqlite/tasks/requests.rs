//! Requests about a task by people, by owners and by the work itself.

use super::lifecycle::{self, standing};
use super::{outbox, rows};
use crate::sqlite::Trouble;
use crate::sqlite::columns::stored;
use crate::tasks::{CancelAsked, Tracked};
use rusqlite::Connection;
use tenure_core::ids::TaskId;
use tenure_core::task::{DeliveryStatus, NotifyPolicy, Progress, TaskRow, promise};

pub(super) fn set_policy(
    db: &Connection,
    task: &TaskId,
    policy: NotifyPolicy,
    at_ms: u64,
) -> Result<Option<TaskRow>, Trouble> {
    let Some(mut row) = rows::by_id(db, task)? else { return Ok(None) };
    if row.policy != policy {
        let event = row.set_policy(policy, at_ms);
        if policy != NotifyPolicy::StateChanges {
            outbox::drop_changes(db, task, at_ms)?;
        }
        if !row.status.is_terminal() {
            row.delivery = promise(&row, standing(db, row.owner.as_ref())?);
        } else if policy == NotifyPolicy::Silent
            && has_end(&withdraw(db, task, "dropped", IS_WAITING, at_ms)?)
        {
            row.delivery = DeliveryStatus::NotApplicable;
        }
        rows::update(db, &row)?;
        rows::note(db, &row, &event)?;
    }
    row.recent_events = rows::events(db, task)?;
    Ok(Some(row))
}

/// The condition that a notice waits and is not being delivered.
const IS_WAITING: &str = "state IN ('due', 'queued') AND claimed_by IS NULL";
/// The condition that a notice is unsettled. A notice that is being delivered counts too: if its delivery fails, it is not
/// retried.
const IS_OPEN: &str = "state IN ('due', 'queued', 'failed')";

/// Settles the notices of a task without delivering them. Returns their purposes.
fn withdraw(
    db: &Connection,
    task: &TaskId,
    state: &str,
    which: &str,
    at_ms: u64,
) -> Result<Vec<String>, Trouble> {
    outbox::drop_changes(db, task, at_ms)?;
    let mut statement = db.prepare_cached(&format!(
        "UPDATE outbox INDEXED BY outbox_of_task SET state = ?2, settled_at_ms = ?3, claimed_by = NULL
         WHERE task_id = ?1 AND purpose <> 'change' AND {which} RETURNING purpose"
    ))?;
    let purposes = statement.query_map((task.as_str(), state, stored(at_ms)), |row| row.get(0))?;
    Ok(purposes.collect::<Result<_, _>>()?)
}

/// Returns true if a notice of the end is among these purposes.
fn has_end(purposes: &[String]) -> bool {
    purposes.iter().any(|purpose| outbox::is_of_end(purpose))
}

pub(super) fn ask_cancel(db: &Connection, task: &TaskId, at_ms: u64) -> Result<CancelAsked, Trouble> {
    let Some(mut row) = rows::by_id(db, task)? else { return Ok(CancelAsked::NoTask) };
    match row.ask_cancel(at_ms) {
        Ok(done) => {
            lifecycle::write(db, &mut row, done, at_ms)?;
            Ok(CancelAsked::Noted(Box::new(row)))
        }
        Err(_) => Ok(CancelAsked::Over(Box::new(row))),
    }
}

pub(super) fn note_progress(
    db: &Connection,
    which: &Tracked,
    progress: &Progress,
    at_ms: u64,
) -> Result<bool, Trouble> {
    let Some(mut row) = rows::tracked(db, which)? else { return Ok(false) };
    // The progress of a turn is its agent's words, not its run's output.
    if matches!(which, Tracked::Run(_)) && row.turn.is_some() {
        return Ok(false);
    }
    let Ok(done) = row.go_on(progress, at_ms) else { return Ok(false) };
    lifecycle::write(db, &mut row, done, at_ms)?;
    Ok(true)
}

pub(super) fn acknowledge(db: &Connection, which: &Tracked, at_ms: u64) -> Result<bool, Trouble> {
    let Some(mut row) = rows::tracked(db, which)?.filter(|row| row.status.is_terminal()) else {
        return Ok(false);
    };
    // A reader of its run's end has not seen the result of the turn.
    if matches!(which, Tracked::Run(_)) && row.turn.is_some() {
        return Ok(false);
    }
    let withdrawn = withdraw(db, &row.id, "acknowledged", IS_OPEN, at_ms)?;
    if has_end(&withdrawn) {
        outbox::stand(db, &mut row, DeliveryStatus::Delivered, at_ms)?;
    }
    Ok(!withdrawn.is_empty())
}

pub(super) fn retry(db: &Connection, task: &TaskId, at_ms: u64) -> Result<u64, Trouble> {
    let Some(mut row) = rows::by_id(db, task)? else { return Ok(0) };
    let changed = db
        .prepare_cached(
            "UPDATE outbox INDEXED BY outbox_of_task
             SET state = 'due', tries = 0, next_at_ms = ?2, settled_at_ms = NULL, claimed_by = NULL
             WHERE task_id = ?1 AND purpose IN ('terminal', 'correction') AND channel IS NOT NULL
                 AND (state IN ('failed', 'queued') OR state = 'due' AND claimed_by IS NULL AND attempts > 0)",
        )?
        .execute((task.as_str(), stored(at_ms)))?;
    if changed > 0 {
        outbox::stand(db, &mut row, DeliveryStatus::Pending, at_ms)?;
    }
    Ok(changed as u64)
}
