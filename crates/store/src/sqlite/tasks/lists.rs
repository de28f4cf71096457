//! Lists of tasks and how one is found. A page is put together from lookups, each in the order of its index, and gives no
//! more places than the page has: it costs its own length, whatever the registry holds.

use super::rows;
use crate::sqlite::Trouble;
use crate::sqlite::columns::{number, parsed, stored};
use crate::tasks::{Found, TaskCursor, TaskPage, TaskQuery, Tracked};
use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};
use std::collections::BTreeSet;
use tenure_core::ids::TaskId;
use tenure_core::task::{Kind, Status, TaskRow};

/// How many are named where several could be meant.
const NAMED: usize = 10;
/// How many of a session's newest tasks are looked at for the one that is meant.
const NEWEST: usize = 100;

/// A place in the list: when the task was asked for, and its id.
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
    // What is read for one page is what was there at one moment.
    let moment = db.unchecked_transaction()?;
    let mut places: BTreeSet<Place> = BTreeSet::new();
    for (sql, values) in statements(query) {
        let mut statement = moment.prepare_cached(&sql)?;
        let found = statement.query_map(params_from_iter(values), |row| Ok((row.get(0)?, row.get(1)?)))?;
        for place in found {
            places.insert(place?);
        }
    }
    let more = places.len() > query.limit;
    let places: Vec<_> = places.into_iter().rev().take(query.limit).collect();
    let mut page = TaskPage::default();
    for (_, id) in &places {
        if let Some(row) = rows::by_id(&moment, &parsed(id)?)? {
            page.tasks.push(with_events(&moment, row)?);
        }
    }
    moment.finish()?;
    if let Some((created_at_ms, id)) = places.last().filter(|_| more) {
        page.next = Some(TaskCursor { created_at_ms: number(*created_at_ms), task_id: parsed(id)? });
    }
    Ok(page)
}

/// The lookups of a page. What a session owns or did is picked from its index; otherwise each status of each kind has its
/// own place in an index, and its own lookup.
pub(super) fn statements(query: &TaskQuery) -> Vec<Sql> {
    if let Some(of) = &query.of {
        // What it is told of and what it did: each in its own index.
        let told = TaskQuery { of: None, owner: Some(of.clone()), ..query.clone() };
        let did = TaskQuery { of: None, child: Some(of.clone()), ..query.clone() };
        return [told, did].iter().flat_map(statements).collect();
    }
    let text = |text: &str| Value::from(text.to_owned());
    let by_session = match (&query.child, &query.owner) {
        (Some(child), owner) => {
            let mut wanted = vec![("child = ?".to_owned(), vec![text(child.as_str())])];
            wanted.extend(owner.as_ref().map(|owner| ("owner = ?".to_owned(), vec![text(owner.as_str())])));
            Some(("tasks_child", wanted))
        }
        (None, Some(owner)) => {
            Some(("tasks_owner", vec![("owner = ?".to_owned(), vec![text(owner.as_str())])]))
        }
        (None, None) => None,
    };
    if let Some((index, mut wanted)) = by_session {
        let any_of = |column: &str, words: Vec<&str>| {
            let marks = vec!["?"; words.len()].join(", ");
            (format!("{column} IN ({marks})"), words.into_iter().map(text).collect::<Vec<_>>())
        };
        if !query.statuses.is_empty() {
            wanted.push(any_of("status", query.statuses.iter().map(|it| it.word()).collect()));
        }
        if !query.kinds.is_empty() {
            wanted.push(any_of("kind", query.kinds.iter().map(|it| it.word()).collect()));
        }
        return vec![statement(index, wanted, query)];
    }
    let statuses: BTreeSet<Status> = some_or_all(&query.statuses, Status::ALL);
    let kinds: BTreeSet<Kind> = some_or_all(&query.kinds, Kind::ALL);
    if (statuses.len(), kinds.len()) == (Status::ALL.len(), Kind::ALL.len()) {
        return vec![statement("tasks_all", Vec::new(), query)];
    }
    let pairs = statuses.iter().flat_map(|status| kinds.iter().map(move |kind| (*status, *kind)));
    pairs
        .map(|(status, kind)| {
            let wanted = ("status = ? AND kind = ?".to_owned(), vec![text(status.word()), text(kind.word())]);
            statement("tasks_status", vec![wanted], query)
        })
        .collect()
}

fn some_or_all<T: Ord + Copy>(some: &[T], all: &[T]) -> BTreeSet<T> {
    if some.is_empty() { all } else { some }.iter().copied().collect()
}

/// One more place than the page has, to know whether there is a next one.
fn statement(index: &str, mut wanted: Vec<Sql>, query: &TaskQuery) -> Sql {
    if let Some(after) = &query.after {
        let place = vec![stored(after.created_at_ms).into(), after.task_id.as_str().to_owned().into()];
        wanted.push(("(created_at_ms, task_id) < (?, ?)".to_owned(), place));
    }
    let (texts, values): (Vec<_>, Vec<_>) = wanted.into_iter().unzip();
    let which = if texts.is_empty() { "TRUE".to_owned() } else { texts.join(" AND ") };
    let mut values = values.concat();
    values.push(stored(query.limit.saturating_add(1) as u64).into());
    let sql = format!(
        "SELECT created_at_ms, task_id FROM tasks INDEXED BY {index} WHERE {which}
         ORDER BY created_at_ms DESC, task_id DESC LIMIT ?"
    );
    (sql, values)
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

/// A session that did work is asked for that; one that only owns work, for what it owns.
fn of_session(db: &Connection, key: &str) -> Result<Found, Trouble> {
    let did = newest(db, "tasks_child", "child", key)?;
    let meant = did.iter().find(|(_, status)| *status == Status::Running).or(did.first());
    if let Some((id, _)) = meant {
        return whole(db, id);
    }
    let owns = newest(db, "tasks_owner", "owner", key)?;
    let live: Vec<_> = owns.iter().filter(|(_, status)| !status.is_terminal()).collect();
    match (live.as_slice(), owns.first()) {
        ([], None) => Ok(Found::None),
        ([(id, _)], _) | ([], Some((id, _))) => whole(db, id),
        (several, _) => Ok(Found::Several(several.iter().take(NAMED).map(|(id, _)| id.clone()).collect())),
    }
}

/// The newest tasks of a session, as its index has them.
fn newest(db: &Connection, index: &str, column: &str, key: &str) -> Result<Vec<(TaskId, Status)>, Trouble> {
    let mut statement = db.prepare_cached(&format!(
        "SELECT task_id, status FROM tasks INDEXED BY {index} WHERE {column} = ?1
         ORDER BY created_at_ms DESC, task_id DESC LIMIT {NEWEST}"
    ))?;
    let mut rows = statement.query([key])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let (id, status): (String, String) = (row.get(0)?, row.get(1)?);
        found.push((parsed(&id)?, parsed(&status)?));
    }
    Ok(found)
}

/// One task with its events, if it can be read.
fn whole(db: &Connection, id: &TaskId) -> Result<Found, Trouble> {
    let row = rows::by_id(db, id)?.map(|row| with_events(db, row)).transpose()?;
    Ok(row.map_or(Found::None, |row| Found::One(Box::new(row))))
}

/// By the beginning of the task's own id, or of its run's.
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
