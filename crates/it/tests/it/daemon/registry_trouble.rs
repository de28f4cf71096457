//! An unusable registry: runs continue and end regardless, and clients are told what to do. A file that Tenure did not
//! make, or cannot read, is never changed or deleted.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Output;
use tenure_it::TRANSPORTS;
use tenure_it::daemon_fixture::DaemonFixture;
use tenure_it::install::Install;
use tenure_keeper::rundir::RunDir;

fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A keeper has written its run's ending, in spite of all other failures.
#[track_caller]
fn ending(fixture: &DaemonFixture, id: &str) -> (String, Option<i64>) {
    let dir = RunDir::open(&fixture.run_path(id)).expect("a run's directory");
    let ending = tenure_it::eventually("an ending", || dir.ending().expect("an ending that is whole"));
    let shown = serde_json::to_value(&ending.termination).expect("JSON");
    (ending.termination.reason.to_string(), shown["exitCode"].as_i64())
}

/// Asserts that a daemon with an unusable registry names the reason on the command line that needed it, and
/// leaves the file alone.
#[track_caller]
fn refused(install: Install, contents: &[u8], says: &[&str]) {
    let fixture = DaemonFixture::of(install);
    fs::create_dir_all(fixture.state()).expect("mkdir");
    let path = fixture.state().join("tenure.db");
    fs::write(&path, contents).expect("write");
    for args in [&["daemon", "start"][..], &["run", "--", "true"], &["run", "--bg", "--", "true"], &["ps"]] {
        let output = fixture.start_with_autostart(args).output();
        assert!(!output.status.success(), "{args:?} {output:?}");
        let code = if args[0] == "run" { 125 } else { 1 };
        assert_eq!(output.status.code(), Some(code), "{args:?} {}", err(&output));
        let text = err(&output);
        assert!(says.iter().all(|part| text.contains(part)), "{args:?}: {text}");
        assert_eq!(text.lines().count(), 1, "{text}");
    }
    assert_eq!(fs::read(&path).expect("it is there"), contents, "the file was changed");
    fixture.assert_nothing_left();
}

#[test]
fn a_non_database_file_is_refused_and_kept() {
    refused(Install::new(), &[b'x'; 8192], &["tenure.db", "damaged or not a registry", "restore a backup"]);
}

fn database(sql: &str) -> Vec<u8> {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = dir.path().join("made.db");
    let db = rusqlite::Connection::open(&path).expect("a database");
    db.execute_batch(sql).expect("statements");
    drop(db);
    fs::read(path).expect("a database")
}

#[test]
fn another_programs_database_is_refused_and_kept() {
    let foreign = database("CREATE TABLE songs (name TEXT); INSERT INTO songs VALUES ('one');");
    refused(Install::new(), &foreign, &["tenure.db", "another program", "name another file"]);
}

#[test]
fn a_registry_of_a_newer_tenure_is_refused_and_kept() {
    let newer = database(
        "CREATE TABLE runs (x TEXT); PRAGMA application_id = 1415933557; PRAGMA user_version = 999;",
    );
    refused(Install::new(), &newer, &["tenure.db", "version 999", "newer Tenure"]);
}

/// A registry of ours that is truncated in the middle.
#[test]
fn a_truncated_registry_is_refused_and_kept() {
    let fixture = DaemonFixture::without_warden();
    (0..20).for_each(|_| drop(fixture.act(&[], &["exit", "0"])));
    assert!(fixture.tenure(&["daemon", "stop"]).status.success());
    let path = fixture.state().join("tenure.db");
    let mut bytes = fs::read(&path).expect("a registry");
    // Its tables' pages, but not its header.
    bytes[4096..].fill(0xa5);
    fs::write(&path, &bytes).expect("write");
    let output = fixture.tenure(&["daemon", "start"]);
    assert_eq!(output.status.code(), Some(1), "{}", err(&output));
    assert!(err(&output).contains("damaged"), "{}", err(&output));
    assert_eq!(fs::read(&path).expect("it is there"), bytes, "the file was changed");
    fixture.assert_nothing_left();
}

/// The daemon holds the file open, so runs are recorded to it as before; the next daemon starts with an empty
/// one, and finds live runs only by their keepers' own grace.
#[test]
fn runs_continue_and_end_when_the_registry_is_deleted_under_the_daemon() {
    for transport in TRANSPORTS {
        let fixture = DaemonFixture::without_warden();
        let id = fixture.act(&[transport, &["--grace", "100ms"]].concat(), &["tree"]);
        let quick = fixture.start_in_background(transport, &["sh", "-c", "sleep 0.3; exit 5"]);
        fixture.wait_ready(&id);
        for name in ["tenure.db", "tenure.db-wal", "tenure.db-shm"] {
            fs::remove_file(fixture.state().join(name)).expect("it was there");
        }
        assert_eq!(ending(&fixture, &quick), ("exit".to_owned(), Some(5)));
        fixture.ask_to_cancel(&[&id]);
        assert_eq!(fixture.wait(&id), 123);
        assert_eq!(ending(&fixture, &id).0, "manual-cancel");
        assert!(fixture.tenure(&["daemon", "stop"]).status.success());
        fixture.assert_nothing_left();
    }
}

/// A state root on a disk of its own of this size, in this thread's own mount namespace.
#[expect(unsafe_code, reason = "a mount namespace of the test's own")]
fn on_a_small_disk(size: &str) -> (DaemonFixture, std::path::PathBuf) {
    let install = Install::new();
    let disk = install.dir().join("disk");
    fs::create_dir(&disk).expect("mkdir");
    // SAFETY: only this thread's view of the mounts changes, and nothing else relies on that.
    assert_eq!(unsafe { libc::unshare(libc::CLONE_NEWNS) }, 0, "a mount namespace needs root");
    mount(&["--make-rprivate", "/"]);
    mount(&["-t", "tmpfs", "-o", &format!("size={size},mode=0777"), "tmpfs", disk.to_str().expect("UTF-8")]);
    let registry = disk.join("tenure.db");
    let install = install.with_env("TENURE_REGISTRY", registry.to_str().expect("UTF-8"));
    (DaemonFixture::of(install), disk)
}

#[expect(clippy::disallowed_methods, reason = "the test mounts a disk for itself")]
fn mount(args: &[&str]) {
    let status = std::process::Command::new("mount").args(args).status().expect("mount");
    assert!(status.success(), "mount {args:?}");
}

/// The registry's disk is full: nothing new is started; runs continue, are cancelled, end, and are recorded
/// when there is space again. Waiting clients get the ending from the run's own file (I4).
#[test]
fn a_full_disk_delays_records_but_no_run() {
    let (fixture, disk) = on_a_small_disk("1m");
    fixture.start_daemon();
    let id = fixture.act(&["--grace", "100ms"], &["ignore-term", "sleep"]);
    let quick = fixture.start_in_background(&["--stdin", "open"], &["sh", "-c", "read line; exit 5"]);
    fixture.wait_ready(&id);
    let full = disk.join("full");
    // The write fails when the disk is full, as intended.
    let _ = fs::write(&full, vec![0; 2 << 20]);
    let refused = tenure_it::eventually("a refusal because the disk is full", || {
        let output = fixture.tenure(&["run", "--bg", "--", "true"]);
        (!output.status.success()).then_some(output)
    });
    assert_eq!(refused.status.code(), Some(125), "{}", err(&refused));
    assert!(err(&refused).contains("disk is full"), "{}", err(&refused));
    assert!(fixture.tenure(&["write", &quick, "go\n"]).status.success());
    assert_eq!(ending(&fixture, &quick), ("exit".to_owned(), Some(5)));
    fixture.ask_to_cancel(&[&id]);
    assert_eq!(ending(&fixture, &id).0, "manual-cancel");
    assert_eq!(fixture.wait(&quick), 5);
    fs::remove_file(&full).expect("it is there");
    assert_eq!((fixture.wait(&quick), fixture.wait(&id)), (5, 123));
    assert!(fixture.tenure(&["daemon", "stop"]).status.success());
    fixture.assert_nothing_left();
}

/// Root can read any file, so this is for an unprivileged user. Open files stay open; the next start is
/// refused.
#[test]
fn an_unreadable_registry_refuses_the_next_start_and_harms_no_run() {
    let fixture = DaemonFixture::of(Install::new().unprivileged());
    fixture.start_daemon();
    let id = fixture.act(&["--grace", "100ms"], &["sleep"]);
    fixture.wait_ready(&id);
    let path = fixture.state().join("tenure.db");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).expect("chmod");
    fixture.kill();
    let output = fixture.tenure(&["daemon", "start"]);
    assert_eq!(output.status.code(), Some(1), "{}", err(&output));
    assert!(err(&output).contains("cannot open the registry"), "{}", err(&output));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("chmod");
    fixture.start_daemon();
    assert_eq!(fixture.show(&id)["state"], "running");
    fixture.ask_to_cancel(&[&id]);
    assert_eq!(fixture.wait(&id), 123);
    assert!(fixture.tenure(&["daemon", "stop"]).status.success());
}

/// The keeper is told first, before any record is written.
#[test]
fn a_cancel_does_not_wait_for_the_registry() {
    for transport in TRANSPORTS {
        let fixture = DaemonFixture::without_warden();
        let id =
            fixture.start_in_background(&[transport, &["--grace", "100ms"]].concat(), &["sleep", "1000"]);
        let locked = rusqlite::Connection::open(fixture.state().join("tenure.db")).expect("the registry");
        locked.execute_batch("BEGIN IMMEDIATE").expect("the only writer");
        assert!(fixture.tenure(&["cancel", &id]).status.success());
        assert_eq!(ending(&fixture, &id).0, "manual-cancel", "ended while nothing can be recorded");
        assert_eq!(fixture.wait(&id), 123, "its file is complete");
        let told = fixture.tenure(&["events", "--since", "0"]);
        assert!(
            !String::from_utf8_lossy(&told.stdout).contains("run-ended"),
            "reported before it is recorded"
        );
        drop(locked);
        assert_eq!(fixture.wait(&id), 123);
        fixture.finish();
    }
}

/// Even if the registry cannot be written (a full disk, a lock): an ending on disk is shown.
#[test]
fn an_ending_that_cannot_be_recorded_is_shown_from_the_runs_files() {
    let fixture = DaemonFixture::without_warden();
    let id = fixture.start_in_background(&["--stdin", "open"], &["sh", "-c", "read line; exit 3"]);
    let db = rusqlite::Connection::open(fixture.state().join("tenure.db")).expect("the registry");
    db.execute_batch("BEGIN IMMEDIATE").expect("no other thread can write now");
    assert!(fixture.tenure(&["write", &id, "go\n"]).status.success());
    assert_eq!(ending(&fixture, &id), ("exit".to_owned(), Some(3)));
    let ps = |words: &[&str]| {
        let output = fixture.tenure(&[&["ps", "--json"], words].concat());
        serde_json::from_slice::<serde_json::Value>(&output.stdout).expect("JSON")
    };
    tenure_it::eventually("the ending in the list", || {
        (ps(&["--all"])[0]["state"] == "exited").then_some(())
    });
    assert_eq!(ps(&[]), serde_json::json!([]), "it is not among the live ones");
    assert_eq!(fixture.show(&id)["termination"]["exitCode"], 3);
    assert_eq!(fixture.tenure(&["wait", "--timeout", "20s", &id]).status.code(), Some(3));
    db.execute_batch("ROLLBACK").expect("other threads can write");
    drop(db);
    assert_eq!(fixture.wait(&id), 3);
    fixture.finish();
}
