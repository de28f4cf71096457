//! Copies, moves and lost registries. A copied root never touches the runs of the original, a moved root finds its own
//! runs again, and runs that the registry has lost are recorded again.

use rustix::process::Signal;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tenure_core::journal::JournalEvent;
use tenure_it::child_program::ChildProgram;
use tenure_it::daemon_fixture::DaemonFixture;
use tenure_it::held_process::HeldProcess;
use tenure_it::install::Install;
use tenure_it::owned_daemon::OwnedDaemon;
use tenure_it::{WAIT_LIMIT, eventually, proc, within};
use tenure_keeper::rundir::RunDir;

/// Copies a directory or file with `cp`.
#[track_caller]
fn copy(by: &Install, how: &str, from: &Path, to: &Path) {
    let done = by.shell(&format!("cp {how} '{}' '{}'", from.display(), to.display()));
    assert!(done.status.success(), "{done:?}");
}

/// An installation on an existing state root.
fn at(state: PathBuf) -> Install {
    Install::new().with_state(state)
}

#[track_caller]
fn run_cli(install: &Install, args: &[&str]) -> String {
    let output = install.tenure(args);
    assert!(!output.status.success(), "{args:?}: {output:?}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[track_caller]
fn assert_refused_as_foreign(copy: &Install, run: &str) {
    for args in [&["cancel", run][..], &["rm", run], &["wait", run], &["tree", run], &["write", run, "x"]] {
        let why = run_cli(copy, args);
        assert!(why.contains("belongs to another installation"), "{args:?}: {why}");
    }
}

#[track_caller]
fn assert_runs(owner: &Install, run: &str, pid: i32) {
    let shown = owner.show(run);
    assert_eq!((&shown["state"], &shown["pid"]), (&"running".into(), &pid.into()), "{shown}");
    assert!(proc::runs(pid), "its root is gone");
}

/// Counts the matching entries in a run's journal.
fn noted(served: &OwnedDaemon, run: &str, is: impl Fn(&JournalEvent) -> bool) -> usize {
    served.dir(run).journal().expect("a journal").iter().filter(|entry| is(&entry.what)).count()
}

#[test]
fn a_copied_state_root_shows_the_originals_runs_and_touches_none() {
    let original = OwnedDaemon::start(Install::new());
    let run = original.install.start_in_background(&["--stdin", "open"], &["cat"]);
    let pid = original.install.root_pid(&run);
    let over = original.install.start_in_background(&[], &["echo", "over"]);
    assert_eq!(original.install.wait(&over), 0);
    // Sockets and lock files are copied too; with hard links they are even the same files.
    for how in ["-a", "-al"] {
        let place = original.install.dir().join(format!("copy{how}"));
        copy(&original.install, how, original.install.state(), &place);
        // In a linked copy the registry and the id are the original's own files, so these two are copied.
        for own in ["tenure.db", "tenure.db-wal", "tenure.db-shm", "instance-id"] {
            let (from, to) = (original.install.state().join(own), place.join(own));
            std::fs::remove_file(&to).expect("removed");
            copy(&original.install, "-a", &from, &to);
        }
        for lock in ["daemon.lock", "daemon.sock"] {
            let _ = std::fs::remove_file(place.join(lock));
        }
        // First without a daemon, by the files alone.
        assert_refused_as_foreign(&at(place.clone()), &run);
        let mut copied = OwnedDaemon::start(at(place));
        assert_ne!(copied.instance(), original.instance());
        let shown = copied.install.show(&run);
        assert_eq!((&shown["state"], &shown["foreign"]), (&"running".into(), &true.into()), "{shown}");
        assert!(String::from_utf8_lossy(&copied.install.tenure(&["ps"]).stdout).contains("foreign"));
        assert_refused_as_foreign(&copied.install, &run);
        assert_eq!(copied.install.logs(&[&over]), b"over\n", "the copy can be read");
        let stopped = copied.install.tenure(&["daemon", "stop", "--cancel-runs"]);
        assert!(stopped.status.success(), "{stopped:?}");
        copied.wait_exit();
        assert_runs(&original.install, &run, pid);
        // The copy may remove ended runs, which removes only the copy's files.
        copied.restart();
        assert!(copied.install.tenure(&["rm", &over]).status.success());
        assert!(!copied.run_path(&over).exists() && original.run_path(&over).exists());
    }
    assert_eq!(
        noted(&original, &run, |what| !matches!(what, JournalEvent::Started { .. })),
        0,
        "no daemon connected"
    );
    original.install.cancel(&run);
}

#[test]
fn a_daemon_of_a_copy_that_is_killed_while_it_takes_a_new_id_leaves_a_complete_file() {
    let original = OwnedDaemon::start(Install::new());
    let run = original.install.start_in_background(&[], &["sleep", "600"]);
    let pid = original.install.root_pid(&run);
    for (point, is_new) in [("instance-drafted", false), ("instance-written", true)] {
        let copied = at(original.install.dir().join(point));
        copy(&original.install, "-a", original.install.state(), copied.state());
        let mut command = copied.command(&["daemon", "run"]);
        command.env("TENURE_PAUSE", point);
        let daemon = ChildProgram::new(command);
        let process = HeldProcess::hold(daemon.pid()).expect("a daemon");
        eventually("a stopped daemon", || proc::is_stopped(process.pid).then_some(()));
        process.send(Signal::KILL);
        process.wait_dead(WAIT_LIMIT);
        let id = instance_lines(copied.state(), false).concat();
        assert_eq!(id != instance_lines(original.install.state(), false).concat(), is_new, "{id}");
        assert_eq!(instance_lines(copied.state(), true).len(), 1, "a complete file");
        let copied = OwnedDaemon::start(copied);
        let taken = instance_lines(copied.install.state(), false).concat();
        assert_eq!(taken == id, is_new, "a written id is kept");
        assert_ne!(copied.instance(), original.instance());
        assert!(!copied.install.state().join("instance-id.draft").exists());
        assert_refused_as_foreign(&copied.install, &run);
        assert_runs(&original.install, &run, pid);
    }
    original.install.cancel(&run);
}

/// The lines of an instance file, without or with the location.
fn instance_lines(state: &Path, located: bool) -> Vec<String> {
    let text = std::fs::read_to_string(state.join("instance-id")).expect("a file");
    text.lines().filter(|line| line.starts_with('{') == located).map(|line| format!("{line}\n")).collect()
}

#[test]
fn a_copy_of_a_root_that_an_older_tenure_used_touches_no_run_of_the_original() {
    let original = OwnedDaemon::start(Install::new());
    let run = original.install.start_in_background(&[], &["sleep", "600"]);
    let pid = original.install.root_pid(&run);
    let place = original.install.dir().join("copy");
    copy(&original.install, "-a", original.install.state(), &place);
    // Older versions did not record the location of a root.
    std::fs::write(place.join("instance-id"), instance_lines(&place, false).concat()).expect("written");
    assert_refused_as_foreign(&at(place.clone()), &run);
    let mut copied = OwnedDaemon::start(at(place.clone()));
    assert_ne!(copied.instance(), original.instance());
    assert_eq!(copied.install.show(&run)["foreign"], true);
    assert_refused_as_foreign(&copied.install, &run);
    assert_runs(&original.install, &run, pid);
    // The copy has the same id, but does not end a run whose keeper keeps another directory.
    copied.stop();
    let same =
        [instance_lines(original.install.state(), false), instance_lines(&place, true)].concat().concat();
    std::fs::write(place.join("instance-id"), same).expect("written");
    copied.restart();
    assert_eq!(copied.instance(), original.instance());
    copied.assert_judged(&run, &["leave", "retry-later"]);
    assert!(copied.install.tenure(&["daemon", "stop", "--cancel-runs"]).status.success());
    assert_runs(&original.install, &run, pid);
    original.install.cancel(&run);
}

#[test]
fn a_moved_state_root_finds_its_live_runs_again() {
    let mut served = OwnedDaemon::start(Install::new());
    let instance = served.instance();
    let command = ["sh", "-c", "read line; head -c 3000000 /dev/zero; echo end; read line; exit 7"];
    let run = served.install.start_in_background(&["--stdin", "open"], &command);
    let (state, moved) = (served.install.state().to_owned(), served.install.dir().join("moved"));
    served.stop();
    std::fs::rename(&state, &moved).expect("moved");
    let mut served = OwnedDaemon::start(at(moved.clone()));
    assert_eq!(served.instance(), instance);
    eventually("a run with a holder again", || {
        served.install.tenure(&["write", &run, "go\n"]).status.success().then_some(())
    });
    // More than the first segment holds: the keeper writes on at the directory's new place.
    eventually("its output", || served.install.logs(&[&run]).ends_with(b"end\n").then_some(()));
    assert_eq!(served.install.show(&run)["output"]["droppedBytes"], 0);
    // Moved under a live daemon: it serves the runs that it holds and exits, and the next daemon continues.
    let again = moved.with_file_name("again");
    std::fs::rename(&moved, &again).expect("moved");
    let there = at(again.clone());
    assert!(String::from_utf8_lossy(&there.tenure(&["ps"]).stdout).contains("running"));
    assert!(served.wait_exit().contains("moved"), "it exits by itself");
    assert!(!moved.exists(), "and creates no missing root");
    let served = OwnedDaemon::start(there);
    assert_eq!(served.instance(), instance);
    eventually("accepted input", || {
        served.install.tenure(&["write", &run, "go\n"]).status.success().then_some(())
    });
    assert_eq!(served.install.wait(&run), 7);
    let last = served.install.start_in_background(&[], &["sleep", "600"]);
    assert!(served.install.tenure(&["daemon", "stop", "--cancel-runs"]).status.success());
    let ending = served.dir(&last).ending().expect("readable").expect("an ending");
    assert_eq!(ending.termination.reason.to_string(), "manual-cancel");
}

#[test]
fn a_keeper_killed_after_its_state_root_was_moved_leaves_a_closed_run() {
    let mut served = OwnedDaemon::start(Install::new());
    let run = served.install.start_in_background(&["--orphan", "keep"], &["sleep", "600"]);
    let root = HeldProcess::hold(served.install.root_pid(&run)).expect("a root");
    let keeper = served.dir(&run).note().expect("readable").expect("a note").keeper.pid;
    let (state, moved) = (served.install.state().to_owned(), served.install.dir().join("moved"));
    served.stop();
    std::fs::rename(&state, &moved).expect("moved");
    // Another user's copy is at the old path.
    copy(&served.install, "-a", &moved, &state);
    proc::kill(keeper);
    // There is no daemon, so only the nursery can write the ending.
    let ending = |state: &Path| {
        RunDir::open(&state.join("runs").join(&run)).expect("a directory").ending().expect("readable")
    };
    let found = eventually("the run's ending", || ending(&moved));
    assert_eq!(found.termination.reason.to_string(), "owner-lost");
    root.wait_dead(WAIT_LIMIT);
    assert_eq!(ending(&state), None, "the copy was left alone");
    std::fs::remove_dir_all(&state).expect("removed");
    let served = OwnedDaemon::start(at(moved));
    assert_eq!(served.ending(&run)["detail"], "keeper-killed");
}

#[test]
fn an_escape_after_the_state_root_moved_becomes_a_run_in_the_new_place() {
    let mut served = OwnedDaemon::start(Install::new());
    let flags = ["--on-escape", "allow", "--orphan", "keep", "--stdin", "open"];
    let daemon = "setsid sh -c ': > up; exec sleep 600' & until [ -e up ]; do sleep 0.02; done";
    let command = ["sh", "-c", &format!("read line; {daemon}")];
    let run = served.install.start_in_background(&flags, &command);
    let (state, moved) = (served.install.state().to_owned(), served.install.dir().join("moved"));
    served.stop();
    std::fs::rename(&state, &moved).expect("moved");
    let served = OwnedDaemon::start(at(moved));
    eventually("accepted input", || {
        served.install.tenure(&["write", &run, "go\n"]).status.success().then_some(())
    });
    assert_eq!(served.install.wait(&run), 0);
    let heir = eventually("the heir", || served.install.runs().into_iter().find(|id| *id != run));
    eventually("it is identified", || served.install.tenure(&["show", &heir]).status.success().then_some(()));
    assert_eq!(served.install.show(&heir)["state"], "running");
    assert!(!state.exists(), "no state root is made where the old one was");
    served.install.cancel(&heir);
}

/// A tree with a process that left the session and one that ignores SIGTERM; returns its run and its processes.
fn stubborn_tree(install: &Install) -> (String, Vec<HeldProcess>) {
    let script = "setsid sleep 600 & trap '' TERM; sleep 600 & echo ready; while :; do sleep 1; done";
    let run = install.start_in_background(&["--orphan", "keep", "--grace", "300ms"], &["sh", "-c", script]);
    install.wait_for_output(&run, "ready");
    let keeper = i32::try_from(install.show(&run)["keeperPid"].as_i64().expect("a keeper")).expect("a pid");
    let tree = proc::descendants(keeper).into_iter().chain([keeper]).filter_map(HeldProcess::hold).collect();
    (run, tree)
}

#[test]
fn a_daemon_whose_state_root_is_deleted_ends_its_runs_and_leaves() {
    let mut served = OwnedDaemon::start(Install::new().with_env("TENURE_HEARTBEAT", "400ms"));
    let (_, tree) = stubborn_tree(&served.install);
    assert!(tree.len() >= 4, "{tree:?}");
    std::fs::remove_dir_all(served.install.state()).expect("removed");
    assert!(served.wait_exit().contains("runs are cancelled"), "it exits by itself");
    tree.iter().for_each(|one| one.wait_dead(WAIT_LIMIT));
    assert!(!served.install.state().exists(), "it is not recreated");
}

#[test]
fn a_keeper_without_a_daemon_ends_its_run_if_the_state_root_is_deleted_and_not_if_it_is_moved() {
    let install = Install::new();
    let (_, moved_tree) = stubborn_tree(&install);
    let moved = install.dir().join("moved");
    std::fs::rename(install.state(), &moved).expect("moved");
    let (_, tree) = stubborn_tree(&install);
    std::fs::remove_dir_all(install.state()).expect("removed");
    // The keeper of the moved run has checked at least as often by then.
    tree.iter().for_each(|one| one.wait_dead(WAIT_LIMIT));
    assert!(moved_tree.iter().any(|one| !one.is_dead()), "a moved root keeps its runs");
    std::fs::remove_dir_all(&moved).expect("removed");
    moved_tree.iter().for_each(|one| one.wait_dead(WAIT_LIMIT));
}

#[test]
fn reading_a_backup_takes_over_no_run() {
    let owner = OwnedDaemon::start(
        Install::new().with_env("TENURE_LEASE_TTL", "1s").with_env("TENURE_HEARTBEAT", "200ms"),
    );
    let run = owner.install.start_in_background(&["--orphan", "terminate"], &["sleep", "600"]);
    let pid = owner.install.root_pid(&run);
    let backup = owner.install.dir().join("bk.db");
    assert!(owner.install.tenure(&["backup", backup.to_str().expect("UTF-8")]).status.success());
    let looking = Install::new()
        .with_env("TENURE_REGISTRY", &format!("sqlite:{}", backup.display()))
        .with_env("TENURE_LEASE_TTL", "1s")
        .with_env("TENURE_HEARTBEAT", "200ms");
    let looking = OwnedDaemon::start(looking);
    // The second daemon saw the owner's row unchanged for more than a lease, and has given its verdict.
    looking.assert_judged(&run, &["leave"]);
    assert_refused_as_foreign_by_daemon(&looking, &run);
    let beats = || owner.install.show(&run)["leaseExpiresAtMs"].as_u64().expect("a time");
    let first = beats();
    within(Duration::from_secs(60), "five leases", || (beats() > first + 5_000).then_some(()));
    let shown = looking.install.show(&run);
    assert_eq!((&shown["foreign"], &shown["leaseEpoch"]), (&true.into(), &1.into()), "{shown}");
    assert!(looking.install.tenure(&["daemon", "stop", "--cancel-runs"]).status.success());
    assert_runs(&owner.install, &run, pid);
    assert_eq!(owner.install.show(&run)["leaseEpoch"], 1);
    owner.install.cancel(&run);
    assert_eq!(owner.ending(&run)["reason"], "manual-cancel");
}

#[track_caller]
fn assert_refused_as_foreign_by_daemon(served: &OwnedDaemon, run: &str) {
    for args in [&["cancel", run][..], &["rm", run], &["wait", run]] {
        let why = run_cli(&served.install, args);
        assert!(why.contains("belongs to another installation"), "{args:?}: {why}");
    }
}

#[test]
fn an_owner_that_resumes_while_its_keeper_awaits_an_answer_yields_its_lease() {
    let place = tempfile::tempdir().expect("a directory");
    let registry = place.path().join("registry.db");
    let thief = OwnedDaemon::start(OwnedDaemon::sharing(&registry));
    let owner = OwnedDaemon::start(OwnedDaemon::sharing(&registry));
    let run = owner.install.start_in_background(&["--orphan", "keep"], &["sleep", "600"]);
    let pid = owner.install.root_pid(&run);
    let process = owner.process();
    process.stop();
    // The keeper asks after the steal was committed, and waits up to a whole lease for the answer.
    eventually("the keeper asks", || {
        (noted(&owner, &run, |what| *what == JournalEvent::HolderAsked { epoch: 2 }) == 1).then_some(())
    });
    process.send(Signal::CONT);
    eventually("one new holder", || {
        (noted(&owner, &run, |what| *what == JournalEvent::HolderBack { epoch: 2 }) == 1).then_some(())
    });
    let answer = eventually("the owner's answer", || {
        let log = owner.log();
        log.lines().find(|line| line.contains("requests a run that we hold")).map(str::to_owned)
    });
    assert!(answer.contains("mine=false"), "{answer}");
    eventually("an owner that releases its leases", || {
        let status = owner.install.tenure(&["daemon", "status", "--json"]);
        let status: Value = serde_json::from_slice(&status.stdout).expect("JSON");
        (status["liveRuns"] == 0).then_some(())
    });
    for both in [&thief, &owner] {
        let shown = both.install.show(&run);
        assert_eq!(
            (&shown["state"], &shown["leaseEpoch"], &shown["ownerInstanceId"]),
            (&"running".into(), &2.into(), &thief.instance().into()),
            "{shown}"
        );
    }
    assert_runs(&thief.install, &run, pid);
    assert_eq!(thief.events_of(&run, "lease-stolen").len(), 1);
    assert_eq!(thief.events_of(&run, "run-ended").len(), 0);
    thief.install.cancel(&run);
    assert_eq!(thief.ending(&run)["reason"], "manual-cancel");
    assert_eq!(thief.events_of(&run, "run-ended").len(), 1);
}

/// Removes the registry of a daemon that is not running.
fn remove_registry(served: &OwnedDaemon) {
    for name in ["tenure.db", "tenure.db-wal", "tenure.db-shm"] {
        let _ = std::fs::remove_file(served.install.state().join(name));
    }
}

#[test]
fn runs_missing_from_a_restored_or_deleted_registry_are_recorded_again() {
    let mut served = OwnedDaemon::start(Install::new());
    let before = served.install.start_in_background(&[], &["sleep", "600"]);
    let backup = served.install.dir().join("bk.db");
    assert!(served.install.tenure(&["backup", backup.to_str().expect("UTF-8")]).status.success());
    let live = served.install.start_in_background(&["--scope", "web"], &["sleep", "600"]);
    let pid = served.install.root_pid(&live);
    // Many runs with one scope, one after the other.
    let over: Vec<String> = (0..3)
        .map(|n| {
            let code = n.to_string();
            let run = served
                .install
                .start_in_background(&["--scope", "job"], &["sh", "-c", &format!("exit {code}")]);
            assert_eq!(served.install.wait(&run), n);
            run
        })
        .collect();
    let plain = served.install.start_in_background(&[], &["true"]);
    assert_eq!(served.install.wait(&plain), 0);
    let removed = served.install.start_in_background(&[], &["true"]);
    assert_eq!(served.install.wait(&removed), 0);
    assert!(served.install.tenure(&["rm", &removed]).status.success());
    // Once with a backup in the registry's place, once without a registry.
    for (round, restores) in [true, false].into_iter().enumerate() {
        served.stop();
        remove_registry(&served);
        if restores {
            copy(&served.install, "", &backup, &served.install.state().join("tenure.db"));
        }
        let doctor = String::from_utf8_lossy(&served.install.tenure(&["doctor"]).stdout).into_owned();
        assert!(doctor.contains(&format!("{live} is alive and has no row")), "{doctor}");
        served.restart();
        eventually("a run that is registered again", || {
            served.install.tenure(&["show", &live]).status.success().then_some(())
        });
        assert_runs(&served.install, &live, pid);
        assert_eq!(served.install.show(&live)["leaseEpoch"], 2 + round, "higher than the keeper's");
        for (n, run) in over.iter().enumerate() {
            assert_eq!(served.ending(run)["exitCode"], n, "taken from its directory");
        }
        let all = served.install.tenure(&["ps", "--all"]);
        assert!(
            !String::from_utf8_lossy(&all.stdout).contains(&removed[..12]),
            "a removed run stays removed"
        );
        assert_eq!(served.install.tenure(&["tasks", "list", "--json"]).status.code(), Some(0));
        let doctor = String::from_utf8_lossy(&served.install.tenure(&["doctor"]).stdout).into_owned();
        assert!(!doctor.contains("has no row"), "{doctor}");
        eventually("a run held by the next daemon", || {
            let status = served.install.tenure(&["daemon", "status", "--json"]);
            let status: Value = serde_json::from_slice(&status.stdout).expect("JSON");
            (status["liveRuns"] == 2).then_some(())
        });
    }
    // Live runs are recorded first, except that a live run with a scope follows the ended runs of that scope.
    let created: Vec<Value> =
        served.events().into_iter().filter(|event| event["kind"] == "run-created").collect();
    let order = |run: &str| created.iter().position(|event| event["runId"] == *run).expect("an event");
    assert_eq!(order(&before), 0, "{created:?}");
    assert!(over.iter().all(|run| order(run) < order(&live)) && order(&live) < order(&plain), "{created:?}");
    for run in [&before, &live] {
        served.install.cancel(run);
        assert_eq!(served.ending(run)["reason"], "manual-cancel");
        assert_eq!(served.events_of(run, "run-ended").len(), 1);
    }
}

#[test]
fn a_row_older_than_the_lease_does_not_make_a_run_uncontrollable() {
    let mut served = OwnedDaemon::start(Install::new());
    let run = served.install.start_in_background(&[], &["sleep", "600"]);
    let backup = served.install.dir().join("bk.db");
    assert!(served.install.tenure(&["backup", backup.to_str().expect("UTF-8")]).status.success());
    // The run is lost and recorded again, so its keeper's epoch is newer than the backup's.
    for epoch in 2..=3 {
        served.stop();
        remove_registry(&served);
        served.restart();
        eventually("a new epoch", || {
            let shown = served.install.tenure(&["show", "--json", &run]);
            let shown: Value = serde_json::from_slice(&shown.stdout).ok()?;
            (shown["leaseEpoch"] == epoch).then_some(())
        });
        eventually("its keeper follows it", || {
            (noted(&served, &run, |what| *what == JournalEvent::HolderBack { epoch }) >= 1).then_some(())
        });
    }
    served.stop();
    remove_registry(&served);
    copy(&served.install, "", &backup, &served.install.state().join("tenure.db"));
    served.restart();
    eventually("an epoch above the keeper's", || {
        (served.install.show(&run)["leaseEpoch"] == 4).then_some(())
    });
    eventually("a run with a holder", || {
        served.install.tenure(&["cancel", &run]).status.success().then_some(())
    });
    assert_eq!(served.install.wait(&run), 123);
    assert_eq!(served.ending(&run)["reason"], "manual-cancel");
}

#[test]
fn an_unregistered_run_whose_gate_never_opened_is_swept() {
    let mut served = OwnedDaemon::start(Install::new());
    let run = served.install.start_in_background(&[], &["true"]);
    assert_eq!(served.install.wait(&run), 0);
    served.stop();
    remove_registry(&served);
    // Only a ticket, and no later file.
    let path = served.run_path(&run);
    for entry in std::fs::read_dir(&path).expect("a directory").flatten() {
        if entry.path().is_dir() {
            std::fs::remove_dir_all(entry.path()).expect("removed");
        } else if entry.file_name() != "ticket" {
            std::fs::remove_file(entry.path()).expect("removed");
        }
    }
    assert!(served.install.shell(&format!("touch -d '1 hour ago' '{}'", path.display())).status.success());
    served.restart();
    eventually("its directory is gone", || (!path.exists()).then_some(()));
    assert!(!served.install.tenure(&["show", &run]).status.success());
}

#[test]
fn an_instance_file_of_an_older_tenure_gets_a_place_and_keeps_its_id() {
    let mut served = OwnedDaemon::start(Install::new());
    let instance = served.instance();
    served.stop();
    let file = served.install.state().join("instance-id");
    let text = std::fs::read_to_string(&file).expect("a file");
    let old: String =
        text.lines().filter(|line| !line.starts_with('{')).map(|line| format!("{line}\n")).collect();
    assert_ne!(old, text);
    std::fs::write(&file, &old).expect("written");
    served.restart();
    assert_eq!(served.instance(), instance);
    assert_eq!(std::fs::read_to_string(&file).expect("a file"), text, "its location is recorded again");
}

#[test]
fn a_warden_whose_state_root_is_deleted_with_its_daemon_starts_no_other() {
    let fixture = DaemonFixture::with_warden();
    let daemon = fixture.daemon();
    let warden = HeldProcess::hold(proc::stat(daemon.pid).expect("a daemon").1).expect("a warden");
    daemon.stop();
    std::fs::remove_dir_all(fixture.state()).expect("deleted");
    daemon.send(Signal::KILL);
    warden.wait_dead(WAIT_LIMIT);
    assert!(!fixture.state().exists());
}
