//! OS matrix, lease-contention: two daemons compete for the runs of a third. Each run has one owner, one stop, one ending.

use std::path::Path;
use tenure_it::eventually;
use tenure_it::matrix::held_process::HeldProcess;
use tenure_it::matrix::install::MatrixInstall;

/// An installation that shares this registry, with leases that expire soon.
#[track_caller]
fn sharing(registry: &Path) -> MatrixInstall {
    let fixture = MatrixInstall::with_env(&[
        ("TENURE_REGISTRY", &format!("sqlite:{}", registry.display())),
        ("TENURE_LEASE_TTL", "6s"),
        ("TENURE_HEARTBEAT", "600ms"),
    ]);
    fixture.start_daemon();
    fixture
}

#[track_caller]
fn instance(fixture: &MatrixInstall) -> String {
    let status = fixture.output_of(&["daemon", "status", "--json"]);
    let status: serde_json::Value = serde_json::from_str(&status).expect("JSON");
    status["instanceId"].as_str().expect("an id").to_owned()
}

#[track_caller]
fn assert_stolen_once(any: &MatrixInstall, run: &str) {
    let shown = any.show(run);
    assert_eq!(shown["leaseEpoch"], 2, "{shown}");
    assert_eq!(any.events_of(run, "lease-stolen").len(), 1, "{run}");
    assert_eq!(any.events_of(run, "run-ended").len(), 1, "{run}");
}

#[test]
fn two_daemons_competing_for_runs_give_each_one_owner_one_stop_and_one_ending() {
    let dir = tempfile::tempdir().expect("a directory");
    let registry = dir.path().join("registry.db");
    let thieves = [(), ()].map(|()| sharing(&registry));
    let victim = sharing(&registry);
    let healthy = thieves[0].play(&["--orphan", "terminate"], &["hold"]);
    let [untouched] = <[HeldProcess; 1]>::try_from(thieves[0].book().wait_for(&healthy, 1)).expect("one");
    let ended: Vec<String> =
        (0..3).map(|_| victim.play_tree(&["--orphan", "terminate", "--grace", "100ms"])).collect();
    let kept = victim.play_tree(&["--orphan", "keep", "--grace", "100ms"]);
    victim.kill_daemon();
    for run in &ended {
        let ending = eventually("the ending of a stolen run", || {
            let shown = thieves[1].show(run);
            (shown["state"] == "exited").then(|| shown["termination"].clone())
        });
        assert_eq!(
            (&ending["reason"], &ending["confirmed"]),
            (&"owner-lost".into(), &true.into()),
            "{ending}"
        );
        victim.book().wait_nobody_of(run);
        assert_stolen_once(&thieves[0], run);
        assert_eq!(thieves[0].events_of(run, "run-leaving").len(), 1, "one stop");
    }
    let owner = eventually("a new owner", || {
        let shown = thieves[0].show(&kept);
        (shown["leaseEpoch"] == 2).then(|| shown["ownerInstanceId"].as_str().expect("an owner").to_owned())
    });
    let owner = thieves.iter().find(|thief| instance(thief) == owner).expect("one of the two");
    eventually("a live run held by its new owner", || {
        (owner.tenure(&["cancel", &kept]).code == Some(0)).then_some(())
    });
    assert_eq!(owner.wait(&kept), Some(123));
    victim.book().wait_nobody_of(&kept);
    assert_stolen_once(owner, &kept);
    let shown = thieves[1].show(&healthy);
    assert_eq!((&shown["state"], &shown["leaseEpoch"]), (&"running".into(), &1.into()), "{shown}");
    assert!(!untouched.is_dead());
    thieves[0].output_of(&["cancel", "--now", &healthy]);
    assert_eq!(thieves[0].wait(&healthy), Some(123));
    thieves[0].audit();
    thieves.into_iter().for_each(MatrixInstall::leave);
}
