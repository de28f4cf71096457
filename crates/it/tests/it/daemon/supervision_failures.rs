//! The failure tests of the architecture's plan: a stale record, an exit that races a time limit, every request made
//! twice, and an escape.

use rustix::process::Signal;
use serde_json::json;
use tenure_it::TRANSPORTS;
use tenure_it::api::{Api, Wire};
use tenure_it::child_program::ChildProgram;
use tenure_it::daemon_fixture::DaemonFixture;
use tenure_it::held_process::HeldProcess;
use tenure_it::{WAIT_LIMIT, proc};

/// Number of cancels at the moment of the end, and how many at a time.
const ROUNDS: usize = 40;
const CANCELS: usize = 8;

/// The daemon dies together with all holders of the run, and the root's pid is reused or free.
#[test]
fn a_stale_record_is_closed_as_lost_without_invented_facts() {
    for flags in TRANSPORTS {
        let fixture = DaemonFixture::without_warden();
        let id = fixture.act(flags, &["sleep"]);
        fixture.wait_ready(&id);
        let record = fixture.show(&id);
        let pid = |name: &str| i32::try_from(record[name].as_i64().expect("a pid")).expect("a pid");
        let keeper = HeldProcess::hold(pid("keeperPid")).expect("a keeper");
        let nursery = HeldProcess::hold(proc::stat(keeper.pid).expect("a keeper").1).expect("a nursery");
        let root = HeldProcess::hold(pid("pid")).expect("a root");
        let daemon = fixture.daemon();
        let all = [&daemon, &nursery, &keeper, &root];
        all.iter().for_each(|one| one.stop());
        all.iter().for_each(|one| one.send(Signal::KILL));
        all.iter().for_each(|one| one.wait_dead(WAIT_LIMIT));
        fixture.start_daemon();
        assert_eq!(fixture.wait(&id), 121);
        let row = fixture.audit().run(&id).clone();
        assert_eq!(row.reason(), Some("reconciled-stale"), "{row:?}");
        assert_eq!(row.termination()["exitCode"], serde_json::Value::Null);
        assert_eq!(row.termination()["signal"], serde_json::Value::Null);
        fixture.finish();
    }
}

/// A command that ends by itself at about its limit has one of two endings, and the code agrees with it.
#[test]
fn a_simultaneous_exit_and_timeout_are_one_ending() {
    let fixture = DaemonFixture::with_warden();
    for round in 0..20 {
        let flags = TRANSPORTS[round % 2];
        let limit = format!("{}ms", 90 + round);
        let id = fixture.start_in_background(&[flags, &["--timeout", &limit]].concat(), &["sleep", "0.1"]);
        let code = fixture.wait(&id);
        let ending = fixture.show(&id)["termination"].clone();
        match ending["reason"].as_str() {
            Some("exit") => assert_eq!((code, &ending["exitCode"]), (0, &0.into()), "{ending}"),
            Some("overall-timeout") => assert_eq!(code, 124, "{ending}"),
            other => panic!("{other:?}: {ending}"),
        }
    }
    fixture.finish();
}

#[test]
fn ten_simultaneous_cancels_are_one_ending() {
    let fixture = DaemonFixture::with_warden();
    for flags in TRANSPORTS {
        let id = fixture.act(&[flags, &["--grace", "200ms"]].concat(), &["ignore-term", "sleep"]);
        fixture.wait_ready(&id);
        let mut asked: Vec<ChildProgram> = (0..10).map(|_| fixture.start(&["cancel", &id])).collect();
        for one in &mut asked {
            assert_eq!(one.code(), 0, "{}", one.err());
        }
        assert_eq!(fixture.wait(&id), 123);
        // A cancel of an ended run succeeds.
        fixture.ask_to_cancel(&[&id]);
        assert_eq!(fixture.show(&id)["termination"]["reason"], "manual-cancel");
        assert_eq!(fixture.audit().run(&id).event_count("run-ended"), 1);
    }
    fixture.finish();
}

/// A cancel of a run that ends by itself meanwhile is no error.
#[test]
fn a_cancel_at_the_moment_of_the_exit_is_no_error() {
    let fixture = DaemonFixture::with_warden();
    let api = Api::of(&fixture);
    for _ in 0..ROUNDS {
        let id = api.start(&json!({"command": ["sh", "-c", "read line"], "stdin": "open"}));
        let mut wires: Vec<Wire> = (0..CANCELS).map(|_| api.connect()).collect();
        let _ = api.post(&format!("/v1/runs/{id}/stdin"), &json!({"data": "\n"})).is(204);
        for wire in &mut wires {
            wire.request("POST", &format!("/v1/runs/{id}/cancel"), &[], b"{}");
        }
        for mut wire in wires {
            let _ = wire.answer().is(202);
        }
        let _ = api.wait(&id);
    }
    fixture.finish();
}

/// The next daemon, and a requested reconcile, find a recorded ending again: it stays one.
#[test]
fn an_ending_found_again_is_not_recorded_again() {
    let fixture = DaemonFixture::with_warden();
    for flags in TRANSPORTS {
        let id = fixture.act(flags, &["exit", "5"]);
        assert_eq!(fixture.wait(&id), 5);
        let killed = fixture.kill();
        fixture.wait_next_daemon(killed);
        assert!(fixture.tenure(&["reap"]).status.success());
        assert_eq!(fixture.wait(&id), 5);
        let row = fixture.audit().run(&id).clone();
        assert_eq!((row.event_count("run-ended"), row.reason()), (1, Some("exit")));
    }
    fixture.finish();
}

#[test]
fn an_escape_marks_the_run_failed_and_names_the_escapee() {
    let fixture = DaemonFixture::with_warden();
    for flags in TRANSPORTS {
        let id = fixture.act(&[flags, &["--grace", "100ms"]].concat(), &["leave", "setsid", "sleep"]);
        assert_eq!(fixture.wait(&id), 122, "{}", fixture.show(&id)["termination"]);
        fixture.wait_nobody(WAIT_LIMIT);
        let ending = fixture.show(&id)["termination"].clone();
        assert_eq!(ending["reason"], "ownership-escape");
        assert!(ending["escapees"][0]["pid"].is_number(), "{ending}");
    }
    let text = fixture.tenure(&["metrics"]);
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    assert_eq!(tenure_it::registry_file::metric(&text, "tenure_run_ownership_escape_total"), 2);
    fixture.finish();
}

/// A declared daemon becomes a run of its own, and the next daemon knows it.
#[test]
fn an_allowed_escape_becomes_a_run_that_the_next_daemon_holds() {
    let fixture = DaemonFixture::with_warden();
    let flags = ["--grace", "100ms", "--on-escape", "allow"];
    let id = fixture.act(&flags, &["leave", "setsid", "sleep"]);
    assert_eq!(fixture.wait(&id), 0, "{}", fixture.show(&id)["termination"]);
    let heir = tenure_it::eventually("the heir's row", || {
        let ledger = fixture.audit();
        ledger.runs.iter().find(|run| run.id != id && run.state == "running").map(|run| run.id.clone())
    });
    let killed = fixture.kill();
    fixture.wait_next_daemon(killed);
    assert_eq!(fixture.show(&heir)["state"], "running");
    fixture.ask_to_cancel(&[&heir]);
    assert_eq!(fixture.wait(&heir), 123);
    fixture.finish();
}
