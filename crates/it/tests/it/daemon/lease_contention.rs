//! Several daemons share one registry: who holds a run, who may take it, and that only one does (I5).

use rustix::process::Signal;
use serde_json::Value;
use tenure_core::journal::What;
use tenure_it::bystander::Bystander;
use tenure_it::served::Served;
use tenure_it::{PATIENCE, eventually};

/// A place for a registry that no daemon owns.
fn registry() -> (tempfile::TempDir, std::path::PathBuf) {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("registry.db");
    (dir, path)
}

/// How a daemon says that it is.
#[track_caller]
fn status(served: &Served) -> Value {
    let status = served.install.tenure(&["daemon", "status", "--json"]);
    serde_json::from_slice(&status.stdout).expect("JSON")
}

/// What the keeper of a run noted that it did.
fn journal(owner: &Served, run: &str, is: impl Fn(&What) -> bool) -> usize {
    owner.dir(run).journal().expect("a journal").iter().filter(|entry| is(&entry.what)).count()
}

/// Who of them holds a run by now; not its first owner.
#[track_caller]
fn taken_by<'a>(run: &str, thieves: [&'a Served; 2]) -> &'a Served {
    let owner = eventually("a new owner", || {
        let shown = thieves[0].install.show(run);
        (shown["leaseEpoch"] == 2).then(|| shown["ownerInstanceId"].as_str().expect("an owner").to_owned())
    });
    thieves.into_iter().find(|thief| thief.instance() == owner).expect("one of the two")
}

#[track_caller]
fn assert_stolen_once(any: &Served, run: &str) {
    let shown = any.install.show(run);
    assert_eq!(shown["leaseEpoch"], 2, "{shown}");
    assert_eq!(any.told(run, "lease-stolen").len(), 1, "{run}");
}

#[test]
fn of_two_who_compete_for_the_runs_of_a_third_each_run_has_one_owner_one_stop_and_one_ending() {
    let (_dir, path) = registry();
    let thieves = [(), ()].map(|()| Served::start(Served::sharing(&path)));
    let mut victim = Served::start(Served::sharing(&path));
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
            assert_eq!(thieves[0].told(run, "run-ended").len(), 1);
            assert_eq!(journal(&victim, run, |what| matches!(what, What::Exiting { .. })), 1, "one stop");
            assert_eq!(journal(&victim, run, |what| matches!(what, What::HolderBack { .. })), 1, "one thief");
        }
        let owner = taken_by(&kept, [&thieves[0], &thieves[1]]);
        *winners.entry(owner.instance()).or_default() += 1;
        eventually("a kept run in its new owner's hands", || {
            owner.install.tenure(&["cancel", &kept]).status.success().then_some(())
        });
        assert_eq!(owner.install.wait(&kept), 123);
        assert_stolen_once(owner, &kept);
        assert_eq!(owner.told(&kept, "run-ended").len(), 1);
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
fn a_run_that_is_to_be_kept_goes_on_with_its_thief_who_serves_all_of_it() {
    let (_dir, path) = registry();
    let thief = Served::start(Served::sharing(&path));
    let mut owner = Served::start(Served::sharing(&path));
    let run = owner.install.start_in_background(&["--orphan", "keep", "--stdin", "open"], &["cat"]);
    assert!(owner.install.tenure(&["write", &run, "before\n"]).status.success());
    owner.install.wait_for_output(&run, "before");
    owner.kill();
    taken_by(&run, [&thief, &thief]);
    let mut waiting = thief.install.start(&["wait", &run]);
    eventually("input that is taken", || {
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
    assert_eq!(owner.told(&run, "run-ended").len(), 1, "the first owner has nothing to add");
}

#[test]
fn an_owner_that_stood_still_past_its_ttl_learns_that_it_lost_its_leases_and_serves_on() {
    let (_dir, path) = registry();
    let thief = Served::start(Served::sharing(&path));
    let owner = Served::start(Served::sharing(&path));
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
    eventually("an owner that enrols anew", || {
        (thief.events().iter().filter(|event| enrolled(event)).count() == 2).then_some(())
    });
    // It holds nothing of what it lost, and what it is asked to start it starts.
    eventually("an owner that lets go", || {
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
        assert_eq!(thief.told(run, "run-ended").len(), 1);
    }
}

#[test]
fn nobody_steals_from_a_daemon_that_was_stopped_on_purpose() {
    let (_dir, path) = registry();
    let thief = Served::start(Served::sharing(&path));
    let mut owner = Served::start(Served::sharing(&path));
    for round in 0..3 {
        let run = owner.install.start_in_background(&["--orphan-grace", "10s"], &["sleep", "600"]);
        let [keeper, _] = owner.keepers(&run);
        owner.stop();
        // Others lose theirs meanwhile: the thief's eyes are open.
        let mut other = Served::start(Served::sharing(&path));
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
        keeper.wait_dead(PATIENCE);
    }
}

#[test]
fn a_thief_with_many_runs_to_take_keeps_its_own_heart_beating() {
    let (_dir, path) = registry();
    let thief = Served::start(Served::sharing(&path));
    let mut owner = Served::start(Served::sharing(&path));
    let runs: Vec<String> = (0..40)
        .map(|_| owner.install.start_in_background(&["--orphan", "keep"], &["sleep", "600"]))
        .collect();
    // Keepers that stand still answer nobody: each takes longer to give up than any lease lasts.
    let silent = [owner.keepers(&runs[0]), owner.keepers(&runs[1])];
    silent.iter().for_each(|[keeper, _]| keeper.stop());
    owner.kill();
    let own = thief.instance();
    eventually("everything that answers is taken", || {
        let all: Vec<Value> = serde_json::from_slice(&thief.install.tenure(&["ps", "--json"]).stdout).ok()?;
        (all.iter().filter(|run| run["ownerInstanceId"] == own.as_str()).count() == 38).then_some(())
    });
    // A keeper is waited for ten seconds; the leases are renewed all the while.
    let expires = || status(&thief)["leaseExpiresAtMs"].as_u64().expect("a time");
    let first = expires();
    eventually("a heart that beats", || (expires() > first + 1000).then_some(()));
    assert_eq!(status(&thief)["status"], "ok");
    silent.iter().for_each(|[keeper, _]| keeper.send(Signal::CONT));
    for run in &runs {
        taken_by(run, [&thief, &thief]);
    }
    let enrolled =
        |event: &Value| event["kind"] == "instance-enrolled" && event["instanceId"] == own.as_str();
    assert_eq!(thief.events().iter().filter(|event| enrolled(event)).count(), 1, "it never lost its seat");
    for run in &runs {
        eventually("a run in its new owner's hands", || {
            thief.install.tenure(&["cancel", run]).status.success().then_some(())
        });
        assert_eq!(thief.ending(run)["reason"], "manual-cancel");
        assert_stolen_once(&thief, run);
    }
}
