//! A daemon that dies and is not started again: its runs wait for the orphan grace, end with nobody left, and say why. The
//! next daemon, whenever it comes, takes those endings.

use tenure_it::TRANSPORTS;
use tenure_it::home::Home;
use tenure_it::{PATIENCE, eventually};
use tenure_keeper::rundir::RunDir;

const RUNS: usize = 20;
const TREES: [&[&str]; 4] =
    [&["tree"], &["ignore-term", "sleep"], &["child", "setsid", "ignore-term", "sleep"], &["sleep"]];

#[test]
fn twenty_runs_whose_daemon_does_not_come_back_are_all_gone_and_accounted_for() {
    let home = Home::unwatched();
    let flags = ["--grace", "100ms", "--orphan-grace", "300ms", "--on-escape", "reap"];
    let ids: Vec<String> =
        (0..RUNS).map(|n| home.act(&[TRANSPORTS[n % 2], &flags].concat(), TREES[n % TREES.len()])).collect();
    ids.iter().for_each(|id| home.wait_ready(id));
    home.kill();
    home.wait_nobody(PATIENCE);
    for id in &ids {
        let dir = RunDir::open(&home.run_path(id)).expect("a run's directory");
        let ending = eventually("an ending", || dir.ending().expect("an ending that is whole")).termination;
        assert_eq!(
            (ending.reason.to_string().as_str(), ending.confirmed),
            ("owner-lost", true),
            "{ending:?}"
        );
    }
    // Nobody is left at all: no keeper, no nursery.
    home.find_nothing();
    home.begin();
    let ledger = home.audit();
    for id in &ids {
        assert_eq!(ledger.run(id).reason(), Some("owner-lost"));
        assert_eq!(home.wait(id), 123);
    }
    home.finish();
}

#[test]
fn a_daemon_that_comes_back_within_the_grace_keeps_every_run() {
    let home = Home::unwatched();
    let flags = ["--grace", "100ms", "--orphan-grace", "30s"];
    let ids: Vec<String> =
        (0..RUNS).map(|n| home.act(&[TRANSPORTS[n % 2], &flags].concat(), &["sleep"])).collect();
    ids.iter().for_each(|id| home.wait_ready(id));
    home.kill();
    home.begin();
    for id in &ids {
        assert_eq!(home.show(id)["state"], "running");
    }
    home.ask_to_cancel(&ids.iter().map(String::as_str).collect::<Vec<_>>());
    assert!(ids.iter().all(|id| home.wait(id) == 123));
    home.finish();
}

/// The time without a daemon begins anew with each death.
#[test]
fn the_grace_is_for_each_absence() {
    let home = Home::unwatched();
    let id = home.act(&["--grace", "100ms", "--orphan-grace", "8s"], &["sleep"]);
    home.wait_ready(&id);
    for _ in 0..3 {
        home.kill();
        assert_eq!(home.tenure(&["wait", "--timeout", "3s", &id]).status.code(), Some(124), "it goes on");
        home.begin();
    }
    assert_eq!(home.show(&id)["state"], "running");
    home.ask_to_cancel(&[&id]);
    assert_eq!(home.wait(&id), 123);
    home.finish();
}
