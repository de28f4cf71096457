//! Measurements of sessions, run by hand and in release, as in `figures`. A page that takes noticeably long fails.

use super::figures::show;
use crate::sample::{NOW, instance};
use crate::store::block_on;
use crate::talk::{asked, key};
use rusqlite::Connection;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use tenure_core::record;
use tenure_core::session::{
    AgentId, AgentToAgent, Kind, Known, Requester, SessionKey, SessionRow, SessionState, SpawnLimits,
    SpawnRequest, Visibility, narrow, spawn,
};
use tenure_store::sqlite::Sqlite;
use tenure_store::{Registry, SessionCursor, SessionQuery};

const SESSIONS: u64 = 1_000_000;
const ASKED: u32 = 200;
const SLOW: Duration = Duration::from_millis(50);

/// Twenty agents; half of all sessions are children of `agent:a0:0`, one of a hundred has no agent, one of a
/// thousand is open, and every kind but one is frequent.
fn many(number: u64, root: Option<&SessionRow>) -> SessionRow {
    let agent = number % 20;
    let name = if number % 100 == 99 { format!("cli:{number}") } else { format!("agent:a{agent}:{number}") };
    let parent = root.filter(|_| number.is_multiple_of(2));
    let new = asked(&name).request;
    let kind = if number.is_multiple_of(50_000) { Kind::Main } else { Kind::Cli };
    let by = parent.map(|parent| parent.key.clone());
    let request = SpawnRequest { kind, by, now_ms: NOW + number, instance: instance(1), ..new };
    let limits = SpawnLimits { depth: 9, children: usize::MAX };
    let mut row = spawn(parent, request, Known::default(), limits).unwrap();
    if !number.is_multiple_of(1_000) {
        (row.state, row.closed_at_ms) = (SessionState::Closed, Some(NOW + number));
    }
    row
}

/// Fills the tables directly, as for the runs.
fn fill(path: &Path) {
    let db = Connection::open(path).unwrap();
    db.execute_batch("PRAGMA synchronous = OFF; PRAGMA cache_size = -400000; BEGIN").unwrap();
    let mut insert = db
        .prepare(
            "INSERT INTO sessions (key, created_at_ms, agent, kind, backend, state, parent, owner, spawned_by,
                 instance, closed_at_ms, record)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?7, ?7, ?8, ?9, ?10)",
        )
        .unwrap();
    let mut above = db.prepare("INSERT INTO session_ancestors VALUES (?1, ?2, ?3)").unwrap();
    let root = many(0, None);
    for number in 0..SESSIONS {
        let row = many(number, (number > 0).then_some(&root));
        let line = String::from_utf8(record::encode(&row)).unwrap();
        let at = i64::try_from(row.created_at_ms).unwrap();
        insert
            .execute(rusqlite::params![
                row.key.as_str(),
                at,
                row.agent.as_ref().map(AgentId::as_str),
                row.kind.word(),
                row.backend.word(),
                row.state.word(),
                row.parent.as_ref().map(SessionKey::as_str),
                row.instance.as_str(),
                row.closed_at_ms.map(|at| i64::try_from(at).unwrap()),
                line.lines().next().unwrap(),
            ])
            .unwrap();
        for ancestor in &row.lineage {
            above.execute((ancestor.as_str(), at, row.key.as_str())).unwrap();
        }
    }
    drop((insert, above));
    db.execute_batch("COMMIT; PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
}

fn place(n: u64) -> SessionCursor {
    let row = many(n * 7_919 % SESSIONS, None);
    SessionCursor { created_at_ms: row.created_at_ms, key: row.key }
}

/// Returns the query for the sessions that a session may list.
fn seen_by(row: &SessionRow, visibility: Visibility, routes: &[&str]) -> SessionQuery {
    let allow = routes.iter().map(|route| route.parse().unwrap()).collect();
    let a2a = AgentToAgent { enabled: true, allow };
    let narrowing = Some(narrow(&Requester::of(row, false), visibility, &a2a));
    SessionQuery { narrowing, ..SessionQuery::default() }
}

type Ask = fn(u64) -> SessionQuery;

const LISTS: [(&str, Ask); 18] = [
    ("all, newest", |_| SessionQuery::default()),
    ("all, anywhere", |n| SessionQuery { after: Some(place(n)), ..SessionQuery::default() }),
    ("an agent, anywhere", |n| SessionQuery {
        agent: Some(format!("a{}", n % 20).parse().unwrap()),
        after: Some(place(n)),
        ..SessionQuery::default()
    }),
    ("idle", |_| SessionQuery { states: vec![SessionState::Idle], ..SessionQuery::default() }),
    ("an agent's idle", |n| SessionQuery {
        agent: Some(format!("a{}", n % 20).parse().unwrap()),
        states: vec![SessionState::Idle],
        ..SessionQuery::default()
    }),
    ("busy (none)", |_| SessionQuery { states: vec![SessionState::Busy], ..SessionQuery::default() }),
    ("children of a parent of many", |n| SessionQuery {
        parent: Some(key("agent:a0:0")),
        after: Some(place(n)),
        ..SessionQuery::default()
    }),
    ("a rare beginning", |n| SessionQuery {
        prefix: Some(format!("agent:a1:{}", n * 31 % 1_000 + 100)),
        ..SessionQuery::default()
    }),
    ("a common beginning", |n| SessionQuery {
        prefix: Some("agent:a1".into()),
        after: Some(place(n)),
        ..SessionQuery::default()
    }),
    ("a rare kind", |_| SessionQuery { kind: Some(Kind::Main), ..SessionQuery::default() }),
    ("a rare kind, seen by *->*", |n| SessionQuery {
        kind: Some(Kind::Main),
        ..seen_by(&many(n * 613, None), Visibility::All, &["*->*"])
    }),
    ("self", |n| seen_by(&many(n * 613, None), Visibility::SelfOnly, &[])),
    ("tree of half a million", |n| SessionQuery {
        after: Some(place(n)),
        ..seen_by(&many(0, None), Visibility::Tree, &[])
    }),
    ("tree of half a million, idle", |_| SessionQuery {
        states: vec![SessionState::Idle],
        ..seen_by(&many(0, None), Visibility::Tree, &[])
    }),
    ("tree of one", |n| seen_by(&many(n * 613 + 1, None), Visibility::Tree, &[])),
    ("agent, anywhere", |n| SessionQuery {
        after: Some(place(n)),
        ..seen_by(&many(n * 613, None), Visibility::Agent, &[])
    }),
    ("all by *->*, anywhere", |n| SessionQuery {
        after: Some(place(n)),
        ..seen_by(&many(n * 613, None), Visibility::All, &["*->*"])
    }),
    ("all by *->a1*, anywhere", |n| SessionQuery {
        after: Some(place(n)),
        ..seen_by(&many(n * 613, None), Visibility::All, &["*->a1*"])
    }),
];

#[test]
#[ignore = "figures, by hand"]
fn figures_of_pages_over_a_million_sessions() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("tenure.db");
    let registry: Arc<dyn Registry> = Arc::new(Sqlite::open(&path).unwrap());
    let begun = Instant::now();
    fill(&path);
    println!("filled in {:?}, {} MiB", begun.elapsed(), std::fs::metadata(&path).unwrap().len() >> 20);
    block_on(async {
        let mut slow = Vec::new();
        for (what, ask) in LISTS {
            let mut times = Vec::new();
            for n in 0..ASKED {
                let begun = Instant::now();
                registry.sessions(SessionQuery { limit: 50, ..ask(n.into()) }).await.unwrap();
                times.push(begun.elapsed());
            }
            times.sort_unstable();
            slow.extend((times[times.len() / 2] > SLOW).then_some(what));
            show(what, times);
        }
        let begun = Instant::now();
        registry.spawn_session(asked("one more")).await.unwrap();
        println!("spawn: {:?}", begun.elapsed());
        let begun = Instant::now();
        let gone = registry.trim_sessions(0, 10_000, 100).await.unwrap().len();
        println!("trim, {gone} of a million: {:?}", begun.elapsed());
        assert!(slow.is_empty(), "{slow:?}");
    });
}
