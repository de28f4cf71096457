//! Conversations in the embedded registry. A step is one transaction: the offsets on both sides change with the
//! lines, never before or after them.

use super::Sqlite;
use super::Trouble;
use super::columns::{number, parsed, stored};
use super::sessions::set_run;
use crate::Reply;
use crate::talks::{EntryPage, TalkRegistry};
use crate::turns::Side;
use rusqlite::{Connection, Row};
use tenure_core::ids::{InstanceId, RunId, TurnId};
use tenure_core::session::SessionKey;
use tenure_core::talk::{
    AcpConversation, ConversationStep, Entry, HistoryChange, Line, OpenConversation, RecordedRequest,
    RecordedStep, SentRequest,
};

impl TalkRegistry for Sqlite {
    fn begin_talk(&self, run: RunId, session: SessionKey, at_ms: u64) -> Reply<bool> {
        self.write(move |db| begin(db, &run, &session, at_ms))
    }

    fn open_talk(&self, session: SessionKey) -> Reply<Option<OpenConversation>> {
        self.read(move |db| open(db, &session))
    }

    fn open_talks(&self, of: InstanceId) -> Reply<Vec<AcpConversation>> {
        self.read(move |db| open_talks(db, &of))
    }

    fn lines_from(&self, run: RunId, at: u64) -> Reply<Vec<Line>> {
        self.read(move |db| lines_from(db, &run, at))
    }

    fn last_talk(&self, session: SessionKey) -> Reply<Option<AcpConversation>> {
        self.read(move |db| last(db, &session))
    }

    fn advance_talk(
        &self,
        run: RunId,
        by: InstanceId,
        step: ConversationStep,
        at_ms: u64,
    ) -> Reply<Option<RecordedStep>> {
        self.write(move |db| advance(db, &run, &by, &step, at_ms))
    }

    fn question_of(&self, turn: TurnId) -> Reply<Option<Line>> {
        self.read(move |db| question_of(db, &turn))
    }

    fn end_talk(&self, run: RunId, at_ms: u64) -> Reply<bool> {
        self.write(move |db| end(db, &run, at_ms))
    }

    fn entries(&self, session: SessionKey, side: Side, limit: usize, bytes: u64) -> Reply<EntryPage> {
        self.read(move |db| entries(db, &session, side, limit, bytes))
    }
}

/// Number of conversations with a session's adapters that are kept, the newest.
const KEPT: i64 = 10;

const TALK: &str = "SELECT run_id, session, began_at_ms, over_at_ms, heard_to, said_to, last_id, agent_session, abilities \
     FROM talks";

fn talk_row(row: &Row<'_>) -> Result<AcpConversation, Trouble> {
    Ok(AcpConversation {
        run: parsed(&row.get::<_, String>(0)?)?,
        session: parsed(&row.get::<_, String>(1)?)?,
        began_at_ms: number(row.get(2)?),
        over_at_ms: row.get::<_, Option<i64>>(3)?.map(number),
        heard_to: number(row.get(4)?),
        said_to: number(row.get(5)?),
        last_id: row.get(6)?,
        agent_session: row.get(7)?,
        abilities: row.get(8)?,
    })
}

const LINE: &str = "SELECT at, id, verb, turn, line, answer FROM said";

fn line_row(row: &Row<'_>) -> Result<Line, Trouble> {
    let (id, verb): (Option<i64>, Option<String>) = (row.get(1)?, row.get(2)?);
    let turn = row.get::<_, Option<String>>(3)?.as_deref().map(parsed).transpose()?;
    let asks = id.zip(verb).map(|(id, verb)| SentRequest { id, verb, turn });
    Ok(Line { at: number(row.get(0)?), asks, text: row.get(4)?, answer: row.get(5)? })
}

fn begin(db: &Connection, run: &RunId, session: &SessionKey, at_ms: u64) -> Result<bool, Trouble> {
    let made = db
        .prepare_cached(
            "INSERT INTO talks (run_id, session, began_at_ms) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING",
        )?
        .execute((run.as_str(), session.as_str(), stored(at_ms)))?;
    // Conversations of long ago are of no use.
    db.prepare_cached(
        "DELETE FROM talks WHERE session = ?1 AND over_at_ms IS NOT NULL AND run_id NOT IN
             (SELECT run_id FROM talks WHERE session = ?1 ORDER BY began_at_ms DESC, rowid DESC LIMIT ?2)",
    )?
    .execute((session.as_str(), KEPT))?;
    Ok(made > 0)
}

fn open(db: &Connection, session: &SessionKey) -> Result<Option<OpenConversation>, Trouble> {
    let mut statement = db
        .prepare_cached(&format!("{TALK} INDEXED BY talks_open WHERE session = ?1 AND over_at_ms IS NULL"))?;
    let Some(talk) = statement.query([session.as_str()])?.next()?.map(talk_row).transpose()? else {
        return Ok(None);
    };
    let questions = lines(db, &talk.run, "INDEXED BY said_open", "answer IS NULL AND id IS NOT NULL")?;
    let mut statement = db
        .prepare_cached("SELECT id, method, params, at_ms FROM asked WHERE run_id = ?1 ORDER BY at_ms, id")?;
    let asked = statement.query_map([talk.run.as_str()], |row| {
        Ok(RecordedRequest {
            id: row.get(0)?,
            method: row.get(1)?,
            params: row.get(2)?,
            at_ms: number(row.get(3)?),
        })
    })?;
    let asked = asked.collect::<Result<_, _>>()?;
    Ok(Some(OpenConversation { talk, questions, asked }))
}

fn open_talks(db: &Connection, of: &InstanceId) -> Result<Vec<AcpConversation>, Trouble> {
    let mut statement = db.prepare_cached(&format!(
        "{TALK} t WHERE over_at_ms IS NULL AND EXISTS (SELECT 1 FROM runs r WHERE r.run_id = t.run_id AND r.owner = ?1)"
    ))?;
    let mut rows = statement.query([of.as_str()])?;
    let mut talks = Vec::new();
    while let Some(row) = rows.next()? {
        talks.push(talk_row(row)?);
    }
    Ok(talks)
}

/// Returns the lines of a conversation for which the condition is true.
fn lines(db: &Connection, run: &RunId, index: &str, which: &str) -> Result<Vec<Line>, Trouble> {
    let mut statement =
        db.prepare_cached(&format!("{LINE} {index} WHERE run_id = ?1 AND {which} ORDER BY at"))?;
    let mut rows = statement.query([run.as_str()])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(line_row(row)?);
    }
    Ok(found)
}

/// Returns the line that contains this offset, and those after it.
fn lines_from(db: &Connection, run: &RunId, at: u64) -> Result<Vec<Line>, Trouble> {
    let at = stored(at);
    lines(
        db,
        run,
        "",
        &format!("at >= coalesce((SELECT max(at) FROM said WHERE run_id = ?1 AND at <= {at}), 0)"),
    )
}

fn last(db: &Connection, session: &SessionKey) -> Result<Option<AcpConversation>, Trouble> {
    let mut statement = db.prepare_cached(&format!(
        "{TALK} INDEXED BY talks_session WHERE session = ?1 ORDER BY began_at_ms DESC, rowid DESC LIMIT 1"
    ))?;
    statement.query([session.as_str()])?.next()?.map(talk_row).transpose()
}

fn question_of(db: &Connection, turn: &TurnId) -> Result<Option<Line>, Trouble> {
    let mut statement =
        db.prepare_cached(&format!("{LINE} INDEXED BY said_turn WHERE turn = ?1 ORDER BY at DESC LIMIT 1"))?;
    statement.query([turn.as_str()])?.next()?.map(line_row).transpose()
}

fn end(db: &Connection, run: &RunId, at_ms: u64) -> Result<bool, Trouble> {
    let ended = db
        .prepare_cached("UPDATE talks SET over_at_ms = ?2 WHERE run_id = ?1 AND over_at_ms IS NULL")?
        .execute((run.as_str(), stored(at_ms)))?;
    // Nobody waits for an answer any more.
    db.prepare_cached("DELETE FROM asked WHERE run_id = ?1")?.execute([run.as_str()])?;
    Ok(ended > 0)
}

fn advance(
    db: &Connection,
    run: &RunId,
    by: &InstanceId,
    step: &ConversationStep,
    at_ms: u64,
) -> Result<Option<RecordedStep>, Trouble> {
    let mut statement = db.prepare_cached(&format!(
        "{TALK} t WHERE run_id = ?1 AND over_at_ms IS NULL
             AND NOT EXISTS (SELECT 1 FROM runs r WHERE r.run_id = t.run_id AND r.owner <> ?2)"
    ))?;
    let found = statement.query((run.as_str(), by.as_str()))?.next()?.map(talk_row).transpose()?;
    let Some(mut talk) = found else { return Ok(None) };
    let mut done = RecordedStep::default();
    hear(db, run, step)?;
    say(db, &mut talk, &step.lines, &mut done)?;
    tell(db, &talk.session, &step.told, at_ms, &mut done)?;
    db.prepare_cached(
        "UPDATE talks SET heard_to = max(heard_to, ?2), said_to = ?3, last_id = ?4,
             agent_session = coalesce(?5, agent_session), abilities = coalesce(?6, abilities)
         WHERE run_id = ?1",
    )?
    .execute((
        run.as_str(),
        stored(step.heard_to),
        stored(talk.said_to),
        talk.last_id,
        &step.agent_session,
        &step.abilities,
    ))?;
    Ok(Some(done))
}

/// Writes the agent's responses and requests, and the answers that this step gives.
fn hear(db: &Connection, run: &RunId, step: &ConversationStep) -> Result<(), Trouble> {
    let mut answer =
        db.prepare_cached("UPDATE said SET answer = ?3 WHERE run_id = ?1 AND id = ?2 AND answer IS NULL")?;
    for (id, text) in &step.answers {
        answer.execute((run.as_str(), id, text))?;
    }
    let mut ask = db.prepare_cached(
        "INSERT INTO asked (run_id, id, method, params, at_ms) VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT DO NOTHING",
    )?;
    for asked in &step.asked {
        ask.execute((run.as_str(), &asked.id, &asked.method, &asked.params, stored(asked.at_ms)))?;
    }
    let mut drop = db.prepare_cached("DELETE FROM asked WHERE run_id = ?1 AND id = ?2")?;
    for id in &step.answered {
        drop.execute((run.as_str(), id))?;
    }
    Ok(())
}

/// Writes the lines to the agent, each after the one before.
fn say(
    db: &Connection,
    talk: &mut AcpConversation,
    lines: &[(String, Option<SentRequest>)],
    done: &mut RecordedStep,
) -> Result<(), Trouble> {
    let mut statement = db.prepare_cached(
        "INSERT INTO said (run_id, at, id, verb, turn, line) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?;
    for (text, asks) in lines {
        let asks = asks.as_ref();
        statement.execute((
            talk.run.as_str(),
            stored(talk.said_to),
            asks.map(|asks| asks.id),
            asks.map(|asks| &asks.verb),
            asks.and_then(|asks| asks.turn.as_ref()).map(TurnId::as_str),
            text,
        ))?;
        if let Some(turn) = asks.and_then(|asks| asks.turn.as_ref()) {
            set_run(db, turn, &talk.run)?;
        }
        done.at.push(talk.said_to);
        talk.said_to += text.len() as u64;
        talk.last_id = talk.last_id.max(asks.map_or(0, |asks| asks.id));
    }
    Ok(())
}

/// Writes the changes to the history.
fn tell(
    db: &Connection,
    session: &SessionKey,
    told: &[HistoryChange],
    at_ms: u64,
    done: &mut RecordedStep,
) -> Result<(), Trouble> {
    let mut add = db.prepare_cached(
        "INSERT INTO entries (session, number, turn, at_ms, kind, body)
         VALUES (?1, 1 + coalesce((SELECT max(number) FROM entries WHERE session = ?1), 0), ?2, ?3, ?4, ?5)
         RETURNING number",
    )?;
    let mut change = db.prepare_cached("UPDATE entries SET body = ?3 WHERE session = ?1 AND number = ?2")?;
    for one in told {
        match one {
            HistoryChange::New { turn, kind, body } => {
                let turn = turn.as_ref().map(TurnId::as_str);
                let made =
                    add.query_row((session.as_str(), turn, stored(at_ms), kind, body), |row| row.get(0))?;
                done.numbers.push(number(made));
            }
            HistoryChange::Again { number, body } => {
                change.execute((session.as_str(), stored(*number), body))?;
            }
        }
    }
    Ok(())
}

fn entries(
    db: &Connection,
    session: &SessionKey,
    side: Side,
    limit: usize,
    bytes: u64,
) -> Result<EntryPage, Trouble> {
    let (wanted, order, from) = match side {
        Side::After(number) => (">", "ASC", number),
        Side::Before(number) => ("<", "DESC", number),
    };
    let mut statement = db.prepare_cached(&format!(
        "SELECT number, turn, at_ms, kind, body FROM entries WHERE session = ?1 AND number {wanted} ?2
         ORDER BY number {order} LIMIT ?3"
    ))?;
    let mut rows = statement.query((session.as_str(), stored(from), stored(limit as u64 + 1)))?;
    let (mut page, mut held) = (EntryPage::default(), 0);
    while let Some(row) = rows.next()? {
        let entry = Entry {
            number: number(row.get(0)?),
            turn: row.get::<_, Option<String>>(1)?.as_deref().map(parsed).transpose()?,
            at_ms: number(row.get(2)?),
            kind: row.get(3)?,
            body: row.get(4)?,
        };
        held += entry.body.len() as u64;
        let is_full = page.entries.len() == limit || held > bytes;
        if let Some(last) = page.entries.last().filter(|_| is_full) {
            page.next = Some(match side {
                Side::After(_) => Side::After(last.number),
                Side::Before(_) => Side::Before(last.number),
            });
            break;
        }
        page.entries.push(entry);
    }
    Ok(page)
}
