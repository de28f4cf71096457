//! The failure tests of the architecture's plan: a stale record, an exit that races a time limit, everything asked for
//! twice, and an escape.

use rustix::process::Signal;
use serde_json::json;
use tenure_it::TRANSPORTS;
use tenure_it::api::{Api, Wire};
use tenure_it::home::Home;
use tenure_it::known::Known;
use tenure_it::started::Started;
use tenure_it::{PATIENCE, proc};

/// How often a cancel is tried at the moment of the end, and how many at a time.
const ROUNDS: usize = 40;
const CANCELS: usize = 8;

/// The daemon dies together with everybody who kept the run, and the root's pid is somebody else's or nobody's.
#[test]
fn a_stale_record_is_closed_as_such_with_nothing_invented() {
    for flags in TRANSPORTS {
        let home = Home::unwatched();
        let id = home.act(flags, &["sleep"]);
        home.wait_ready(&id);
        let record = home.show(&id);
        let pid = |name: &str| i32::try_from(record[name].as_i64().expect("a pid")).expect("a pid");
        let keeper = Known::hold(pid("keeperPid")).expect("a keeper");
        let nursery = Known::hold(proc::stat(keeper.pid).expect("a keeper").1).expect("a nursery");
        let root = Known::hold(pid("pid")).expect("a root");
        let daemon = home.daemon();
        let all = [&daemon, &nursery, &keeper, &root];
        all.iter().for_each(|one| one.stop());
        all.iter().for_each(|one| one.send(Signal::KILL));
        all.iter().for_each(|one| one.wait_dead(PATIENCE));
        home.begin();
        assert_eq!(home.wait(&id), 121);
        let row = home.audit().run(&id).clone();
        assert_eq!(row.reason(), Some("reconciled-stale"), "{row:?}");
        assert_eq!(row.termination()["exitCode"], serde_json::Value::Null);
        assert_eq!(row.termination()["signal"], serde_json::Value::Null);
        home.finish();
    }
}

/// A command that ends by itself at about its limit has one of two endings, and the code agrees with it.
#[test]
fn an_exit_and_a_timeout_at_once_are_one_ending() {
    let home = Home::watched();
    for round in 0..20 {
        let flags = TRANSPORTS[round % 2];
        let limit = format!("{}ms", 90 + round);
        let id = home.start_in_background(&[flags, &["--timeout", &limit]].concat(), &["sleep", "0.1"]);
        let code = home.wait(&id);
        let ending = home.show(&id)["termination"].clone();
        match ending["reason"].as_str() {
            Some("exit") => assert_eq!((code, &ending["exitCode"]), (0, &0.into()), "{ending}"),
            Some("overall-timeout") => assert_eq!(code, 124, "{ending}"),
            other => panic!("{other:?}: {ending}"),
        }
    }
    home.finish();
}

#[test]
fn ten_cancels_at_once_are_one_end() {
    let home = Home::watched();
    for flags in TRANSPORTS {
        let id = home.act(&[flags, &["--grace", "200ms"]].concat(), &["ignore-term", "sleep"]);
        home.wait_ready(&id);
        let mut asked: Vec<Started> = (0..10).map(|_| home.start(&["cancel", &id])).collect();
        for one in &mut asked {
            assert_eq!(one.code(), 0, "{}", one.err());
        }
        assert_eq!(home.wait(&id), 123);
        // One that has ended is as cancelled as it can be.
        home.ask_to_cancel(&[&id]);
        assert_eq!(home.show(&id)["termination"]["reason"], "manual-cancel");
        assert_eq!(home.audit().run(&id).told("run-ended"), 1);
    }
    home.finish();
}

/// One that ends by itself while its end is asked for is as cancelled as it can be: that is no error.
#[test]
fn a_cancel_at_the_moment_of_the_end_is_no_error() {
    let home = Home::watched();
    let api = Api::of(&home);
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
    home.finish();
}

/// An ending that a daemon has recorded is found again by the next, and by a look that is asked for: it stays one.
#[test]
fn an_ending_that_is_found_again_is_not_recorded_again() {
    let home = Home::watched();
    for flags in TRANSPORTS {
        let id = home.act(flags, &["exit", "5"]);
        assert_eq!(home.wait(&id), 5);
        let killed = home.kill();
        home.next_after(killed);
        assert!(home.tenure(&["reap"]).status.success());
        assert_eq!(home.wait(&id), 5);
        let row = home.audit().run(&id).clone();
        assert_eq!((row.told("run-ended"), row.reason()), (1, Some("exit")));
    }
    home.finish();
}

#[test]
fn an_escape_marks_the_run_failed_and_names_who_escaped() {
    let home = Home::watched();
    for flags in TRANSPORTS {
        let id = home.act(&[flags, &["--grace", "100ms"]].concat(), &["leave", "setsid", "sleep"]);
        assert_eq!(home.wait(&id), 122, "{}", home.show(&id)["termination"]);
        home.wait_nobody(PATIENCE);
        let ending = home.show(&id)["termination"].clone();
        assert_eq!(ending["reason"], "ownership-escape");
        assert!(ending["escapees"][0]["pid"].is_number(), "{ending}");
    }
    let text = home.tenure(&["metrics"]);
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    assert_eq!(tenure_it::ledger::metric(&text, "tenure_run_ownership_escape_total"), 2);
    home.finish();
}

/// A daemon that is declared becomes a run of its own, and the next daemon knows it.
#[test]
fn what_escapes_by_permission_is_a_run_that_the_next_daemon_holds() {
    let home = Home::watched();
    let flags = ["--grace", "100ms", "--on-escape", "allow"];
    let id = home.act(&flags, &["leave", "setsid", "sleep"]);
    assert_eq!(home.wait(&id), 0, "{}", home.show(&id)["termination"]);
    let heir = tenure_it::eventually("the heir's row", || {
        let ledger = home.audit();
        ledger.runs.iter().find(|run| run.id != id && run.state == "running").map(|run| run.id.clone())
    });
    let killed = home.kill();
    home.next_after(killed);
    assert_eq!(home.show(&heir)["state"], "running");
    home.ask_to_cancel(&[&heir]);
    assert_eq!(home.wait(&heir), 123);
    home.finish();
}
