//! Termination signals from people and systems end a run in order, and its nursery not at all.

use rustix::process::Signal;
use tenure_core::ending::Reason;
use tenure_it::background_run::BackgroundRun;
use tenure_it::install::Install;
use tenure_it::{eventually, proc};

const LEAVE: [Signal; 4] = [Signal::TERM, Signal::HUP, Signal::INT, Signal::QUIT];
const NASTY: [&str; 4] = ["child", "setsid", "ignore-term", "sleep"];

#[test]
fn a_keeper_that_gets_a_termination_signal_ends_its_run_first() {
    for signal in LEAVE {
        let install = Install::new();
        let run = BackgroundRun::start(&install, &["--grace", "100ms"], &NASTY);
        run.keeper.send(signal);
        let ending = run.wait_end(&install).termination;
        assert_eq!((ending.reason, ending.confirmed), (Reason::OwnerLost, true), "{signal:?}");
        assert_eq!(ending.detail.as_deref(), Some("the keeper was told to end"));
        assert_eq!(ending.signal, Some(Signal::TERM.as_raw()), "the root exited when asked");
    }
}

#[test]
fn a_keeper_that_gets_many_termination_signals_still_gives_the_grace_and_writes_one_ending() {
    let install = Install::new();
    let run = BackgroundRun::start(&install, &["--grace", "300ms"], &NASTY);
    let begun = std::time::Instant::now();
    while !run.keeper.is_dead() {
        for signal in LEAVE {
            run.keeper.send(signal);
        }
        std::thread::park_timeout(std::time::Duration::from_millis(1));
    }
    assert!(begun.elapsed() >= std::time::Duration::from_millis(300), "{:?}", begun.elapsed());
    assert_eq!(run.wait_end(&install).termination.reason, Reason::OwnerLost);
}

#[test]
fn the_caller_learns_that_its_keeper_got_a_termination_signal() {
    let install = Install::new();
    let mut cli = install.start(&["run", "--grace", "100ms", "--", &install.actor(), "tree"]);
    cli.wait_for("ready tree");
    let keeper = install.show(&install.only_run())["keeperPid"].as_i64().expect("a keeper");
    proc::send(i32::try_from(keeper).unwrap(), Signal::TERM);
    assert_eq!(cli.code(), 123);
    assert_eq!(install.show(&install.only_run())["termination"]["reason"], "owner-lost");
    tenure_it::leftovers::forget(&install);
}

#[test]
fn a_nursery_that_gets_a_termination_signal_stays_while_a_keeper_lives() {
    let install = Install::new();
    let run = BackgroundRun::start(&install, &["--grace", "100ms"], &NASTY);
    for signal in LEAVE {
        run.nursery.send(signal);
    }
    eventually("a nursery that has read the requests", || {
        proc::pending(run.nursery.pid).is_empty().then_some(())
    });
    // The keeper answers two requests, so the nursery has gone round its loop since.
    for _ in 0..2 {
        assert!(install.tenure(&["tree", "--json", run.dir.id().as_str()]).status.success());
    }
    assert!(!run.nursery.is_dead() && run.lives());
    run.kill(&[&run.keeper]);
    let ending = run.wait_end(&install).termination;
    assert_eq!(ending.detail.as_deref(), Some("keeper-killed"), "the nursery was there to see it");
}
