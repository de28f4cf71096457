//! A daemon that is told to leave: its runs go on for as long as it takes, or are ended first, and nobody starts it again.

use rustix::process::Signal;
use std::time::Duration;
use tenure_it::TRANSPORTS;
use tenure_it::home::Home;
use tenure_it::known::Known;
use tenure_it::started::Started;
use tenure_it::{PATIENCE, proc};

#[test]
fn stopping_and_starting_keeps_the_runs_however_long_that_takes() {
    for flags in TRANSPORTS {
        let home = Home::unwatched();
        // An orphan grace that would have ended it long before the next daemon comes.
        let id = home.act(&[flags, &["--grace", "100ms", "--orphan-grace", "50ms"]].concat(), &["tree"]);
        home.wait_ready(&id);
        assert!(home.tenure(&["daemon", "stop"]).status.success());
        assert_eq!(home.tenure(&["daemon", "status"]).status.code(), Some(1));
        assert_eq!(home.tenure(&["wait", "--timeout", "500ms", &id]).status.code(), Some(124), "it goes on");
        home.begin();
        assert_eq!(home.show(&id)["state"], "running");
        home.ask_to_cancel(&[&id]);
        assert_eq!(home.wait(&id), 123);
        home.finish();
    }
}

/// A stop right after a start: the keeper must hear that nobody is to come back soon.
#[test]
fn a_stop_in_the_moment_of_a_start_loses_no_run() {
    let home = Home::unwatched();
    let mut ids = Vec::new();
    for round in 0..12 {
        let flags = [TRANSPORTS[round % 2], &["--grace", "100ms", "--orphan-grace", "20ms"]].concat();
        ids.push(home.act(&flags, &["sleep"]));
        let stopped = home.tenure(&["daemon", "stop"]);
        assert!(stopped.status.success(), "{stopped:?}");
        home.begin();
    }
    for id in &ids {
        let record = home.show(id);
        assert_eq!(record["state"], "running", "{}", record["termination"]);
    }
    home.ask_to_cancel(&ids.iter().map(String::as_str).collect::<Vec<_>>());
    assert!(ids.iter().all(|id| home.wait(id) == 123));
    home.finish();
}

/// The same with starts that are on their way when the stop is asked for.
#[test]
fn a_stop_among_starts_loses_no_run_that_anybody_was_told_of() {
    let home = Home::watched();
    let actor = home.actor();
    let args = ["run", "--bg", "--grace", "100ms", "--orphan-grace", "20ms", "--", &actor, "sleep"];
    let mut ids = Vec::new();
    for round in 0..6 {
        let mut asked: Vec<Started> = (0..4).map(|_| home.start(&args)).collect();
        // No synchronisation: any moment is as good as another.
        std::thread::park_timeout(Duration::from_millis(10 + 4 * round));
        assert!(home.tenure(&["daemon", "stop"]).status.success());
        for one in &mut asked {
            match one.code() {
                0 => ids.push(one.out().trim().to_owned()),
                125 => {}
                other => panic!("{other}: {}", one.err()),
            }
        }
    }
    home.begin();
    for id in &ids {
        let record = home.show(id);
        assert_eq!(record["state"], "running", "{}", record["termination"]);
    }
    assert!(ids.len() > 3, "{ids:?}");
    for run in home.audit().runs.iter().filter(|run| run.ending.is_none()) {
        home.ask_to_cancel(&[&run.id]);
    }
    home.finish();
}

#[test]
fn a_stop_that_cancels_ends_every_run_before_the_daemon_leaves() {
    let home = Home::watched();
    let flags = ["--grace", "100ms"];
    let ids: Vec<String> = TRANSPORTS
        .iter()
        .map(|kind| home.act(&[kind, &flags[..]].concat(), &["ignore-term", "sleep"]))
        .collect();
    ids.iter().for_each(|id| home.wait_ready(id));
    assert!(home.tenure(&["daemon", "stop", "--cancel-runs"]).status.success());
    home.find_nothing();
    home.begin();
    let ledger = home.audit();
    for id in &ids {
        assert_eq!(ledger.run(id).reason(), Some("manual-cancel"));
    }
    home.finish();
}

#[test]
fn sigterm_is_a_stop_that_keeps_the_runs_and_no_warden_starts_another() {
    let home = Home::watched();
    let id = home.act(&["--grace", "100ms", "--orphan-grace", "50ms"], &["tree"]);
    home.wait_ready(&id);
    let daemon = home.daemon();
    let (_, warden, ..) = proc::stat(daemon.pid).expect("a daemon");
    assert_eq!(proc::name(warden), "tenure-warden");
    let warden = Known::hold(warden).expect("a warden");
    daemon.send(Signal::TERM);
    daemon.wait_dead(PATIENCE);
    warden.wait_dead(PATIENCE);
    assert_eq!(home.tenure(&["daemon", "status"]).status.code(), Some(1));
    home.begin();
    assert_eq!(home.show(&id)["state"], "running", "{}", home.show(&id)["termination"]);
    home.ask_to_cancel(&[&id]);
    assert_eq!(home.wait(&id), 123);
    home.finish();
}

/// Deaths in a row make a warden wait long before the next start. It must not wake up to a daemon that was stopped.
#[test]
fn a_stopped_daemon_is_not_started_again_by_a_warden_that_slept() {
    let home = Home::watched();
    // The warden of this one waits twice as long each time.
    for _ in 0..5 {
        let killed = home.kill();
        home.next_after(killed);
    }
    let warden = |home: &Home| proc::stat(home.daemon().pid).expect("a daemon").1;
    let sleeper = Known::hold(warden(&home)).expect("a warden");
    // It sleeps after this, and somebody else is faster.
    home.kill();
    home.begin();
    assert_ne!(warden(&home), sleeper.pid);
    assert!(home.tenure(&["daemon", "stop"]).status.success());
    sleeper.wait_dead(PATIENCE);
    assert_eq!(home.tenure(&["daemon", "status"]).status.code(), Some(1));
    // The same where nobody was faster.
    home.begin();
    for _ in 0..3 {
        let killed = home.kill();
        home.next_after(killed);
    }
    let sleeper = Known::hold(warden(&home)).expect("a warden");
    home.kill();
    assert!(home.tenure(&["daemon", "stop"]).status.success());
    sleeper.wait_dead(PATIENCE);
    assert_eq!(home.tenure(&["daemon", "status"]).status.code(), Some(1));
    home.find_nothing();
}
