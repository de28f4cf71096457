//! kill -9 of the daemon at every point between an end and its acceptance, and at any moment: each end is notified, and
//! under one key (I10). `CHAOS_KILLS` sets the number of kills, for longer tests: `just chaos-tasks`.

use rustix::process::Signal;
use serde_json::json;
use std::collections::BTreeSet;
use std::time::Duration;
use tenure_it::api::Wire;
use tenure_it::child_program::ChildProgram;
use tenure_it::held_process::HeldProcess;
use tenure_it::notify_fixture::{Gate, NotifyFixture, open, webhook};
use tenure_it::webhook_receiver::{Answer, WebhookReceiver};
use tenure_it::{WAIT_LIMIT, eventually, proc};
use tenure_os::random;

/// The points that a daemon passes between the end of a run and the acceptance of its notice.
const POINTS: [&str; 4] =
    ["daemon-before-ending", "daemon-after-ending", "daemon-before-delivery", "daemon-after-delivery"];
/// Number of tasks that end at a point.
const AT_A_POINT: usize = 3;
/// Number of tasks that run while daemons are killed.
const AT_A_TIME: u64 = 40;
/// Number of kills in one installation.
const OF_ONE: usize = 30;

/// Number of kills to do.
fn kills(unasked: usize) -> usize {
    std::env::var("CHAOS_KILLS").map_or(unasked, |text| text.parse().expect("CHAOS_KILLS is a number"))
}

fn below(most: u64) -> u64 {
    random::bytes().map(u64::from_ne_bytes).expect("random bytes") % most
}

fn kill(daemon: &HeldProcess) {
    daemon.send(Signal::KILL);
    daemon.wait_dead(WAIT_LIMIT);
}

/// Kills a daemon that is paused at this point.
#[track_caller]
fn kill_at(point: &str, daemon: &HeldProcess) {
    eventually(&format!("a daemon at {point}"), || proc::is_stopped(daemon.pid).then_some(()));
    kill(daemon);
}

/// Starts another daemon that pauses there, perhaps before it serves, and kills it; unless it no longer
/// passes there.
#[track_caller]
fn kill_the_next(point: &str, fixture: &NotifyFixture) {
    let mut command = fixture.command(&["daemon", "run"]);
    command.env("TENURE_PAUSE", point);
    let daemon = ChildProgram::new(command);
    eventually(&format!("another daemon at {point}\n{}", fixture.log()), || {
        (proc::is_stopped(daemon.pid()) || open(fixture) == 0).then_some(())
    });
}

/// The number of repeated notices, which are allowed only under their own keys.
fn repeated(receiver: &WebhookReceiver) -> usize {
    receiver.accepted().values().filter(|&&times| times > 1).count()
}

#[test]
fn a_daemon_crash_at_any_point_notifies_each_end_under_one_key() {
    let receiver = WebhookReceiver::kind();
    let fixture = NotifyFixture::new(&webhook("desk", &receiver, "/desk"));
    fixture.owner("owner", "desk");
    fixture.kill();
    let mut runs = BTreeSet::new();
    let (wanted, mut done) = (kills(16), 0);
    while done < wanted {
        for point in POINTS {
            let gate = Gate::new(fixture.dir(), &format!("gate-{done}"));
            let daemon = fixture.start_daemon_paused(point);
            runs.extend((0..AT_A_POINT).map(|_| fixture.task("owner", &gate.script())));
            gate.open();
            kill_at(point, &daemon);
            // The next one dies there too, while it recovers the work of the first.
            kill_the_next(point, &fixture);
            done += 2;
            fixture.start_daemon();
            fixture.check(&receiver, &runs);
            fixture.kill();
        }
    }
    fixture.start_daemon();
    fixture.check(&receiver, &runs);
    let before = receiver.count();
    fixture.kill();
    fixture.start_daemon();
    // Notices come in the order of the ends.
    let gate = Gate::new(fixture.dir(), "gate");
    gate.open();
    runs.insert(fixture.task("owner", &gate.script()));
    fixture.check(&receiver, &runs);
    assert_eq!(receiver.count(), before + 1, "a settled decision is not reported again");
    eprintln!("{} tasks, {done} kills, {} told again under their key", runs.len(), repeated(&receiver));
    fixture.finish();
}

/// Accepts most notices, and sometimes does not respond.
fn unreliable(_: &str, _: usize) -> Answer {
    match below(20) {
        0 => Answer::Status(500),
        1 => Answer::Death,
        _ => Answer::Status(204),
    }
}

/// Requests a task without waiting for the response.
fn ask(fixture: &NotifyFixture, length: u64) -> Option<Wire> {
    let script = format!("sleep {}.{:03}; echo word; exit 3", length / 1_000, length % 1_000);
    let request = json!({"command": ["sh", "-c", script], "session": "owner"});
    let mut wire = fixture.api.try_connect().ok()?;
    wire.request("POST", "/v1/runs", &[], request.to_string().as_bytes());
    Some(wire)
}

#[test]
fn chaos_of_daemons_notifies_each_end_under_one_key() {
    let (wanted, mut done) = (kills(OF_ONE), 0);
    let (mut tasks, mut again) = (0, 0);
    while done < wanted {
        let receiver = WebhookReceiver::new(unreliable);
        let fixture = NotifyFixture::new(&webhook("desk", &receiver, "/desk"));
        fixture.owner("owner", "desk");
        let mut runs = BTreeSet::new();
        for _ in 0..OF_ONE.min(wanted - done) {
            let daemon = fixture.daemon();
            let more = AT_A_TIME.saturating_sub(open(&fixture));
            for _ in 0..more / 2 {
                let script = format!("sleep 0.{:03}; echo word; exit 3", below(1_000));
                runs.insert(fixture.task("owner", &script));
            }
            // The outcome of these requests is unknown, but every existing task ends like the others.
            let _unanswered: Vec<Wire> = (0..more / 4).filter_map(|_| ask(&fixture, below(1_000))).collect();
            // This is no synchronisation: any moment will do.
            std::thread::park_timeout(Duration::from_millis(below(300)));
            kill(&daemon);
            done += 1;
            fixture.start_daemon();
        }
        fixture.check(&receiver, &runs);
        tasks += fixture.task_rows().len();
        again += repeated(&receiver);
        eprintln!("{tasks} tasks, {done} kills, {again} told again under their key");
        assert!(runs.len() >= 20, "only {} calls: this proves little", runs.len());
        fixture.finish();
    }
}

#[test]
fn a_restart_in_the_middle_of_a_swarm_of_tasks_loses_and_repeats_nothing() {
    const THIRD: usize = 167;
    let receiver = WebhookReceiver::kind();
    let fixture = NotifyFixture::new(&webhook("desk", &receiver, "/desk"));
    fixture.owner("owner", "desk");
    let (gate, late) = (Gate::new(fixture.dir(), "gate"), Gate::new(fixture.dir(), "late"));
    // A third has ended and is being notified, a third ends without a daemon, a third runs through the
    // restart.
    let scripts = [&gate.script(), &late.script(), "echo word; exit 3"];
    let runs: BTreeSet<String> =
        scripts.iter().flat_map(|script| (0..THIRD).map(|_| fixture.task("owner", script))).collect();
    fixture.kill();
    gate.open();
    let ended = || runs.iter().filter(|run| fixture.run_path(run).join("ending").exists()).count();
    eventually("two thirds have ended", || (ended() == 2 * THIRD).then_some(()));
    fixture.start_daemon();
    eventually("two thirds are notified", || {
        let all = fixture.task_rows();
        for one in all.iter().filter(|one| one.status == "running") {
            assert_ne!(one.run_state.as_deref(), Some("exited"), "running without a live run: {one:?}");
        }
        (all.iter().filter(|one| one.delivery == "delivered").count() == 2 * THIRD).then_some(())
    });
    let going_on = fixture.task_rows().into_iter().filter(|one| one.status == "running").count();
    assert_eq!(going_on, THIRD, "no live task was given up");
    late.open();
    fixture.check(&receiver, &runs);
    let all = fixture.task_rows();
    assert_eq!(all.len(), runs.len());
    assert!(all.iter().all(|one| one.status == "failed"), "each ended as its command did");
    eprintln!("{} tasks, {} told again under their key", all.len(), repeated(&receiver));
    fixture.finish();
}
