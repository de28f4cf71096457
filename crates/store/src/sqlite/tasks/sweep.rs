//! Maintenance. Only running, removable and inconsistent tasks are examined, so its cost does not grow with the
//! tasks that are merely kept.

use super::rows::{TASK, readable};
use super::{lifecycle, outbox, rows};
use crate::events::tasks as told;
use crate::sqlite::Trouble;
use crate::sqlite::columns::{number, parsed, stored};
use crate::sqlite::events::tell;
use crate::tasks::{Audited, Sweep, Swept};
use rusqlite::{Connection, OptionalExtension, Params};
use tenure_core::defaults;
use tenure_core::ids::{InstanceId, TaskId};
use tenure_core::task::{Next, Refusal, Status, TaskRow, audit as findings, needs_a_look};
use tenure_core::tools::tasks::TaskReset;

/// The condition of an inconsistent task, as the index has it.
const SUSPECT: &str = "(delivery = 'failed'
    OR (ended_at_ms IS NULL) <> (status IN ('queued', 'running')) OR started_at_ms < created_at_ms
    OR ended_at_ms < coalesce(started_at_ms, created_at_ms) OR cleanup_after_ms < ended_at_ms
    OR (cleanup_after_ms IS NULL AND status NOT IN ('queued', 'running')))";

/// Tasks that have not ended and had no event since.
pub(super) const SILENT: &str =
    "INDEXED BY tasks_active WHERE t.status IN ('queued', 'running') AND t.last_event_at_ms <= ?1
     ORDER BY t.last_event_at_ms, t.task_id";

/// Tasks whose retention has passed, and of which no notice is in delivery.
pub(super) const OUTLIVED: &str = "SELECT task_id FROM tasks t INDEXED BY tasks_cleanup
     WHERE cleanup_after_ms IS NOT NULL AND cleanup_after_ms <= ?1 AND NOT EXISTS (
         SELECT 1 FROM outbox o INDEXED BY outbox_of_task WHERE o.task_id = t.task_id AND o.state = 'due' AND o.purpose <> 'exec-ended')
     ORDER BY cleanup_after_ms, task_id LIMIT ?2";

/// Returns the query for ended tasks without a time of removal.
pub(super) fn endless() -> String {
    format!(
        "SELECT task_id FROM tasks INDEXED BY tasks_suspect
         WHERE {SUSPECT} AND cleanup_after_ms IS NULL AND status NOT IN ('queued', 'running')
         ORDER BY task_id LIMIT ?1"
    )
}

/// Returns true if a task is backed: by a run that has not ended, a queued message, or a turn of an instance that
/// was alive since then. The records decide, not a clock.
fn is_backed(db: &Connection, row: &TaskRow, since_ms: u64) -> Result<bool, Trouble> {
    let Some(turn) = &row.turn else {
        let Some(run) = &row.run else { return Ok(false) };
        let lives = db
            .prepare_cached("SELECT EXISTS (SELECT 1 FROM runs WHERE run_id = ?1 AND state <> 'exited')")?
            .query_row([run.as_str()], |row| row.get(0))?;
        return Ok(lives);
    };
    let lives = db
        .prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM messages WHERE id = ?1) OR EXISTS (
                 SELECT 1 FROM turns t WHERE t.id = ?1 AND t.state = 'running' AND (
                     EXISTS (SELECT 1 FROM instances i WHERE i.id = t.instance AND i.expires_at_ms > ?2)
                     OR EXISTS (SELECT 1 FROM runs r WHERE r.run_id = t.run_id AND r.state <> 'exited')))",
        )?
        .query_row((turn.as_str(), stored(since_ms)), |row| row.get(0))?;
    Ok(lives)
}

fn unbacked(db: &Connection, since_ms: u64, limit: usize) -> Result<Vec<TaskRow>, Trouble> {
    let mut statement = db.prepare_cached(&format!("SELECT {TASK} FROM tasks t {SILENT}"))?;
    let mut rows = statement.query([stored(since_ms)])?;
    let mut found = Vec::new();
    while found.len() < limit
        && let Some(row) = rows.next()?
    {
        let Some(row) = readable(row)? else { continue };
        if !is_backed(db, &row, since_ms)? {
            found.push(row);
        }
    }
    Ok(found)
}

fn ids(db: &Connection, sql: &str, values: impl Params) -> Result<Vec<TaskId>, Trouble> {
    let mut statement = db.prepare_cached(sql)?;
    let ids = statement.query_map(values, |row| row.get::<_, String>(0))?;
    ids.map(|id| parsed(&id?)).collect()
}

pub(super) fn preview(db: &Connection, sweep: Sweep) -> Result<Swept, Trouble> {
    let moment = db.unchecked_transaction()?;
    let swept = look(&moment, sweep)?.1;
    moment.finish()?;
    Ok(swept)
}

fn look(db: &Connection, sweep: Sweep) -> Result<(Vec<TaskRow>, Swept), Trouble> {
    let Sweep { now_ms, grace_ms, limit, removes } = sweep;
    let most = stored(limit as u64);
    let lost = unbacked(db, now_ms.saturating_sub(grace_ms), limit)?;
    let swept = Swept {
        lost: lost.iter().map(|row| row.id.clone()).collect(),
        stamped: ids(db, &endless(), [most])?,
        removed: if removes { ids(db, OUTLIVED, (stored(now_ms), most))? } else { Vec::new() },
    };
    Ok((lost, swept))
}

pub(super) fn apply(db: &Connection, sweep: Sweep) -> Result<Swept, Trouble> {
    let (lost, swept) = look(db, sweep)?;
    for mut row in lost {
        let why = gone(&row);
        lifecycle::lose(db, &mut row, why, sweep.now_ms)?;
    }
    for id in &swept.stamped {
        let kept_ms = u64::try_from(defaults::KEEP_TASKS_FOR.as_millis()).unwrap_or(u64::MAX);
        db.prepare_cached(
            "UPDATE tasks SET cleanup_after_ms = coalesce(ended_at_ms, ?2) + ?3 WHERE task_id = ?1",
        )?
        .execute((id.as_str(), stored(sweep.now_ms), stored(kept_ms)))?;
    }
    for id in &swept.removed {
        let row = rows::by_id(db, id)?;
        db.prepare_cached("DELETE FROM tasks WHERE task_id = ?1")?.execute([id.as_str()])?;
        if let Some(row) = row {
            tell(db, &told::removed(&row, sweep.now_ms))?;
        }
    }
    Ok(swept)
}

/// Returns the reason why a task is given up, for people.
fn gone(row: &TaskRow) -> &'static str {
    match (&row.turn, row.status) {
        (None, _) => "its run is gone, and no ending of it was recorded",
        (Some(_), Status::Queued) => "its message waits no more and never was a turn",
        (Some(_), _) => "nobody carries its turn out any more",
    }
}

pub(super) fn lose(db: &Connection, task: &TaskId, why: &str, at_ms: u64) -> Result<bool, Trouble> {
    let Some(mut row) = rows::by_id(db, task)? else { return Ok(false) };
    if is_backed(db, &row, at_ms)? {
        return Ok(false);
    }
    lifecycle::lose(db, &mut row, why, at_ms)
}

/// Counts the tasks.
pub(super) fn preview_reset(db: &Connection) -> Result<TaskReset, Trouble> {
    let there = outbox::backlog(db)?;
    let tasks =
        db.prepare_cached("SELECT count(*) FROM tasks")?.query_row([], |row| row.get(0)).map(number)?;
    Ok(TaskReset {
        applied: false,
        tasks,
        active: there.tasks_queued + there.tasks_running,
        notices: there.notices_due + there.notices_queued + there.notices_failed,
    })
}

pub(super) fn reset(db: &Connection, by: &InstanceId, at_ms: u64) -> Result<TaskReset, Trouble> {
    let reset = TaskReset { applied: true, ..preview_reset(db)? };
    db.execute("DELETE FROM tasks", [])?;
    tell(db, &told::reset(reset, by, at_ms))?;
    Ok(reset)
}

/// The condition of a terminal notice that its channel did not accept, and that is not settled.
const REFUSED: &str =
    "state IN ('due', 'queued', 'failed') AND last_error IS NOT NULL AND channel IS NOT NULL
    AND purpose IN ('terminal', 'correction')";

/// Returns the channel that did not accept a task's terminal notice, and the notice's next step.
fn refusal(db: &Connection, task: &TaskId) -> Result<Option<Refusal>, Trouble> {
    let sql = format!(
        "SELECT channel, last_error, state FROM outbox INDEXED BY outbox_of_task WHERE task_id = ?1 AND {REFUSED}
         ORDER BY seq DESC LIMIT 1"
    );
    let mut statement = db.prepare_cached(&sql)?;
    let found = statement.query_row([task.as_str()], |row| {
        let next = match row.get_ref(2)?.as_str()? {
            "due" => Next::Retry,
            "queued" => Next::Queued,
            _ => Next::Failed,
        };
        Ok(Refusal { channel: row.get(0)?, error: row.get(1)?, next })
    });
    Ok(found.optional()?)
}

pub(super) fn audit(db: &Connection, now_ms: u64, limit: usize) -> Result<Vec<Audited>, Trouble> {
    let moment = db.unchecked_transaction()?;
    let since_ms = now_ms.saturating_sub(needs_a_look());
    let mut found: Vec<Audited> = Vec::new();
    let suspects = format!("INDEXED BY tasks_suspect WHERE {SUSPECT} ORDER BY t.task_id");
    let refused = format!(
        "WHERE t.task_id IN (SELECT task_id FROM outbox INDEXED BY outbox_open WHERE {REFUSED}) ORDER BY t.task_id"
    );
    let lists: [(&str, &[i64]); 3] = [(&suspects, &[]), (&refused, &[]), (SILENT, &[stored(since_ms)])];
    for (which, values) in lists {
        let mut statement = moment.prepare_cached(&format!("SELECT {TASK} FROM tasks t {which}"))?;
        let mut rows = statement.query(rusqlite::params_from_iter(values))?;
        while found.len() < limit
            && let Some(row) = rows.next()?
        {
            let Some(task) = readable(row)? else { continue };
            let refusal = refusal(&moment, &task.id)?;
            let findings = findings(&task, is_backed(&moment, &task, since_ms)?, refusal.as_ref(), now_ms);
            let is_known = found.iter().any(|it| it.task.id == task.id);
            if !findings.is_empty() && !is_known {
                found.push(Audited { task, findings });
            }
        }
    }
    moment.finish()?;
    Ok(found)
}
