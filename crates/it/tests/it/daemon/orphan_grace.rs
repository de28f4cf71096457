//! A daemon that dies and is not restarted: its runs wait for the orphan grace, end with no process left, and record
//! why. The next daemon, at any later time, records those endings.

use tenure_it::TRANSPORTS;
use tenure_it::daemon_fixture::DaemonFixture;
use tenure_it::{WAIT_LIMIT, eventually};
use tenure_keeper::rundir::RunDir;

const RUNS: usize = 20;
const TREES: [&[&str]; 4] =
    [&["tree"], &["ignore-term", "sleep"], &["child", "setsid", "ignore-term", "sleep"], &["sleep"]];

#[test]
fn twenty_runs_whose_daemon_does_not_return_all_end_with_a_record() {
    let fixture = DaemonFixture::without_warden();
    let flags = ["--grace", "100ms", "--orphan-grace", "300ms", "--on-escape", "reap"];
    let ids: Vec<String> = (0..RUNS)
        .map(|n| fixture.act(&[TRANSPORTS[n % 2], &flags].concat(), TREES[n % TREES.len()]))
        .collect();
    ids.iter().for_each(|id| fixture.wait_ready(id));
    fixture.kill();
    fixture.wait_nobody(WAIT_LIMIT);
    for id in &ids {
        let dir = RunDir::open(&fixture.run_path(id)).expect("a run's directory");
        let ending = eventually("an ending", || dir.ending().expect("an ending that is whole")).termination;
        assert_eq!(
            (ending.reason.to_string().as_str(), ending.confirmed),
            ("owner-lost", true),
            "{ending:?}"
        );
    }
    // Nothing is left at all: no keeper, no nursery.
    fixture.assert_nothing_left();
    fixture.start_daemon();
    let ledger = fixture.audit();
    for id in &ids {
        assert_eq!(ledger.run(id).reason(), Some("owner-lost"));
        assert_eq!(fixture.wait(id), 123);
    }
    fixture.finish();
}

#[test]
fn a_daemon_that_returns_within_the_grace_keeps_every_run() {
    let fixture = DaemonFixture::without_warden();
    let flags = ["--grace", "100ms", "--orphan-grace", "30s"];
    let ids: Vec<String> =
        (0..RUNS).map(|n| fixture.act(&[TRANSPORTS[n % 2], &flags].concat(), &["sleep"])).collect();
    ids.iter().for_each(|id| fixture.wait_ready(id));
    fixture.kill();
    fixture.start_daemon();
    for id in &ids {
        assert_eq!(fixture.show(id)["state"], "running");
    }
    fixture.ask_to_cancel(&ids.iter().map(String::as_str).collect::<Vec<_>>());
    assert!(ids.iter().all(|id| fixture.wait(id) == 123));
    fixture.finish();
}

/// The time without a daemon restarts with each crash.
#[test]
fn each_absence_gets_the_full_grace() {
    let fixture = DaemonFixture::without_warden();
    let id = fixture.act(&["--grace", "100ms", "--orphan-grace", "8s"], &["sleep"]);
    fixture.wait_ready(&id);
    for _ in 0..3 {
        fixture.kill();
        assert_eq!(
            fixture.tenure(&["wait", "--timeout", "3s", &id]).status.code(),
            Some(124),
            "the run is alive"
        );
        fixture.start_daemon();
    }
    assert_eq!(fixture.show(&id)["state"], "running");
    fixture.ask_to_cancel(&[&id]);
    assert_eq!(fixture.wait(&id), 123);
    fixture.finish();
}
