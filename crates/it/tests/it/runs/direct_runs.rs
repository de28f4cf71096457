//! Runs that were started without a daemon, and allowed escapes: the next daemon registers them, once.

use serde_json::Value;
use tenure_it::api::Api;
use tenure_it::install::Install;
use tenure_it::owned_daemon::OwnedDaemon;
use tenure_it::{WAIT_LIMIT, eventually, tasks};

#[track_caller]
fn listed(served: &OwnedDaemon) -> Vec<Value> {
    let output = served.install.tenure(&["ps", "--all", "--json"]);
    serde_json::from_slice(&output.stdout).expect("a list")
}

fn marks(served: &OwnedDaemon) -> usize {
    std::fs::read_dir(served.install.state().join("unregistered")).map_or(0, Iterator::count)
}

#[test]
fn the_next_daemon_takes_over_a_background_run_started_without_a_daemon() {
    let install = Install::new();
    let lives = install.start_in_background(&["--label", "lives"], &["sleep", "600"]);
    let ended = install.start_in_background(&[], &["sh", "-c", "exit 7"]);
    assert_eq!(install.wait(&ended), 7);
    let mut served = OwnedDaemon::start(install);
    served.assert_judged(&lives, &["resume"]);
    served.assert_judged(&ended, &["take-ending"]);
    let shown = served.install.show(&lives);
    assert_eq!((&shown["state"], &shown["ownerInstanceId"]), (&"running".into(), &served.instance().into()));
    assert_eq!(listed(&served).len(), 2);
    assert_eq!(served.ending(&ended)["exitCode"], 7);
    eventually("no marks are left", || (marks(&served) == 0).then_some(()));
    served.kill();
    served.restart();
    served.install.cancel(&lives);
    assert_eq!(served.ending(&lives)["reason"], "manual-cancel");
    for run in [&lives, &ended] {
        for kind in ["run-created", "run-ended"] {
            assert_eq!(served.events_of(run, kind).len(), 1, "{kind}");
        }
    }
}

#[test]
fn the_next_daemon_records_signals_and_escapes_of_a_run_that_ended_without_one() {
    let install = Install::new();
    let actor = install.actor();
    let ended = install.start_in_background(&["--on-escape", "reap"], &[&actor, "leave", "setsid", "sleep"]);
    assert_eq!(install.wait(&ended), 0);
    let mut served = OwnedDaemon::start(install);
    served.assert_judged(&ended, &["take-ending"]);
    let mut escaped = served.events_of(&ended, "run-escaped");
    // The actor's own middle process may still be there as a leftover.
    escaped.retain(|event| event["detail"]["which"] == "escapee");
    assert_eq!((escaped.len(), &escaped[0]["detail"]["exe"]), (1, &actor.as_str().into()), "{escaped:?}");
    let signalled = served.events_of(&ended, "run-signalled");
    let hit = |event: &Value| event["detail"]["target"]["pid"] == escaped[0]["detail"]["pid"];
    assert!(signalled.iter().any(hit), "{signalled:?}");
    assert!(signalled.iter().all(|event| event["detail"]["proof"].is_string()), "{signalled:?}");
    served.kill();
    served.restart();
    assert_eq!(served.events_of(&ended, "run-signalled"), signalled, "each is reported once");
}

#[test]
fn the_next_daemon_lists_and_can_cancel_a_foreground_run_started_without_one() {
    let install = Install::new();
    let mut caller = install.start(&["run", "--", "sh", "-c", "echo ready; exec sleep 600"]);
    caller.wait_for("ready");
    let run = install.only_run();
    let served = OwnedDaemon::start(install);
    assert_eq!(served.install.show(&run)["state"], "running");
    served.install.ask_to_cancel(&[&run]);
    assert_eq!(caller.code(), 123);
    assert_eq!(served.ending(&run)["reason"], "manual-cancel");
    assert_eq!(served.events_of(&run, "run-ended").len(), 1);
}

#[test]
fn a_foreground_run_ends_with_its_caller_even_if_a_daemon_registered_it() {
    let install = Install::new();
    let mut caller = install.start(&["run", "--", "sh", "-c", "echo ready; exec sleep 600"]);
    caller.wait_for("ready");
    let run = install.only_run();
    let served = OwnedDaemon::start(install);
    tenure_it::proc::kill(caller.pid());
    caller.code();
    assert_eq!(served.ending(&run)["reason"], "owner-lost");
}

/// A caller that marks its run at the very moment at which a daemon starts.
#[test]
fn a_registration_mark_without_a_run_stays_until_the_run_appears() {
    let install = Install::new();
    let run = install.start_in_background(&[], &["sleep", "600"]);
    let path = install.state().join("runs").join(&run);
    let aside = install.dir().join("aside");
    std::fs::rename(&path, &aside).expect("moved");
    let install = install.with_env("TENURE_LEASE_TTL", "600ms").with_env("TENURE_HEARTBEAT", "200ms");
    let served = OwnedDaemon::start(install);
    assert_eq!((listed(&served).len(), marks(&served)), (0, 1));
    std::fs::rename(&aside, &path).expect("moved back");
    eventually("the run is listed", || (listed(&served).len() == 1).then_some(()));
    eventually("no mark is left", || (marks(&served) == 0).then_some(()));
    served.install.cancel(&run);
    assert_eq!(served.ending(&run)["reason"], "manual-cancel");
}

#[test]
fn a_run_started_past_a_live_daemon_is_soon_registered() {
    let install = Install::new().with_env("TENURE_LEASE_TTL", "600ms").with_env("TENURE_HEARTBEAT", "200ms");
    let mut served = OwnedDaemon::start(install);
    served.kill();
    let run = served.install.start_in_background(&[], &["sleep", "600"]);
    let mark = served.install.state().join("unregistered").join(&run);
    std::fs::remove_file(&mark).expect("a mark");
    let (path, aside) = (served.run_path(&run), served.install.dir().join("aside"));
    std::fs::rename(&path, &aside).expect("moved");
    served.restart();
    assert!(listed(&served).is_empty());
    std::fs::rename(&aside, &path).expect("moved back");
    std::fs::write(&mark, "").expect("a mark");
    eventually("the run is listed", || (listed(&served).len() == 1).then_some(()));
    served.install.cancel(&run);
}

/// Leaves a daemonised process, which is ready by then.
const DAEMON: [&str; 3] =
    ["sh", "-c", "setsid sh -c ': > up; exec sleep 600' & until [ -e up ]; do sleep 0.02; done"];

/// The run that took over an escape of this one.
#[track_caller]
fn heir(served: &OwnedDaemon, of: &str) -> String {
    eventually("an heir", || {
        let told = served.events().into_iter().filter(|event| event["kind"] == "run-created");
        let asked = |event: &Value| event.to_string().contains(&format!("run {of}, out of which it escaped"));
        Some(told.into_iter().find(asked)?["runId"].as_str().expect("an id").to_owned())
    })
}

#[test]
fn an_allowed_escape_becomes_a_registered_run() {
    let served = OwnedDaemon::start(Install::new());
    let run = served.install.start_in_background(&["--on-escape", "allow"], &DAEMON);
    assert_eq!(served.ending(&run)["reason"], "exit");
    let heir = heir(&served, &run);
    assert_eq!(served.install.show(&heir)["state"], "running");
    eventually("no mark is left", || (marks(&served) == 0).then_some(()));
    served.install.cancel(&heir);
    assert_eq!(served.ending(&heir)["reason"], "manual-cancel");
    assert_eq!(served.events_of(&heir, "run-ended").len(), 1);
}

/// With its own command line, and the policy and owner of the run that it came from.
#[test]
fn an_allowed_escape_has_a_task_and_its_end_is_notified() {
    let served = OwnedDaemon::start(Install::new());
    let daemon = "setsid sh -c ': > first; sleep 1; exit 3' 'two words' --password=hunter2 & until [ -e first ]; do sleep 0.02; done";
    let flags = ["--on-escape", "allow", "--session", "agent:a:main", "--notify", "state_changes"];
    let run = served.install.start_in_background(&flags, &["sh", "-c", daemon]);
    let heir = heir(&served, &run);
    let words = serde_json::json!(["sh", "-c", ": > first; sleep 1; exit 3", "two words", "--password=***"]);
    let shown = served.install.show(&heir);
    assert_eq!(shown["command"], words);
    assert_ne!(shown["commandHash"], served.install.show(&run)["commandHash"]);
    let api = Api::of(&served.install);
    let told = tasks::wait_field(&api, &heir, "deliveryStatus", "session_queued");
    assert_eq!(
        (&told["status"], &told["notifyPolicy"]),
        (&"failed".into(), &"state_changes".into()),
        "{told}"
    );
    assert_eq!((&told["ownerSessionKey"], &told["kind"]), (&"agent:a:main".into(), &"run".into()), "{told}");
    // An heir of a foreground run has one, too.
    let mut caller =
        served.install.start(&["run", "--on-escape", "allow", "--", DAEMON[0], DAEMON[1], DAEMON[2]]);
    assert_eq!(caller.code(), 0, "{}", caller.err());
    let other = eventually("a second heir", || {
        let of_heirs = |task: &Value| task["status"] == "running";
        Some(tasks::all(&api).into_iter().find(of_heirs)?["runId"].as_str().expect("a run").to_owned())
    });
    served.install.cancel(&other);
    assert_eq!(tasks::wait_status(&api, &other, "cancelled")["notifyPolicy"], "done_only");
}

#[test]
fn an_heir_whose_daemon_died_before_it_was_registered_is_found_by_the_next() {
    for point in ["daemon-before-ending", "daemon-after-ending"] {
        let mut served = OwnedDaemon::start(Install::new());
        served.kill();
        served.restart_with(&[("TENURE_PAUSE", point)]);
        let run = served.install.start_in_background(&["--on-escape", "allow"], &DAEMON);
        let daemon = served.process();
        eventually("a stopped daemon", || tenure_it::proc::is_stopped(daemon.pid).then_some(()));
        served.kill();
        served.restart();
        assert_eq!(served.ending(&run)["reason"], "exit");
        let heir = heir(&served, &run);
        served.install.cancel(&heir);
        assert_eq!(served.ending(&heir)["reason"], "manual-cancel");
        for kind in ["run-created", "task-created", "task-ended"] {
            assert_eq!(served.events_of(&heir, kind).len(), 1, "{kind}");
        }
    }
}

#[test]
fn the_heir_of_a_stolen_run_is_taken_over_too() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("registry.db");
    let thief = OwnedDaemon::start(OwnedDaemon::sharing(&path));
    let mut owner = OwnedDaemon::start(OwnedDaemon::sharing(&path));
    let script = format!("{}; echo ready; read line", DAEMON[2]);
    let flags = ["--on-escape", "allow", "--orphan", "keep", "--stdin", "open"];
    let run = owner.install.start_in_background(&flags, &["sh", "-c", &script]);
    owner.install.wait_for_output(&run, "ready");
    let [keeper, _] = owner.keepers(&run);
    owner.kill();
    eventually("a thief", || (thief.install.show(&run)["leaseEpoch"] == 2).then_some(()));
    assert!(thief.install.tenure(&["write", &run, "go\n"]).status.success());
    assert_eq!(thief.ending(&run)["reason"], "exit");
    let heir = heir(&thief, &run);
    eventually("the heir is the thief's", || {
        (thief.install.show(&heir)["ownerInstanceId"] == thief.instance().as_str()).then_some(())
    });
    eventually("it can be cancelled", || {
        thief.install.tenure(&["cancel", &heir]).status.success().then_some(())
    });
    assert_eq!(thief.ending(&heir)["reason"], "manual-cancel");
    keeper.wait_dead(WAIT_LIMIT);
}
