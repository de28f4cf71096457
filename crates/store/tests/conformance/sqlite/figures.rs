//! Measurements, run by hand and in release: `cargo nextest run --release -p tenure-store --run-ignored only
//! --no-capture figures`. They assert nothing, because speed depends on the machine.

use crate::sample::{NOW, ended, ending, enrolled, hold, instance, new_run, run_id};
use crate::store::block_on;
use rusqlite::Connection;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use tenure_core::ending::Reason;
use tenure_core::record;
use tenure_core::state::State;
use tenure_store::sqlite::Sqlite;
use tenure_store::{Cursor, NewRun, Query, Registry, Retention};

const RUNS: u64 = 1_000_000;
const LIVE: u64 = 1_000;
const ASKED: u32 = 300;

fn many(number: u64) -> NewRun {
    let mut run = new_run(number);
    run.ticket.options.session_id = Some(format!("agent:a{}:{}", number % 20, number % 5_000));
    run.ticket.options.scope = Some(format!("scope {}", number % (RUNS / 10)));
    // Real ids are random, not in the order of time.
    run.ticket.run_id = scattered(number);
    run
}

fn scattered(number: u64) -> tenure_core::ids::RunId {
    run_id(number.wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

/// Fills the tables directly: a million calls would take long and measure nothing more.
fn fill(path: &Path) {
    let db = Connection::open(path).unwrap();
    db.execute_batch("PRAGMA synchronous = OFF; PRAGMA cache_size = -200000; BEGIN").unwrap();
    let line = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap().lines().next().unwrap().to_owned();
    let mut insert = db
        .prepare(
            "INSERT INTO runs (run_id, created_at_ms, session, scope, agent, state, owner, epoch, ended_at_ms,
                 kept_bytes, updated_at_ms, directory, asked_by, ticket, note, ending)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 1, ?8, 10, ?2, ?9, 'uid 1000', ?10, ?11, ?12)",
        )
        .unwrap();
    let note = line(record::encode(&crate::sample::note()));
    for number in 0..RUNS {
        let NewRun { ticket, directory, .. } = many(number);
        // The live runs are scattered among the newest tenth.
        let lives = number >= RUNS - RUNS / 10 && number % (RUNS / 10 / LIVE) == 0;
        let ended = (!lives).then(|| ending(number, Reason::Exit));
        insert
            .execute(rusqlite::params![
                ticket.run_id.as_str(),
                i64::try_from(ticket.created_at_ms).unwrap(),
                ticket.options.session_id,
                ticket.options.scope,
                format!("a{}", number % 20),
                if lives { "running" } else { "exited" },
                instance(1).as_str(),
                ended.as_ref().map(|ending| i64::try_from(ending.ended_at_ms).unwrap()),
                directory,
                line(record::encode(&ticket)),
                note,
                ended.as_ref().map(|ending| line(record::encode(ending))),
            ])
            .unwrap();
    }
    drop(insert);
    db.execute_batch("COMMIT; PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
}

pub(super) fn show(what: &str, mut times: Vec<Duration>) {
    times.sort_unstable();
    let at = |percent: usize| times[(times.len() - 1) * percent / 100];
    println!("{what:32} p50 {:>9.3?}  p99 {:>9.3?}  max {:>9.3?}", at(50), at(99), times[times.len() - 1]);
}

/// A query, made from the number of the try.
type Ask = fn(u64) -> Query;

const LISTS: [(&str, Ask); 10] = [
    ("all, newest", |_| Query::default()),
    ("all, anywhere", |n| Query { after: Some(place(n)), ..Query::default() }),
    ("live", |_| Query { states: LIVING.to_vec(), ..Query::default() }),
    ("running", |_| Query { states: vec![State::Running], ..Query::default() }),
    ("exited, anywhere", |n| Query {
        states: vec![State::Exited],
        after: Some(place(n)),
        ..Query::default()
    }),
    ("every state, anywhere", |n| Query {
        states: [LIVING.as_slice(), &[State::Exited]].concat(),
        after: Some(place(n)),
        ..Query::default()
    }),
    ("a session", |n| Query { session: session(n), ..Query::default() }),
    ("a session's live", |n| Query { session: session(n), states: LIVING.to_vec(), ..Query::default() }),
    ("an agent, anywhere", |n| Query {
        agent: Some(format!("a{}", n % 20)),
        after: Some(place(n)),
        ..Query::default()
    }),
    ("a scope", |n| Query { scope: Some(format!("scope {}", n * 331 % (RUNS / 10))), ..Query::default() }),
];

const LIVING: [State; 3] = [State::Starting, State::Running, State::Exiting];

fn session(n: u64) -> Option<String> {
    many(n * 613).ticket.options.session_id
}

fn place(n: u64) -> Cursor {
    let number = n * 7_919 % RUNS;
    Cursor { created_at_ms: NOW + number, run_id: scattered(number) }
}

#[test]
#[ignore = "figures, by hand"]
fn figures_of_pages_over_a_million_runs() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("tenure.db");
    let registry: Arc<dyn Registry> = Arc::new(Sqlite::open(&path).unwrap());
    block_on(enrolled(&registry));
    let begun = Instant::now();
    fill(&path);
    println!("filled in {:?}, {} MiB", begun.elapsed(), std::fs::metadata(&path).unwrap().len() >> 20);
    block_on(async {
        for (what, ask) in LISTS {
            let mut times = Vec::new();
            for n in 0..ASKED {
                let begun = Instant::now();
                registry.runs(Query { limit: 50, ..ask(n.into()) }).await.unwrap();
                times.push(begun.elapsed());
            }
            show(what, times);
        }
        let mut times = Vec::new();
        for n in 0..ASKED {
            let begun = Instant::now();
            let prefix = scattered(u64::from(n) * 31).as_str()[..14].to_owned();
            assert!(!registry.find(prefix, 10).await.unwrap().is_empty());
            times.push(begun.elapsed());
        }
        show("find by a prefix", times);
        let begun = Instant::now();
        let keep = Retention { age_ms: u64::MAX, count: 10_000, bytes: u64::MAX };
        let found = registry.outlived(instance(1), keep, NOW, 100).await.unwrap().len();
        println!("outlived, {found} of a million: {:?}", begun.elapsed());
        let begun = Instant::now();
        println!("unfinished, {}: {:?}", registry.unfinished().await.unwrap().runs.len(), begun.elapsed());
        let begun = Instant::now();
        registry.backup(directory.path().join("copy.db")).await.unwrap();
        println!("backup: {:?}", begun.elapsed());
    });
}

#[test]
#[ignore = "figures, by hand"]
fn figures_of_commits() {
    const OPERATIONS: u64 = 5_000;
    let directory = TempDir::new().unwrap();
    let registry: Arc<dyn Registry> = Arc::new(Sqlite::open(&directory.path().join("tenure.db")).unwrap());
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(enrolled(&registry));
    for (lanes, first) in [(1, 0), (64, 1 << 40)] {
        for ending in [false, true] {
            let begun = Instant::now();
            runtime.block_on(async {
                let work = (0..lanes).map(|lane| {
                    let registry = registry.clone();
                    tokio::spawn(async move {
                        for number in
                            (first + lane..first + OPERATIONS).step_by(usize::try_from(lanes).unwrap())
                        {
                            if ending {
                                let recorded = registry.record(run_id(number), hold(1), ended(number), NOW);
                                assert!(recorded.await.unwrap());
                            } else {
                                registry.create(new_run(number)).await.unwrap();
                            }
                        }
                    })
                });
                for task in work.collect::<Vec<_>>() {
                    task.await.unwrap();
                }
            });
            let each = begun.elapsed() / u32::try_from(OPERATIONS).unwrap();
            let what = if ending { "endings, to the disk" } else { "creates, to the system" };
            println!("{what}, {lanes} in flight: {:.0}/s", 1.0 / each.as_secs_f64());
        }
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    println!("memory: {}", status.lines().find(|line| line.starts_with("RssAnon")).unwrap());
}
