//! Several processes that share a file.

use super::helper::Helper;
use crate::sample::{NOW, enrolled, hold, instance, leaving, new_run, run_id, started};
use crate::store::block_on;
use std::sync::{Arc, Barrier};
use tempfile::TempDir;
use tenure_store::sqlite::Sqlite;
use tenure_store::{Failed, Registry};

#[test]
fn processes_that_open_a_new_registry_at_once_all_get_it() {
    for _ in 0..5 {
        let directory = TempDir::new().unwrap();
        let path = directory.path().join("tenure.db");
        let helpers: Vec<_> = (0..4).map(|_| Helper::start("open", &path)).collect();
        for helper in helpers {
            assert_eq!(helper.finish(), ["0"]);
        }
    }
}

#[test]
fn threads_that_open_a_new_registry_at_once_all_get_it() {
    for _ in 0..10 {
        let directory = TempDir::new().unwrap();
        let path = directory.path().join("tenure.db");
        let start = Barrier::new(4);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    start.wait();
                    Sqlite::open(&path).unwrap();
                });
            }
        });
    }
}

#[test]
fn of_all_processes_that_try_to_take_a_lease_exactly_one_gets_it() {
    const RUNS: u64 = 200;
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("tenure.db");
    let registry: Arc<dyn Registry> = Arc::new(Sqlite::open(&path).unwrap());
    let unseated = block_on(async {
        let seen = registry.enrol(instance(1), String::new(), NOW).await.unwrap();
        for number in 2..5 {
            registry.enrol(instance(number), String::new(), u64::MAX).await.unwrap();
        }
        for number in 0..RUNS {
            registry.create(new_run(number)).await.unwrap();
        }
        registry.unseat(instance(1), seen, NOW + 1).await.unwrap().unwrap()
    });
    let job = |thief: u8| format!("steal {thief} {RUNS} {} {}", unseated.incarnation, unseated.number);
    let thieves: Vec<_> = (2..5).map(|thief| Helper::start(&job(thief), &path)).collect();
    let mut taken: Vec<u64> =
        thieves.into_iter().flat_map(Helper::finish).map(|line| line.parse().unwrap()).collect();
    taken.sort_unstable();
    assert_eq!(taken, (0..RUNS).collect::<Vec<_>>());
}

#[test]
fn a_write_waits_for_another_process_and_is_not_dropped() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("tenure.db");
    let registry: Arc<dyn Registry> = Arc::new(Sqlite::open(&path).unwrap());
    block_on(async {
        enrolled(&registry).await;
        let other = rusqlite::Connection::open(&path).unwrap();
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        let created = registry.create(new_run(1));
        // Reads continue while another process writes.
        assert_eq!(registry.run(run_id(1)).await.unwrap(), None);
        other.execute_batch("ROLLBACK").unwrap();
        created.await.unwrap();
        assert!(registry.run(run_id(1)).await.unwrap().is_some());
    });
}

#[test]
fn in_a_burst_one_that_fails_fails_alone() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("tenure.db");
    let registry: Arc<dyn Registry> = Arc::new(Sqlite::open(&path).unwrap());
    block_on(async {
        enrolled(&registry).await;
        // While another process writes, all of these operations are queued and become one transaction.
        let other = rusqlite::Connection::open(&path).unwrap();
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        let first = registry.create(new_run(0));
        let burst: Vec<_> = (0..100).map(|number| registry.create(new_run(number / 2))).collect();
        let step = registry.record(run_id(7), hold(1), started(), NOW);
        let next = registry.record(run_id(7), hold(1), leaving(), NOW);
        // A dropped call is executed all the same.
        drop(registry.hide(run_id(8)));
        other.execute_batch("ROLLBACK").unwrap();
        first.await.unwrap();
        for (number, answer) in burst.into_iter().enumerate() {
            let answer = answer.await;
            if number == 0 || number % 2 == 1 {
                assert!(matches!(answer, Err(Failed::Unavailable(_))), "{number}: {answer:?}");
            } else {
                assert_eq!(answer, Ok(()), "{number}");
            }
        }
        assert!(step.await.unwrap() && next.await.unwrap());
        assert!(registry.run(run_id(8)).await.unwrap().unwrap().hidden);
        assert_eq!(registry.unfinished().await.unwrap().runs.len(), 50);
    });
}
