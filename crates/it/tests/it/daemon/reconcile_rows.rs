//! The rows of the reconcile table, with real processes: a daemon that is killed at every stage of a run, and returns
//! to it. One event for each decision, and one ending.

use rustix::process::Signal;
use serde_json::Value;
use tenure_it::WAIT_LIMIT;
use tenure_it::install::Install;
use tenure_it::orphaned_run::{OrphanedRun, killed_at, rewrite_note};
use tenure_it::owned_daemon::OwnedDaemon;

#[track_caller]
fn assert_never_started(served: &OwnedDaemon, run: &str) {
    let ending = served.ending(run);
    assert_eq!((&ending["reason"], &ending["confirmed"]), (&"spawn-error".into(), &true.into()), "{ending}");
    served.assert_judged(run, &["never-started"]);
    assert_eq!(served.events_of(run, "run-ended").len(), 1);
    assert_eq!(served.events_of(run, "run-started"), Vec::<Value>::new());
    assert_eq!(served.install.wait(run), 125);
}

#[test]
fn a_row_without_a_directory_was_never_started() {
    let mut served = OwnedDaemon::start(Install::new());
    served.kill();
    let run = killed_at(&mut served, "daemon-row-written", &["touch", "executed"]);
    served.restart();
    assert_never_started(&served, &run);
    assert!(!served.install.dir().join("executed").exists());
}

#[test]
fn a_directory_without_a_keeper_was_never_started() {
    let mut served = OwnedDaemon::start(Install::new());
    served.kill();
    let run = killed_at(&mut served, "caller-before-launch", &["touch", "executed"]);
    served.restart();
    assert_never_started(&served, &run);
    assert!(served.dir(&run).ending().expect("a record").is_some(), "a later client finds the ending");
    assert!(!served.install.dir().join("executed").exists());
}

#[test]
fn a_directory_whose_ticket_is_missing_or_truncated_was_never_started() {
    for torn in [false, true] {
        let mut served = OwnedDaemon::start(Install::new());
        served.kill();
        let run = killed_at(&mut served, "daemon-row-written", &["true"]);
        std::fs::create_dir(served.run_path(&run)).expect("a directory");
        std::fs::set_permissions(served.run_path(&run), std::os::unix::fs::PermissionsExt::from_mode(0o700))
            .expect("chmod");
        if torn {
            std::fs::write(served.run_path(&run).join("ticket"), "{\"version\":1,\"runI").expect("a ticket");
        }
        served.restart();
        assert_never_started(&served, &run);
    }
}

#[test]
fn a_truncated_note_names_no_root() {
    let mut served = OwnedDaemon::start(Install::new());
    served.kill();
    let run = killed_at(&mut served, "caller-before-launch", &["true"]);
    std::fs::write(served.run_path(&run).join("keeper"), "{\"version\":1,\"keep").expect("a note");
    served.restart();
    assert_never_started(&served, &run);
}

#[test]
fn a_run_is_closed_with_the_ending_that_the_nursery_wrote() {
    let mut served = OwnedDaemon::start(Install::new());
    let run = served.install.start_in_background(&[], &["sleep", "600"]);
    let [keeper, nursery] = served.keepers(&run);
    served.kill();
    keeper.send(Signal::KILL);
    nursery.wait_dead(WAIT_LIMIT);
    served.restart();
    let ending = served.ending(&run);
    assert_eq!(
        (&ending["reason"], &ending["detail"]),
        (&"owner-lost".into(), &"keeper-killed".into()),
        "{ending}"
    );
    served.assert_judged(&run, &["take-ending"]);
    assert_eq!(served.events_of(&run, "run-ended").len(), 1);
}

#[test]
fn a_run_that_ended_without_a_daemon_keeps_its_own_ending() {
    let mut served = OwnedDaemon::start(Install::new());
    let run = served.install.start_in_background(&["--stdin", "open"], &["sh", "-c", "read line; exit 7"]);
    let [keeper, _] = served.keepers(&run);
    served.kill();
    assert!(served.install.tenure(&["write", &run, "go\n"]).status.success());
    keeper.wait_dead(WAIT_LIMIT);
    served.restart();
    assert_eq!(served.ending(&run)["exitCode"], 7);
    served.assert_judged(&run, &["take-ending"]);
    assert_eq!(served.install.wait(&run), 7);
    served.kill();
    served.restart();
    assert_eq!(served.events_of(&run, "run-ended").len(), 1);
    assert_eq!(served.verdicts(&run).len(), 1, "a settled decision is not reported again");
}

#[test]
fn a_truncated_ending_is_replaced() {
    let mut served = OwnedDaemon::start(Install::new());
    let run = OrphanedRun::from_command(&mut served, &[], &["sh", "-c", "echo ready; exec sleep 600"]);
    run.wait_dead();
    std::fs::write(served.run_path(&run.run).join("ending"), "{\"version\":1,\"run").expect("an ending");
    served.restart();
    assert_eq!(served.ending(&run.run)["reason"], "reconciled-stale");
    assert!(served.dir(&run.run).ending().expect("whole").is_some());
}

#[test]
fn after_a_reboot_a_run_is_lost_and_the_new_owners_of_its_pids_are_untouched() {
    for cgroup in [true, false] {
        let install = if cgroup { Install::new() } else { Install::new().without_cgroup() };
        let mut served = OwnedDaemon::start(install);
        // The root stays alive, to show that it is not mistaken for the root of another boot.
        let run = OrphanedRun::from_script(
            &mut served,
            &[],
            "unset TENURE_LEASE_ID; exec env -i sh -c 'echo ready; sleep 600; :'",
        );
        rewrite_note(&served, &run.run, |note| {
            for identity in [&mut note.root, &mut note.keeper] {
                identity.place.boot_id = "00000000-0000-4000-8000-000000000000".to_owned();
            }
            // Its cgroup went with the boot.
            note.boundary = tenure_core::record::Boundary::Subreaper { why: None };
        });
        served.restart();
        let ending = served.ending(&run.run);
        assert_eq!(
            (&ending["reason"], &ending["detail"]),
            (&"reconciled-stale".into(), &"the machine was rebooted".into())
        );
        assert_eq!(
            (&ending["confirmed"], &ending["exitCode"]),
            (&true.into(), &Value::Null),
            "no process survives a reboot"
        );
        served.assert_judged(&run.run, &["close-as-lost"]);
        assert!(run.living() > 0, "the process is not of this record");
        run.end();
    }
}

#[test]
fn a_suspended_keeper_is_left_alone_and_resumed_when_it_answers() {
    let mut served = OwnedDaemon::start(Install::new());
    let run = served.install.start_in_background(&[], &["sleep", "600"]);
    let [keeper, _] = served.keepers(&run);
    keeper.stop();
    served.kill();
    served.restart();
    served.assert_judged(&run, &["retry-later"]);
    let plan = served.install.tenure(&["reap", "--dry-run"]);
    let plan = String::from_utf8_lossy(&plan.stdout).into_owned();
    assert!(plan.contains("retry-later: its keeper lives and does not answer"), "{plan}");
    keeper.send(Signal::CONT);
    served.assert_judged(&run, &["retry-later", "resume"]);
    let plan = served.install.tenure(&["reap", "--dry-run"]);
    assert_eq!(String::from_utf8_lossy(&plan.stdout), "no orphaned runs\n");
    served.install.cancel(&run);
    assert_eq!(served.ending(&run)["reason"], "manual-cancel");
}

#[test]
fn a_live_run_whose_directory_was_removed_is_left_alone() {
    let mut served = OwnedDaemon::start(Install::new());
    let run = OrphanedRun::from_script(&mut served, &[], "echo ready; exec sleep 600");
    let path = served.run_path(&run.run);
    let aside = served.install.dir().join("aside");
    std::fs::rename(&path, &aside).expect("moved");
    served.restart();
    served.assert_judged(&run.run, &["retry-later"]);
    assert_eq!((run.living(), &served.install.show(&run.run)["state"]), (1, &"running".into()));
    std::fs::rename(&aside, &path).expect("moved back");
    assert_eq!(served.ending(&run.run)["reason"], "owner-lost");
    run.wait_dead();
}

#[test]
fn a_manual_reap_never_closes_a_run_that_is_about_to_start() {
    let served = OwnedDaemon::start(Install::new());
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !done.load(std::sync::atomic::Ordering::Relaxed) {
                    served.install.tenure(&["reap"]);
                }
            });
        }
        let runs: Vec<String> = (0..60).map(|_| served.install.start_in_background(&[], &["true"])).collect();
        done.store(true, std::sync::atomic::Ordering::Relaxed);
        for run in runs {
            assert_eq!(served.ending(&run)["exitCode"], 0);
            assert_eq!(served.verdicts(&run), Vec::<String>::new(), "no verdict was needed");
        }
    });
}
