//! Turns. A session is busy exactly while one of its turns is running: both are changed together, here.

use super::{queue, rows};
use crate::Failed;
use crate::events::sessions as told;
use crate::sessions::Session;
use crate::sqlite::Trouble;
use crate::sqlite::columns::{from_word, number, parsed, stored, word};
use crate::sqlite::events::tell;
use crate::sqlite::tasks;
use crate::tasks::NewTask;
use crate::turns::{FinalText, NewTurn, Side, Turn, TurnEnd, TurnPage};
use rusqlite::{Connection, OptionalExtension, Row};
use tenure_core::ids::{InstanceId, RunId, TurnId};
use tenure_core::session::{SessionKey, SessionState, Stop, TurnState};

const TURN: &str = "SELECT id, session, message, asked_by, sent_at_ms, number, state, instance, run_id, began_at_ms, \
     ended_at_ms, text, cut_bytes, error, stop FROM turns";

fn turn_row(row: &Row<'_>) -> Result<Turn, Trouble> {
    let text = |at: usize| row.get::<_, String>(at);
    let run: Option<String> = row.get(8)?;
    let cut_bytes = number(row.get(12)?);
    let bad = |error| Trouble::Answer(Failed::Unavailable(format!("a turn cannot be read: {error}")));
    Ok(Turn {
        asked: NewTurn {
            id: parsed(&text(0)?)?,
            session: parsed(&text(1)?)?,
            message: text(2)?,
            asked_by: text(3)?,
            sent_at_ms: number(row.get(4)?),
        },
        number: number(row.get(5)?),
        state: from_word(&text(6)?).map_err(bad)?,
        stop: row.get::<_, Option<String>>(14)?.as_deref().map(parsed).transpose()?,
        instance: parsed(&text(7)?)?,
        run: run.as_deref().map(parsed).transpose()?,
        began_at_ms: number(row.get(9)?),
        ended_at_ms: row.get::<_, Option<i64>>(10)?.map(number),
        text: row.get::<_, Option<String>>(11)?.map(|text| FinalText { text, cut_bytes }),
        error: row.get(13)?,
    })
}

pub(super) fn begin(
    db: &Connection,
    asked: &NewTurn,
    task: Option<&NewTask>,
    by: &InstanceId,
    at_ms: u64,
) -> Result<Turn, Trouble> {
    let session = open(db, &asked.session)?;
    if let Some(turn) = active_id(db, &asked.session)? {
        return Err(Trouble::Answer(Failed::SessionBusy { key: asked.session.clone(), turn }));
    }
    if session.queued > 0 {
        let (key, waiting) = (asked.session.clone(), session.queued);
        return Err(Trouble::Answer(Failed::MessagesWait { key, waiting }));
    }
    queue::refuse_known(db, &asked.id)?;
    if let Some(task) = task {
        tasks::track_turn(db, task, &asked.id, &session.row, (asked.sent_at_ms, at_ms))?;
    }
    start(db, session, asked, by, at_ms)
}

/// Returns the session, if it accepts messages.
pub(super) fn open(db: &Connection, key: &SessionKey) -> Result<Session, Trouble> {
    let session = rows::known(db, key)?;
    let state = session.row.state;
    if state.is_open() {
        Ok(session)
    } else {
        Err(Trouble::Answer(Failed::SessionOver { key: key.clone(), state }))
    }
}

/// Begins a turn of an idle session.
pub(super) fn start(
    db: &Connection,
    session: Session,
    asked: &NewTurn,
    by: &InstanceId,
    at_ms: u64,
) -> Result<Turn, Trouble> {
    let mut row = session.row;
    rows::set_state(db, &mut row, SessionState::Busy, at_ms)?;
    let message = tasks::hand_over(db, &row, &asked.message, at_ms)?;
    let turn = Turn {
        asked: NewTurn { message, ..asked.clone() },
        number: session.turns + 1,
        state: TurnState::Running,
        stop: None,
        instance: by.clone(),
        run: None,
        began_at_ms: at_ms,
        ended_at_ms: None,
        text: None,
        error: None,
    };
    db.prepare_cached("UPDATE sessions SET turns = ?2 WHERE key = ?1")?
        .execute((asked.session.as_str(), stored(turn.number)))?;
    db.prepare_cached(
        "INSERT INTO turns (id, session, number, state, instance, asked_by, sent_at_ms, began_at_ms, message)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
    )?
    .execute((
        asked.id.as_str(),
        asked.session.as_str(),
        stored(turn.number),
        word(turn.state),
        by.as_str(),
        &asked.asked_by,
        stored(asked.sent_at_ms),
        stored(at_ms),
        &turn.asked.message,
    ))?;
    tell(db, &told::turn_started(&turn))?;
    tasks::turn_started(db, &turn)?;
    Ok(turn)
}

pub(super) fn end(db: &Connection, id: &TurnId, end: &TurnEnd) -> Result<bool, Trouble> {
    let kept = end.text.as_ref().map(FinalText::kept);
    let changed = db
        .prepare_cached(
            "UPDATE turns SET state = ?2, ended_at_ms = ?3, text = ?4, cut_bytes = ?5, error = ?6, stop = ?7
             WHERE id = ?1 AND state = 'running'",
        )?
        .execute((
            id.as_str(),
            word(TurnState::from(end.outcome)),
            stored(end.at_ms),
            kept.map(|(text, _)| text),
            stored(kept.map_or(0, |(_, cut_bytes)| cut_bytes)),
            &end.error,
            end.stop.map(Stop::word),
        ))?;
    if changed == 0 {
        return Ok(false);
    }
    let Some(turn) = turn(db, id)? else { return Ok(false) };
    let key = &turn.asked.session;
    let mut row = rows::known(db, key)?.row;
    match row.state {
        SessionState::Busy => rows::set_state(db, &mut row, SessionState::Idle, end.at_ms)?,
        // The task that closes the session continues when it learns of this.
        SessionState::Closing | SessionState::Idle | SessionState::Closed => {}
    }
    if let Some(resume) = &end.resume {
        rows::set_resume(db, key, Some(resume))?;
    }
    tell(db, &told::turn_ended(&turn, end.at_ms))?;
    tasks::turn_ended(db, &turn, end.at_ms)?;
    Ok(true)
}

pub(in crate::sqlite) fn set_run(db: &Connection, id: &TurnId, run: &RunId) -> Result<bool, Trouble> {
    let changed = db
        .prepare_cached("UPDATE turns SET run_id = ?2 WHERE id = ?1 AND state = 'running'")?
        .execute((id.as_str(), run.as_str()))?;
    if changed > 0 {
        tasks::turn_run(db, id, run)?;
    }
    Ok(changed > 0)
}

pub(super) fn turn(db: &Connection, id: &TurnId) -> Result<Option<Turn>, Trouble> {
    let mut statement = db.prepare_cached(&format!("{TURN} WHERE id = ?1"))?;
    statement.query([id.as_str()])?.next()?.map(turn_row).transpose()
}

const ACTIVE: &str = "INDEXED BY turns_active WHERE session = ?1 AND state = 'running'";

pub(super) fn active(db: &Connection, session: &SessionKey) -> Result<Option<Turn>, Trouble> {
    let mut statement = db.prepare_cached(&format!("{TURN} {ACTIVE}"))?;
    statement.query([session.as_str()])?.next()?.map(turn_row).transpose()
}

pub(super) fn active_id(db: &Connection, session: &SessionKey) -> Result<Option<TurnId>, Trouble> {
    let id: Option<String> = db
        .prepare_cached(&format!("SELECT id FROM turns {ACTIVE}"))?
        .query_row([session.as_str()], |row| row.get(0))
        .optional()?;
    id.as_deref().map(parsed).transpose()
}

pub(super) fn running(db: &Connection, of: &InstanceId) -> Result<Vec<Turn>, Trouble> {
    let mut statement = db.prepare_cached(&format!(
        "{TURN} INDEXED BY turns_running WHERE instance = ?1 AND state = 'running' ORDER BY began_at_ms, id"
    ))?;
    let mut rows = statement.query([of.as_str()])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(turn_row(row)?);
    }
    Ok(found)
}

/// Returns the statement of a page, and the number that it is bound to.
fn list(side: Side) -> (String, u64) {
    let (wanted, order, from) = match side {
        Side::After(number) => (">", "ASC", number),
        Side::Before(number) => ("<", "DESC", number),
    };
    let sql = format!(
        "{TURN} INDEXED BY turns_of_session WHERE session = ?1 AND number {wanted} ?2 ORDER BY number {order}"
    );
    (sql, from)
}

/// Returns a page. A turn that is longer than a page gets a page of its own.
pub(super) fn page(
    db: &Connection,
    session: &SessionKey,
    side: Side,
    (limit, most_bytes): (usize, u64),
) -> Result<TurnPage, Trouble> {
    let (sql, from) = list(side);
    let mut statement = db.prepare_cached(&sql)?;
    let mut rows = statement.query((session.as_str(), stored(from)))?;
    let mut page = TurnPage::default();
    let mut bytes = 0_u64;
    while let Some(row) = rows.next()? {
        if page.turns.len() >= limit {
            page.next = page.turns.last().map(|turn| beyond(side, turn.number));
            break;
        }
        let turn = turn_row(row)?;
        bytes = bytes.saturating_add(turn.bytes());
        if bytes > most_bytes
            && let Some(last) = page.turns.last()
        {
            page.next = Some(beyond(side, last.number));
            break;
        }
        page.turns.push(turn);
    }
    Ok(page)
}

fn beyond(side: Side, number: u64) -> Side {
    match side {
        Side::After(_) => Side::After(number),
        Side::Before(_) => Side::Before(number),
    }
}
