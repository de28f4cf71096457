//! OS matrix, restart-reconcile: the supervisor crashes in the middle of runs. The next one holds those that go on, takes
//! the endings of those that do not, and closes what nobody keeps, each with one decision that is told.

use rustix::process::Signal;
use tenure_it::bystander::Bystander;
use tenure_it::home::{Home, TRANSPORTS};
use tenure_it::known::Known;
use tenure_it::{PATIENCE, eventually, proc};

fn keeper(home: &Home, id: &str) -> Known {
    let pid = home.show(id)["keeperPid"].as_i64().expect("a keeper");
    Known::hold(pid.try_into().expect("a pid")).expect("it lives")
}

#[test]
fn a_run_that_goes_on_is_held_by_the_next_daemon() {
    for flags in TRANSPORTS {
        let home = Home::unwatched();
        let id = home.act(&[flags, &["--grace", "100ms"]].concat(), &["tree"]);
        home.wait_ready(&id);
        let root = home.show(&id)["pid"].clone();
        home.kill();
        home.begin();
        let record = home.show(&id);
        assert_eq!((&record["state"], &record["pid"]), (&"running".into(), &root), "{record}");
        assert_eq!(home.audit().run(&id).told("reconciled"), 1, "one decision, told once");
        home.ask_to_cancel(&[&id]);
        assert_eq!(home.wait(&id), 123);
        home.finish();
    }
}

/// What is written down about a run that ended while nobody looked is as much as about any other.
#[test]
fn an_ending_of_a_time_without_a_daemon_is_taken_as_it_is() {
    for flags in TRANSPORTS {
        let home = Home::unwatched();
        let line = "read line; exit 9";
        let stdin: &[&str] = if flags.is_empty() { &["--stdin", "open"] } else { &[] };
        let id = home.start_in_background(&[flags, stdin].concat(), &["sh", "-c", line]);
        home.kill();
        assert!(home.tenure(&["write", &id, "go\n"]).status.success());
        assert_eq!(home.wait(&id), 9);
        home.begin();
        let row = home.audit().run(&id).clone();
        assert_eq!((row.reason(), &row.termination()["exitCode"]), (Some("exit"), &9.into()));
        home.finish();
    }
}

/// The daemon, the nursery and the keeper die at once: what they leave is ended by the next daemon, and only that.
#[test]
fn what_nobody_keeps_is_ended_and_nobody_else_is_touched() {
    let bystander = Bystander::start(&["--pids", "pids", "child", "setsid", "ignore-term", "sleep"], "child");
    for flags in TRANSPORTS {
        let home = Home::unwatched();
        let id =
            home.act(&[flags, &["--grace", "100ms"]].concat(), &["child", "setsid", "ignore-term", "sleep"]);
        home.wait_ready(&id);
        let keeper = keeper(&home, &id);
        let (_, nursery, ..) = proc::stat(keeper.pid).expect("a keeper");
        let nursery = Known::hold(nursery).expect("a nursery");
        let daemon = home.daemon();
        for one in [&daemon, &nursery, &keeper] {
            one.stop();
        }
        for one in [&daemon, &nursery, &keeper] {
            one.send(Signal::KILL);
        }
        keeper.wait_dead(PATIENCE);
        daemon.wait_dead(PATIENCE);
        home.begin();
        assert_eq!(home.wait(&id), 121, "{}", home.show(&id)["termination"]);
        home.wait_nobody(PATIENCE);
        let ending = home.show(&id)["termination"].clone();
        // Its root died with its keeper, and nobody saw how.
        assert_eq!(ending["reason"], "reconciled-stale", "{ending}");
        assert_eq!(ending["exitCode"], serde_json::Value::Null, "nothing is invented");
        bystander.assert_untouched();
        home.finish();
    }
}

/// The nursery of a keeper that dies writes the ending, and a daemon that comes later takes that.
#[test]
fn a_keeper_that_dies_while_no_daemon_lives_is_accounted_for() {
    for flags in TRANSPORTS {
        let home = Home::unwatched();
        let id = home.act(flags, &["tree"]);
        home.wait_ready(&id);
        let keeper = keeper(&home, &id);
        home.kill();
        keeper.send(Signal::KILL);
        keeper.wait_dead(PATIENCE);
        home.wait_nobody(PATIENCE);
        home.begin();
        let row = eventually("an ending", || {
            let row = home.audit().run(&id).clone();
            row.ending.is_some().then_some(row)
        });
        assert_eq!(row.reason(), Some("owner-lost"), "{row:?}");
        assert_eq!(row.termination()["detail"], "keeper-killed");
        home.finish();
    }
}

/// A daemon that held nothing would look as if everything were lost.
#[test]
fn a_daemon_that_cannot_read_which_runs_there_are_does_not_serve() {
    let home = Home::unwatched();
    let database = rusqlite::Connection::open(home.state().join("tenure.db")).expect("the registry");
    home.kill();
    database.execute_batch("DROP INDEX runs_live").expect("an index");
    assert!(!home.tenure(&["daemon", "start"]).status.success());
    assert!(
        home.log().contains("the recorded runs cannot be read, so none of them could be held"),
        "{}",
        home.log()
    );
    assert_eq!(home.serving(), None);
}
