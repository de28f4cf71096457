//! Several daemons share one registry: the owner of a run, the right to steal it, and that only one does (I5).

use rustix::process::Signal;
use serde_json::Value;
use tenure_core::journal::JournalEvent;
use tenure_it::bystander::Bystander;
use tenure_it::owned_daemon::OwnedDaemon;
use tenure_it::{WAIT_LIMIT, eventually};

/// A directory for a registry that no daemon owns.
fn registry() -> (tempfile::TempDir, std::path::PathBuf) {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("registry.db");
    (dir, path)
}

/// The status that a daemon reports.
#[track_caller]
fn status(served: &OwnedDaemon) -> Value {
    let status = served.install.tenure(&["daemon", "status", "--json"]);
    serde_json::from_slice(&status.stdout).expect("JSON")
}

/// The number of matching entries in a run's journal.
fn journal(owner: &OwnedDaemon, run: &str, is: impl Fn(&JournalEvent) -> bool) -> usize {
    owner.dir(run).journal().expect("a journal").iter().filter(|entry| is(&entry.what)).count()
}

/// The daemon that holds a run now; not its first owner.
#[track_caller]
fn taken_by<'a>(run: &str, thieves: [&'a OwnedDaemon; 2]) -> &'a OwnedDaemon {
    let owner = eventually("a new owner", || {
        let shown = thieves[0].install.show(run);
        (shown["leaseEpoch"] == 2).then(|| shown["ownerInstanceId"].as_str().expect("an owner").to_owned())
    });
    thieves.into_iter().find(|thief| thief.instance() == owner).expect("one of the two")
}

#[track_caller]
fn assert_stolen_once(any: &OwnedDaemon, run: &str) {
    let shown = any.install.show(run);
    assert_eq!(shown["leaseEpoch"], 2, "{shown}");
    assert_eq!(any.events_of(run, "lease-stolen").len(), 1, "{run}");
}

#[test]
fn two_daemons_competing_for_runs_give_each_one_owner_one_stop_and_one_ending() {
    let (_dir, path) = registry();
    let thieves = [(), ()].map(|()| OwnedDaemon::start(OwnedDaemon::sharing(&path)));
    let mut victim = OwnedDaemon::start(OwnedDaemon::sharing(&path));
    let bystander = Bystander::start(&["--pids", "pids", "child", "sleep"], "child");
    let healthy = thieves[0].install.start_in_background(&["--orphan", "terminate"], &["sleep", "600"]);
    let mut winners = std::collections::HashMap::<String, u32>::new();
    for round in 0..6 {
        let ended: Vec<String> = (0..3)
            .map(|_| victim.install.start_in_background(&["--orphan", "terminate"], &["sleep", "600"]))
            .collect();
        let kept = victim
            .install
            .start_in_background(&["--orphan", "keep"], &["sh", "-c", "echo here; exec sleep 600"]);
        victim.install.wait_for_output(&kept, "here");
        victim.kill();
        for run in &ended {
            let ending = thieves[round % 2].ending(run);
            assert_eq!(
                (&ending["reason"], &ending["confirmed"]),
                (&"owner-lost".into(), &true.into()),
                "{ending}"
            );
            assert_stolen_once(&thieves[0], run);
            assert_eq!(thieves[0].events_of(run, "run-ended").len(), 1);
            assert_eq!(
                journal(&victim, run, |what| matches!(what, JournalEvent::Exiting { .. })),
                1,
                "one stop"
            );
            assert_eq!(
                journal(&victim, run, |what| matches!(what, JournalEvent::HolderBack { .. })),
                1,
                "one thief"
            );
        }
        let owner = taken_by(&kept, [&thieves[0], &thieves[1]]);
        *winners.entry(owner.instance()).or_default() += 1;
        eventually("a live run held by its new owner", || {
            owner.install.tenure(&["cancel", &kept]).status.success().then_some(())
        });
        assert_eq!(owner.install.wait(&kept), 123);
        assert_stolen_once(owner, &kept);
        assert_eq!(owner.events_of(&kept, "run-ended").len(), 1);
        assert_eq!(owner.install.logs(&[&kept]), b"here\n");
        victim.restart();
    }
    let shown = thieves[1].install.show(&healthy);
    assert_eq!((&shown["state"], &shown["leaseEpoch"]), (&"running".into(), &1.into()), "{shown}");
    thieves[0].install.cancel(&healthy);
    bystander.assert_untouched();
    println!("{winners:?}");
}

#[test]
fn a_stolen_run_continues_and_its_new_owner_serves_all_of_it() {
    let (_dir, path) = registry();
    let thief = OwnedDaemon::start(OwnedDaemon::sharing(&path));
    let mut owner = OwnedDaemon::start(OwnedDaemon::sharing(&path));
    let run = owner.install.start_in_background(&["--orphan", "keep", "--stdin", "open"], &["cat"]);
    assert!(owner.install.tenure(&["write", &run, "before\n"]).status.success());
    owner.install.wait_for_output(&run, "before");
    owner.kill();
    taken_by(&run, [&thief, &thief]);
    let mut waiting = thief.install.start(&["wait", &run]);
    eventually("accepted input", || {
        thief.install.tenure(&["write", &run, "after\n"]).status.success().then_some(())
    });
    thief.install.wait_for_output(&run, "after");
    assert!(thief.install.tenure(&["write", &run, "--eof"]).status.success());
    assert_eq!(waiting.code(), 0);
    assert_eq!(thief.install.logs(&[&run]), b"before\nafter\n");
    thief.assert_judged(&run, &["resume"]);
    owner.restart();
    let shown = owner.install.show(&run);
    assert_eq!((&shown["state"], &shown["ownerInstanceId"]), (&"exited".into(), &thief.instance().into()));
    assert_eq!(owner.events_of(&run, "run-ended").len(), 1, "the first owner records nothing");
}

#[test]
fn an_owner_suspended_past_its_ttl_learns_of_its_lost_leases_and_keeps_serving() {
    let (_dir, path) = registry();
    let thief = OwnedDaemon::start(OwnedDaemon::sharing(&path));
    let owner = OwnedDaemon::start(OwnedDaemon::sharing(&path));
    let kept = owner.install.start_in_background(&["--orphan", "keep"], &["sleep", "600"]);
    let ended = owner.install.start_in_background(&["--orphan", "terminate"], &["sleep", "600"]);
    let process = owner.process();
    process.stop();
    taken_by(&kept, [&thief, &thief]);
    assert_eq!(thief.ending(&ended)["reason"], "owner-lost");
    process.send(Signal::CONT);
    let own = owner.instance();
    let enrolled =
        |event: &Value| event["kind"] == "instance-enrolled" && event["instanceId"] == own.as_str();
    eventually("an owner that registers again", || {
        (thief.events().iter().filter(|event| enrolled(event)).count() == 2).then_some(())
    });
    // The old owner holds no lost lease, and starts the runs that it is asked for.
    eventually("an owner that releases its leases", || {
        let status = status(&owner);
        (status["liveRuns"] == 0 && status["status"] == "ok").then_some(())
    });
    let next = owner.install.start_in_background(&[], &["sleep", "600"]);
    assert_eq!(owner.install.show(&next)["leaseEpoch"], 1);
    owner.install.cancel(&next);
    let shown = owner.install.show(&kept);
    assert_eq!((&shown["state"], &shown["leaseEpoch"]), (&"running".into(), &2.into()), "{shown}");
    thief.install.cancel(&kept);
    for run in [&kept, &ended] {
        assert_stolen_once(&thief, run);
        assert_eq!(thief.events_of(run, "run-ended").len(), 1);
    }
}

#[test]
fn runs_of_a_deliberately_stopped_daemon_are_not_stolen() {
    let (_dir, path) = registry();
    let thief = OwnedDaemon::start(OwnedDaemon::sharing(&path));
    let mut owner = OwnedDaemon::start(OwnedDaemon::sharing(&path));
    for round in 0..3 {
        let run = owner.install.start_in_background(&["--orphan-grace", "10s"], &["sleep", "600"]);
        let [keeper, _] = owner.keepers(&run);
        owner.stop();
        // Another daemon loses its runs meanwhile: the thief keeps watching.
        let mut other = OwnedDaemon::start(OwnedDaemon::sharing(&path));
        let control = other.install.start_in_background(&["--orphan", "terminate"], &["sleep", "600"]);
        other.kill();
        assert_eq!(thief.ending(&control)["reason"], "owner-lost");
        let shown = thief.install.show(&run);
        assert_eq!(
            (&shown["state"], &shown["leaseEpoch"]),
            (&"running".into(), &1.into()),
            "{round}: {shown}"
        );
        assert!(!keeper.is_dead());
        owner.restart();
        owner.install.cancel(&run);
        assert_eq!(owner.ending(&run)["reason"], "manual-cancel");
        keeper.wait_dead(WAIT_LIMIT);
    }
}

#[test]
fn a_daemon_that_steals_many_runs_keeps_its_own_heartbeat() {
    let (_dir, path) = registry();
    let thief = OwnedDaemon::start(OwnedDaemon::sharing(&path));
    let mut owner = OwnedDaemon::start(OwnedDaemon::sharing(&path));
    let runs: Vec<String> = (0..40)
        .map(|_| owner.install.start_in_background(&["--orphan", "keep"], &["sleep", "600"]))
        .collect();
    // Suspended keepers do not answer: each takes longer to give up than any lease lasts.
    let silent = [owner.keepers(&runs[0]), owner.keepers(&runs[1])];
    silent.iter().for_each(|[keeper, _]| keeper.stop());
    owner.kill();
    let own = thief.instance();
    eventually("every working receiver has accepted", || {
        let all: Vec<Value> = serde_json::from_slice(&thief.install.tenure(&["ps", "--json"]).stdout).ok()?;
        (all.iter().filter(|run| run["ownerInstanceId"] == own.as_str()).count() == 38).then_some(())
    });
    // The thief waits ten seconds for a keeper; it renews its leases all the while.
    let expires = || status(&thief)["leaseExpiresAtMs"].as_u64().expect("a time");
    let first = expires();
    eventually("a renewed lease", || (expires() > first + 1000).then_some(()));
    assert_eq!(status(&thief)["status"], "ok");
    silent.iter().for_each(|[keeper, _]| keeper.send(Signal::CONT));
    for run in &runs {
        taken_by(run, [&thief, &thief]);
    }
    let enrolled =
        |event: &Value| event["kind"] == "instance-enrolled" && event["instanceId"] == own.as_str();
    assert_eq!(thief.events().iter().filter(|event| enrolled(event)).count(), 1, "it kept its own leases");
    for run in &runs {
        eventually("a run held by its new owner", || {
            thief.install.tenure(&["cancel", run]).status.success().then_some(())
        });
        assert_eq!(thief.ending(run)["reason"], "manual-cancel");
        assert_stolen_once(&thief, run);
    }
}
