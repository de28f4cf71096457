//! Two installations whose runs look alike: neither ever touches the other's. One state root has one identity, which is
//! bound to this machine.

use rustix::process::Signal;
use std::os::unix::fs::PermissionsExt;
use tenure_it::bystander::Bystander;
use tenure_it::held_process::HeldProcess;
use tenure_it::install::Install;
use tenure_it::orphaned_run::OrphanedRun;
use tenure_it::owned_daemon::OwnedDaemon;
use tenure_it::proc;

const SCRIPT: &str = "echo ready; sh -c 'setsid sleep 600 & sleep 600' & wait; :";

/// All processes of a run, from its keeper down.
#[track_caller]
fn everybody(served: &OwnedDaemon, run: &str) -> Vec<HeldProcess> {
    let [keeper, _] = served.keepers(run);
    let below = proc::descendants(keeper.pid).into_iter().filter_map(HeldProcess::hold);
    [keeper].into_iter().chain(below).collect()
}

#[test]
fn two_installations_with_runs_that_look_alike_leave_each_other_alone() {
    for cgroup in [true, false] {
        let install = || if cgroup { Install::new() } else { Install::new().without_cgroup() };
        let bystander =
            Bystander::start(&["--pids", "pids", "child", "setsid", "ignore-term", "sleep"], "child");
        let theirs = OwnedDaemon::start(install());
        let mut ours = OwnedDaemon::start(install());
        let flags = ["--label", "same", "--session", "agent:main:same", "--scope", "same"];
        let alike = theirs.install.start_in_background(&flags, &["sh", "-c", SCRIPT]);
        theirs.install.wait_for_output(&alike, "ready");
        let their_processes = everybody(&theirs, &alike);
        // Keepers and nursery killed with the daemon, then the daemon alone, then the nursery alone.
        let orphaned = OrphanedRun::from_script(&mut ours, &flags, SCRIPT);
        ours.restart();
        assert_eq!(ours.ending(&orphaned.run)["reason"], "owner-lost");
        orphaned.wait_dead();
        let resumed = ours.install.start_in_background(&flags, &["sh", "-c", SCRIPT]);
        ours.kill();
        ours.restart();
        let [_, nursery] = ours.keepers(&resumed);
        nursery.send(Signal::KILL);
        assert_eq!(ours.install.tenure(&["cancel", &alike]).status.code(), Some(4), "it is unknown there");
        for words in
            [&["cancel", "--scope", "same"][..], &["cancel", "--session", "agent:main:same"], &["reap"]]
        {
            ours.install.tenure(words);
        }
        assert_eq!(ours.ending(&resumed)["reason"], "manual-cancel");
        ours.kill();
        for process in &their_processes {
            assert!(!process.is_dead() && !proc::is_stopped(process.pid), "{process:?} was touched");
        }
        let shown = theirs.install.show(&alike);
        assert_eq!((&shown["state"], &shown["leaseEpoch"]), (&"running".into(), &1.into()));
        theirs.install.cancel(&alike);
        bystander.assert_untouched();
    }
}

#[test]
fn the_instances_identity_is_private_and_permanent() {
    let mut served = OwnedDaemon::start(Install::new());
    let path = served.install.state().join("instance-id");
    let mode = std::fs::metadata(&path).expect("a file").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let first = served.instance();
    served.kill();
    served.restart();
    assert_eq!(served.instance(), first);
    let run = served.install.start_in_background(&[], &["true"]);
    assert_eq!(served.install.show(&run)["ownerInstanceId"], first.as_str());
}

fn health(served: &OwnedDaemon) -> String {
    let status = served.install.tenure(&["daemon", "status", "--json"]);
    let status: serde_json::Value = serde_json::from_slice(&status.stdout).expect("JSON");
    status["instanceId"].as_str().expect("an id").to_owned()
}

/// The file names another machine, as it does on a copy of the state root.
#[test]
fn a_copy_of_the_identity_on_another_machine_is_another_instance_for_good() {
    let mut served = OwnedDaemon::start(Install::new());
    let path = served.install.state().join("instance-id");
    let text = std::fs::read_to_string(&path).expect("a file");
    let Some((id, machine)) = text.trim_end().split_once('\n') else {
        eprintln!("cannot run here: this machine has no id");
        return;
    };
    assert_eq!(health(&served), id);
    served.kill();
    std::fs::write(&path, format!("{id}\n0123456789abcdef0123456789abcdef\n")).expect("written");
    served.restart();
    let copy = health(&served);
    assert_ne!(copy, id);
    served.kill();
    served.restart();
    assert_eq!(health(&served), copy, "the copy has one identity on this machine");
    served.kill();
    std::fs::write(&path, format!("{id}\n{machine}\n")).expect("written");
    served.restart();
    assert_eq!(health(&served), id, "on its own machine it keeps its identity");
    served.kill();
    // The file of an older Tenure names no machine.
    std::fs::write(&path, format!("{id}\n")).expect("written");
    served.restart();
    assert_eq!(health(&served), id);
}

/// A process recorded on another machine can be neither seen nor ruled out from here.
#[test]
fn a_run_recorded_on_another_machine_is_left_alone() {
    let mut served = OwnedDaemon::start(Install::new());
    let run = OrphanedRun::from_script(&mut served, &[], "echo ready; exec sleep 600");
    tenure_it::orphaned_run::rewrite_note(&served, &run.run, |note| {
        note.root.place.machine_id = Some("0123456789abcdef0123456789abcdef".to_owned());
    });
    served.restart();
    served.assert_judged(&run.run, &["retry-later"]);
    let told = served.events_of(&run.run, "reconciled").remove(0);
    assert!(told["detail"]["evidence"].as_str().expect("why").contains("another machine"), "{told}");
    assert_eq!((run.living(), &served.install.show(&run.run)["state"]), (1, &"running".into()));
}
