//! The data of the agent's tools; each function is the work of one transaction.

use super::Trouble;
use super::columns::{from_word, number, parsed, stored, unreadable, word};
use super::{runs, tasks};
use crate::tasks::NewTask;
use crate::tools::{AllowRow, ApprovalRow, ApprovalState, ExecRow, NewAnswer, NewApproval};
use rusqlite::{Connection, OptionalExtension, Row};
use serde_json::Value;
use tenure_core::ids::{InstanceId, RunId};
use tenure_core::tools::Notify;
use tenure_os::clock::unix_ms;

pub(super) fn create(db: &Connection, run: &RunId, notify: Notify) -> Result<(), Trouble> {
    db.prepare_cached("INSERT INTO exec_runs (run_id, notify) VALUES (?1, ?2)")?
        .execute((run.as_str(), word(notify)))?;
    Ok(())
}

pub(super) fn exec_run(db: &Connection, run: &RunId) -> Result<Option<ExecRow>, Trouble> {
    let mut statement =
        db.prepare_cached("SELECT notify, background, read_to FROM exec_runs WHERE run_id = ?1")?;
    let mut rows = statement.query([run.as_str()])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    let notify: String = row.get(0)?;
    Ok(Some(ExecRow {
        notify: from_word(&notify).map_err(|error| unreadable(run.as_str(), error))?,
        background: row.get(1)?,
        read_to: row.get(2)?,
    }))
}

pub(super) fn go_background(db: &Connection, run: &RunId, task: &NewTask) -> Result<(), Trouble> {
    db.prepare_cached("UPDATE exec_runs SET background = 1 WHERE run_id = ?1")?.execute([run.as_str()])?;
    match runs::run(db, run)? {
        Some(row) => tasks::track_run_in_background(db, task, &row, unix_ms()),
        None => Ok(()),
    }
}

/// Returns true if a command of exec is in the background.
pub(super) fn is_in_background(db: &Connection, run: &RunId) -> Result<bool, Trouble> {
    let is_there = db
        .prepare_cached("SELECT EXISTS (SELECT 1 FROM exec_runs WHERE run_id = ?1 AND background = 1)")?
        .query_row([run.as_str()], |row| row.get(0))?;
    Ok(is_there)
}

pub(super) fn waited_for(db: &Connection, instance: &InstanceId) -> Result<Vec<RunId>, Trouble> {
    let mut statement = db.prepare_cached(
        "SELECT run_id FROM exec_runs
         WHERE background = 0 AND run_id IN (SELECT run_id FROM runs WHERE state <> 'exited' AND owner = ?1)",
    )?;
    let found = statement.query_map([instance.as_str()], |row| row.get::<_, String>(0))?;
    found.map(|id| parsed(&id?)).collect()
}

pub(super) fn read_to(db: &Connection, run: &RunId, mark: &str) -> Result<(), Trouble> {
    // A run of another face can be read too; its end is told to nobody.
    db.prepare_cached(
        "INSERT INTO exec_runs (run_id, notify, read_to) SELECT run_id, 'never', ?2 FROM runs WHERE run_id = ?1
         ON CONFLICT (run_id) DO UPDATE SET read_to = excluded.read_to",
    )?
    .execute((run.as_str(), mark))?;
    Ok(())
}

const APPROVAL: &str =
    "id, created_at_ms, expires_at_ms, instance, session, state, answered_at_ms, answered_by, asked";

fn approval_row(row: &Row<'_>) -> Result<ApprovalRow, Trouble> {
    let id: String = row.get(0)?;
    let (instance, state, asked): (String, String, String) = (row.get(3)?, row.get(5)?, row.get(8)?);
    Ok(ApprovalRow {
        approval: NewApproval {
            id: parsed(&id)?,
            created_at_ms: number(row.get(1)?),
            expires_at_ms: number(row.get(2)?),
            instance: parsed(&instance)?,
            session: row.get(4)?,
            asked: serde_json::from_str(&asked).map_err(|error| unreadable(&id, error))?,
        },
        state: from_word(&state).map_err(|error| unreadable(&id, error))?,
        answered_at_ms: row.get::<_, Option<i64>>(6)?.map(number),
        answered_by: row.get(7)?,
    })
}

pub(super) fn ask_person(db: &Connection, approval: &NewApproval) -> Result<(), Trouble> {
    db.prepare_cached(
        "INSERT INTO approvals (id, created_at_ms, expires_at_ms, instance, session, state, asked)
         VALUES (?1, ?2, ?3, ?4, ?5, 'pending', ?6)",
    )?
    .execute((
        approval.id.as_str(),
        stored(approval.created_at_ms),
        stored(approval.expires_at_ms),
        approval.instance.as_str(),
        &approval.session,
        approval.asked.to_string(),
    ))?;
    Ok(())
}

pub(super) fn approval(db: &Connection, id: &RunId) -> Result<Option<ApprovalRow>, Trouble> {
    let mut statement = db.prepare_cached(&format!("SELECT {APPROVAL} FROM approvals WHERE id = ?1"))?;
    let mut rows = statement.query([id.as_str()])?;
    rows.next()?.map(approval_row).transpose()
}

pub(super) fn approvals(
    db: &Connection,
    pending_only: bool,
    limit: usize,
) -> Result<Vec<ApprovalRow>, Trouble> {
    let which = if pending_only { "WHERE state = 'pending'" } else { "" };
    let sql = format!("SELECT {APPROVAL} FROM approvals {which} ORDER BY created_at_ms DESC, id LIMIT ?1");
    let mut statement = db.prepare_cached(&sql)?;
    let mut rows = statement.query([stored(limit as u64)])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(approval_row(row)?);
    }
    Ok(found)
}

pub(super) fn answer(db: &Connection, id: &RunId, answer: &NewAnswer) -> Result<bool, Trouble> {
    let changed = db
        .prepare_cached(
            "UPDATE approvals SET state = ?2, answered_at_ms = ?3, answered_by = ?4, asked = ?5
             WHERE id = ?1 AND state = 'pending' AND expires_at_ms > ?3",
        )?
        .execute((
            id.as_str(),
            word(answer.state),
            stored(answer.at_ms),
            &answer.by,
            answer.asked.to_string(),
        ))?;
    if changed == 0 {
        return Ok(false);
    }
    for entry in &answer.entries {
        allow(db, entry, &answer.by, answer.at_ms)?;
    }
    Ok(true)
}

pub(super) fn expire_approvals(db: &Connection, now_ms: u64) -> Result<Vec<RunId>, Trouble> {
    let mut statement = db.prepare_cached(
        "UPDATE approvals SET state = ?2, answered_at_ms = ?1
         WHERE state = 'pending' AND expires_at_ms <= ?1 RETURNING id",
    )?;
    let ids = statement
        .query_map((stored(now_ms), word(ApprovalState::Expired)), |row| row.get::<_, String>(0))?
        .collect::<Result<Vec<_>, _>>()?;
    ids.iter().map(|id| parsed(id)).collect()
}

pub(super) fn trim_approvals(db: &Connection, before_ms: u64) -> Result<(), Trouble> {
    db.prepare_cached("DELETE FROM approvals WHERE state <> 'pending' AND answered_at_ms < ?1")?
        .execute([stored(before_ms)])?;
    Ok(())
}

pub(super) fn allow(db: &Connection, entry: &Value, by: &str, at_ms: u64) -> Result<u64, Trouble> {
    // The order of the keys does not matter.
    let mut sorted = entry.clone();
    sorted.sort_all_objects();
    let text = sorted.to_string();
    let known = db
        .prepare_cached("SELECT id FROM allowlist WHERE entry = ?1")?
        .query_row([&text], |row| row.get(0))
        .optional()?;
    if let Some(id) = known {
        return Ok(number(id));
    }
    db.prepare_cached("INSERT INTO allowlist (added_at_ms, added_by, entry) VALUES (?1, ?2, ?3)")?
        .execute((stored(at_ms), by, text))?;
    Ok(number(db.last_insert_rowid()))
}

pub(super) fn allowlist(db: &Connection) -> Result<Vec<AllowRow>, Trouble> {
    let mut statement = db.prepare_cached(
        "SELECT id, added_at_ms, added_by, last_used_at_ms, uses, entry FROM allowlist ORDER BY id",
    )?;
    let mut rows = statement.query([])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let id: i64 = row.get(0)?;
        let entry: String = row.get(5)?;
        found.push(AllowRow {
            id: number(id),
            added_at_ms: number(row.get(1)?),
            added_by: row.get(2)?,
            last_used_at_ms: row.get::<_, Option<i64>>(3)?.map(number),
            uses: number(row.get(4)?),
            entry: serde_json::from_str(&entry).map_err(|error| unreadable(&id.to_string(), error))?,
        });
    }
    Ok(found)
}

pub(super) fn disallow(db: &Connection, id: u64) -> Result<bool, Trouble> {
    Ok(db.prepare_cached("DELETE FROM allowlist WHERE id = ?1")?.execute([stored(id)])? > 0)
}

pub(super) fn used(db: &Connection, ids: &[u64], at_ms: u64) -> Result<(), Trouble> {
    let mut statement = db.prepare_cached(
        "UPDATE allowlist SET uses = uses + 1, last_used_at_ms = max(coalesce(last_used_at_ms, 0), ?2) WHERE id = ?1",
    )?;
    for &id in ids {
        statement.execute((stored(id), stored(at_ms)))?;
    }
    Ok(())
}
