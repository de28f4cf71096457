//! A registry that cannot be used: runs go on and end regardless, and whoever asks is told what to do. Nothing that Tenure
//! did not make, or cannot read, is ever changed or deleted.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Output;
use tenure_it::TRANSPORTS;
use tenure_it::home::Home;
use tenure_it::install::Install;
use tenure_keeper::rundir::RunDir;

fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Whatever else is wrong, a keeper has written its run's ending.
#[track_caller]
fn ending(home: &Home, id: &str) -> (String, Option<i64>) {
    let dir = RunDir::open(&home.run_path(id)).expect("a run's directory");
    let ending = tenure_it::eventually("an ending", || dir.ending().expect("an ending that is whole"));
    let shown = serde_json::to_value(&ending.termination).expect("JSON");
    (ending.termination.reason.to_string(), shown["exitCode"].as_i64())
}

/// A daemon that cannot use its registry says why, on the command line that wanted it, and leaves the file alone.
#[track_caller]
fn refused(install: Install, contents: &[u8], says: &[&str]) {
    let home = Home::of(install);
    fs::create_dir_all(home.state()).expect("mkdir");
    let path = home.state().join("tenure.db");
    fs::write(&path, contents).expect("write");
    for args in [&["daemon", "start"][..], &["run", "--", "true"], &["run", "--bg", "--", "true"], &["ps"]] {
        let output = home.start_freely(args).output();
        assert!(!output.status.success(), "{args:?} {output:?}");
        let code = if args[0] == "run" { 125 } else { 1 };
        assert_eq!(output.status.code(), Some(code), "{args:?} {}", err(&output));
        let text = err(&output);
        assert!(says.iter().all(|part| text.contains(part)), "{args:?}: {text}");
        assert_eq!(text.lines().count(), 1, "{text}");
    }
    assert_eq!(fs::read(&path).expect("it is there"), contents, "the file was changed");
    home.find_nothing();
}

#[test]
fn a_file_that_is_no_database_is_refused_and_kept() {
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
fn a_registry_of_a_later_tenure_is_refused_and_kept() {
    let newer = database(
        "CREATE TABLE runs (x TEXT); PRAGMA application_id = 1415933557; PRAGMA user_version = 999;",
    );
    refused(Install::new(), &newer, &["tenure.db", "version 999", "newer Tenure"]);
}

/// A registry that was ours, and is cut off in the middle.
#[test]
fn a_registry_that_was_cut_off_is_refused_and_kept() {
    let home = Home::unwatched();
    (0..20).for_each(|_| drop(home.act(&[], &["exit", "0"])));
    assert!(home.tenure(&["daemon", "stop"]).status.success());
    let path = home.state().join("tenure.db");
    let mut bytes = fs::read(&path).expect("a registry");
    // Its tables' pages, but not its header.
    bytes[4096..].fill(0xa5);
    fs::write(&path, &bytes).expect("write");
    let output = home.tenure(&["daemon", "start"]);
    assert_eq!(output.status.code(), Some(1), "{}", err(&output));
    assert!(err(&output).contains("damaged"), "{}", err(&output));
    assert_eq!(fs::read(&path).expect("it is there"), bytes, "the file was changed");
    home.find_nothing();
}

/// The daemon holds the file open, so runs are recorded to it as before; the next daemon begins anew, and finds the runs
/// that are alive by nothing but their keepers' own grace.
#[test]
fn runs_go_on_and_end_when_the_registry_is_deleted_under_the_daemon() {
    for transport in TRANSPORTS {
        let home = Home::unwatched();
        let id = home.act(&[transport, &["--grace", "100ms"]].concat(), &["tree"]);
        let quick = home.start_in_background(transport, &["sh", "-c", "sleep 0.3; exit 5"]);
        home.wait_ready(&id);
        for name in ["tenure.db", "tenure.db-wal", "tenure.db-shm"] {
            fs::remove_file(home.state().join(name)).expect("it was there");
        }
        assert_eq!(ending(&home, &quick), ("exit".to_owned(), Some(5)));
        home.ask_to_cancel(&[&id]);
        assert_eq!(home.wait(&id), 123);
        assert_eq!(ending(&home, &id).0, "manual-cancel");
        assert!(home.tenure(&["daemon", "stop"]).status.success());
        home.find_nothing();
    }
}

/// A state root on a disk of its own of so many bytes, in this thread's own mount namespace.
#[expect(unsafe_code, reason = "a mount namespace of the test's own")]
fn on_a_small_disk(size: &str) -> (Home, std::path::PathBuf) {
    let install = Install::new();
    let disk = install.dir().join("disk");
    fs::create_dir(&disk).expect("mkdir");
    // SAFETY: only this thread's view of the mounts changes, and nothing else relies on that.
    assert_eq!(unsafe { libc::unshare(libc::CLONE_NEWNS) }, 0, "a mount namespace needs root");
    mount(&["--make-rprivate", "/"]);
    mount(&["-t", "tmpfs", "-o", &format!("size={size},mode=0777"), "tmpfs", disk.to_str().expect("UTF-8")]);
    let registry = disk.join("tenure.db");
    let install = install.with_env("TENURE_REGISTRY", registry.to_str().expect("UTF-8"));
    (Home::of(install), disk)
}

#[expect(clippy::disallowed_methods, reason = "the test mounts a disk for itself")]
fn mount(args: &[&str]) {
    let status = std::process::Command::new("mount").args(args).status().expect("mount");
    assert!(status.success(), "mount {args:?}");
}

/// The registry's disk is full: nothing new is started, what runs goes on, is cancelled, ends, and is recorded when there
/// is room again. Whoever waits is told what the run's own file says (I4).
#[test]
fn a_full_disk_holds_the_records_up_and_no_run() {
    let (home, disk) = on_a_small_disk("1m");
    home.begin();
    let id = home.act(&["--grace", "100ms"], &["ignore-term", "sleep"]);
    let quick = home.start_in_background(&["--stdin", "open"], &["sh", "-c", "read line; exit 5"]);
    home.wait_ready(&id);
    let full = disk.join("full");
    // It ends when the disk is full, which is what it is for.
    let _ = fs::write(&full, vec![0; 2 << 20]);
    let refused = tenure_it::eventually("a refusal for want of room", || {
        let output = home.tenure(&["run", "--bg", "--", "true"]);
        (!output.status.success()).then_some(output)
    });
    assert_eq!(refused.status.code(), Some(125), "{}", err(&refused));
    assert!(err(&refused).contains("disk is full"), "{}", err(&refused));
    assert!(home.tenure(&["write", &quick, "go\n"]).status.success());
    assert_eq!(ending(&home, &quick), ("exit".to_owned(), Some(5)));
    home.ask_to_cancel(&[&id]);
    assert_eq!(ending(&home, &id).0, "manual-cancel");
    assert_eq!(home.wait(&quick), 5);
    fs::remove_file(&full).expect("it is there");
    assert_eq!((home.wait(&quick), home.wait(&id)), (5, 123));
    assert!(home.tenure(&["daemon", "stop"]).status.success());
    home.find_nothing();
}

/// Root reads whatever it wants, so this is for a user without rights. What is open stays open; the next start is refused.
#[test]
fn a_registry_that_became_unreadable_is_a_refusal_of_the_next_start_and_harms_no_run() {
    let home = Home::of(Install::new().unprivileged());
    home.begin();
    let id = home.act(&["--grace", "100ms"], &["sleep"]);
    home.wait_ready(&id);
    let path = home.state().join("tenure.db");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).expect("chmod");
    home.kill();
    let output = home.tenure(&["daemon", "start"]);
    assert_eq!(output.status.code(), Some(1), "{}", err(&output));
    assert!(err(&output).contains("cannot open the registry"), "{}", err(&output));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("chmod");
    home.begin();
    assert_eq!(home.show(&id)["state"], "running");
    home.ask_to_cancel(&[&id]);
    assert_eq!(home.wait(&id), 123);
    assert!(home.tenure(&["daemon", "stop"]).status.success());
}

/// The keeper is told first, and neither the record of it nor an earlier one is waited for.
#[test]
fn a_cancel_waits_for_no_registry() {
    for transport in TRANSPORTS {
        let home = Home::unwatched();
        let id = home.start_in_background(&[transport, &["--grace", "100ms"]].concat(), &["sleep", "1000"]);
        let locked = rusqlite::Connection::open(home.state().join("tenure.db")).expect("the registry");
        locked.execute_batch("BEGIN IMMEDIATE").expect("the only writer");
        assert!(home.tenure(&["cancel", &id]).status.success());
        assert_eq!(ending(&home, &id).0, "manual-cancel", "ended while nothing can be recorded");
        assert_eq!(home.wait(&id), 123, "its file says so");
        let told = home.tenure(&["events", "--since", "0"]);
        assert!(!String::from_utf8_lossy(&told.stdout).contains("run-ended"), "told before it is recorded");
        drop(locked);
        assert_eq!(home.wait(&id), 123);
        home.finish();
    }
}

/// Whatever keeps the registry from writing (a full disk, somebody who holds it): an ending that is on disk is shown.
#[test]
fn an_ending_that_the_registry_cannot_take_is_shown_from_the_runs_files() {
    let home = Home::unwatched();
    let id = home.start_in_background(&["--stdin", "open"], &["sh", "-c", "read line; exit 3"]);
    let db = rusqlite::Connection::open(home.state().join("tenure.db")).expect("the registry");
    db.execute_batch("BEGIN IMMEDIATE").expect("nobody else can write now");
    assert!(home.tenure(&["write", &id, "go\n"]).status.success());
    assert_eq!(ending(&home, &id), ("exit".to_owned(), Some(3)));
    let ps = |words: &[&str]| {
        let output = home.tenure(&[&["ps", "--json"], words].concat());
        serde_json::from_slice::<serde_json::Value>(&output.stdout).expect("JSON")
    };
    tenure_it::eventually("the ending in the list", || {
        (ps(&["--all"])[0]["state"] == "exited").then_some(())
    });
    assert_eq!(ps(&[]), serde_json::json!([]), "it is not among the live ones");
    assert_eq!(home.show(&id)["termination"]["exitCode"], 3);
    assert_eq!(home.tenure(&["wait", "--timeout", "20s", &id]).status.code(), Some(3));
    db.execute_batch("ROLLBACK").expect("others can write");
    drop(db);
    assert_eq!(home.wait(&id), 3);
    home.finish();
}
