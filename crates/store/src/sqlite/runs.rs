//! Changes of runs: each function is the work of one transaction, with its event and counts.

use super::Trouble;
use super::columns::{self, number, run_row, stored, to_text, word};
use super::events::{count, tell, told_of_journal};
use super::{sessions, tasks, tools};
use crate::Failed;
use crate::events::{self, effects};
use crate::rows::{Beat, Change, Count, Hold, NewRun, RunRow};
use rusqlite::{Connection, OptionalExtension};
use tenure_core::ids::{InstanceId, RunId};
use tenure_core::journal::JournalEntry;
use tenure_core::session::agent_of;
use tenure_core::state::State;
use tenure_os::clock::unix_ms;

/// Returns a run, hidden or not.
pub(super) fn run(db: &Connection, run: &RunId) -> Result<Option<RunRow>, Trouble> {
    let sql = format!(
        "SELECT {} FROM runs r CROSS JOIN instances i ON i.id = r.owner WHERE r.run_id = ?1",
        columns::RUN
    );
    let mut statement = db.prepare_cached(&sql)?;
    let mut rows = statement.query([run.as_str()])?;
    rows.next()?.map(run_row).transpose()
}

pub(super) fn create(db: &Connection, run: &NewRun) -> Result<(), Trouble> {
    let ticket = &run.ticket;
    if let Some(scope) = &ticket.options.scope {
        let holder: Option<String> = db
            .prepare_cached("SELECT run_id FROM runs WHERE scope = ?1 AND state <> 'exited'")?
            .query_row([scope], |row| row.get(0))
            .optional()?;
        if let Some(holder) = holder {
            let holder = columns::parsed(&holder)?;
            return Err(Trouble::Answer(Failed::ScopeTaken { scope: scope.clone(), holder }));
        }
    }
    let owner = ticket.owner_instance_id.as_str();
    let enrolled: bool = db
        .prepare_cached("SELECT EXISTS (SELECT 1 FROM instances WHERE id = ?1)")?
        .query_row([owner], |row| row.get(0))?;
    if !enrolled {
        let text = format!("the instance {owner} is not enrolled, so it can own no run");
        return Err(Trouble::Answer(Failed::Unavailable(text)));
    }
    sessions::belong(db, run)?;
    db.prepare_cached(
        "INSERT INTO runs (run_id, created_at_ms, session, scope, agent, state, owner, epoch, updated_at_ms,
             directory, asked_by, ticket)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?2, ?9, ?10, ?11)",
    )?
    .execute((
        ticket.run_id.as_str(),
        stored(ticket.created_at_ms),
        &ticket.options.session_id,
        &ticket.options.scope,
        ticket.options.session_id.as_deref().and_then(agent_of),
        word(State::Starting),
        owner,
        stored(ticket.lease_epoch),
        &run.directory,
        &run.asked_by,
        to_text(ticket),
    ))?;
    if let Some(notify) = run.exec {
        tools::create(db, &ticket.run_id, notify)?;
    }
    tell(db, &events::created(run))?;
    if let Some(task) = &run.task {
        tasks::track_run(db, task, ticket, ticket.created_at_ms)?;
    }
    Ok(())
}

pub(super) fn record(
    db: &Connection,
    id: &RunId,
    hold: &Hold,
    change: &Change,
    at_ms: u64,
) -> Result<bool, Trouble> {
    let Some(before) = run(db, id)?.filter(|row| row.hold == *hold) else { return Ok(false) };
    if let Change::Noted(journal) = change {
        return note(db, &before, journal);
    }
    let Some(effects) = effects(&before, change, at_ms) else { return Ok(false) };
    let state = word(effects.state);
    write(db, id.as_str(), (&state, change), at_ms)?;
    for event in &effects.events {
        tell(db, event)?;
    }
    for (what, times) in effects.counts {
        count(db, &hold.instance, what, times)?;
    }
    match change {
        Change::Started(note) => tasks::run_started(db, id, note.started_at_ms, at_ms)?,
        Change::Leaving { .. } | Change::Noted(_) => {}
        Change::Ended(ending) => tasks::run_ended(db, id, ending, at_ms)?,
    }
    Ok(true)
}

fn write(db: &Connection, id: &str, (state, change): (&str, &Change), at_ms: u64) -> Result<(), Trouble> {
    let at_ms = stored(at_ms);
    match change {
        Change::Started(note) => db
            .prepare_cached("UPDATE runs SET state = ?2, updated_at_ms = ?3, note = ?4 WHERE run_id = ?1")?
            .execute((id, state, at_ms, to_text(note)))?,
        Change::Leaving { cause, detail: _ } => db
            .prepare_cached("UPDATE runs SET state = ?2, updated_at_ms = ?3, cause = ?4 WHERE run_id = ?1")?
            .execute((id, state, at_ms, cause.map(word)))?,
        Change::Noted(_) => 0,
        Change::Ended(ending) => db
            .prepare_cached(
                "UPDATE runs SET state = ?2, updated_at_ms = ?3, ending = ?4, ended_at_ms = ?5, kept_bytes = ?6
                 WHERE run_id = ?1",
            )?
            .execute((
                id,
                state,
                at_ms,
                to_text(ending),
                stored(ending.ended_at_ms),
                stored(ending.output.bytes.saturating_sub(ending.output.dropped_bytes)),
            ))?,
    };
    Ok(())
}

/// Tells the entries of a run's journal that no event has told yet; returns true if there were some.
fn note(db: &Connection, run: &RunRow, journal: &[JournalEntry]) -> Result<bool, Trouble> {
    if run.state == State::Exited || !journal.iter().any(|entry| entry.what.is_event()) {
        return Ok(false);
    }
    let events = events::journal::events(run, journal, &told_of_journal(db, &run.ticket.run_id)?);
    for event in &events {
        tell(db, event)?;
    }
    Ok(!events.is_empty())
}

/// A request to take a lease from a lost owner.
pub(super) struct Theft {
    pub(super) run: RunId,
    pub(super) from: Hold,
    pub(super) unseated: Beat,
    pub(super) to: InstanceId,
    pub(super) at_ms: u64,
}

pub(super) fn steal(db: &Connection, theft: &Theft) -> Result<Option<Hold>, Trouble> {
    let Theft { run, from, unseated, to, at_ms } = theft;
    let taken = db
        .prepare_cached(
            "UPDATE runs SET owner = ?4, epoch = epoch + 1, updated_at_ms = ?6
             WHERE run_id = ?1 AND owner = ?2 AND epoch = ?3 AND state <> 'exited' AND EXISTS (
                 SELECT 1 FROM instances WHERE id = ?2 AND incarnation = ?5 AND expires_at_ms < ?6)
             RETURNING epoch, session",
        )?
        .query_row(
            (
                run.as_str(),
                from.instance.as_str(),
                stored(from.epoch),
                to.as_str(),
                stored(unseated.incarnation),
                stored(*at_ms),
            ),
            |row| Ok((number(row.get(0)?), row.get(1)?)),
        )
        .optional()?;
    let Some((epoch, session)) = taken else { return Ok(None) };
    let hold = Hold { instance: to.clone(), epoch };
    tasks::run_stolen(db, run, to)?;
    tell(db, &events::stolen(run.clone(), session, (from, &hold), *at_ms))?;
    count(db, to, Count::Steal, 1)?;
    Ok(Some(hold))
}

pub(super) fn raise_epoch(
    db: &Connection,
    run: &RunId,
    from: &Hold,
    above: u64,
) -> Result<Option<Hold>, Trouble> {
    let epoch = above.max(from.epoch).saturating_add(1);
    let raised = db
        .prepare_cached(
            "UPDATE runs SET epoch = ?4, updated_at_ms = ?5
             WHERE run_id = ?1 AND owner = ?2 AND epoch = ?3 AND state <> 'exited'",
        )?
        .execute((
            run.as_str(),
            from.instance.as_str(),
            stored(from.epoch),
            stored(epoch),
            stored(unix_ms()),
        ))?;
    Ok((raised == 1).then(|| Hold { instance: from.instance.clone(), epoch }))
}

/// Returns those of these runs that have no row.
pub(super) fn unknown(db: &Connection, runs: &[RunId]) -> Result<Vec<RunId>, Trouble> {
    let mut statement = db.prepare_cached("SELECT EXISTS (SELECT 1 FROM runs WHERE run_id = ?1)")?;
    let mut unknown = Vec::new();
    for run in runs {
        if !statement.query_row([run.as_str()], |row| row.get::<_, bool>(0))? {
            unknown.push(run.clone());
        }
    }
    Ok(unknown)
}

/// Hides a run. One that has ended meanwhile is hidden as well, and so is the next to be removed.
pub(super) fn hide(db: &Connection, id: &RunId) -> Result<(), Trouble> {
    let Some(row) = run(db, id)?.filter(|row| !row.hidden) else { return Ok(()) };
    let now_ms = unix_ms();
    db.prepare_cached("UPDATE runs SET hidden = 1, updated_at_ms = ?2 WHERE run_id = ?1")?
        .execute((id.as_str(), stored(now_ms)))?;
    tell(db, &events::hidden(&row, now_ms))?;
    Ok(())
}

pub(super) fn forget(db: &Connection, ids: &[RunId]) -> Result<(), Trouble> {
    for id in ids {
        let Some(row) = run(db, id)?.filter(|row| row.state == State::Exited) else { continue };
        db.prepare_cached("DELETE FROM runs WHERE run_id = ?1")?.execute([id.as_str()])?;
        tell(db, &events::removed(&row, unix_ms()))?;
    }
    Ok(())
}
