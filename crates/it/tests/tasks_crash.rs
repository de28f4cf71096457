//! kill -9 of the daemon at every point between an end and its acceptance, and at any moment: each end is told, and
//! under one key (I10).

use rustix::process::Signal;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};
use tenure_it::known::Known;
use tenure_it::receiver::Receiver;
use tenure_it::started::Started;
use tenure_it::told::{Told, webhook};
use tenure_it::{PATIENCE, eventually, proc};
use tenure_os::random;

const POINTS: [&str; 4] =
    ["daemon-before-ending", "daemon-after-ending", "daemon-before-delivery", "daemon-after-delivery"];
/// How long daemons are killed for.
const FOR: Duration = Duration::from_secs(20);
/// How many tasks go on meanwhile.
const AT_A_TIME: usize = 100;

fn kill(daemon: &Known) {
    daemon.send(Signal::KILL);
    daemon.wait_dead(PATIENCE);
}

/// Kills a daemon that stands still at this point.
#[track_caller]
fn kill_at(point: &str, daemon: &Known) {
    eventually(&format!("a daemon at {point}"), || proc::is_stopped(daemon.pid).then_some(()));
    kill(daemon);
}

/// Starts another that stands still there, perhaps before it serves, and kills it; unless it comes by there no more.
#[track_caller]
fn kill_the_next(point: &str, told: &Told) {
    let mut command = told.command(&["daemon", "run"]);
    command.env("TENURE_PAUSE", point);
    let daemon = Started::new(command);
    let is_over = || told.kept().iter().all(|one| one.delivery != "pending");
    eventually(&format!("another daemon at {point}"), || {
        (proc::is_stopped(daemon.pid()) || is_over()).then_some(())
    });
    drop(daemon);
}

fn below(most: u64) -> u64 {
    random::bytes().map(u64::from_ne_bytes).expect("random bytes") % most
}

/// Waits for a gate, so that its owner has its id before it ends.
fn gated(told: &Told, gate: &str) -> String {
    format!("while [ ! -e {} ]; do sleep 0.02; done; echo word; exit 3", told.dir().join(gate).display())
}

#[test]
fn a_daemon_that_dies_at_any_point_tells_of_each_end_under_one_key() {
    let receiver = Receiver::kind();
    let told = Told::without_daemon(&webhook("desk", &receiver, "/desk"));
    told.begin();
    told.owner("owner", "desk");
    let mut runs = BTreeSet::new();
    told.kill();
    for round in 0..2 {
        for point in POINTS {
            let gate = format!("{point}-{round}");
            let daemon = told.begin_paused(point);
            let script = gated(&told, &gate);
            let mine: Vec<String> = (0..3).map(|_| told.task("owner", &script)).collect();
            std::fs::write(told.dir().join(&gate), "").expect("a gate");
            kill_at(point, &daemon);
            runs.extend(mine);
            // The next one dies there too, while it takes up what the first left.
            kill_the_next(point, &told);
        }
        told.begin();
        told.check(&receiver, &runs);
        told.kill();
    }
    told.begin();
    let times = receiver.accepted();
    assert_eq!(times.len(), runs.len());
    told.kill();
    told.begin();
    told.check(&receiver, &runs);
    assert_eq!(receiver.accepted(), times, "what is settled is not told again");
    told.finish();
}

#[test]
fn daemons_that_die_at_any_moment_tell_of_each_end_under_one_key() {
    let receiver = Receiver::kind();
    let told = Told::new(&webhook("desk", &receiver, "/desk"));
    told.owner("owner", "desk");
    let mut runs = BTreeSet::new();
    let (begun, mut deaths) = (Instant::now(), 0);
    while begun.elapsed() < FOR {
        let daemon = told.daemon();
        let live = told.kept().iter().filter(|one| one.delivery == "pending").count();
        for _ in live..AT_A_TIME {
            let length = below(2_000);
            runs.insert(told.task("owner", &format!("sleep {}.{:03}; echo word; exit 3", length / 1_000, length % 1_000)));
        }
        let until = Instant::now() + Duration::from_millis(below(400));
        eventually("the moment", || (Instant::now() >= until).then_some(()));
        kill(&daemon);
        deaths += 1;
        told.begin();
    }
    told.check(&receiver, &runs);
    let repeated = receiver.accepted().values().filter(|&&times| times > 1).count();
    eprintln!("{} tasks, {deaths} deaths, {repeated} told again under their key", runs.len());
    assert!(runs.len() >= AT_A_TIME && deaths >= 3, "{} tasks, {deaths} deaths", runs.len());
    told.finish();
}

#[test]
fn a_restart_in_the_middle_of_many_tasks_loses_and_repeats_nothing() {
    const TASKS: usize = 300;
    let receiver = Receiver::kind();
    let told = Told::new(&webhook("desk", &receiver, "/desk"));
    told.owner("owner", "desk");
    let script = gated(&told, "gate");
    // A third has ended and is told, a third ends while nobody is there, a third goes on through the restart.
    let late = gated(&told, "late");
    let mut runs = BTreeSet::new();
    for number in 0..TASKS {
        let script = match number % 3 {
            0 => "echo word; exit 3",
            1 => &script,
            _ => &late,
        };
        runs.insert(told.task("owner", script));
    }
    let daemon = told.daemon();
    daemon.stop();
    std::fs::write(told.dir().join("gate"), "").expect("a gate");
    let ended = || runs.iter().filter(|run| told.run_path(run).join("ending").exists()).count();
    eventually("that two thirds have ended", || (ended() >= TASKS / 3 * 2).then_some(()));
    kill(&daemon);
    told.begin();
    eventually("that two thirds are told", || {
        let all = told.kept();
        for one in all.iter().filter(|one| one.status == "running") {
            assert_ne!(one.run_state.as_deref(), Some("exited"), "running without a live run: {one:?}");
        }
        (all.iter().filter(|one| one.delivery == "delivered").count() == TASKS / 3 * 2).then_some(())
    });
    let going_on = told.kept().into_iter().filter(|one| one.status == "running").count();
    assert_eq!(going_on, TASKS / 3, "none that goes on is given up");
    std::fs::write(told.dir().join("late"), "").expect("a gate");
    told.check(&receiver, &runs);
    assert!(told.kept().iter().all(|one| one.status == "failed"), "each ended as its command did");
    told.finish();
}
