//! The rows of tasks and their latest events.

use crate::Failed;
use crate::events::tasks as told;
use crate::sqlite::Trouble;
use crate::sqlite::columns::{number, parsed, stored};
use crate::sqlite::events::tell;
use crate::tasks::Tracked;
use rusqlite::{Connection, OptionalExtension, Params, Row, named_params};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tenure_core::defaults::TASK_EVENTS;
use tenure_core::ids::{InstanceId, RunId, TaskId, TurnId};
use tenure_core::session::SessionKey;
use tenure_core::task::{EventKind, TaskEvent, TaskRow};

/// The columns of a [`TaskRow`], for a query over `tasks t`.
pub(super) const TASK: &str = "t.task_id, t.kind, t.status, t.delivery, t.policy, t.tells_quiet_success, t.run_id, \
     t.turn_id, t.owner, t.child, t.instance, t.origin, t.interaction, t.label, t.progress_summary, \
     t.terminal_summary, t.error, t.outcome, t.created_at_ms, t.started_at_ms, t.cancel_asked_at_ms, t.ended_at_ms, \
     t.last_event_at_ms, t.cleanup_after_ms, t.changes_told, t.change_told_at_ms";

/// Reads the columns of [`TASK`], without the events.
pub(super) fn task_row(row: &Row<'_>) -> Result<TaskRow, Trouble> {
    let id: String = row.get(0)?;
    read(row, &id).map_err(|trouble| match trouble {
        Trouble::Answer(failed) => {
            Trouble::Answer(Failed::Unavailable(format!("the record of task {id} cannot be read: {failed}")))
        }
        sql @ Trouble::Sql(_) => sql,
    })
}

fn read(row: &Row<'_>, id: &str) -> Result<TaskRow, Trouble> {
    let text = |at: usize| row.get::<_, String>(at);
    let maybe = |at: usize| row.get::<_, Option<String>>(at);
    let time = |at: usize| Ok::<_, Trouble>(row.get::<_, Option<i64>>(at)?.map(number));
    Ok(TaskRow {
        id: parsed(id)?,
        kind: parsed(&text(1)?)?,
        status: parsed(&text(2)?)?,
        delivery: parsed(&text(3)?)?,
        policy: parsed(&text(4)?)?,
        tells_quiet_success: row.get(5)?,
        run: maybe(6)?.as_deref().map(parsed).transpose()?,
        turn: maybe(7)?.as_deref().map(parsed).transpose()?,
        owner: maybe(8)?.as_deref().map(parsed).transpose()?,
        child: maybe(9)?.as_deref().map(parsed).transpose()?,
        instance: parsed(&text(10)?)?,
        origin: maybe(11)?.as_deref().map(from_json).transpose()?,
        interaction: parsed(&text(12)?)?,
        label: maybe(13)?,
        progress_summary: maybe(14)?,
        terminal_summary: maybe(15)?,
        error: maybe(16)?,
        outcome: maybe(17)?.as_deref().map(from_json).transpose()?,
        recent_events: Vec::new(),
        created_at_ms: number(row.get(18)?),
        started_at_ms: time(19)?,
        cancel_asked_at_ms: time(20)?,
        ended_at_ms: time(21)?,
        last_event_at_ms: number(row.get(22)?),
        cleanup_after_ms: time(23)?,
        changes_told: number(row.get(24)?),
        change_told_at_ms: time(25)?,
        steps: None,
    })
}

pub(super) fn from_json<T: DeserializeOwned>(text: &str) -> Result<T, Trouble> {
    serde_json::from_str(text).map_err(|error| Trouble::Answer(Failed::Unavailable(error.to_string())))
}

pub(super) fn to_json<T: Serialize>(value: &T) -> String {
    serde_json::to_string(value).expect("a value with keys that are strings")
}

/// Reads a task; `None` if it cannot be read, which is no reason not to read or record the rest.
pub(super) fn readable(row: &Row<'_>) -> Result<Option<TaskRow>, Trouble> {
    match task_row(row) {
        Ok(task) => Ok(Some(task)),
        Err(Trouble::Answer(why)) => {
            tracing::warn!(%why, "a task is left as it is");
            Ok(None)
        }
        Err(sql) => Err(sql),
    }
}

/// Returns the task of a query.
pub(super) fn one(db: &Connection, which: &str, values: impl Params) -> Result<Option<TaskRow>, Trouble> {
    let mut statement = db.prepare_cached(&format!("SELECT {TASK} FROM tasks t {which}"))?;
    Ok(statement.query(values)?.next()?.map(readable).transpose()?.flatten())
}

pub(super) fn by_id(db: &Connection, id: &TaskId) -> Result<Option<TaskRow>, Trouble> {
    one(db, "WHERE t.task_id = ?1", [id.as_str()])
}

pub(super) fn by_turn(db: &Connection, turn: &TurnId) -> Result<Option<TaskRow>, Trouble> {
    one(db, "INDEXED BY tasks_turn WHERE t.turn_id = ?1", [turn.as_str()])
}

/// Returns the task that tracks a run itself, not the turn that the run carries out.
pub(super) fn by_tracked_run(db: &Connection, run: &RunId) -> Result<Option<TaskRow>, Trouble> {
    one(db, "INDEXED BY tasks_run WHERE t.run_id = ?1 AND t.turn_id IS NULL", [run.as_str()])
}

pub(super) fn tracked(db: &Connection, which: &Tracked) -> Result<Option<TaskRow>, Trouble> {
    match which {
        Tracked::Task(id) => by_id(db, id),
        Tracked::Turn(turn) => by_turn(db, turn),
        Tracked::Run(run) => one(db, "INDEXED BY tasks_run WHERE t.run_id = ?1", [run.as_str()]),
    }
}

pub(super) fn insert(db: &Connection, row: &TaskRow) -> Result<(), Trouble> {
    db.prepare_cached(
        "INSERT INTO tasks (task_id, kind, tells_quiet_success, turn_id, owner, child, origin, interaction, label,
             created_at_ms, instance, run_id, status, delivery, policy, last_event_at_ms)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)",
    )?
    .execute(rusqlite::params![
        row.id.as_str(),
        row.kind.word(),
        row.tells_quiet_success,
        row.turn.as_ref().map(TurnId::as_str),
        row.owner.as_ref().map(SessionKey::as_str),
        row.child.as_ref().map(SessionKey::as_str),
        row.origin.as_ref().map(to_json),
        row.interaction.word(),
        row.label,
        stored(row.created_at_ms),
        row.instance.as_str(),
        row.run.as_ref().map(RunId::as_str),
        row.status.word(),
        row.delivery.word(),
        row.policy.word(),
        stored(row.last_event_at_ms),
    ])?;
    Ok(())
}

/// Writes the changeable columns of a task.
pub(super) fn update(db: &Connection, row: &TaskRow) -> Result<(), Trouble> {
    db.prepare_cached(
        "UPDATE tasks SET status = :status, delivery = :delivery, policy = :policy, progress_summary = :progress,
             terminal_summary = :summary, error = :error, outcome = :outcome, started_at_ms = :started,
             cancel_asked_at_ms = :asked, ended_at_ms = :ended, last_event_at_ms = :event,
             cleanup_after_ms = :cleanup, changes_told = :told, change_told_at_ms = :told_at
         WHERE task_id = :id",
    )?
    .execute(named_params! {
        ":id": row.id.as_str(),
        ":status": row.status.word(),
        ":delivery": row.delivery.word(),
        ":policy": row.policy.word(),
        ":progress": row.progress_summary,
        ":summary": row.terminal_summary,
        ":error": row.error,
        ":outcome": row.outcome.as_ref().map(to_json),
        ":started": row.started_at_ms.map(stored),
        ":asked": row.cancel_asked_at_ms.map(stored),
        ":ended": row.ended_at_ms.map(stored),
        ":event": stored(row.last_event_at_ms),
        ":cleanup": row.cleanup_after_ms.map(stored),
        ":told": stored(row.changes_told),
        ":told_at": row.change_told_at_ms.map(stored),
    })?;
    Ok(())
}

/// Writes the columns that change with progress, which happens often.
pub(super) fn update_progress(db: &Connection, row: &TaskRow) -> Result<(), Trouble> {
    db.prepare_cached(
        "UPDATE tasks SET progress_summary = ?2, last_event_at_ms = ?3, changes_told = ?4, change_told_at_ms = ?5
         WHERE task_id = ?1",
    )?
    .execute((
        row.id.as_str(),
        &row.progress_summary,
        stored(row.last_event_at_ms),
        stored(row.changes_told),
        row.change_told_at_ms.map(stored),
    ))?;
    Ok(())
}

/// Writes an event of a task, in the registry's events too. The latest progress replaces earlier progress since any
/// other event.
pub(super) fn note(db: &Connection, row: &TaskRow, event: &TaskEvent) -> Result<(), Trouble> {
    let id = row.id.as_str();
    let last: Option<(i64, String)> = db
        .prepare_cached(
            "SELECT number, kind FROM task_events WHERE task_id = ?1 ORDER BY number DESC LIMIT 1",
        )?
        .query_row([id], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let number = match &last {
        Some((number, kind)) if event.kind == EventKind::Progress && *kind == event.kind.word() => *number,
        Some((number, _)) => number + 1,
        None => 0,
    };
    write_event(db, row, (number, event))?;
    let beyond = number - i64::try_from(TASK_EVENTS).unwrap_or(i64::MAX);
    if beyond >= 0 {
        db.prepare_cached("DELETE FROM task_events WHERE task_id = ?1 AND number <= ?2")?
            .execute((id, beyond))?;
    }
    Ok(())
}

/// Writes the creation of a task, in the registry's events too.
pub(super) fn note_first(db: &Connection, row: &TaskRow, event: &TaskEvent) -> Result<(), Trouble> {
    write_event(db, row, (0, event))
}

fn write_event(db: &Connection, row: &TaskRow, (number, event): (i64, &TaskEvent)) -> Result<(), Trouble> {
    db.prepare_cached(
        "INSERT OR REPLACE INTO task_events (task_id, number, at_ms, kind, summary) VALUES (?1, ?2, ?3, ?4, ?5)",
    )?
    .execute((row.id.as_str(), number, stored(event.at_ms), event.kind.word(), &event.summary))?;
    if let Some(event) = told::happened(row, event.kind, event.at_ms) {
        tell(db, &event)?;
    }
    Ok(())
}

/// Returns the latest events of a task, the oldest first.
pub(super) fn events(db: &Connection, id: &TaskId) -> Result<Vec<TaskEvent>, Trouble> {
    let mut statement =
        db.prepare_cached("SELECT at_ms, kind, summary FROM task_events WHERE task_id = ?1 ORDER BY number")?;
    let mut rows = statement.query([id.as_str()])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let kind = parsed(&row.get::<_, String>(1)?)?;
        found.push(TaskEvent { at_ms: number(row.get(0)?), kind, summary: row.get(2)? });
    }
    Ok(found)
}

pub(super) fn set_instance(db: &Connection, run: &RunId, to: &InstanceId) -> Result<(), Trouble> {
    db.prepare_cached("UPDATE tasks INDEXED BY tasks_run SET instance = ?2 WHERE run_id = ?1")?
        .execute((run.as_str(), to.as_str()))?;
    Ok(())
}
