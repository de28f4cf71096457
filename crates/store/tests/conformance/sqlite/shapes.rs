//! The shapes that the file has had, and files that are none of ours: refused as they are, with what to do.

use crate::sample::{
    NOW, create_ended, ended, ending, enrolled, hold, in_scope, in_session, instance, leaving, note, run_id,
    started,
};
use crate::store::block_on;
use rusqlite::Connection;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::TempDir;
use tenure_core::ending::Reason;
use tenure_core::state::State;
use tenure_store::sqlite::{OpenFailed, Sqlite};
use tenure_store::{Count, Query, Registry, kind};

/// The registry's first shape, as it was shipped. Never edited: a test below opens it as long as Tenure exists.
const FIRST: &[u8] = include_bytes!("../../../fixtures/registry-v1.db");

/// Opens a file with this content, and expects it to be left as it is.
fn refused(path: &Path) -> OpenFailed {
    let before = std::fs::read(path).unwrap();
    let failed = Sqlite::open(path).unwrap_err();
    assert_eq!(std::fs::read(path).unwrap(), before, "it was changed");
    assert!(failed.to_string().contains(path.to_str().unwrap()), "{failed}");
    failed
}

fn place() -> (TempDir, PathBuf) {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("tenure.db");
    (directory, path)
}

/// A registry of today, changed by hand and closed.
fn changed(path: &Path, sql: &str) {
    std::fs::write(path, FIRST).unwrap();
    let db = Connection::open(path).unwrap();
    db.execute_batch(sql).unwrap();
}

#[test]
fn a_registry_of_a_later_tenure_is_refused() {
    let (_directory, path) = place();
    changed(&path, "PRAGMA user_version = 4711");
    let failed = refused(&path);
    assert!(matches!(failed, OpenFailed::Newer { found: 4711, known: 2, .. }), "{failed}");
    assert!(failed.to_string().contains("use the newer Tenure"), "{failed}");
}

#[test]
fn a_registry_of_no_release_is_refused() {
    let (_directory, path) = place();
    changed(&path, "UPDATE migrations SET checksum = 'other'");
    let failed = refused(&path);
    assert!(matches!(failed, OpenFailed::Unlike { version: 1, .. }), "{failed}");
}

#[test]
fn the_database_of_another_program_is_refused() {
    for sql in ["CREATE TABLE mine (x)", "PRAGMA application_id = 7", "PRAGMA user_version = 1"] {
        let (_directory, path) = place();
        Connection::open(&path).unwrap().execute_batch(sql).unwrap();
        let failed = refused(&path);
        assert!(matches!(failed, OpenFailed::Foreign { .. }), "{sql}: {failed}");
    }
}

#[test]
fn a_file_that_is_no_database_is_refused() {
    let (_directory, path) = place();
    std::fs::write(&path, "# a note to myself\n".repeat(100)).unwrap();
    let failed = refused(&path);
    assert!(matches!(failed, OpenFailed::Damaged { .. }), "{failed}");
    assert!(failed.to_string().contains("restore a backup"), "{failed}");
}

#[test]
fn a_damaged_registry_is_refused() {
    let (_directory, path) = place();
    let mut bytes = FIRST.to_vec();
    bytes[100..4096].fill(0xff);
    std::fs::write(&path, bytes).unwrap();
    let failed = refused(&path);
    assert!(matches!(failed, OpenFailed::Damaged { .. }), "{failed}");
}

#[test]
fn the_registry_of_version_one_is_still_read() {
    let (_directory, path) = place();
    std::fs::write(&path, FIRST).unwrap();
    let registry: Arc<dyn Registry> = Arc::new(Sqlite::open(&path).unwrap());
    block_on(async {
        assert_eq!(registry.check().await.unwrap(), None);
        let instances = registry.instances().await.unwrap();
        assert_eq!(instances.iter().map(|row| row.expires_at_ms).collect::<Vec<_>>(), [u64::MAX, NOW]);
        let page = registry.runs(Query { limit: 9, ..Query::default() }).await.unwrap();
        let states: Vec<_> = page.runs.iter().map(|run| run.state).collect();
        assert_eq!(states, [State::Starting, State::Exiting, State::Running, State::Exited]);
        assert_eq!(page.runs[2].note, Some(note()));
        assert_eq!(page.runs[3].ending, Some(ending(1, Reason::OverallTimeout)));
        assert!(registry.run(run_id(5)).await.unwrap().unwrap().hidden);
        let agents = Query { agent: Some("main".into()), limit: 9, ..Query::default() };
        assert_eq!(registry.runs(agents).await.unwrap().runs.len(), 1);
        let counts = registry.counts(instance(1)).await.unwrap();
        assert!(counts.contains(&(Count::Spawn, 2)) && counts.contains(&(Count::TimeoutOverall, 1)));
        let events = registry.events(0, None, 99).await.unwrap();
        assert_eq!(events.last().unwrap().event.kind, kind::RUN_HIDDEN);
        assert!(registry.record(run_id(2), hold(1), ended(2), NOW).await.unwrap(), "and written");
    });
}

/// Made the fixture, once: `cargo test -p tenure-store --test conformance -- --ignored --exact
/// sqlite::shapes::make_the_fixture` with the new file's path in `TENURE_FIXTURE`. A new version gets a file of its
/// own name; the old ones stay.
#[test]
#[ignore = "makes the fixture of the current version"]
fn make_the_fixture() {
    let Some(to) = std::env::var_os("TENURE_FIXTURE") else { return };
    let (_directory, path) = place();
    let registry: Arc<dyn Registry> = Arc::new(Sqlite::open(&path).unwrap());
    block_on(async {
        enrolled(&registry).await;
        registry.enrol(instance(2), "another host".into(), NOW).await.unwrap();
        create_ended(&registry, in_scope(1, "build"), ending(1, Reason::OverallTimeout)).await;
        registry.create(in_session(2, "agent:main:1")).await.unwrap();
        registry.create(in_session(3, "cli:1")).await.unwrap();
        for (number, change) in [(2, started()), (3, started()), (3, leaving())] {
            assert!(registry.record(run_id(number), hold(1), change, NOW).await.unwrap());
        }
        registry.create(in_scope(4, "build")).await.unwrap();
        registry.create(in_scope(5, "other")).await.unwrap();
        registry.hide(run_id(5)).await.unwrap();
        registry.backup(to.into()).await.unwrap();
    });
}
