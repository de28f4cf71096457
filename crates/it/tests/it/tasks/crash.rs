//! kill -9 of the daemon at every point between an end and its acceptance, and at any moment: each end is told, and
//! under one key (I10). `CHAOS_KILLS` says how often daemons are killed, for those who have more time: `just chaos-tasks`.

use rustix::process::Signal;
use serde_json::json;
use std::collections::BTreeSet;
use std::time::Duration;
use tenure_it::api::Wire;
use tenure_it::known::Known;
use tenure_it::receiver::{Answer, Receiver};
use tenure_it::started::Started;
use tenure_it::told::{Gate, Told, open, webhook};
use tenure_it::{PATIENCE, eventually, proc};
use tenure_os::random;

/// Where a daemon comes by between the end of a run and the acceptance of its notice.
const POINTS: [&str; 4] =
    ["daemon-before-ending", "daemon-after-ending", "daemon-before-delivery", "daemon-after-delivery"];
/// How many tasks end at a point.
const AT_A_POINT: usize = 3;
/// How many tasks go on while daemons are killed.
const AT_A_TIME: u64 = 40;
/// How often daemons are killed in one installation.
const OF_ONE: usize = 30;

/// How often daemons are to be killed.
fn kills(unasked: usize) -> usize {
    std::env::var("CHAOS_KILLS").map_or(unasked, |text| text.parse().expect("CHAOS_KILLS is a number"))
}

fn below(most: u64) -> u64 {
    random::bytes().map(u64::from_ne_bytes).expect("random bytes") % most
}

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
    eventually(&format!("another daemon at {point}\n{}", told.log()), || {
        (proc::is_stopped(daemon.pid()) || open(told) == 0).then_some(())
    });
}

/// What was told again, which is allowed under its key alone.
fn repeated(receiver: &Receiver) -> usize {
    receiver.accepted().values().filter(|&&times| times > 1).count()
}

#[test]
fn a_daemon_that_dies_at_any_point_tells_of_each_end_under_one_key() {
    let receiver = Receiver::kind();
    let told = Told::new(&webhook("desk", &receiver, "/desk"));
    told.owner("owner", "desk");
    told.kill();
    let mut runs = BTreeSet::new();
    let (wanted, mut done) = (kills(16), 0);
    while done < wanted {
        for point in POINTS {
            let gate = Gate::new(told.dir(), &format!("gate-{done}"));
            let daemon = told.begin_paused(point);
            runs.extend((0..AT_A_POINT).map(|_| told.task("owner", &gate.script())));
            gate.open();
            kill_at(point, &daemon);
            // The next one dies there too, while it takes up what the first left.
            kill_the_next(point, &told);
            done += 2;
            told.begin();
            told.check(&receiver, &runs);
            told.kill();
        }
    }
    told.begin();
    told.check(&receiver, &runs);
    let before = receiver.count();
    told.kill();
    told.begin();
    // What comes last is told last.
    let gate = Gate::new(told.dir(), "gate");
    gate.open();
    runs.insert(told.task("owner", &gate.script()));
    told.check(&receiver, &runs);
    assert_eq!(receiver.count(), before + 1, "what is settled is not told again");
    eprintln!("{} tasks, {done} kills, {} told again under their key", runs.len(), repeated(&receiver));
    told.finish();
}

/// Takes most of what it is told, and sometimes does not answer that it did.
fn moody(_: &str, _: usize) -> Answer {
    match below(20) {
        0 => Answer::Status(500),
        1 => Answer::Death,
        _ => Answer::Status(204),
    }
}

/// Asks for a task, and does not wait for the answer.
fn ask(told: &Told, length: u64) -> Option<Wire> {
    let script = format!("sleep {}.{:03}; echo word; exit 3", length / 1_000, length % 1_000);
    let request = json!({"command": ["sh", "-c", script], "session": "owner"});
    let mut wire = told.api.try_connect().ok()?;
    wire.request("POST", "/v1/runs", &[], request.to_string().as_bytes());
    Some(wire)
}

#[test]
fn chaos_of_daemons_tells_of_each_end_under_one_key() {
    let (wanted, mut done) = (kills(OF_ONE), 0);
    let (mut tasks, mut again) = (0, 0);
    while done < wanted {
        let receiver = Receiver::new(moody);
        let told = Told::new(&webhook("desk", &receiver, "/desk"));
        told.owner("owner", "desk");
        let mut runs = BTreeSet::new();
        for _ in 0..OF_ONE.min(wanted - done) {
            let daemon = told.daemon();
            let more = AT_A_TIME.saturating_sub(open(&told));
            for _ in 0..more / 2 {
                let script = format!("sleep 0.{:03}; echo word; exit 3", below(1_000));
                runs.insert(told.task("owner", &script));
            }
            // Nobody knows what became of these, but those that there are end like others.
            let _unanswered: Vec<Wire> = (0..more / 4).filter_map(|_| ask(&told, below(1_000))).collect();
            // This is no synchronisation: any moment is as good as another.
            std::thread::park_timeout(Duration::from_millis(below(300)));
            kill(&daemon);
            done += 1;
            told.begin();
        }
        told.check(&receiver, &runs);
        tasks += told.kept().len();
        again += repeated(&receiver);
        eprintln!("{tasks} tasks, {done} kills, {again} told again under their key");
        assert!(runs.len() >= 20, "{} are little to go by", runs.len());
        told.finish();
    }
}

#[test]
fn a_restart_in_the_middle_of_a_swarm_of_tasks_loses_and_repeats_nothing() {
    const THIRD: usize = 167;
    let receiver = Receiver::kind();
    let told = Told::new(&webhook("desk", &receiver, "/desk"));
    told.owner("owner", "desk");
    let (gate, late) = (Gate::new(told.dir(), "gate"), Gate::new(told.dir(), "late"));
    // A third has ended and is being told, a third ends while nobody is there, a third goes on through the restart.
    let scripts = [&gate.script(), &late.script(), "echo word; exit 3"];
    let runs: BTreeSet<String> =
        scripts.iter().flat_map(|script| (0..THIRD).map(|_| told.task("owner", script))).collect();
    told.kill();
    gate.open();
    let ended = || runs.iter().filter(|run| told.run_path(run).join("ending").exists()).count();
    eventually("that two thirds have ended", || (ended() == 2 * THIRD).then_some(()));
    told.begin();
    eventually("that two thirds are told", || {
        let all = told.kept();
        for one in all.iter().filter(|one| one.status == "running") {
            assert_ne!(one.run_state.as_deref(), Some("exited"), "running without a live run: {one:?}");
        }
        (all.iter().filter(|one| one.delivery == "delivered").count() == 2 * THIRD).then_some(())
    });
    let going_on = told.kept().into_iter().filter(|one| one.status == "running").count();
    assert_eq!(going_on, THIRD, "none that goes on is given up");
    late.open();
    told.check(&receiver, &runs);
    let all = told.kept();
    assert_eq!(all.len(), runs.len());
    assert!(all.iter().all(|one| one.status == "failed"), "each ended as its command did");
    eprintln!("{} tasks, {} told again under their key", all.len(), repeated(&receiver));
    told.finish();
}
