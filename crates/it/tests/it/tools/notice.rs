//! The owner of a background command is notified of its end once, or saw it: never both, never neither.

use rustix::process::Signal;
use serde_json::json;
use tenure_it::agent::Agent;
use tenure_it::api::{Wire, text};
use tenure_it::daemon_fixture::DaemonFixture;
use tenure_it::exec_notices::{self, NoticeState};
use tenure_it::install::Install;
use tenure_it::{WAIT_LIMIT, eventually, proc};

const OWNER: &str = "agent:a:main";

fn daemon() -> (DaemonFixture, Agent) {
    let fixture = DaemonFixture::of(Install::new().with_env("TENURE_RUN_GRACE", "200ms"));
    fixture.start_daemon();
    let agent = Agent::of(&fixture).acting_as(OWNER);
    (fixture, agent)
}

/// Waits until a poll of this run is pending: a second one reports it.
#[track_caller]
fn wait_for_poll(agent: &Agent, run: &str) {
    eventually("a pending poll", || {
        // Long enough for the poll before this one to record its read mark.
        let reply = agent.process("poll", run, &json!({"timeoutMs": 500}));
        reply["message"].as_str().is_some_and(|said| said.starts_with("Another poll")).then_some(())
    });
}

fn end_input(agent: &Agent, run: &str) {
    agent.process("write", run, &json!({"eof": true}));
}

/// The notice state of a run once no notice is owed.
#[track_caller]
fn settled(fixture: &DaemonFixture, run: &str) -> NoticeState {
    fixture.wait(run);
    exec_notices::settled(fixture).remove(run).expect("a run of exec")
}

#[test]
fn an_end_in_the_background_is_notified_once_in_words() {
    let (fixture, agent) = daemon();
    for pty in [false, true] {
        let command = "read line; echo hello; echo \"last  words\"; exit 3";
        let run = agent.start_with(json!({"command": command, "pty": pty}));
        agent.process("write", &run, &json!({"data": "go\n"}));
        let end = settled(&fixture, &run);
        assert_eq!((end.notice.as_str(), end.told.len()), ("delivered", 1), "{end:?}");
        let told = &end.told[0];
        let said = text(&told["text"]);
        for part in [run.as_str(), command, "hello last words"] {
            assert!(said.contains(part), "{part:?} in {said:?}");
        }
        let how = (&told["status"], &told["exitCode"], &told["session"]);
        assert_eq!(how, (&json!("completed"), &json!(3), &json!(OWNER)), "{told}");
    }
    // A later daemon, or a later reader, causes no second notice.
    fixture.kill();
    fixture.start_daemon();
    for run in fixture.runs() {
        agent.poll_to_the_end(&run);
        assert_eq!(settled(&fixture, &run).told.len(), 1);
    }
    fixture.finish();
}

#[test]
fn a_yielded_command_is_notified_like_a_background_one() {
    let (fixture, agent) = daemon();
    let reply = agent.exec(&json!({"command": "read line; exit 3", "yieldMs": 10}));
    let run = text(&reply["runId"]);
    assert_eq!(reply["status"], "running", "{reply}");
    end_input(&agent, &run);
    assert_eq!(settled(&fixture, &run).notice, "delivered");
    fixture.finish();
}

#[test]
fn an_end_that_the_owner_saw_is_not_notified() {
    let (fixture, agent) = daemon();
    let waits = "read line; exit 3";
    let polled = agent.start(waits);
    let mut poll = agent.begin_process("poll", &polled, &json!({"timeoutMs": 30_000}));
    wait_for_poll(&agent, &polled);
    end_input(&agent, &polled);
    assert_eq!(poll.answer().is(200).json()["exitCode"], 3);

    let killed = agent.start(waits);
    assert_eq!(agent.process("kill", &killed, &json!({}))["failureKind"], "aborted");

    // A run without a session belongs to the operator, which learns of its end by `wait`.
    let operator = Agent::of(&fixture);
    let waited = operator.start(waits);
    let mut wire = operator.api.connect();
    wire.request("POST", &format!("/v1/runs/{waited}/wait"), &[], b"{}");
    end_input(&operator, &waited);
    assert_eq!(wire.answer().is(200).json()["termination"]["exitCode"], 3);

    for run in [polled, killed, waited] {
        let end = settled(&fixture, &run);
        assert_eq!((end.notice.as_str(), end.told.len()), ("acknowledged", 0), "{end:?}");
    }
    fixture.finish();
}

/// An owner that polls without reading: the reply to a log fills the socket, so the reply to the poll behind
/// it waits. The kernel decides when a socket is full, so longer logs are tried until it is.
fn unread_poll(fixture: &DaemonFixture, agent: &Agent) -> (Wire, [String; 2]) {
    let line = "\u{e9}".repeat(249); // with its end 500 bytes of JSON
    let loud = agent.start(&format!("yes '{line}' | head -n 600; echo printed; read line; exit 3"));
    fixture.wait_for_output(&loud, "printed");
    let log = |lines: u64| json!({"action": "log", "runId": loud, "offset": 0, "limit": lines, "sessionKey": OWNER});
    let rest = agent.process("log", &loud, &log(10)).to_string().len() as u64 - 5_000;
    let buffer = agent.api.connect().send_buffer();
    for lines in (buffer - rest - 8_000) / 500..(buffer - rest) / 500 {
        let run = agent.start("read line; exit 3");
        let poll = json!({"action": "poll", "runId": run, "timeoutMs": 30_000, "sessionKey": OWNER});
        let mut wire = agent.api.connect();
        for body in [log(lines), poll] {
            wire.request("POST", "/v1/process", &[], body.to_string().as_bytes());
        }
        wait_for_poll(agent, &run);
        end_input(agent, &run);
        assert_eq!(fixture.wait(&run), 3);
        // Long enough for a wrong notice to be sent.
        (0..5).for_each(|_| assert_eq!(agent.run("true")["exitCode"], 0));
        match exec_notices::of(fixture, &run).notice.as_str() {
            "due" => return (wire, [loud, run]),
            "acknowledged" => {}
            other => panic!("{other} with {lines} lines before it"),
        }
    }
    panic!("no log fills the socket");
}

#[test]
fn a_notice_waits_for_an_owner_that_is_about_to_see_the_end() {
    let (fixture, agent) = daemon();
    let (mut wire, runs) = unread_poll(&fixture, &agent);
    let _ = wire.answer().is(200);
    assert_eq!(wire.answer().is(200).json()["exitCode"], 3);
    agent.process("kill", &runs[0], &json!({}));
    assert_eq!(settled(&fixture, &runs[1]).notice, "acknowledged");
    fixture.finish();
}

#[test]
fn an_owner_that_does_not_read_its_answer_is_notified_and_delays_nobody() {
    let (fixture, agent) = daemon();
    let (mut wire, runs) = unread_poll(&fixture, &agent);
    let reply = agent.process("poll", &runs[1], &json!({"timeoutMs": 100}));
    assert_eq!(reply["exitCode"], 3, "{}", reply["message"]);
    agent.process("kill", &runs[0], &json!({}));
    assert_eq!(settled(&fixture, &runs[1]).notice, "delivered");
    // The owner reads after all: a sent notice stays sent.
    let _ = wire.answer().is(200);
    assert_eq!(wire.answer().is(200).json()["exitCode"], 3);
    agent.poll_to_the_end(&runs[1]);
    assert_eq!(settled(&fixture, &runs[1]).told.len(), 1);
    fixture.finish();
}

/// A caller that waited for the end and left before it has seen nothing.
#[test]
fn an_owner_that_hung_up_before_the_end_is_notified() {
    let (fixture, agent) = daemon();
    let run = agent.start("read line; exit 3");
    let poll = agent.begin_process("poll", &run, &json!({"timeoutMs": 30_000}));
    wait_for_poll(&agent, &run);
    drop(poll);
    // The next reader gets its turn when the daemon has noticed.
    eventually("no poll is pending", || {
        let reply = agent.process("poll", &run, &json!({"timeoutMs": 0}));
        reply["message"].as_str().is_some_and(|said| !said.starts_with("Another")).then_some(())
    });
    end_input(&agent, &run);
    assert_eq!(settled(&fixture, &run).notice, "delivered");
    fixture.finish();
}

#[test]
fn an_end_that_only_others_saw_is_notified() {
    let (fixture, agent) = daemon();
    let operator = Agent::of(&fixture);
    let waits = "read line; exit 3";
    let polled = agent.start(waits);
    let mut poll = operator.begin_process("poll", &polled, &json!({"timeoutMs": 30_000}));
    wait_for_poll(&operator, &polled);
    end_input(&agent, &polled);
    assert_eq!(poll.answer().is(200).json()["exitCode"], 3);
    let waited = agent.start(waits);
    let mut wait = operator.api.connect();
    wait.request("POST", &format!("/v1/runs/{waited}/wait"), &[], b"{}");
    end_input(&agent, &waited);
    assert_eq!(wait.answer().is(200).json()["state"], "exited");
    let killed = agent.start(waits);
    operator.process("kill", &killed, &json!({}));
    for run in [polled, waited, killed] {
        let end = settled(&fixture, &run);
        assert_eq!((end.notice.as_str(), end.told.len()), ("delivered", 1), "{end:?}");
    }
    fixture.finish();
}

#[test]
fn a_silent_success_is_notified_only_on_request() {
    let (fixture, agent) = daemon();
    for (notify, command, notice) in [
        (None, "read line; exit 0", "none"),
        (Some("auto"), "read line; exit 0", "none"),
        (Some("auto"), "read line; echo word; exit 0", "delivered"),
        (Some("auto"), "read line; exit 1", "delivered"),
        (Some("auto"), "read line; kill -9 $$", "delivered"),
        (Some("always"), "read line; exit 0", "delivered"),
        (Some("never"), "read line; exit 0", "none"),
        (Some("never"), "read line; echo word; exit 1", "none"),
    ] {
        let mut request = json!({"command": command});
        if let Some(notify) = notify {
            request["notify"] = notify.into();
        }
        let run = agent.start_with(request);
        end_input(&agent, &run);
        assert_eq!(settled(&fixture, &run).notice, notice, "{notify:?} {command}");
    }
    fixture.finish();
}

#[test]
fn the_end_of_an_awaited_command_is_not_notified() {
    let (fixture, agent) = daemon();
    for request in [json!({"command": "echo a; exit 3"}), json!({"command": "exit 3", "notify": "always"})] {
        let reply = agent.exec(&request);
        assert_eq!(reply["exitCode"], 3, "{reply}");
        let end = settled(&fixture, &text(&reply["runId"]));
        assert_eq!((end.notice.as_str(), end.background), ("none", false), "{end:?}");
    }
    // Nor is that of a command whose caller hung up.
    let wire = agent.begin_exec(json!({"command": "sleep 600", "notify": "always", "yieldMs": 120_000}));
    let is_running = |run: &&serde_json::Value| run["status"] == "running";
    let run = eventually("the run", || agent.list().iter().find(is_running).map(|run| text(&run["runId"])));
    drop(wire);
    assert_eq!(settled(&fixture, &run).notice, "none");
    fixture.finish();
}

/// An owner that ends a run and removes it needs no notice of its end.
#[test]
fn an_owner_that_removes_a_run_is_not_notified_of_its_end() {
    let (fixture, agent) = daemon();
    for _ in 0..10 {
        let run = agent.start_with(json!({"command": "sleep 600", "notify": "always"}));
        agent.process("remove", &run, &json!({}));
        agent.ask("poll", &run, &json!({})).refused(404, "no-such-run");
        assert_eq!(exec_notices::count(&fixture), 0);
    }
    assert!(fixture.tenure(&["daemon", "stop"]).status.success());
    assert_eq!(exec_notices::count(&fixture), 0);
    fixture.assert_nothing_left();
}

#[test]
fn a_daemon_crash_around_an_ending_notifies_it_once() {
    for point in ["daemon-before-ending", "daemon-after-ending"] {
        let fixture = DaemonFixture::of(Install::new());
        let daemon = fixture.start_daemon_paused(point);
        let agent = Agent::of(&fixture).acting_as(OWNER);
        let gate = fixture.dir().join("gate");
        let waits = format!("while [ ! -e {} ]; do sleep 0.02; done", gate.display());
        let loud = agent.start(&format!("{waits}; echo word; exit 3"));
        std::fs::write(&gate, "").expect("a gate");
        eventually(&format!("a daemon at {point}"), || proc::is_stopped(daemon.pid).then_some(()));
        daemon.send(Signal::KILL);
        daemon.wait_dead(WAIT_LIMIT);
        assert_eq!(exec_notices::of(&fixture, &loud).told.len(), 0, "{point}: no notice precedes its record");
        fixture.start_daemon();
        let end = settled(&fixture, &loud);
        assert_eq!((end.notice.as_str(), end.told.len()), ("delivered", 1), "{point}: {end:?}");
        fixture.kill();
        fixture.start_daemon();
        assert_eq!(settled(&fixture, &loud), end, "{point}: and never again");
        fixture.finish();
    }
}

/// Its caller got nothing, so it continues as if it had yielded, and its end is notified.
#[test]
fn a_command_whose_caller_lost_the_daemon_continues_and_its_end_is_notified() {
    let (fixture, agent) = daemon();
    for ends_meanwhile in [false, true] {
        let gate = fixture.dir().join(format!("gate-{ends_meanwhile}"));
        let waits = format!("while [ ! -e {} ]; do sleep 0.02; done; exit 3", gate.display());
        let mut wire = agent.begin_exec(json!({"command": waits, "yieldMs": 120_000}));
        let is_running = |run: &&serde_json::Value| run["status"] == "running";
        let run =
            eventually("the run", || agent.list().iter().find(is_running).map(|run| text(&run["runId"])));
        fixture.kill();
        assert!(wire.is_closed());
        if ends_meanwhile {
            std::fs::write(&gate, "").expect("a gate");
            eventually("its ending", || fixture.run_path(&run).join("ending").exists().then_some(()));
        }
        fixture.start_daemon();
        assert_eq!(agent.list().iter().filter(is_running).count(), usize::from(!ends_meanwhile));
        std::fs::write(&gate, "").expect("a gate");
        let end = settled(&fixture, &run);
        assert_eq!((end.notice.as_str(), end.told.len()), ("delivered", 1), "{ends_meanwhile}: {end:?}");
    }
    fixture.finish();
}

/// A pseudo-random number for each step of each run, the same every time.
fn random(seed: u64) -> u64 {
    let mut x = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    x ^= x >> 29;
    x = x.wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x ^ (x >> 32)
}

#[test]
fn each_of_many_ends_is_either_notified_or_seen_by_a_reader() {
    const RUNS: u64 = 200;
    const AT_ONCE: usize = 8;
    let (fixture, agent) = daemon();
    let operator = Agent::of(&fixture);
    std::thread::scope(|scope| {
        for first in (0..RUNS).take(AT_ONCE) {
            let (agent, operator) = (&agent, &operator);
            scope.spawn(move || {
                for number in (first..RUNS).step_by(AT_ONCE) {
                    live_through(agent, operator, number);
                }
            });
        }
    });
    eventually("every end", || agent.list().iter().all(|run| run["status"] != "running").then_some(()));
    let all = exec_notices::settled(&fixture);
    assert_eq!(all.len() as u64, RUNS);
    // A command that ended before its answer never went to the background.
    let all: Vec<&NoticeState> = all.values().filter(|one| one.background).collect();
    let count = |notice: &str| all.iter().filter(|one| one.notice == notice).count();
    assert_eq!(count("delivered") + count("acknowledged"), all.len());
    assert!(count("delivered") > 0 && count("acknowledged") > 0, "notified and seen");
    fixture.finish();
}

/// A run, and random requests of its owner and others while it lives.
fn live_through(agent: &Agent, operator: &Agent, number: u64) {
    let millis = random(number) % 60;
    let command = format!("sleep 0.0{millis:02}; echo {number}; exit 3");
    let run = text(&agent.exec(&json!({"command": command, "background": true}))["runId"]);
    for step in 0..random(number * 31) % 6 {
        let chance = random(number * 1000 + step);
        let timeout = json!({"timeoutMs": chance % 70});
        match chance >> 8 & 7 {
            0..=2 => drop(agent.process("poll", &run, &timeout)),
            3 => drop(agent.begin_process("poll", &run, &timeout)),
            4 => drop(operator.process("poll", &run, &timeout)),
            5 => drop(agent.process("log", &run, &json!({}))),
            6 => drop(agent.begin_process("kill", &run, &json!({}))),
            _ => drop(agent.process("kill", &run, &json!({}))),
        }
    }
}
