//! A run that nobody waits for: kill -9 of its nursery, its keeper, or both.

use std::time::Duration;
use tenure_core::ending::Reason;
use tenure_it::background::Background;
use tenure_it::bystander::Bystander;
use tenure_it::install::Install;
use tenure_it::{PATIENCE, at_some_pace, eventually, millis, proc};
use tenure_keeper::forsaken::Forsaken;
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
        let run = Background::start(&install, &["--grace", "100ms"], &NASTY);
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
            let run = Background::start(&install, &[], &words);
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

/// Whoever loses its parent while the nursery makes its list is on no list.
#[test]
fn an_orphan_that_comes_while_the_nursery_looks_is_not_missed() {
    for _ in 0..25 {
        let install = Install::new().without_cgroup();
        let run = Background::start(&install, &[], &BARE);
        run.kill(&[&run.keeper]);
        assert!(run.wait_end(&install).termination.confirmed);
    }
}

#[test]
fn a_root_dies_with_its_keeper_when_the_nursery_is_dead_too() {
    let install = Install::new().without_cgroup();
    let run = Background::start(&install, &[], &["sleep"]);
    run.kill(&[&run.nursery, &run.keeper]);
    run.members[0].wait_dead(PATIENCE);
    assert!(run.dir.ending().unwrap().is_none(), "nobody was left to write an ending");
    assert_eq!(install.show(run.dir.id().as_str())["termination"], serde_json::Value::Null);
}

fn salvage(run: &Background) {
    let ticket = run.dir.ticket().expect("a ticket");
    let dir = RunDir::open(run.dir.path()).expect("a run");
    let forsaken = Forsaken::read(dir, ticket).expect("records");
    let how = forsaken.keeper_killed();
    forsaken.close(how).expect("an ending");
}

#[test]
fn what_both_leave_is_found_by_its_cgroup() {
    let bystander = bystander();
    let install = Install::new();
    let run = Background::start(&install, &[], &BARE);
    run.kill(&[&run.nursery, &run.keeper]);
    assert!(run.lives(), "only a later look can end it");
    salvage(&run);
    let ending = run.wait_end(&install).termination;
    assert_eq!((ending.reason, ending.confirmed), (Reason::OwnerLost, true));
    bystander.assert_untouched();
}

#[test]
fn what_both_leave_is_found_by_the_lease_in_its_environment() {
    let bystander = bystander();
    let install = Install::new().without_cgroup();
    let run = Background::start(&install, &[], &NASTY);
    run.kill(&[&run.nursery, &run.keeper]);
    assert!(run.lives(), "only a later look can end it");
    salvage(&run);
    let ending = run.wait_end(&install).termination;
    // Who cleared its environment might live on unseen, and the ending does not claim otherwise.
    assert_eq!((ending.reason, ending.confirmed), (Reason::OwnerLost, false));
    bystander.assert_untouched();
}

#[test]
fn a_hopper_that_both_leave_is_not_taken_for_gone_because_no_list_shows_it() {
    for _ in 0..5 {
        let install = Install::new();
        let run = Background::start(&install, &[], &["hop", "--setsid", "--seconds", "20"]);
        run.kill(&[&run.nursery, &run.keeper]);
        salvage(&run);
        assert!(!run.lives(), "its ending says that nobody is left");
        assert!(run.wait_end(&install).termination.confirmed);
    }
}

#[test]
fn who_cleared_its_environment_and_has_no_cgroup_is_left_alone() {
    let install = Install::new().without_cgroup();
    let run = Background::start(&install, &[], &BARE);
    let last = run.members.last().expect("a stranger");
    eventually("an environment without a mark", || {
        let environ = std::fs::read(format!("/proc/{}/environ", last.pid)).ok()?;
        (!String::from_utf8_lossy(&environ).contains("TENURE_LEASE_ID")).then_some(())
    });
    run.kill(&[&run.nursery, &run.keeper]);
    // As long as the root lives, being below it is a proof. It dies with its keeper.
    run.members.first().expect("a root").wait_dead(PATIENCE);
    salvage(&run);
    assert!(!last.is_dead() && proc::runs(last.pid), "nothing proves that it was of the run");
}

#[test]
fn a_run_whose_owner_does_not_come_back_ends_after_the_orphan_grace() {
    at_some_pace(Duration::from_millis(500), |grace| {
        let install = Install::new();
        let options = ["--orphan-grace", &millis(grace), "--grace", "100ms"];
        let run = Background::start_in_time(&install, &options, &NASTY)?;
        let ending = run.wait_end(&install).termination;
        assert_eq!((ending.reason, ending.confirmed), (Reason::OwnerLost, true));
        Some(())
    });
}
