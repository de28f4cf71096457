//! Earlier schema versions of the file, and foreign files: refused unchanged, with advice.

use crate::chores::{exit, key_of, keys, on_slack, task, tracked_in};
use crate::sample::{
    NOW, create_ended, ended, ending, enrolled, hold, in_scope, in_session, instance, leaving, new_run, note,
    question, run_id, started, told, yes,
};
use crate::store::block_on;
use crate::talk::{asked, begun, below, close, end, key, say, turn_id};
use rusqlite::Connection;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::TempDir;
use tenure_core::ending::Reason;
use tenure_core::session::{SessionState, Stop};
use tenure_core::state::State;
use tenure_core::task::exec_ended_channel;
use tenure_core::tools::Notify;
use tenure_store::sqlite::{OpenFailed, Sqlite};
use tenure_store::{
    ApprovalState, Count, NewRun, NewSession, Outcome, Query, Registry, Side, TaskQuery, Tracked, Tried,
    TurnEnd, TurnState, kind,
};

/// The registry's first version, as it was shipped. Never edited: a test below opens it as long as Tenure exists.
const FIRST: &[u8] = include_bytes!("../../../fixtures/registry-v1.db");
/// The second version, with the data of the agent's tools.
const SECOND: &[u8] = include_bytes!("../../../fixtures/registry-v2.db");
/// The third version, with sessions.
const THIRD: &[u8] = include_bytes!("../../../fixtures/registry-v3.db");
/// The fourth version, with tasks.
const FOURTH: &[u8] = include_bytes!("../../../fixtures/registry-v4.db");

/// The sixth, with an id, and with the ends of background commands that listeners are owed.
const SIXTH: &[u8] = include_bytes!("../../../fixtures/registry-v6.db");

/// Opens a file with this content, which must be refused and left unchanged.
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

/// A registry of the first version, changed by hand and closed.
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
    assert!(matches!(failed, OpenFailed::Newer { found: 4711, known: 7, .. }), "{failed}");
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

#[test]
fn the_registry_of_version_two_is_still_read() {
    use ApprovalState::{AllowedAlways, AllowedOnce, Denied, Expired, Pending};
    let (_directory, path) = place();
    std::fs::write(&path, SECOND).unwrap();
    let registry: Arc<dyn Registry> = Arc::new(Sqlite::open(&path).unwrap());
    block_on(async {
        assert_eq!(registry.check().await.unwrap(), None);
        assert_eq!(registry.run(run_id(2)).await.unwrap().unwrap().note, Some(note()));
        let exec = async |number| registry.exec_run(run_id(number)).await.unwrap().unwrap();
        let row = exec(6).await;
        assert_eq!((row.notify, row.background), (Notify::Auto, true));
        assert_eq!(row.read_to.as_deref(), Some("{\"at\":7}"));
        let asked = registry.approvals(false, 9).await.unwrap();
        let states: Vec<_> = asked.iter().map(|row| row.state).collect();
        assert_eq!(states, [Pending, Expired, Denied, AllowedAlways, AllowedOnce]);
        assert_eq!(asked[0].approval, pending());
        assert_eq!(asked[2].answered_by.as_deref(), Some("a person"));
        let listed = registry.allowlist().await.unwrap();
        let entries: Vec<_> = listed.iter().map(|row| (&row.entry["program"], row.uses)).collect();
        assert_eq!(entries, [(&json!("git"), 1), (&json!("/usr/bin/ls"), 0)]);
        assert!(registry.answer(run_id(15), yes(AllowedOnce, NOW)).await.unwrap(), "and written");
        assert_eq!(registry.allow(listed[0].entry.clone(), "me".into(), NOW).await.unwrap(), listed[0].id);
    });
}

#[test]
fn the_registry_of_version_three_is_still_read() {
    let (_directory, path) = place();
    std::fs::write(&path, THIRD).unwrap();
    let registry: Arc<dyn Registry> = Arc::new(Sqlite::open(&path).unwrap());
    block_on(async {
        assert_eq!(registry.check().await.unwrap(), None);
        let main = registry.session(key("agent:main:1")).await.unwrap().unwrap();
        assert_eq!((main.label.as_deref(), main.resume.as_deref()), (Some("the main one"), Some("0197-ab")));
        assert_eq!((main.turns, main.queued, main.row.state), (2, 2, SessionState::Busy));
        let other = registry.turns(key("agent:other:1"), Side::After(0), 9, u64::MAX).await.unwrap().turns;
        let states: Vec<_> = other.iter().map(|turn| turn.state).collect();
        assert_eq!(states, TurnState::ALL[1..]);
        assert_eq!(registry.session(key("cli:1")).await.unwrap().unwrap().row.state, SessionState::Closed);
        // Runs from before there were tasks have none, and can still end.
        assert!(
            registry.tasks(TaskQuery { limit: 9, ..TaskQuery::default() }).await.unwrap().tasks.is_empty()
        );
        assert!(registry.record(run_id(2), hold(1), ended(2), NOW).await.unwrap(), "and written");
        assert!(registry.end_turn(turn_id(2), end(Outcome::Done)).await.unwrap());
        of_tasks(&registry).await;
        assert_eq!(registry.check().await.unwrap(), None);
    });
}

#[test]
fn the_registry_of_version_four_is_still_read() {
    let (_directory, path) = place();
    std::fs::write(&path, FOURTH).unwrap();
    let registry: Arc<dyn Registry> = Arc::new(Sqlite::open(&path).unwrap());
    block_on(async {
        assert_eq!(registry.check().await.unwrap(), None);
        let tasks = registry.tasks(TaskQuery { limit: 9, ..TaskQuery::default() }).await.unwrap().tasks;
        assert_eq!(tasks.len(), 5);
        assert_eq!(registry.queued_notices(key("agent:main:5"), 9).await.unwrap().len(), 0);
        // An earlier turn has no stop reason, and a new one has.
        let turns = registry.turns(key("agent:other:1"), Side::After(0), 9, u64::MAX).await.unwrap().turns;
        assert!(turns.iter().all(|turn| turn.stop.is_none()));
        let stopped = TurnEnd { stop: Some(Stop::Refusal), ..end(Outcome::Failed) };
        assert!(registry.end_turn(turn_id(25), stopped).await.unwrap(), "and written");
        assert_eq!(registry.turn(turn_id(25)).await.unwrap().unwrap().stop, Some(Stop::Refusal));
        assert!(registry.begin_talk(run_id(31), key("agent:main:5"), NOW).await.unwrap());
        assert_eq!(registry.check().await.unwrap(), None);
    });
}

#[test]
fn an_end_that_a_registry_of_version_six_owed_to_listeners_is_still_told() {
    let (_directory, path) = place();
    std::fs::write(&path, SIXTH).unwrap();
    let registry: Arc<dyn Registry> = Arc::new(Sqlite::open(&path).unwrap());
    let due = async || {
        let (channel, now_ms) = (exec_ended_channel(&instance(1)), NOW + 1_000);
        registry.claim_notices(channel, instance(1), now_ms, now_ms, 99).await.unwrap()
    };
    block_on(async {
        assert_eq!(registry.check().await.unwrap(), None);
        let told = registry.task(Tracked::Run(run_id(22))).await.unwrap().unwrap();
        assert_eq!(registry.task_notices(told.id).await.unwrap()[0].state, "delivered", "notices are kept");
        // 41 was owed, 42 seen, 43 told; 44 runs, and ends now.
        let owed = due().await;
        assert_eq!(keys(&owed), [key_of(41, "exec-ended")]);
        assert_eq!(owed[0].notice.run_id, Some(run_id(41)));
        assert!(registry.settle_notice(owed[0].claim.clone(), Tried::Delivered, NOW).await.unwrap());
        assert!(registry.record(run_id(44), hold(1), exit(44, 3), NOW).await.unwrap());
        assert_eq!(keys(&due().await), [key_of(44, "exec-ended")]);
        assert_eq!(registry.check().await.unwrap(), None);
    });
}

#[test]
fn a_registry_of_version_one_with_a_live_run_becomes_one_of_today_with_everything_kept() {
    let (_directory, path) = place();
    std::fs::write(&path, FIRST).unwrap();
    let everything = |path: &Path| {
        let db = Connection::open(path).unwrap();
        ["instances", "runs", "events", "counters"].map(|table| dump(&db, table))
    };
    let version = |path: &Path| -> i64 {
        Connection::open(path).unwrap().query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap()
    };
    let before = everything(&path);
    assert!(before.iter().all(|rows| !rows.is_empty()), "{before:?}");
    assert_eq!(version(&path), 1);
    drop(Sqlite::open(&path).unwrap());
    assert_eq!(version(&path), 7);
    assert_eq!(everything(&path), before);
    // The second time there is nothing to do.
    let registry: Arc<dyn Registry> = Arc::new(Sqlite::open(&path).unwrap());
    block_on(async {
        assert_eq!(registry.check().await.unwrap(), None);
        assert_eq!(registry.run(run_id(2)).await.unwrap().unwrap().state, State::Running);
        // An earlier run is no exec run, and can still be read and ended.
        assert_eq!(registry.exec_run(run_id(2)).await.unwrap(), None);
        registry.read_to(run_id(2), "7".into()).await.unwrap();
        assert!(registry.record(run_id(2), hold(1), ended(2), NOW).await.unwrap());
        of_the_tools(&registry).await;
        of_sessions(&registry).await;
        assert_eq!(registry.running_turns(instance(1)).await.unwrap().len(), 1);
        assert_eq!(registry.messages(key("agent:main:1")).await.unwrap().len(), 2);
        assert_eq!(registry.check().await.unwrap(), None);
    });
}

/// Returns every row of a table, as text.
fn dump(db: &Connection, table: &str) -> Vec<String> {
    let mut statement = db.prepare(&format!("SELECT * FROM {table} ORDER BY 1, 2")).unwrap();
    let columns = statement.column_count();
    let row = |row: &rusqlite::Row<'_>| {
        (0..columns).map(|at| Ok(format!("{:?}", row.get_ref(at)?))).collect::<Result<Vec<_>, _>>()
    };
    statement.query_map([], row).unwrap().map(|row| row.unwrap().join("|")).collect()
}

/// A pending request for approval.
fn pending() -> tenure_store::NewApproval {
    let mut asked = question(15, u64::MAX / 4);
    asked.session = Some("agent:main:1".into());
    asked.asked = json!({"request": {"command": "rm -r build"}, "cwd": "/work"});
    asked
}

/// Adds one of each record of the agent's tools: the runs 6, 7 and 8, and the requests 11 to 15.
async fn of_the_tools(registry: &Arc<dyn Registry>) {
    for number in 6..=8 {
        let run = NewRun { exec: Some(Notify::Auto), ..new_run(number) };
        create_ended(registry, run, ending(number, Reason::Exit)).await;
        registry.go_background(run_id(number), task(number)).await.unwrap();
    }
    registry.read_to(run_id(6), "{\"at\":7}".into()).await.unwrap();
    let told_of = registry
        .claim_notices(exec_ended_channel(&instance(1)), instance(1), NOW, NOW + 30, 1)
        .await
        .unwrap();
    assert!(registry.settle_notice(told_of[0].claim.clone(), Tried::Told(told(6)), NOW).await.unwrap());
    assert!(registry.acknowledge_task(Tracked::Run(run_id(8)), NOW).await.unwrap());
    let git = json!({"program": "git", "args": "status( .*)?", "agent": "main"});
    let git = registry.allow(git, "uid 1000".into(), NOW).await.unwrap();
    registry.used(vec![git], NOW + 1).await.unwrap();
    for number in 11..=14 {
        registry.ask_person(question(number, NOW + 100)).await.unwrap();
    }
    let mut always = yes(ApprovalState::AllowedAlways, NOW);
    let exact = json!({"argv": ["ls", "-l"], "cwd": "/work"});
    always.entries = vec![json!({"program": "/usr/bin/ls", "exact": exact})];
    assert!(registry.answer(run_id(11), yes(ApprovalState::AllowedOnce, NOW)).await.unwrap());
    assert!(registry.answer(run_id(12), always).await.unwrap());
    assert!(registry.answer(run_id(13), yes(ApprovalState::Denied, NOW)).await.unwrap());
    assert_eq!(registry.expire_approvals(NOW + 100).await.unwrap(), [run_id(14)]);
    registry.ask_person(pending()).await.unwrap();
}

/// Adds one of each record of sessions: `agent:main:1` is busy with turn 2 and has two queued messages, its child
/// has a turn of every outcome, `cli:1` is closed.
async fn of_sessions(registry: &Arc<dyn Registry>) {
    let label = Some("the main one".to_owned());
    registry.spawn_session(NewSession { label, ..asked("agent:main:1") }).await.unwrap();
    registry.spawn_session(below("agent:main:1", "agent:other:1")).await.unwrap();
    registry.spawn_session(asked("cli:1")).await.unwrap();
    begun(registry, 1, "agent:main:1").await;
    let answered = TurnEnd { resume: Some("0197-ab".into()), ..end(Outcome::Done) };
    assert!(registry.end_turn(turn_id(1), answered).await.unwrap());
    begun(registry, 2, "agent:main:1").await;
    assert!(registry.set_turn_run(turn_id(2), run_id(2)).await.unwrap());
    for number in [3, 4] {
        registry.queue_message(say(number, "agent:main:1"), None, 9).await.unwrap();
    }
    let outcomes = [Outcome::Done, Outcome::Failed, Outcome::Cancelled, Outcome::TimedOut, Outcome::Lost];
    for (number, outcome) in (11..).zip(outcomes) {
        begun(registry, number, "agent:other:1").await;
        assert!(registry.end_turn(turn_id(number), end(outcome)).await.unwrap());
    }
    close(registry, "cli:1", NOW).await;
}

/// Adds one of each record of tasks: the runs 21 to 24 and a turn of `agent:main:5`, told on a channel and not.
async fn of_tasks(registry: &Arc<dyn Registry>) {
    registry.spawn_session(on_slack("agent:main:5")).await.unwrap();
    for number in 21..=24 {
        registry.create(tracked_in(number, "agent:main:5")).await.unwrap();
        assert!(registry.record(run_id(number), hold(1), started(), NOW).await.unwrap());
    }
    for number in [22, 23] {
        assert!(registry.record(run_id(number), hold(1), exit(number, 0), NOW).await.unwrap());
    }
    let claimed = registry.claim_notices("slack".into(), instance(1), NOW, NOW + 30, 1).await.unwrap();
    assert!(registry.settle_notice(claimed[0].claim.clone(), Tried::Delivered, NOW).await.unwrap());
    assert!(registry.note_progress(Tracked::Run(run_id(24)), "half".to_owned().into(), NOW).await.unwrap());
    let task = Some(task(25));
    registry.begin_turn(say(25, "agent:main:5"), task, instance(1), NOW).await.unwrap();
}

/// Makes the fixture, once: `cargo test -p tenure-store --test conformance -- --ignored --exact
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
        registry.create(in_session(2, "agent:main:2")).await.unwrap();
        registry.create(in_session(3, "cli:2")).await.unwrap();
        for (number, change) in [(2, started()), (3, started()), (3, leaving())] {
            assert!(registry.record(run_id(number), hold(1), change, NOW).await.unwrap());
        }
        registry.create(in_scope(4, "build")).await.unwrap();
        registry.create(in_scope(5, "other")).await.unwrap();
        registry.hide(run_id(5)).await.unwrap();
        of_the_tools(&registry).await;
        of_sessions(&registry).await;
        of_tasks(&registry).await;
        registry.backup(to.into()).await.unwrap();
    });
}

#[test]
fn a_copy_of_a_registry_gets_another_id_and_a_moved_one_keeps_its_own() {
    let (directory, path) = place();
    let id = |path: &Path| Sqlite::open(path).unwrap().id();
    let first = id(&path);
    assert_eq!(id(&path), first);
    let moved = directory.path().join("moved.db");
    std::fs::rename(&path, &moved).unwrap();
    assert_eq!(id(&moved), first);
    let copy = directory.path().join("copy.db");
    std::fs::copy(&moved, &copy).unwrap();
    let second = id(&copy);
    assert_ne!(second, first);
    assert_eq!((id(&copy), id(&moved)), (second.clone(), first.clone()), "and each keeps it");
    let backup = directory.path().join("backup.db");
    block_on(Sqlite::open(&moved).unwrap().backup(backup.clone())).unwrap();
    assert!(![first, second].contains(&id(&backup)));
}
