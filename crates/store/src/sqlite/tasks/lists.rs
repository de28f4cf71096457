//! Lists of tasks, and lookups of one. A page is combined from lookups, each in the order of its index and with no
//! more positions than the page has, so it costs its own length, whatever the size of the registry.

use super::rows;
use crate::sqlite::Trouble;
use crate::sqlite::columns::{number, parsed, stored};
use crate::tasks::{Found, TaskCursor, TaskPage, TaskQuery, Tracked};
use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};
use std::collections::BTreeSet;
use tenure_core::ids::TaskId;
use tenure_core::session::SessionKey;
use tenure_core::task::{Kind, Status, TaskRow};

/// Maximum number of tasks named when a lookup is ambiguous.
const NAMED: usize = 10;

/// A position in the list: the task's time of creation, and its id.
type Place = (i64, String);

pub(super) fn task(db: &Connection, which: &Tracked) -> Result<Option<TaskRow>, Trouble> {
    rows::tracked(db, which)?.map(|row| with_events(db, row)).transpose()
}

fn with_events(db: &Connection, row: TaskRow) -> Result<TaskRow, Trouble> {
    Ok(TaskRow { recent_events: rows::events(db, &row.id)?, ..row })
}

/// A part of a statement, and its values.
pub(super) type Sql = (String, Vec<Value>);

pub(super) fn page(db: &Connection, query: &TaskQuery) -> Result<TaskPage, Trouble> {
    // All reads for one page see the same snapshot.
    let moment = db.unchecked_transaction()?;
    let places = places(&moment, query)?;
    let more = places.len() > query.limit;
    let places: Vec<_> = places.into_iter().rev().take(query.limit).collect();
    let mut page = TaskPage::default();
    for (_, id) in &places {
        page.tasks.extend(rows::by_id(&moment, &parsed(id)?)?);
    }
    moment.finish()?;
    if let Some((created_at_ms, id)) = places.last().filter(|_| more) {
        page.next = Some(TaskCursor { created_at_ms: number(*created_at_ms), task_id: parsed(id)? });
    }
    Ok(page)
}

/// Returns the newest positions of a list: one more than the page has, to know if there is a next page.
fn places(db: &Connection, query: &TaskQuery) -> Result<BTreeSet<Place>, Trouble> {
    let most = query.limit.saturating_add(1);
    let mut places: BTreeSet<Place> = BTreeSet::new();
    for (sql, mut values) in statements(query) {
        // Tasks older than a whole page of others are not read.
        let oldest = if places.len() < most { None } else { places.first() };
        values.push(oldest.map_or(i64::MIN, |(at, _)| *at).into());
        values.push(stored(most as u64).into());
        let mut statement = db.prepare_cached(&sql)?;
        let found = statement.query_map(params_from_iter(values), |row| Ok((row.get(0)?, row.get(1)?)))?;
        for place in found {
            places.insert(place?);
        }
        while places.len() > most {
            places.pop_first();
        }
    }
    Ok(places)
}

/// Returns the lookups of a page; the values of the oldest position and of the limit come last. Each status of each
/// kind has its own place in an index, and its own lookup, so that no other row is ever skipped.
pub(super) fn statements(query: &TaskQuery) -> Vec<Sql> {
    if let Some(of) = &query.of {
        // The tasks that it owns, and those that it worked on: each in its own index.
        let told = TaskQuery { of: None, owner: Some(of.clone()), ..query.clone() };
        let did = TaskQuery { of: None, child: Some(of.clone()), ..query.clone() };
        return [told, did].iter().flat_map(statements).collect();
    }
    let text = |text: &str| Value::from(text.to_owned());
    let is = |column: &str, key: &SessionKey| (format!("{column} = ?"), vec![text(key.as_str())]);
    let (index, sessions) = match (&query.child, &query.owner) {
        (Some(child), Some(owner)) => ("tasks_child", vec![is("child", child), is("owner", owner)]),
        (Some(child), None) => ("tasks_child", vec![is("child", child)]),
        (None, Some(owner)) => ("tasks_owner", vec![is("owner", owner)]),
        (None, None) => ("tasks_status", Vec::new()),
    };
    let statuses: BTreeSet<Status> = some_or_all(&query.statuses, Status::ALL);
    let kinds: BTreeSet<Kind> = some_or_all(&query.kinds, Kind::ALL);
    if sessions.is_empty() && (statuses.len(), kinds.len()) == (Status::ALL.len(), Kind::ALL.len()) {
        return vec![statement("tasks_all", Vec::new(), query)];
    }
    let pairs = statuses.iter().flat_map(|status| kinds.iter().map(move |kind| (*status, *kind)));
    pairs
        .map(|(status, kind)| {
            let so = ("status = ? AND kind = ?".to_owned(), vec![text(status.word()), text(kind.word())]);
            statement(index, sessions.iter().cloned().chain([so]).collect(), query)
        })
        .collect()
}

fn some_or_all<T: Ord + Copy>(some: &[T], all: &[T]) -> BTreeSet<T> {
    if some.is_empty() { all } else { some }.iter().copied().collect()
}

fn statement(index: &str, mut wanted: Vec<Sql>, query: &TaskQuery) -> Sql {
    if let Some(after) = &query.after {
        let place = vec![stored(after.created_at_ms).into(), after.task_id.as_str().to_owned().into()];
        wanted.push(("(created_at_ms, task_id) < (?, ?)".to_owned(), place));
    }
    let (mut texts, values): (Vec<_>, Vec<_>) = wanted.into_iter().unzip();
    texts.push("created_at_ms >= ?".to_owned());
    let sql = format!(
        "SELECT created_at_ms, task_id FROM tasks INDEXED BY {index} WHERE {}
         ORDER BY created_at_ms DESC, task_id DESC LIMIT ?",
        texts.join(" AND ")
    );
    (sql, values.concat())
}

pub(super) fn find(db: &Connection, text: &str) -> Result<Found, Trouble> {
    let moment = db.unchecked_transaction()?;
    let found = match of_session(&moment, text)? {
        Found::None => by_beginning(&moment, text)?,
        found => found,
    };
    moment.finish()?;
    Ok(found)
}

/// Finds the task that a session worked on; for a session that only owns work, the one that it owns.
fn of_session(db: &Connection, text: &str) -> Result<Found, Trouble> {
    let Some(key) = text.parse().ok().filter(|key: &SessionKey| key.as_str() == text) else {
        return Ok(Found::None);
    };
    let newest = |query: TaskQuery, statuses: &[Status], limit: usize| {
        let places = places(db, &TaskQuery { statuses: statuses.to_vec(), limit, ..query })?;
        places.iter().rev().take(limit).map(|(_, id)| parsed(id)).collect::<Result<Vec<TaskId>, Trouble>>()
    };
    if has_any(db, "tasks_child", "child", text)? {
        let did = TaskQuery { child: Some(key), ..TaskQuery::default() };
        let running = newest(did.clone(), &[Status::Running], 1)?;
        let meant = if running.is_empty() { newest(did, &[], 1)? } else { running };
        return meant.first().map_or(Ok(Found::None), |id| whole(db, id));
    }
    if !has_any(db, "tasks_owner", "owner", text)? {
        return Ok(Found::None);
    }
    let owns = TaskQuery { owner: Some(key), ..TaskQuery::default() };
    let live = newest(owns.clone(), &[Status::Queued, Status::Running], NAMED)?;
    match live.as_slice() {
        [id] => whole(db, id),
        [] => newest(owns, &[], 1)?.first().map_or(Ok(Found::None), |id| whole(db, id)),
        _ => Ok(Found::Several(live)),
    }
}

/// Returns true if a session has any task in this index; most texts are no session's key.
fn has_any(db: &Connection, index: &str, column: &str, key: &str) -> Result<bool, Trouble> {
    let sql = format!("SELECT EXISTS (SELECT 1 FROM tasks INDEXED BY {index} WHERE {column} = ?1)");
    Ok(db.prepare_cached(&sql)?.query_row([key], |row| row.get(0))?)
}

/// Returns a task with its events, if it can be read.
fn whole(db: &Connection, id: &TaskId) -> Result<Found, Trouble> {
    let row = rows::by_id(db, id)?.map(|row| with_events(db, row)).transpose()?;
    Ok(row.map_or(Found::None, |row| Found::One(Box::new(row))))
}

/// Finds a task by a prefix of its own id, or of its run's.
fn by_beginning(db: &Connection, text: &str) -> Result<Found, Trouble> {
    if text.is_empty() {
        return Ok(Found::None);
    }
    let beyond = format!("{text}{}", char::MAX);
    let mut ids: BTreeSet<TaskId> = BTreeSet::new();
    for (index, column) in [("sqlite_autoindex_tasks_1", "task_id"), ("tasks_run", "run_id")] {
        let mut statement = db.prepare_cached(&format!(
            "SELECT task_id FROM tasks INDEXED BY {index} WHERE {column} >= ?1 AND {column} < ?2
             ORDER BY {column} LIMIT {NAMED}"
        ))?;
        let found = statement.query_map((text, &beyond), |row| row.get::<_, String>(0))?;
        for id in found {
            ids.insert(parsed(&id?)?);
        }
    }
    match (ids.first(), ids.len()) {
        (None, _) => Ok(Found::None),
        (Some(id), 1) => whole(db, id),
        (Some(_), _) => Ok(Found::Several(ids.into_iter().take(NAMED).collect())),
    }
}
