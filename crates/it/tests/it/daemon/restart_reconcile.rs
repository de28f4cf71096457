//! The supervisor, the nursery and the keeper crash in one stroke in the middle of a run that tries to escape, beside a
//! bystander who would notice any signal; and a supervisor that cannot know its runs. What holds on every system is in the
//! scenario of the OS matrix.

use rustix::process::Signal;
use tenure_it::TRANSPORTS;
use tenure_it::bystander::Bystander;
use tenure_it::home::Home;
use tenure_it::known::Known;
use tenure_it::{PATIENCE, proc};

fn keeper(home: &Home, id: &str) -> Known {
    let pid = home.show(id)["keeperPid"].as_i64().expect("a keeper");
    Known::hold(pid.try_into().expect("a pid")).expect("it lives")
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
        let root = home.root(&id);
        let daemon = home.daemon();
        for one in [&daemon, &nursery, &keeper] {
            one.stop();
        }
        for one in [&daemon, &nursery, &keeper] {
            one.send(Signal::KILL);
        }
        for one in [&daemon, &keeper, &root] {
            one.wait_dead(PATIENCE);
        }
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
