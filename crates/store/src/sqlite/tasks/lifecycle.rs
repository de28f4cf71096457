//! The events of tasks that follow from the tracked work. Each function is called in the transaction that changes
//! that work, so a task is never behind it, and its notice exists as soon as its end does.

use super::{outbox, rows};
use crate::rows::RunRow;
use crate::sqlite::{Trouble, sessions, tools};
use crate::tasks::NewTask;
use crate::turns::Turn;
use rusqlite::Connection;
use tenure_core::defaults::TASK_SUMMARY;
use tenure_core::ids::{InstanceId, RunId, TurnId};
use tenure_core::record::{Ending, Ticket};
use tenure_core::session::{Interaction, SessionKey, SessionRow};
use tenure_core::state::State;
use tenure_core::task::text::{self, LABEL_CHARS};
use tenure_core::task::{
    DeliveryStatus, EventKind, Kind, Refused, Standing, Status, Step, TaskEvent, TaskRow, Verdict,
    exec_ended, origin_for, promise, tell,
};

/// Returns the state of the session that owns a task.
pub(super) fn standing(db: &Connection, owner: Option<&SessionKey>) -> Result<Standing, Trouble> {
    let Some(owner) = owner else { return Ok(Standing::Nobody) };
    Ok(match sessions::state(db, owner)? {
        Some(state) if state.is_open() => Standing::Open,
        Some(_) | None => Standing::Over,
    })
}

/// Writes an event of a task, with its notice.
pub(super) fn write(
    db: &Connection,
    row: &mut TaskRow,
    (step, event): (Step, TaskEvent),
    at_ms: u64,
) -> Result<(), Trouble> {
    if let Some(what) = step.tells {
        let owner = standing(db, row.owner.as_ref())?;
        let due = tell(row, what, owner, at_ms);
        if row.status.is_terminal() || due.is_some() {
            outbox::drop_changes(db, &row.id, at_ms)?;
        }
        if let Some(due) = due {
            outbox::add(db, row, &due, at_ms)?;
        }
    }
    match event.kind {
        EventKind::Progress => rows::update_progress(db, row)?,
        _ => rows::update(db, row)?,
    }
    rows::note(db, row, &event)
}

/// Writes an event, unless the task has passed it.
fn write_if_new(
    db: &Connection,
    row: &mut TaskRow,
    done: Result<(Step, TaskEvent), Refused>,
    at_ms: u64,
) -> Result<(), Trouble> {
    match done {
        Ok(done) => write(db, row, done, at_ms),
        Err(Refused::Over(_) | Refused::NotBegun | Refused::Running) => Ok(()),
    }
}

/// Makes the row of a new task.
fn new_row(new: &NewTask, kind: Kind, instance: &InstanceId, created_at_ms: u64) -> TaskRow {
    TaskRow {
        id: new.id.clone(),
        kind,
        status: Status::Queued,
        delivery: DeliveryStatus::Pending,
        policy: new.policy,
        tells_quiet_success: new.tells_quiet_success,
        run: None,
        turn: None,
        owner: new.owner.clone(),
        child: None,
        instance: instance.clone(),
        origin: new.origin.clone(),
        interaction: Interaction::ParentOwnedBackground,
        label: new.label.as_deref().map(|label| text::line(label, LABEL_CHARS)).filter(|it| !it.is_empty()),
        progress_summary: None,
        terminal_summary: None,
        error: None,
        outcome: None,
        recent_events: Vec::new(),
        created_at_ms,
        started_at_ms: None,
        cancel_asked_at_ms: None,
        ended_at_ms: None,
        last_event_at_ms: created_at_ms,
        cleanup_after_ms: None,
        changes_told: 0,
        change_told_at_ms: None,
        steps: None,
    }
}

/// Creates a task, completed by the rows of its sessions.
fn make(
    db: &Connection,
    mut row: TaskRow,
    child: Option<&SessionRow>,
    at_ms: u64,
) -> Result<TaskRow, Trouble> {
    // An unreadable session is told by its queue.
    let owner = match &row.owner {
        Some(owner) => sessions::row(db, owner)?,
        None => None,
    };
    if row.origin.is_none() && (row.owner.is_none() || owner.is_some()) {
        row.origin = origin_for(owner.as_ref(), child);
    }
    // A channel without a name counts as none.
    row.origin = row.origin.filter(|origin| !origin.channel.is_empty());
    row.interaction = child.map_or(row.interaction, |child| child.interaction);
    let standing = match &owner {
        Some(owner) if owner.state.is_open() => Standing::Open,
        Some(_) | None => standing(db, row.owner.as_ref())?,
    };
    row.delivery = promise(&row, standing);
    row.last_event_at_ms = row.last_event_at_ms.max(at_ms);
    rows::insert(db, &row)?;
    rows::note_first(db, &row, &TaskEvent { at_ms, kind: EventKind::Created, summary: None })?;
    Ok(row)
}

/// Returns true if this task exists, or one that tracks this run or its turn.
fn is_taken(db: &Connection, new: &NewTask, run: Option<&RunId>) -> Result<bool, Trouble> {
    let taken = db
        .prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM tasks WHERE task_id = ?1)
                 OR EXISTS (SELECT 1 FROM tasks INDEXED BY tasks_run WHERE run_id = ?2)",
        )?
        .query_row((new.id.as_str(), run.map(RunId::as_str)), |row| row.get(0))?;
    Ok(taken)
}

/// Creates the task of a run that is recorded in this transaction. A run with a task keeps it.
pub(in crate::sqlite) fn track_run(
    db: &Connection,
    new: &NewTask,
    ticket: &Ticket,
    at_ms: u64,
) -> Result<Option<TaskRow>, Trouble> {
    if is_taken(db, new, Some(&ticket.run_id))? {
        return Ok(None);
    }
    let mut row = new_row(new, Kind::Run, &ticket.owner_instance_id, ticket.created_at_ms);
    row.run = Some(ticket.run_id.clone());
    row.owner = row.owner.or_else(|| ticket.options.session_id.as_deref().and_then(|key| key.parse().ok()));
    row.label = row.label.or_else(|| {
        let text = ticket.options.label.clone().unwrap_or_else(|| ticket.command_line());
        Some(text::line(&text, LABEL_CHARS)).filter(|it| !it.is_empty())
    });
    make(db, row, None, at_ms).map(Some)
}

/// Creates the task of a run that was begun before, and may have ended.
pub(in crate::sqlite) fn track_run_in_background(
    db: &Connection,
    new: &NewTask,
    run: &RunRow,
    at_ms: u64,
) -> Result<(), Trouble> {
    let Some(mut row) = track_run(db, new, &run.ticket, at_ms)? else { return Ok(()) };
    row.instance = run.hold.instance.clone();
    rows::set_instance(db, &run.ticket.run_id, &row.instance)?;
    match (&run.note, run.state) {
        (Some(note), _) => run_started(db, &run.ticket.run_id, note.started_at_ms, at_ms)?,
        (None, State::Running) => run_started(db, &run.ticket.run_id, at_ms, at_ms)?,
        (None, State::Starting | State::Exiting | State::Exited) => {}
    }
    match &run.ending {
        Some(ending) => run_ended(db, &run.ticket.run_id, ending, at_ms),
        None => Ok(()),
    }
}

/// Creates the task of a turn that is begun or queued in this transaction.
pub(in crate::sqlite) fn track_turn(
    db: &Connection,
    new: &NewTask,
    turn: &TurnId,
    session: &SessionRow,
    (created_at_ms, at_ms): (u64, u64),
) -> Result<(), Trouble> {
    if is_taken(db, new, None)? {
        return Ok(());
    }
    let mut row =
        new_row(new, Kind::of_turn(session.kind, session.backend), &session.instance, created_at_ms);
    row.turn = Some(turn.clone());
    row.child = Some(session.key.clone());
    row.owner = row.owner.or_else(|| session.owner.clone());
    make(db, row, Some(session), at_ms).map(drop)
}

pub(in crate::sqlite) fn run_started(
    db: &Connection,
    run: &RunId,
    started_at_ms: u64,
    at_ms: u64,
) -> Result<(), Trouble> {
    let Some(mut row) = rows::by_tracked_run(db, run)? else { return Ok(()) };
    let done = row.start(started_at_ms, at_ms);
    write_if_new(db, &mut row, done, at_ms)
}

pub(in crate::sqlite) fn run_ended(
    db: &Connection,
    run: &RunId,
    ending: &Ending,
    at_ms: u64,
) -> Result<(), Trouble> {
    let Some(mut row) = rows::by_tracked_run(db, run)? else { return Ok(()) };
    let done = row.end(Verdict::of_run(&ending.termination, ending.output), ending.ended_at_ms, at_ms);
    write_if_new(db, &mut row, done, at_ms)?;
    match exec_ended(&row, at_ms) {
        Some(due) if tools::is_in_background(db, run)? => outbox::add(db, &row, &due, at_ms),
        Some(_) | None => Ok(()),
    }
}

pub(in crate::sqlite) fn run_stolen(db: &Connection, run: &RunId, to: &InstanceId) -> Result<(), Trouble> {
    rows::set_instance(db, run, to)
}

pub(in crate::sqlite) fn turn_started(db: &Connection, turn: &Turn) -> Result<(), Trouble> {
    let Some(mut row) = rows::by_turn(db, &turn.asked.id)? else { return Ok(()) };
    row.instance = turn.instance.clone();
    db.prepare_cached("UPDATE tasks SET instance = ?2 WHERE task_id = ?1")?
        .execute((row.id.as_str(), row.instance.as_str()))?;
    let done = row.start(turn.began_at_ms, turn.began_at_ms);
    write_if_new(db, &mut row, done, turn.began_at_ms)
}

/// Stores the run of a turn.
pub(in crate::sqlite) fn turn_run(db: &Connection, turn: &TurnId, run: &RunId) -> Result<(), Trouble> {
    db.prepare_cached("UPDATE tasks INDEXED BY tasks_turn SET run_id = ?2 WHERE turn_id = ?1")?
        .execute((turn.as_str(), run.as_str()))?;
    Ok(())
}

pub(in crate::sqlite) fn turn_ended(db: &Connection, turn: &Turn, at_ms: u64) -> Result<(), Trouble> {
    let Some(mut row) = rows::by_turn(db, &turn.asked.id)? else { return Ok(()) };
    let said = turn.text.as_ref().map(|it| it.text.as_str());
    let Some(verdict) = Verdict::of_turn(turn.state, said, turn.error.as_deref()) else { return Ok(()) };
    let done = row.end(verdict, at_ms, at_ms);
    write_if_new(db, &mut row, done, at_ms)
}

/// Ends the task of a message that was withdrawn.
pub(in crate::sqlite) fn turn_withdrawn(db: &Connection, turn: &TurnId, at_ms: u64) -> Result<(), Trouble> {
    let Some(mut row) = rows::by_turn(db, turn)? else { return Ok(()) };
    let done = row.end(Verdict::withdrawn(), at_ms, at_ms);
    write_if_new(db, &mut row, done, at_ms)
}

/// Marks a task lost that nothing backs any more.
pub(super) fn lose(db: &Connection, row: &mut TaskRow, why: &str, at_ms: u64) -> Result<bool, Trouble> {
    let done = row.end(Verdict::lost(&text::line(why, TASK_SUMMARY)), at_ms, at_ms);
    let is_lost = done.is_ok();
    write_if_new(db, row, done, at_ms)?;
    Ok(is_lost)
}
