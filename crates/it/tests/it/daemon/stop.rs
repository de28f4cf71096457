//! A daemon that is stopped: its runs continue for as long as it takes, or are ended first, and it is not restarted.

use rustix::process::Signal;
use std::time::Duration;
use tenure_it::TRANSPORTS;
use tenure_it::api::Api;
use tenure_it::child_program::ChildProgram;
use tenure_it::daemon_fixture::DaemonFixture;
use tenure_it::held_process::HeldProcess;
use tenure_it::{WAIT_LIMIT, eventually, proc};

#[test]
fn runs_survive_a_stop_and_start_of_any_length() {
    for flags in TRANSPORTS {
        let fixture = DaemonFixture::without_warden();
        // An orphan grace that would have ended it long before the next daemon starts.
        let id = fixture.act(&[flags, &["--grace", "100ms", "--orphan-grace", "50ms"]].concat(), &["tree"]);
        fixture.wait_ready(&id);
        assert!(fixture.tenure(&["daemon", "stop"]).status.success());
        assert_eq!(fixture.tenure(&["daemon", "status"]).status.code(), Some(1));
        assert_eq!(
            fixture.tenure(&["wait", "--timeout", "500ms", &id]).status.code(),
            Some(124),
            "the run is alive"
        );
        fixture.start_daemon();
        assert_eq!(fixture.show(&id)["state"], "running");
        fixture.ask_to_cancel(&[&id]);
        assert_eq!(fixture.wait(&id), 123);
        fixture.finish();
    }
}

/// A stop right after a start: the keeper must learn that no daemon will return soon.
#[test]
fn a_stop_during_a_start_loses_no_run() {
    let fixture = DaemonFixture::without_warden();
    let mut ids = Vec::new();
    for round in 0..12 {
        let flags = [TRANSPORTS[round % 2], &["--grace", "100ms", "--orphan-grace", "20ms"]].concat();
        ids.push(fixture.act(&flags, &["sleep"]));
        let stopped = fixture.tenure(&["daemon", "stop"]);
        assert!(stopped.status.success(), "{stopped:?}");
        fixture.start_daemon();
    }
    for id in &ids {
        let record = fixture.show(id);
        assert_eq!(record["state"], "running", "{}", record["termination"]);
    }
    fixture.ask_to_cancel(&ids.iter().map(String::as_str).collect::<Vec<_>>());
    assert!(ids.iter().all(|id| fixture.wait(id) == 123));
    fixture.finish();
}

/// A daemon that ends its runs first can take minutes, and answers until then.
#[test]
fn a_stopping_daemon_answers_a_client_that_was_slow_to_ask() {
    let fixture = DaemonFixture::with_warden();
    let id = fixture.act(&["--stdin", "open", "--grace", "10m"], &["ignore-term", "sleep"]);
    fixture.wait_ready(&id);
    let mut stop = fixture.start(&["daemon", "stop", "--cancel-runs"]);
    eventually("the daemon ends its runs", || (fixture.show(&id)["state"] == "exiting").then_some(()));
    let api = Api::Local(fixture.state().join("daemon.sock"));
    let mut slow = api.connect();
    // Clients are let in in their order, so the slow one is in once the second has its answer.
    assert_eq!(api.get("/v1/health").head.status, 200);
    slow.request("GET", "/v1/health", &[], b"");
    assert_eq!(slow.answer().head.status, 200);
    fixture.ask_to_cancel(&["--now", &id]);
    assert_eq!(stop.code(), 0, "{}", stop.err());
    fixture.finish();
}

/// A stop while starts are in progress.
#[test]
fn a_stop_among_starts_loses_no_acknowledged_run() {
    let fixture = DaemonFixture::with_warden();
    let actor = fixture.actor();
    let args = ["run", "--bg", "--grace", "100ms", "--orphan-grace", "20ms", "--", &actor, "sleep"];
    let mut ids = Vec::new();
    for round in 0..6 {
        let mut asked: Vec<ChildProgram> = (0..4).map(|_| fixture.start(&args)).collect();
        // No synchronisation: any moment will do.
        std::thread::park_timeout(Duration::from_millis(10 + 4 * round));
        assert!(fixture.tenure(&["daemon", "stop"]).status.success());
        for one in &mut asked {
            match one.code() {
                0 => ids.push(one.out().trim().to_owned()),
                125 => {}
                other => panic!("{other}: {}", one.err()),
            }
        }
    }
    fixture.start_daemon();
    for id in &ids {
        let record = fixture.show(id);
        assert_eq!(record["state"], "running", "{}", record["termination"]);
    }
    assert!(ids.len() > 3, "{ids:?}");
    for run in fixture.audit().runs.iter().filter(|run| run.ending.is_none()) {
        fixture.ask_to_cancel(&[&run.id]);
    }
    fixture.finish();
}

#[test]
fn a_stop_with_cancel_ends_every_run_before_the_daemon_exits() {
    let fixture = DaemonFixture::with_warden();
    let flags = ["--grace", "100ms"];
    let ids: Vec<String> = TRANSPORTS
        .iter()
        .map(|kind| fixture.act(&[kind, &flags[..]].concat(), &["ignore-term", "sleep"]))
        .collect();
    ids.iter().for_each(|id| fixture.wait_ready(id));
    assert!(fixture.tenure(&["daemon", "stop", "--cancel-runs"]).status.success());
    fixture.assert_nothing_left();
    fixture.start_daemon();
    let ledger = fixture.audit();
    for id in &ids {
        assert_eq!(ledger.run(id).reason(), Some("manual-cancel"));
    }
    fixture.finish();
}

#[test]
fn sigterm_stops_the_daemon_keeps_the_runs_and_the_warden_starts_no_other() {
    let fixture = DaemonFixture::with_warden();
    let id = fixture.act(&["--grace", "100ms", "--orphan-grace", "50ms"], &["tree"]);
    fixture.wait_ready(&id);
    let daemon = fixture.daemon();
    let (_, warden, ..) = proc::stat(daemon.pid).expect("a daemon");
    assert_eq!(proc::name(warden), "tenure-warden");
    let warden = HeldProcess::hold(warden).expect("a warden");
    daemon.send(Signal::TERM);
    daemon.wait_dead(WAIT_LIMIT);
    warden.wait_dead(WAIT_LIMIT);
    assert_eq!(fixture.tenure(&["daemon", "status"]).status.code(), Some(1));
    fixture.start_daemon();
    assert_eq!(fixture.show(&id)["state"], "running", "{}", fixture.show(&id)["termination"]);
    fixture.ask_to_cancel(&[&id]);
    assert_eq!(fixture.wait(&id), 123);
    fixture.finish();
}

/// Crashes in a row make a warden wait long before the next start. It must not restart a daemon that was
/// stopped meanwhile.
#[test]
fn a_warden_that_slept_does_not_restart_a_stopped_daemon() {
    let fixture = DaemonFixture::with_warden();
    // The warden of this one doubles its wait each time.
    for _ in 0..5 {
        let killed = fixture.kill();
        fixture.wait_next_daemon(killed);
    }
    let warden = |fixture: &DaemonFixture| proc::stat(fixture.daemon().pid).expect("a daemon").1;
    let sleeper = HeldProcess::hold(warden(&fixture)).expect("a warden");
    // The warden sleeps after this, and another start is faster.
    fixture.kill();
    fixture.start_daemon();
    assert_ne!(warden(&fixture), sleeper.pid);
    assert!(fixture.tenure(&["daemon", "stop"]).status.success());
    sleeper.wait_dead(WAIT_LIMIT);
    assert_eq!(fixture.tenure(&["daemon", "status"]).status.code(), Some(1));
    // The same without a faster start.
    fixture.start_daemon();
    for _ in 0..3 {
        let killed = fixture.kill();
        fixture.wait_next_daemon(killed);
    }
    let sleeper = HeldProcess::hold(warden(&fixture)).expect("a warden");
    fixture.kill();
    assert!(fixture.tenure(&["daemon", "stop"]).status.success());
    sleeper.wait_dead(WAIT_LIMIT);
    assert_eq!(fixture.tenure(&["daemon", "status"]).status.code(), Some(1));
    fixture.assert_nothing_left();
}
