//! Measurements of tasks, run by hand and in release: `cargo nextest run --release -p tenure-store --run-ignored
//! only --no-capture task_figures`. They assert nothing, because speed depends on the machine.

use super::figures::show;
use crate::chores::{claimed, lived, on_slack, tracked_in};
use crate::sample::{NOW, enrolled, in_session, instance};
use crate::store::block_on;
use rusqlite::Connection;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;
use tempfile::TempDir;
use tenure_core::ids::TaskId;
use tenure_core::task::{Kind, Status};
use tenure_store::sqlite::Sqlite;
use tenure_store::{Registry, Sweep, TaskCursor, TaskQuery};

const TASKS: u64 = 1_000_000;
const ASKED: u64 = 300;
const WEEK: u64 = 7 * 86_400_000;

/// Fills the table directly: a million tasks of five thousand owners, a thousandth of them running.
fn fill(path: &Path) {
    let db = Connection::open(path).unwrap();
    db.execute_batch(&format!(
        "PRAGMA synchronous = OFF; PRAGMA cache_size = -200000; BEGIN;
         WITH RECURSIVE n (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM n WHERE n < {TASKS} - 1),
              t AS (SELECT n, n % 1000 = 7 AS lives, {NOW} + n AS at FROM n)
         INSERT INTO tasks (task_id, created_at_ms, kind, status, delivery, policy, tells_quiet_success, run_id, owner,
             child, instance, interaction, label, started_at_ms, ended_at_ms, last_event_at_ms, cleanup_after_ms)
         SELECT printf('%08x%016x', (n * 2654435761) % 4294967296, n), at,
             CASE n % 4 WHEN 0 THEN 'run' WHEN 1 THEN 'acp' WHEN 2 THEN 'subagent' ELSE 'cli' END,
             CASE WHEN lives THEN 'running' WHEN n % 50 = 1 THEN 'failed' ELSE 'succeeded' END,
             CASE WHEN lives THEN 'pending' ELSE 'delivered' END, 'done_only', 1,
             printf('%08x%016x', (n * 2246822519) % 4294967296, n), 'agent:a:' || (n % 5000), 'cli:' || (n % 40000),
             '{}', 'interactive', 'job ' || n, at, CASE WHEN lives THEN NULL ELSE at END, at,
             CASE WHEN lives THEN NULL ELSE at + {WEEK} END FROM t;
         COMMIT; PRAGMA wal_checkpoint(TRUNCATE)",
        instance(1)
    ))
    .unwrap();
}

/// A query, made from the number of the try.
type Ask = fn(u64) -> TaskQuery;

const LISTS: [(&str, Ask); 6] = [
    ("all, newest", |_| TaskQuery::default()),
    ("all, anywhere", |n| TaskQuery { after: Some(place(n)), ..TaskQuery::default() }),
    ("running", |_| TaskQuery { statuses: vec![Status::Running], ..TaskQuery::default() }),
    ("failed acp, anywhere", |n| TaskQuery {
        statuses: vec![Status::Failed],
        kinds: vec![Kind::Acp],
        after: Some(place(n)),
        ..TaskQuery::default()
    }),
    ("every status, anywhere", |n| TaskQuery {
        statuses: Status::ALL.to_vec(),
        after: Some(place(n)),
        ..TaskQuery::default()
    }),
    ("an owner's", |n| TaskQuery {
        owner: format!("agent:a:{}", n * 7 % 5_000).parse().ok(),
        ..TaskQuery::default()
    }),
];

fn place(n: u64) -> TaskCursor {
    TaskCursor { created_at_ms: NOW + n * 7_919 % TASKS, task_id: TaskId::from_random([0; 12]) }
}

#[test]
#[ignore = "figures, by hand"]
fn task_figures_of_lookups_over_a_million_tasks() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("tenure.db");
    let registry: Arc<dyn Registry> = Arc::new(Sqlite::open(&path).unwrap());
    block_on(enrolled(&registry));
    fill(&path);
    println!("{} MiB", std::fs::metadata(&path).unwrap().len() >> 20);
    block_on(async {
        for (what, ask) in LISTS {
            let mut times = Vec::new();
            for n in 0..ASKED {
                let begun = Instant::now();
                registry.tasks(TaskQuery { limit: 50, ..ask(n) }).await.unwrap();
                times.push(begun.elapsed());
            }
            show(what, times);
        }
        let ids = |factor: u64, n: u64| format!("{:08x}{n:016x}", n.wrapping_mul(factor) % (1 << 32));
        let lookups: [(&str, &dyn Fn(u64) -> String); 4] = [
            ("show by task", &|n| ids(2_654_435_761, n * 31)[..16].to_owned()),
            ("show by run", &|n| ids(2_246_822_519, n * 31)),
            ("show by child", &|n| format!("cli:{}", n * 17)),
            ("show by owner", &|n| format!("agent:a:{n}")),
        ];
        for (what, text) in lookups {
            let mut times = Vec::new();
            for n in 0..ASKED {
                let begun = Instant::now();
                registry.find_task(text(n)).await.unwrap();
                times.push(begun.elapsed());
            }
            show(what, times);
        }
        let begun = Instant::now();
        let sweep = Sweep { now_ms: NOW + TASKS, grace_ms: 0, limit: 100, removes: true };
        let swept = registry.preview_sweep(sweep).await.unwrap();
        println!("preview of a sweep: {} lost, {:?}", swept.lost.len(), begun.elapsed());
        let begun = Instant::now();
        let found = registry.audit_tasks(NOW + TASKS, 100).await.unwrap().len();
        println!("audit, {found}: {:?}", begun.elapsed());
    });
}

#[test]
#[ignore = "figures, by hand"]
fn task_figures_of_lives() {
    const LIVES: u64 = 2_000;
    let directory = TempDir::new().unwrap();
    let registry: Arc<dyn Registry> = Arc::new(Sqlite::open(&directory.path().join("tenure.db")).unwrap());
    block_on(async {
        enrolled(&registry).await;
        registry.spawn_session(on_slack("s")).await.unwrap();
        for (what, first, tracked) in [("create", 0, false), ("create with a task", LIVES, true)] {
            let mut times = Vec::new();
            for number in first..first + LIVES {
                let run = if tracked { tracked_in(number, "s") } else { in_session(number, "s") };
                let begun = Instant::now();
                registry.create(run).await.unwrap();
                times.push(begun.elapsed());
            }
            show(what, times);
        }
        for number in 2 * LIVES..2 * LIVES + 500 {
            lived(&registry, tracked_in(number, "s"), 0).await;
        }
        let begun = Instant::now();
        let mut taken = 0;
        loop {
            let due = claimed(&registry, NOW + 99_999).await;
            if due.is_empty() {
                break;
            }
            taken += due.len();
            for it in due {
                let tried = tenure_store::Tried::Delivered;
                assert!(registry.settle_notice(it.claim, tried, NOW).await.unwrap());
            }
        }
        println!("{taken} notices taken and settled in {:?}", begun.elapsed());
    });
}
