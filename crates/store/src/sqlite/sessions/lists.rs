//! Lists of sessions. A page is combined from lookups: each names the index with its order, and returns no more
//! positions than the page has. Only the sessions on the page are read.

use super::rows::{SESSION, readable};
use crate::sessions::{Family, SessionCursor, SessionPage, SessionQuery, UnreadableSession};
use crate::sqlite::Trouble;
use crate::sqlite::columns::{number, parsed, stored};
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, params_from_iter};
use std::collections::BTreeSet;
use tenure_core::ids::InstanceId;
use tenure_core::session::{AgentId, KEY_BYTES, Narrowing, Pattern, SessionKey, SessionState, Term};

/// Up to this number, rows are examined one by one, instead of an index that may have a million other rows.
const SCAN_LIMIT: usize = 2_000;
/// Up to this number, agents are looked up one by one.
const AGENT_SCAN_LIMIT: usize = 64;

/// A position in the list: the session's time of creation, and its key.
type Place = (i64, String);

/// The start of a list's search. All other filters are then conditions.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Lookup {
    /// All sessions.
    All,
    /// Sessions that are not closed.
    Open,
    /// Sessions of the requested kind.
    Kind,
    /// Sessions with the requested prefix of the key; they have to be sorted.
    Prefix,
    /// Direct children of the requested session.
    Parent,
    /// Sessions that a term finds.
    Term(Term),
}

/// A part of a statement, and its values.
type Sql = (String, Vec<Value>);

pub(super) fn page(db: &Connection, query: &SessionQuery) -> Result<SessionPage, Trouble> {
    page_looking(db, query, SCAN_LIMIT)
}

fn page_looking(db: &Connection, query: &SessionQuery, few: usize) -> Result<SessionPage, Trouble> {
    // All reads for one page see the same snapshot.
    let moment = db.unchecked_transaction()?;
    let mut places: BTreeSet<Place> = BTreeSet::new();
    for lookup in lookups(&moment, query, few)? {
        let (sql, values) = statement(&lookup, query);
        let mut statement = moment.prepare_cached(&sql)?;
        let found = statement.query_map(params_from_iter(values), |row| Ok((row.get(0)?, row.get(1)?)))?;
        for place in found {
            places.insert(place?);
        }
    }
    let more = places.len() > query.limit;
    let places: Vec<_> = places.into_iter().rev().take(query.limit).collect();
    let mut page = SessionPage::default();
    for (_, key) in &places {
        match read(&moment, key)? {
            Some(Ok(session)) => page.sessions.push(session),
            Some(Err(UnreadableSession { key, why })) => tracing::warn!(key, why, "a session is left out"),
            None => {}
        }
    }
    moment.finish()?;
    if let Some((created_at_ms, key)) = places.last().filter(|_| more) {
        page.next = Some(SessionCursor { created_at_ms: number(*created_at_ms), key: parsed(key)? });
    }
    Ok(page)
}

type Read = Result<crate::sessions::Session, UnreadableSession>;

fn read(db: &Connection, key: &str) -> Result<Option<Read>, Trouble> {
    let mut statement = db.prepare_cached(&format!("SELECT {SESSION} FROM sessions s WHERE s.key = ?1"))?;
    statement.query([key])?.next()?.map(readable).transpose()
}

/// Chooses the lookups. A filter that leaves few rows comes first; otherwise each term of the narrowing is a lookup
/// of its own.
fn lookups(db: &Connection, query: &SessionQuery, few: usize) -> Result<Vec<Lookup>, Trouble> {
    if query.parent.is_some() {
        return Ok(vec![Lookup::Parent]);
    }
    if let Some(prefix) = &query.prefix
        && are_few(db, "sessions WHERE key >= ?1 AND key <= ?2", &begins_with(prefix), few)?
    {
        return Ok(vec![Lookup::Prefix]);
    }
    let open_only = !query.states.is_empty() && !query.states.contains(&SessionState::Closed);
    if open_only && are_few(db, "sessions INDEXED BY sessions_open WHERE state <> 'closed'", &[], few)? {
        return Ok(vec![Lookup::Open]);
    }
    if let Some(kind) = query.kind
        && are_few(
            db,
            "sessions INDEXED BY sessions_kind WHERE kind = ?1",
            &[kind.word().to_owned().into()],
            few,
        )?
    {
        return Ok(vec![Lookup::Kind]);
    }
    let agent = |agent: &AgentId| Lookup::Term(Term::Agent(Pattern::Exact(agent.clone())));
    let Some(narrowing) = &query.narrowing else {
        return Ok(vec![query.agent.as_ref().map_or(Lookup::All, agent)]);
    };
    let mut found = Vec::new();
    for term in &narrowing.any_of {
        match (term, &query.agent) {
            (Term::Agent(pattern), Some(asked)) => found.extend(pattern.matches(asked).then(|| agent(asked))),
            (Term::Agent(Pattern::Prefix(prefix)), None) if !prefix.is_empty() => match agents(db, prefix)? {
                Some(agents) => found.extend(agents.iter().map(agent)),
                None => found.push(Lookup::Term(term.clone())),
            },
            _ => found.push(Lookup::Term(term.clone())),
        }
    }
    Ok(found)
}

/// Returns true if there are fewer rows than this; no more are counted.
fn are_few(db: &Connection, which: &str, values: &[Value], few: usize) -> Result<bool, Trouble> {
    let sql = format!("SELECT count(*) FROM (SELECT 1 FROM {which} LIMIT {few})");
    let count = db.prepare_cached(&sql)?.query_row(params_from_iter(values), |row| row.get(0))?;
    Ok(number(count) < few as u64)
}

/// Returns the agents with this prefix, one index step each; `None` if they are many.
fn agents(db: &Connection, prefix: &str) -> Result<Option<Vec<AgentId>>, Trouble> {
    let mut next = db.prepare_cached(
        "SELECT agent FROM sessions INDEXED BY sessions_agent WHERE agent > ?1 ORDER BY agent LIMIT 1",
    )?;
    let mut found: Vec<AgentId> = Vec::new();
    // The search for greater names misses the one that equals the prefix.
    let exact = db
        .prepare_cached("SELECT EXISTS (SELECT 1 FROM sessions INDEXED BY sessions_agent WHERE agent = ?1)")?
        .query_row([prefix], |row| row.get::<_, bool>(0))?;
    if exact {
        found.push(parsed(prefix)?);
    }
    let mut last = prefix.to_owned();
    while let Some(name) = next.query_row([&last], |row| row.get::<_, String>(0)).optional()? {
        if !name.starts_with(prefix) {
            break;
        }
        if found.len() == AGENT_SCAN_LIMIT {
            return Ok(None);
        }
        found.push(parsed(&name)?);
        last = name;
    }
    Ok(Some(found))
}

/// Returns the first and the last key with this prefix: no key is longer.
fn begins_with(prefix: &str) -> [Value; 2] {
    let last = format!("{prefix}{}", char::MAX.to_string().repeat(KEY_BYTES / char::MAX.len_utf8()));
    [prefix.to_owned().into(), last.into()]
}

/// Returns the statement, which reads one position more than the page has, to know if there is a next page.
fn statement(lookup: &Lookup, query: &SessionQuery) -> Sql {
    let (from, mut wanted, mut values) = start(lookup);
    let (at, key) = match lookup {
        Lookup::Term(Term::Lineage(_)) => ("a.created_at_ms", "a.session"),
        _ => ("s.created_at_ms", "s.key"),
    };
    let mut want = |(text, more): Sql| {
        wanted.push(text);
        values.extend(more);
    };
    filters(query).into_iter().for_each(&mut want);
    if let (Lookup::Open | Lookup::Kind | Lookup::Prefix | Lookup::Parent, Some(narrowing)) =
        (lookup, &query.narrowing)
    {
        want(any_of(narrowing));
    }
    if let Some(after) = &query.after {
        let place = vec![stored(after.created_at_ms).into(), after.key.as_str().to_owned().into()];
        want((format!("({at}, {key}) < (?, ?)"), place));
    }
    let wanted = if wanted.is_empty() { "TRUE".to_owned() } else { wanted.join(" AND ") };
    values.push(stored(query.limit.saturating_add(1) as u64).into());
    (format!("SELECT {at}, {key} FROM {from} WHERE {wanted} ORDER BY {at} DESC, {key} DESC LIMIT ?"), values)
}

/// The table, searched by the key's own index.
const BY_KEY: &str = "sessions s INDEXED BY sqlite_autoindex_sessions_1";

/// Returns the table and index of a lookup, and the condition that the index serves.
fn start(lookup: &Lookup) -> (&'static str, Vec<String>, Vec<Value>) {
    let key = |key: &SessionKey| vec![Value::from(key.as_str().to_owned())];
    let (from, wanted, values) = match lookup {
        Lookup::All => ("sessions s INDEXED BY sessions_all", "", Vec::new()),
        Lookup::Open => ("sessions s INDEXED BY sessions_open", "s.state <> 'closed'", Vec::new()),
        Lookup::Kind => ("sessions s INDEXED BY sessions_kind", "", Vec::new()),
        Lookup::Prefix => (BY_KEY, "", Vec::new()),
        Lookup::Parent => ("sessions s INDEXED BY sessions_parent", "", Vec::new()),
        Lookup::Term(Term::Key(k)) => (BY_KEY, "s.key = ?", key(k)),
        Lookup::Term(Term::Owner(k)) => ("sessions s INDEXED BY sessions_owner", "s.owner = ?", key(k)),
        Lookup::Term(Term::SpawnedBy(k)) => {
            ("sessions s INDEXED BY sessions_spawned_by", "s.spawned_by = ?", key(k))
        }
        Lookup::Term(Term::Parent(k)) => ("sessions s INDEXED BY sessions_parent", "s.parent = ?", key(k)),
        Lookup::Term(Term::Lineage(k)) => (
            "session_ancestors a CROSS JOIN sessions s INDEXED BY sqlite_autoindex_sessions_1 ON s.key = a.session",
            "a.ancestor = ?",
            key(k),
        ),
        Lookup::Term(Term::Agent(Pattern::Exact(agent))) => {
            ("sessions s INDEXED BY sessions_agent", "s.agent = ?", vec![agent.as_str().to_owned().into()])
        }
        Lookup::Term(Term::Agent(pattern @ Pattern::Prefix(_))) => {
            let (text, values) = of_agents(pattern);
            return ("sessions s INDEXED BY sessions_all", vec![text], values);
        }
    };
    (from, (!wanted.is_empty()).then(|| wanted.to_owned()).into_iter().collect(), values)
}

/// Returns the filters, whatever the lookup.
fn filters(query: &SessionQuery) -> Vec<Sql> {
    let is = |column: &str, value: &str| (format!("s.{column} = ?"), vec![Value::from(value.to_owned())]);
    let mut wanted = Vec::new();
    wanted.extend(query.parent.as_ref().map(|parent| is("parent", parent.as_str())));
    wanted.extend(query.agent.as_ref().map(|agent| is("agent", agent.as_str())));
    wanted.extend(query.kind.map(|kind| is("kind", kind.word())));
    wanted.extend(query.backend.map(|backend| is("backend", backend.word())));
    wanted.extend(
        query.prefix.as_ref().map(|it| ("s.key >= ? AND s.key <= ?".to_owned(), begins_with(it).to_vec())),
    );
    let states: BTreeSet<_> = query.states.iter().collect();
    if !states.is_empty() {
        let marks = vec!["?"; states.len()].join(", ");
        let values = states.iter().map(|state| state.word().to_owned().into()).collect();
        wanted.push((format!("s.state IN ({marks})"), values));
    }
    wanted
}

/// Returns the whole narrowing as one condition.
fn any_of(narrowing: &Narrowing) -> Sql {
    let mut texts = Vec::new();
    let mut values: Vec<Value> = Vec::new();
    for term in &narrowing.any_of {
        let (text, key) = match term {
            Term::Key(key) => ("s.key = ?", key),
            Term::Owner(key) => ("s.owner = ?", key),
            Term::SpawnedBy(key) => ("s.spawned_by = ?", key),
            Term::Parent(key) => ("s.parent = ?", key),
            Term::Lineage(key) => (
                "EXISTS (SELECT 1 FROM session_ancestors u INDEXED BY session_ancestors_up
                     WHERE u.session = s.key AND u.ancestor = ?)",
                key,
            ),
            Term::Agent(pattern) => {
                let (text, more) = of_agents(pattern);
                texts.push(text);
                values.extend(more);
                continue;
            }
        };
        texts.push(text.to_owned());
        values.push(key.as_str().to_owned().into());
    }
    let text = if texts.is_empty() { "FALSE".to_owned() } else { format!("({})", texts.join(" OR ")) };
    (text, values)
}

fn of_agents(pattern: &Pattern) -> Sql {
    match pattern {
        Pattern::Exact(agent) => ("s.agent = ?".to_owned(), vec![agent.as_str().to_owned().into()]),
        Pattern::Prefix(prefix) if prefix.is_empty() => ("s.agent IS NOT NULL".to_owned(), Vec::new()),
        Pattern::Prefix(prefix) => ("s.agent >= ? AND s.agent <= ?".to_owned(), begins_with(prefix).to_vec()),
    }
}

/// Returns a session and all that name it, by key.
pub(super) fn descendants(db: &Connection, key: &SessionKey) -> Result<Family, Trouble> {
    let mut statement = db.prepare_cached(&format!(
        "WITH named (key) AS (
             SELECT ?1
             UNION SELECT key FROM sessions INDEXED BY sessions_owner WHERE owner = ?1
             UNION SELECT key FROM sessions INDEXED BY sessions_spawned_by WHERE spawned_by = ?1
             UNION SELECT key FROM sessions INDEXED BY sessions_parent WHERE parent = ?1
             UNION SELECT session FROM session_ancestors WHERE ancestor = ?1)
         SELECT {SESSION} FROM named CROSS JOIN sessions s ON s.key = named.key ORDER BY s.key"
    ))?;
    let mut rows = statement.query([key.as_str()])?;
    let mut found = Family::default();
    while let Some(row) = rows.next()? {
        match readable(row)? {
            Ok(session) => found.rows.push(session.row),
            Err(unreadable) => found.unreadable.push(unreadable),
        }
    }
    Ok(found)
}

/// Returns the closing sessions. The index of open ones is used, because those are few.
pub(super) fn unsettled(db: &Connection, of: &InstanceId) -> Result<Vec<SessionKey>, Trouble> {
    let mut statement = db.prepare_cached(
        "SELECT key FROM sessions INDEXED BY sessions_open
         WHERE state <> 'closed' AND state = 'closing' AND instance = ?1 ORDER BY key",
    )?;
    let keys = statement.query_map([of.as_str()], |row| row.get::<_, String>(0))?;
    keys.map(|key| parsed(&key?)).collect()
}

#[cfg(test)]
mod tests;
