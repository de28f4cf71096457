//! Lists of runs. Every list names the index with its order, so that a page costs its own length, whatever the size
//! of the registry; a query that the index cannot serve fails in the tests instead of being slow in use.

use super::Trouble;
use super::columns::{self, parsed, readable, run_row, stored, word};
use crate::rows::{Cursor, Page, Query, Retention, RunRow, Unfinished, Unreadable};
use rusqlite::types::Value;
use rusqlite::{Connection, Params, Row};
use tenure_core::ids::{InstanceId, RunId};
use tenure_core::state::State;

pub(super) fn find(db: &Connection, prefix: &str, limit: usize) -> Result<Vec<RunId>, Trouble> {
    // Ids are hexadecimal digits; this text sorts after all with the prefix, and lets the query use the key's
    // index.
    let beyond = format!("{prefix}{}", char::MAX);
    let mut statement = db.prepare_cached(
        "SELECT run_id FROM runs WHERE run_id >= ?1 AND run_id < ?2 AND hidden = 0 ORDER BY run_id LIMIT ?3",
    )?;
    let mut rows = statement.query((prefix, beyond, stored(limit as u64)))?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(parsed(row.get_ref(0)?.as_str().map_err(rusqlite::Error::from)?)?);
    }
    Ok(found)
}

/// Returns a page. Several states are read one by one and merged, because no index has them in one order.
pub(super) fn page(db: &Connection, query: &Query) -> Result<Page, Trouble> {
    let mut states = query.states.clone();
    states.sort_unstable();
    states.dedup();
    // All reads for one page see the same snapshot.
    let moment = db.unchecked_transaction()?;
    let mut runs = match states.as_slice() {
        [] => of_state(&moment, query, None)?,
        states => {
            let lists = states.iter().map(|&state| of_state(&moment, query, Some(state)));
            lists.collect::<Result<Vec<_>, _>>()?.concat()
        }
    };
    moment.finish()?;
    runs.sort_by(|a, b| place(b).cmp(&place(a)));
    let more = runs.len() > query.limit;
    runs.truncate(query.limit);
    let next = runs
        .last()
        .filter(|_| more)
        .map(|run| Cursor { created_at_ms: run.ticket.created_at_ms, run_id: run.ticket.run_id.clone() });
    Ok(Page { runs, next })
}

fn place(run: &RunRow) -> (u64, &RunId) {
    (run.ticket.created_at_ms, &run.ticket.run_id)
}

/// Reads one run more than the page's length, to know if there is a next page.
fn of_state(db: &Connection, query: &Query, state: Option<State>) -> Result<Vec<RunRow>, Trouble> {
    let (sql, values) = list(query, state);
    rows(db, &sql, rusqlite::params_from_iter(values), query.limit.saturating_add(1))
}

/// Returns the statement of a list, and its values.
fn list(query: &Query, state: Option<State>) -> (String, Vec<Value>) {
    let live = state.is_some_and(|state| state != State::Exited);
    // Live runs are few, whoever owns them; for ended runs, each list has its own index.
    let index = match query {
        _ if live => "runs_live",
        Query { scope: Some(_), .. } => "runs_scope",
        Query { session: Some(_), .. } => "runs_session",
        Query { agent: Some(_), .. } => "runs_agent",
        _ if state.is_some() => "runs_exited",
        _ => "runs_all",
    };
    let mut wanted = vec!["r.hidden = 0"];
    let mut values: Vec<Value> = Vec::new();
    match state {
        // Spelled as in the index, so that SQLite recognises the partial index as sufficient.
        Some(State::Exited) => wanted.push("r.state = 'exited'"),
        Some(state) => {
            wanted.push("r.state <> 'exited' AND r.state = ?");
            values.push(word(state).into());
        }
        None => {}
    }
    for (text, value) in
        [("r.session = ?", &query.session), ("r.scope = ?", &query.scope), ("r.agent = ?", &query.agent)]
    {
        if let Some(value) = value {
            wanted.push(text);
            values.push(value.clone().into());
        }
    }
    if let Some(Cursor { created_at_ms, run_id }) = &query.after {
        wanted.push("(r.created_at_ms, r.run_id) < (?, ?)");
        values.extend([stored(*created_at_ms).into(), run_id.to_string().into()]);
    }
    let sql = format!(
        "{} INDEXED BY {index} CROSS JOIN instances i ON i.id = r.owner WHERE {}
         ORDER BY r.created_at_ms DESC, r.run_id DESC",
        select(),
        wanted.join(" AND "),
    );
    (sql, values)
}

fn select() -> String {
    format!("SELECT {} FROM runs r", columns::RUN)
}

/// Returns the first `most` readable runs. The statement is stopped there; a limit of its own would count the
/// unreadable ones too.
fn rows(db: &Connection, sql: &str, values: impl Params, most: usize) -> Result<Vec<RunRow>, Trouble> {
    let mut statement = db.prepare_cached(sql)?;
    let mut rows = statement.query(values)?;
    let mut found = Vec::new();
    while found.len() < most
        && let Some(row) = rows.next()?
    {
        found.extend(unless_unreadable(row)?);
    }
    Ok(found)
}

/// Returns the run; an unreadable one is left out and logged.
fn unless_unreadable(row: &Row<'_>) -> Result<Option<RunRow>, Trouble> {
    let read = readable(row)?;
    Ok(read.inspect_err(|Unreadable { run, why }| tracing::warn!(run, why, "a run is left out")).ok())
}

/// Returns every run that has not ended, the oldest first.
pub(super) fn unfinished(db: &Connection) -> Result<Unfinished, Trouble> {
    let sql = format!(
        "{} INDEXED BY runs_live CROSS JOIN instances i ON i.id = r.owner WHERE r.state <> 'exited'
         ORDER BY r.created_at_ms, r.run_id",
        select()
    );
    let mut statement = db.prepare_cached(&sql)?;
    let mut rows = statement.query(())?;
    let mut found = Unfinished::default();
    while let Some(row) = rows.next()? {
        match readable(row)? {
            Ok(run) => found.runs.push(run),
            Err(unreadable) => found.unreadable.push(unreadable),
        }
    }
    Ok(found)
}

/// Returns the live run of a scope. An unreadable one is an error, because it holds the scope all the same.
pub(super) fn live_in_scope(db: &Connection, scope: &str) -> Result<Option<RunRow>, Trouble> {
    let sql = format!(
        "{} INDEXED BY runs_scope_holder CROSS JOIN instances i ON i.id = r.owner
         WHERE r.scope = ?1 AND r.state <> 'exited'",
        select()
    );
    db.prepare_cached(&sql)?.query([scope])?.next()?.map(run_row).transpose()
}

/// Returns the runs to remove. Hidden runs go first; then the oldest, while one is too old, or there are too many,
/// or too much output. A run that ended in the future ended before the wall clock was set back, so it counts as
/// older than those that ended since. Only the instance's own runs are examined and counted.
pub(super) fn outlived(
    db: &Connection,
    of: &InstanceId,
    (keep, now_ms): (Retention, u64),
    limit: usize,
) -> Result<Vec<RunRow>, Trouble> {
    let sql = format!(
        "{} INDEXED BY runs_ended CROSS JOIN instances i ON i.id = r.owner
         WHERE r.state = 'exited' AND r.hidden = ?1 AND r.owner = ?2 AND r.ended_at_ms BETWEEN ?3 AND ?4
         ORDER BY r.ended_at_ms, r.run_id",
        select()
    );
    let of = of.as_str();
    let moment = db.unchecked_transaction()?;
    let mut gone = rows(&moment, &sql, (1, of, 0, i64::MAX), limit)?;
    let (count, bytes): (i64, i64) = moment
        .prepare_cached(
            "SELECT count(*), coalesce(sum(kept_bytes), 0) FROM runs INDEXED BY runs_ended
             WHERE state = 'exited' AND hidden = 0 AND owner = ?1",
        )?
        .query_row([of], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let (mut count, mut bytes) = (columns::number(count), columns::number(bytes));
    let oldest = now_ms.saturating_sub(keep.age_ms);
    let mut statement = moment.prepare_cached(&sql)?;
    let now = i64::try_from(now_ms).unwrap_or(i64::MAX);
    for (from, to) in [(now.saturating_add(1), i64::MAX), (0, now)] {
        let mut shown = statement.query((0, of, from, to))?;
        while gone.len() < limit
            && let Some(row) = shown.next()?
        {
            let Some(run) = unless_unreadable(row)? else { continue };
            let Some(ending) = &run.ending else { continue };
            if ending.ended_at_ms >= oldest && count <= keep.count && bytes <= keep.bytes {
                break;
            }
            count = count.saturating_sub(1);
            bytes = bytes.saturating_sub(ending.output.bytes.saturating_sub(ending.output.dropped_bytes));
            gone.push(run);
        }
    }
    drop(statement);
    moment.finish()?;
    Ok(gone)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(db: &Connection, query: &Query, state: Option<State>) -> String {
        let (sql, values) = list(query, state);
        let mut statement = db.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
        let steps = statement.query_map(rusqlite::params_from_iter(values), |row| row.get::<_, String>(3));
        steps.unwrap().collect::<Result<Vec<_>, _>>().unwrap().join("; ")
    }

    /// Checks every possible list: any of the filters, any state, the first page or a later one.
    #[test]
    fn no_list_is_sorted_or_searched_from_its_beginning() {
        let db = Connection::open_in_memory().unwrap();
        db.execute_batch(include_str!("../../migrations/0001.sql")).unwrap();
        let some = |bit: u32, mask: u32| (mask & bit != 0).then(|| "x".to_owned());
        let states =
            [None, Some(State::Starting), Some(State::Running), Some(State::Exiting), Some(State::Exited)];
        for (mask, state) in (0..16).flat_map(|mask| states.map(|state| (mask, state))) {
            let run_id = RunId::from_random([7; 12]);
            let query = Query {
                session: some(1, mask),
                scope: some(2, mask),
                agent: some(4, mask),
                after: some(8, mask).map(|_| Cursor { created_at_ms: 7, run_id }),
                ..Query::default()
            };
            let plan = plan(&db, &query, state);
            assert!(!plan.contains("TEMP B-TREE"), "{query:?} {state:?}: {plan}");
            let begins = plan.starts_with("SCAN");
            let whole = state.is_none_or(|state| state == State::Exited) && mask == 0;
            assert_eq!(begins, whole, "{query:?} {state:?}: {plan}");
            if mask & 8 != 0 {
                assert!(plan.contains("(created_at_ms,run_id)<(?,?)"), "{query:?} {state:?}: {plan}");
            }
        }
    }
}
