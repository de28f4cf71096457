//! A background run without a waiting client: kill -9 of its nursery, its keeper, or both.

use std::time::Duration;
use tenure_core::ending::Reason;
use tenure_it::background_run::BackgroundRun;
use tenure_it::bystander::Bystander;
use tenure_it::install::Install;
use tenure_it::{WAIT_LIMIT, at_some_pace, eventually, millis, proc};
use tenure_keeper::orphaned::by_daemon::OrphanedRun;
use tenure_keeper::rundir::RunDir;

const NASTY: [&str; 4] = ["child", "setsid", "ignore-term", "sleep"];
const BARE: [&str; 4] = ["child", "clear-env", "ignore-term", "sleep"];

fn bystander() -> Bystander {
    Bystander::start(&["--pids", "pids", "child", "setsid", "ignore-term", "sleep"], "child")
}

fn installs() -> [Install; 3] {
    [Install::new(), Install::new().without_cgroup(), Install::new().unprivileged()]
}

#[test]
fn a_run_outlives_its_nursery() {
    for install in installs() {
        let run = BackgroundRun::start(&install, &["--grace", "100ms"], &NASTY);
        run.kill(&[&run.nursery]);
        assert!(run.lives() && !run.keeper.is_dead());
        let cancel = install.tenure(&["cancel", run.dir.id().as_str()]);
        assert!(cancel.status.success(), "{cancel:?}");
        assert_eq!(run.wait_end(&install).termination.reason, Reason::ManualCancel);
    }
}

#[test]
fn the_nursery_ends_what_a_killed_keeper_leaves_and_says_so() {
    let bystander = bystander();
    for install in installs() {
        for words in [NASTY, BARE] {
            let run = BackgroundRun::start(&install, &[], &words);
            run.kill(&[&run.keeper]);
            let ending = run.wait_end(&install).termination;
            assert_eq!((ending.reason, ending.confirmed), (Reason::OwnerLost, true));
            assert_eq!(ending.detail.as_deref(), Some("keeper-killed"));
            let shown = install.show(run.dir.id().as_str());
            assert_eq!(
                (shown["state"].as_str(), shown["leaseState"].as_str()),
                (Some("exited"), Some("closed"))
            );
            std::fs::remove_file(install.dir().join("witness")).unwrap();
            std::fs::remove_file(install.dir().join("pids")).unwrap();
        }
    }
    bystander.assert_untouched();
}

/// A process that loses its parent during the nursery's scan is on no list.
#[test]
fn an_orphan_that_arrives_during_the_nurserys_scan_is_not_missed() {
    for _ in 0..25 {
        let install = Install::new().without_cgroup();
        let run = BackgroundRun::start(&install, &[], &BARE);
        run.kill(&[&run.keeper]);
        assert!(run.wait_end(&install).termination.confirmed);
    }
}

#[test]
fn a_root_dies_with_its_keeper_when_the_nursery_is_dead_too() {
    let install = Install::new().without_cgroup();
    let run = BackgroundRun::start(&install, &[], &["sleep"]);
    run.kill(&[&run.nursery, &run.keeper]);
    run.members[0].wait_dead(WAIT_LIMIT);
    assert!(run.dir.ending().unwrap().is_none(), "no process was left to write an ending");
    assert_eq!(install.show(run.dir.id().as_str())["termination"], serde_json::Value::Null);
}

fn salvage(run: &BackgroundRun) {
    let ticket = run.dir.ticket().expect("a ticket");
    let dir = RunDir::open(run.dir.path()).expect("a run");
    let run = OrphanedRun::read(dir, &ticket).expect("records");
    let how = run.keeper_killed();
    run.close(how).expect("an ending");
}

#[test]
fn processes_orphaned_by_keeper_and_nursery_are_found_by_cgroup() {
    let bystander = bystander();
    let install = Install::new();
    let run = BackgroundRun::start(&install, &[], &BARE);
    run.kill(&[&run.nursery, &run.keeper]);
    assert!(run.lives(), "only a later reconcile can end it");
    salvage(&run);
    let ending = run.wait_end(&install).termination;
    assert_eq!((ending.reason, ending.confirmed), (Reason::OwnerLost, true));
    bystander.assert_untouched();
}

#[test]
fn processes_orphaned_by_keeper_and_nursery_are_found_by_lease() {
    let bystander = bystander();
    let install = Install::new().without_cgroup();
    let run = BackgroundRun::start(&install, &[], &NASTY);
    run.kill(&[&run.nursery, &run.keeper]);
    assert!(run.lives(), "only a later reconcile can end it");
    salvage(&run);
    let ending = run.wait_end(&install).termination;
    // A process with a cleared environment might be alive unseen, so the ending is unconfirmed.
    assert_eq!((ending.reason, ending.confirmed), (Reason::OwnerLost, false));
    bystander.assert_untouched();
}

#[test]
fn an_orphaned_hopper_missing_from_every_list_is_not_assumed_gone() {
    for _ in 0..5 {
        let install = Install::new();
        let run = BackgroundRun::start(&install, &[], &["hop", "--setsid", "--seconds", "20"]);
        run.kill(&[&run.nursery, &run.keeper]);
        salvage(&run);
        assert!(!run.lives(), "its ending confirms that no process is left");
        assert!(run.wait_end(&install).termination.confirmed);
    }
}

#[test]
fn a_process_without_lease_and_cgroup_is_left_alone() {
    let install = Install::new().without_cgroup();
    let run = BackgroundRun::start(&install, &[], &BARE);
    let last = run.members.last().expect("a stranger");
    eventually("an environment without a mark", || {
        let environ = std::fs::read(format!("/proc/{}/environ", last.pid)).ok()?;
        (!String::from_utf8_lossy(&environ).contains("TENURE_LEASE_ID")).then_some(())
    });
    run.kill(&[&run.nursery, &run.keeper]);
    // While the root lives, its descendants are proven by descent. It dies with its keeper.
    run.members.first().expect("a root").wait_dead(WAIT_LIMIT);
    salvage(&run);
    assert!(!last.is_dead() && proc::runs(last.pid), "nothing proves that it was of the run");
}

#[test]
fn a_run_whose_owner_does_not_return_ends_after_the_orphan_grace() {
    at_some_pace(Duration::from_millis(500), |grace| {
        let install = Install::new();
        let options = ["--orphan-grace", &millis(grace), "--grace", "100ms"];
        let run = BackgroundRun::start_in_time(&install, &options, &NASTY)?;
        let ending = run.wait_end(&install).termination;
        assert_eq!((ending.reason, ending.confirmed), (Reason::OwnerLost, true));
        Some(())
    });
}
