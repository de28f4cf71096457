//! The daemon, the nursery and the keeper crash at once in the middle of a run that tries to escape, beside a bystander
//! that would notice any signal; and a daemon that cannot list its runs. The promises for every system are in the
//! scenario of the OS matrix.

use rustix::process::Signal;
use tenure_it::TRANSPORTS;
use tenure_it::bystander::Bystander;
use tenure_it::daemon_fixture::DaemonFixture;
use tenure_it::held_process::HeldProcess;
use tenure_it::{WAIT_LIMIT, proc};

fn keeper(fixture: &DaemonFixture, id: &str) -> HeldProcess {
    let pid = fixture.show(id)["keeperPid"].as_i64().expect("a keeper");
    HeldProcess::hold(pid.try_into().expect("a pid")).expect("it lives")
}

/// The daemon, the nursery and the keeper die at once: the next daemon ends their processes, and no others.
#[test]
fn a_run_without_a_keeper_is_ended_and_no_other_process_is_touched() {
    let bystander = Bystander::start(&["--pids", "pids", "child", "setsid", "ignore-term", "sleep"], "child");
    for flags in TRANSPORTS {
        let fixture = DaemonFixture::without_warden();
        let id = fixture
            .act(&[flags, &["--grace", "100ms"]].concat(), &["child", "setsid", "ignore-term", "sleep"]);
        fixture.wait_ready(&id);
        let keeper = keeper(&fixture, &id);
        let (_, nursery, ..) = proc::stat(keeper.pid).expect("a keeper");
        let nursery = HeldProcess::hold(nursery).expect("a nursery");
        let root = fixture.root(&id);
        let daemon = fixture.daemon();
        for one in [&daemon, &nursery, &keeper] {
            one.stop();
        }
        for one in [&daemon, &nursery, &keeper] {
            one.send(Signal::KILL);
        }
        for one in [&daemon, &keeper, &root] {
            one.wait_dead(WAIT_LIMIT);
        }
        fixture.start_daemon();
        assert_eq!(fixture.wait(&id), 121, "{}", fixture.show(&id)["termination"]);
        fixture.wait_nobody(WAIT_LIMIT);
        let ending = fixture.show(&id)["termination"].clone();
        // Its root died with its keeper, and its exit code is unknown.
        assert_eq!(ending["reason"], "reconciled-stale", "{ending}");
        assert_eq!(ending["exitCode"], serde_json::Value::Null, "nothing is invented");
        bystander.assert_untouched();
        fixture.finish();
    }
}

/// A daemon without runs would look as if everything were lost.
#[test]
fn a_daemon_that_cannot_list_its_runs_does_not_serve() {
    let fixture = DaemonFixture::without_warden();
    let database = rusqlite::Connection::open(fixture.state().join("tenure.db")).expect("the registry");
    fixture.kill();
    database.execute_batch("DROP INDEX runs_live").expect("an index");
    assert!(!fixture.tenure(&["daemon", "start"]).status.success());
    assert!(
        fixture.log().contains("the recorded runs cannot be read, so the daemon cannot hold them"),
        "{}",
        fixture.log()
    );
    assert_eq!(fixture.serving_pid(), None);
}
