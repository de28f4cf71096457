//! The lookups of lists: every lookup is served by its index, and all lookups find the same.

use super::*;
use crate::sqlite::sessions::rows;
use tenure_core::session::{Backend, Kind, SessionRow};

fn database() -> Connection {
    let db = Connection::open_in_memory().unwrap();
    for text in [
        include_str!("../../../../migrations/0001.sql"),
        include_str!("../../../../migrations/0002.sql"),
        include_str!("../../../../migrations/0003.sql"),
        include_str!("../../../../migrations/0004.sql"),
    ] {
        db.execute_batch(text).unwrap();
    }
    db
}

fn plan(db: &Connection, (sql, values): &Sql) -> String {
    let mut statement = db.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
    let steps = statement.query_map(params_from_iter(values), |row| row.get::<_, String>(3)).unwrap();
    steps.collect::<Result<Vec<_>, _>>().unwrap().join("; ")
}

fn key(text: &str) -> SessionKey {
    text.parse().unwrap()
}

fn terms() -> Vec<Term> {
    let k = || key("agent:a:1");
    vec![
        Term::Key(k()),
        Term::Owner(k()),
        Term::SpawnedBy(k()),
        Term::Parent(k()),
        Term::Lineage(k()),
        Term::Agent(Pattern::Exact("a".parse().unwrap())),
        Term::Agent(Pattern::Prefix("a".into())),
        Term::Agent(Pattern::Prefix(String::new())),
    ]
}

/// Every combination of filters, by the bits of a number; 64 of them.
fn asked(mask: u32) -> SessionQuery {
    let bit = |n: u32| mask & (1 << n) != 0;
    SessionQuery {
        narrowing: None,
        agent: bit(0).then(|| "a".parse().unwrap()),
        kind: bit(1).then_some(Kind::Acp),
        backend: bit(2).then_some(Backend::Acp),
        states: if bit(3) { vec![SessionState::Idle, SessionState::Busy] } else { Vec::new() },
        parent: None,
        prefix: bit(4).then(|| "agent:a".to_owned()),
        after: bit(5).then(|| SessionCursor { created_at_ms: 7, key: key("x") }),
        limit: 50,
    }
}

#[test]
fn no_lookup_is_sorted_or_searched_from_its_beginning() {
    let db = database();
    let all = Some(Narrowing { any_of: terms() });
    let lookups = terms().into_iter().map(Lookup::Term).chain([Lookup::All, Lookup::Open]);
    for (lookup, mask) in lookups.flat_map(|lookup| (0..64).map(move |mask| (lookup.clone(), mask))) {
        let query = SessionQuery { narrowing: all.clone(), ..asked(mask) };
        let plan = plan(&db, &statement(&lookup, &query));
        assert!(!plan.contains("TEMP B-TREE"), "{lookup:?} {query:?}: {plan}");
        let ordered =
            matches!(lookup, Lookup::All | Lookup::Open | Lookup::Term(Term::Agent(Pattern::Prefix(_))));
        assert_eq!(
            plan.starts_with("SCAN"),
            ordered && query.after.is_none(),
            "{lookup:?} {query:?}: {plan}"
        );
        assert!(!plan["S".len()..].contains("SCAN"), "{lookup:?} {query:?}: {plan}");
        if query.after.is_some() && !matches!(lookup, Lookup::Term(Term::Key(_))) {
            assert!(plan.contains("<(?,?)"), "{lookup:?} {query:?}: {plan}");
        }
    }
}

#[test]
fn what_may_be_long_is_filtered_in_its_index() {
    let db = database();
    let by_agent = Lookup::Term(Term::Agent(Pattern::Exact("a".parse().unwrap())));
    for (lookup, mask) in
        [Lookup::All, Lookup::Open, by_agent].into_iter().flat_map(|it| (0..64).map(move |n| (it.clone(), n)))
    {
        let plan = plan(&db, &statement(&lookup, &asked(mask)));
        assert!(plan.contains("COVERING INDEX"), "{lookup:?} {mask}: {plan}");
    }
}

#[test]
fn children_kinds_and_few_keys_are_found_by_their_index() {
    let db = database();
    for mask in 0..64 {
        let kind = SessionQuery { kind: Some(Kind::Main), ..asked(mask) };
        let kind = plan(&db, &statement(&Lookup::Kind, &kind));
        assert!(kind.starts_with("SEARCH s USING COVERING INDEX sessions_kind (kind=?"), "{mask}: {kind}");
        assert!(!kind.contains("TEMP B-TREE"), "{mask}: {kind}");
        let narrowing = Some(Narrowing { any_of: terms() });
        let query = SessionQuery { narrowing, parent: Some(key("p")), ..asked(mask) };
        let children = plan(&db, &statement(&Lookup::Parent, &query));
        assert!(children.starts_with("SEARCH s USING INDEX sessions_parent (parent=?"), "{mask}: {children}");
        assert!(!children.contains("TEMP B-TREE"), "{mask}: {children}");
        let query = SessionQuery { parent: None, prefix: Some("agent:a".into()), ..query };
        let few = plan(&db, &statement(&Lookup::Prefix, &query));
        assert!(
            few.starts_with("SEARCH s USING INDEX sqlite_autoindex_sessions_1 (key>? AND key<?)"),
            "{few}"
        );
    }
}

/// Sessions of several agents, four levels deep.
fn rows() -> Vec<SessionRow> {
    let text = include_str!("../../../../fixtures/session-v1.json");
    let first: SessionRow = crate::sqlite::columns::from_text(text.trim_end()).unwrap();
    let mut rows: Vec<SessionRow> = Vec::new();
    for n in 0..60_usize {
        let agent = ["a", "ab", "b", "lab-1"].get(n % 5);
        let name = agent.map_or_else(|| format!("cli:{n}"), |agent| format!("agent:{agent}:{n}"));
        let lineage = match n % 4 {
            0 => Vec::new(),
            _ => [vec![rows[n - 1].key.clone()], rows[n - 1].lineage.clone()].concat(),
        };
        rows.push(SessionRow {
            key: key(&name),
            agent: agent.map(|agent| agent.parse().unwrap()),
            kind: Kind::ALL[n % Kind::ALL.len()],
            backend: Backend::ALL[n % 3],
            parent: lineage.first().cloned(),
            owner: lineage.first().cloned(),
            spawned_by: lineage.last().cloned(),
            lineage,
            state: if n % 3 == 0 { SessionState::Closed } else { SessionState::Idle },
            closed_at_ms: (n % 3 == 0).then_some(9),
            created_at_ms: (n / 2) as u64,
            ..first.clone()
        });
    }
    rows
}

fn matches(query: &SessionQuery, row: &SessionRow) -> bool {
    query.narrowing.as_ref().is_none_or(|it| it.finds(row))
        && query.agent.as_ref().is_none_or(|it| row.agent.as_ref() == Some(it))
        && query.kind.is_none_or(|it| row.kind == it)
        && query.backend.is_none_or(|it| row.backend == it)
        && (query.states.is_empty() || query.states.contains(&row.state))
        && query.parent.as_ref().is_none_or(|it| row.parent.as_ref() == Some(it))
        && query.prefix.as_ref().is_none_or(|it| row.key.as_str().starts_with(it.as_str()))
}

fn listed(db: &Connection, mut query: SessionQuery, few: usize) -> Vec<SessionKey> {
    let mut found = Vec::new();
    loop {
        let page = page_looking(db, &query, few).unwrap();
        assert!(page.sessions.len() <= query.limit);
        found.extend(page.sessions.into_iter().map(|session| session.row.key));
        match page.next {
            Some(next) => query.after = Some(next),
            None => return found,
        }
    }
}

/// Every combination finds all that the filters leave, whether few or many sessions match: both ways of searching
/// agree.
#[test]
fn a_list_has_all_that_is_asked_for_once_and_the_newest_first() {
    let db = database();
    let mut rows = rows();
    for row in &rows {
        assert!(rows::adopt(&db, row, None, None).is_ok());
    }
    rows.sort_by(|a, b| (b.created_at_ms, &b.key).cmp(&(a.created_at_ms, &a.key)));
    let mut narrowings =
        vec![None, Some(Narrowing { any_of: Vec::new() }), Some(Narrowing { any_of: terms() })];
    narrowings.extend(terms().into_iter().map(|term| Some(Narrowing { any_of: vec![term] })));
    let tree = ["agent:a:0", "agent:ab:1"].map(|it| Term::Lineage(key(it)));
    narrowings.push(Some(Narrowing { any_of: tree.to_vec() }));
    for (narrowing, mask) in narrowings.iter().flat_map(|it| (0..64).map(move |mask| (it, mask))) {
        let parent = (mask & 32 != 0).then(|| key("agent:a:0"));
        let narrowing = narrowing.clone();
        let query = SessionQuery { narrowing, parent, after: None, limit: 7, ..asked(mask) };
        let expected: Vec<_> =
            rows.iter().filter(|row| matches(&query, row)).map(|row| row.key.clone()).collect();
        for few in [0, SCAN_LIMIT] {
            assert_eq!(listed(&db, query.clone(), few), expected, "{few}: {query:?}");
        }
    }
}

#[test]
fn many_agents_are_looked_up_as_a_range() {
    let db = database();
    for (row, n) in rows().into_iter().cycle().zip(0..AGENT_SCAN_LIMIT + 2) {
        let name = format!("lab{n:03}");
        let key = key(&format!("agent:{name}:1"));
        let row = SessionRow { key, agent: Some(name.parse().unwrap()), ..row };
        assert!(rows::adopt(&db, &row, None, None).is_ok());
    }
    let count = |prefix: &str| {
        let any_of = vec![Term::Agent(Pattern::Prefix(prefix.to_owned()))];
        let query =
            SessionQuery { narrowing: Some(Narrowing { any_of }), limit: 9, ..SessionQuery::default() };
        (lookups(&db, &query, SCAN_LIMIT).ok().unwrap().len(), listed(&db, query, SCAN_LIMIT).len())
    };
    assert_eq!(count("lab"), (1, AGENT_SCAN_LIMIT + 2));
    assert_eq!(count("lab00"), (10, 10));
    assert_eq!(count("lab000"), (1, 1));
    assert_eq!(count("lac"), (0, 0));
}
