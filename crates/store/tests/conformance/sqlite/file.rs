//! The registry's file: its owner, its leftovers, and the content of a copy.

use crate::sample::{NOW, create_ended, ending, enrolled, ids, in_scope, instance, listed, new_run, run_id};
use crate::store::block_on;
use crate::talk;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use tenure_core::ending::Reason;
use tenure_store::sqlite::{OpenFailed, Sqlite};
use tenure_store::{Failed, Query, Registry, Retention, SessionQuery};

#[test]
fn a_copy_is_a_whole_registry() {
    let directory = TempDir::new().unwrap();
    let registry: Arc<dyn Registry> = Arc::new(Sqlite::open(&directory.path().join("tenure.db")).unwrap());
    let copy = directory.path().join("it's a copy.db");
    block_on(async {
        enrolled(&registry).await;
        create_ended(&registry, new_run(1), ending(1, Reason::Exit)).await;
        registry.backup(copy.clone()).await.unwrap();
        registry.create(new_run(2)).await.unwrap();
        let copied = Sqlite::open(&copy).unwrap();
        assert_eq!(copied.check().await.unwrap(), None);
        assert_eq!(copied.run(run_id(1)).await.unwrap(), registry.run(run_id(1)).await.unwrap());
        assert_eq!(copied.run(run_id(2)).await.unwrap(), None);
        assert_eq!(copied.last_event().await.unwrap(), registry.last_event().await.unwrap() - 1);
    });
}

#[test]
fn a_copy_that_cannot_be_written_leaves_nothing() {
    let directory = TempDir::new().unwrap();
    let registry = Sqlite::open(&directory.path().join("tenure.db")).unwrap();
    let nowhere = directory.path().join("no/such/place.db");
    assert!(block_on(registry.backup(nowhere.clone())).is_err());
    assert!(!nowhere.exists());
}

#[test]
fn the_threads_end_with_the_last_handle_and_tidy_up() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("tenure.db");
    let registry = Sqlite::open(&path).unwrap();
    let clone = registry.clone();
    drop(registry);
    let clone: Arc<dyn Registry> = Arc::new(clone);
    block_on(enrolled(&clone));
    drop(clone);
    // The log is removed when the last connection is closed.
    let log = directory.path().join("tenure.db-wal");
    let deadline = Instant::now() + Duration::from_secs(60);
    while log.exists() {
        assert!(Instant::now() < deadline, "the threads are still there");
        std::thread::yield_now();
    }
}

#[test]
fn a_directory_that_is_not_there_is_said() {
    let directory = TempDir::new().unwrap();
    let failed = Sqlite::open(&directory.path().join("none/tenure.db")).unwrap_err();
    assert!(matches!(&failed, OpenFailed::System { .. }), "{failed}");
    assert!(failed.to_string().contains("none/tenure.db"), "{failed}");
}

#[test]
fn damage_is_found_by_the_check() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("tenure.db");
    let registry: Arc<dyn Registry> = Arc::new(Sqlite::open(&path).unwrap());
    block_on(async {
        enrolled(&registry).await;
        registry.create(new_run(1)).await.unwrap();
        // Another program could do this, without foreign keys.
        let other = rusqlite::Connection::open(&path).unwrap();
        other.execute_batch("PRAGMA foreign_keys = OFF; DELETE FROM instances").unwrap();
        let wrong = registry.check().await.unwrap().unwrap();
        assert!(wrong.contains("runs") && wrong.contains("instances"), "{wrong}");
    });
}

#[test]
fn a_row_of_a_newer_tenure_hides_no_other() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("tenure.db");
    let registry: Arc<dyn Registry> = Arc::new(Sqlite::open(&path).unwrap());
    block_on(async {
        enrolled(&registry).await;
        for number in 1..=4 {
            create_ended(&registry, new_run(number), ending(number, Reason::Exit)).await;
        }
        for number in [5, 6] {
            registry.create(new_run(number)).await.unwrap();
        }
        registry.create(in_scope(7, "s")).await.unwrap();
        let newer = "UPDATE runs SET ticket = json_set(ticket, '$.version', 99) WHERE run_id IN (?1, ?2, ?3)";
        let strange = [2, 5, 7].map(|number| run_id(number).to_string());
        assert_eq!(rusqlite::Connection::open(&path).unwrap().execute(newer, strange).unwrap(), 3);

        let unfinished = registry.unfinished().await.unwrap();
        let readable: Vec<_> = unfinished.runs.into_iter().map(|run| run.ticket.run_id).collect();
        assert_eq!(readable, ids(&[6]));
        let [first, second] = unfinished.unreadable.as_slice() else { panic!("two") };
        assert_eq!([&first.run, &second.run], [run_id(5).as_str(), run_id(7).as_str()]);
        assert!(first.why.contains("99"), "{}", first.why);
        for limit in [1, 2, 9] {
            assert_eq!(listed(&registry, Query { limit, ..Query::default() }).await, ids(&[6, 4, 3, 1]));
        }
        let keep = Retention { age_ms: u64::MAX, count: 2, bytes: u64::MAX };
        let gone = registry.outlived(instance(1), keep, NOW, 9).await.unwrap();
        let gone: Vec<_> = gone.into_iter().map(|run| run.ticket.run_id).collect();
        assert_eq!(gone, ids(&[1, 3]), "what cannot be read stays");
        let taken = registry.live_in_scope("s".into()).await.unwrap_err().to_string();
        assert!(taken.contains(run_id(7).as_str()), "{taken}");
    });
}

#[test]
fn a_session_of_a_newer_tenure_hides_no_other_and_is_left_alone() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("tenure.db");
    let registry: Arc<dyn Registry> = Arc::new(Sqlite::open(&path).unwrap());
    block_on(async {
        talk::spawned(&registry, &["a"]).await;
        for name in ["b", "c", "d"] {
            registry.spawn_session(talk::below("a", name)).await.unwrap();
        }
        talk::close(&registry, "c", NOW).await;
        let newer = "UPDATE sessions SET record = json_set(record, '$.version', 99) WHERE key IN ('b', 'c')";
        assert_eq!(rusqlite::Connection::open(&path).unwrap().execute(newer, []).unwrap(), 2);
        for limit in [1, 2, 9] {
            let rows = talk::listed(&registry, SessionQuery { limit, ..SessionQuery::default() }).await;
            assert_eq!(rows.into_iter().map(|row| row.key).collect::<Vec<_>>(), ["d", "a"].map(talk::key));
        }
        let family = registry.descendants(talk::key("a")).await.unwrap();
        assert_eq!(family.unreadable.iter().map(|it| it.key.as_str()).collect::<Vec<_>>(), ["b", "c"]);
        assert!(family.unreadable[0].why.contains("99"), "{}", family.unreadable[0].why);
        let failed = registry.session(talk::key("b")).await.unwrap_err().to_string();
        assert!(failed.contains("session b") && failed.contains("99"), "{failed}");
        let taken = registry.spawn_session(talk::asked("b")).await;
        assert!(matches!(taken, Err(Failed::SessionTaken { .. })), "{taken:?}");
        assert!(registry.begin_turn(talk::say(1, "b"), None, instance(1), NOW).await.is_err());
        assert_eq!(registry.trim_sessions(u64::MAX, 0, 9).await.unwrap(), [], "what cannot be read stays");
    });
}
