//! The eight cases of the process lifecycle simulator, with real processes: the outcome of a recorded run without a
//! keeper when its daemon returns.

use rustix::process::Signal;
use tenure_core::journal::JournalEvent;
use tenure_core::signal;
use tenure_it::api::Api;
use tenure_it::bystander::Bystander;
use tenure_it::held_process::HeldProcess;
use tenure_it::install::Install;
use tenure_it::orphaned_run::{OUTLIVING, OrphanedRun, rewrite_note};
use tenure_it::owned_daemon::OwnedDaemon;
use tenure_it::registry_file::metric;
use tenure_it::{WAIT_LIMIT, eventually, namespace, proc};

fn bystander() -> Bystander {
    Bystander::start(&["--pids", "pids", "child", "setsid", "ignore-term", "sleep"], "child")
}

fn served(cgroup: bool) -> OwnedDaemon {
    OwnedDaemon::start(if cgroup { Install::new() } else { Install::new().without_cgroup() })
}

#[test]
fn a_pid_reused_by_an_unrelated_process_is_not_signalled() {
    namespace::play(600, &["reconcile-reuse"]);
}

#[test]
fn a_pid_reused_by_another_gateways_root_is_not_signalled() {
    let mut ours = served(false);
    let theirs = served(false);
    let command = ["sh", "-c", "echo ready; exec sleep 600"];
    let other = theirs.install.start_in_background(&["--label", "alike"], &command);
    let root = theirs.install.show(&other)["pid"].as_i64().expect("a pid");
    let mine = OrphanedRun::from_command(&mut ours, &["--label", "alike"], &command);
    mine.wait_dead();
    rewrite_note(&ours, &mine.run, |note| note.root.pid = i32::try_from(root).expect("a pid"));
    ours.restart();
    let ending = ours.ending(&mine.run);
    assert_eq!(ending["reason"], "reconciled-stale");
    assert_eq!(ending["detail"], "its root is gone and its pid is another's");
    ours.assert_judged(&mine.run, &["close-as-lost"]);
    assert_eq!(theirs.install.show(&other)["state"], "running");
    theirs.install.cancel(&other);
    assert_eq!(ours.install.wait(&mine.run), 121);
}

#[test]
fn a_command_that_changed_its_command_line_is_still_recognized() {
    for cgroup in [true, false] {
        let bystander = bystander();
        let mut served = served(cgroup);
        let run = OrphanedRun::from_script(&mut served, &[], "echo 'it'\\''s \"ready\"'; exec sleep 600");
        assert_eq!(run.living(), 1);
        served.restart();
        assert_eq!(served.ending(&run.run)["reason"], "owner-lost");
        run.wait_dead();
        served.assert_judged(&run.run, &["end-tree"]);
        bystander.assert_untouched();
    }
}

#[test]
fn a_grandchild_that_outlived_its_parent_and_its_keeper_is_ended() {
    for cgroup in [true, false] {
        let bystander = bystander();
        let mut served = served(cgroup);
        // The root dies with its keeper; its children do not.
        let run = OrphanedRun::from_command(
            &mut served,
            &[],
            &["sh", "-c", "(sleep 600 & exec sleep 600) & echo ready; wait"],
        );
        eventually("the root is gone", || run.members[0].is_dead().then_some(()));
        assert!(run.living() >= 1);
        served.restart();
        let ending = served.ending(&run.run);
        assert_eq!(
            (&ending["reason"], &ending["exitCode"]),
            (&"reconciled-stale".into(), &serde_json::Value::Null)
        );
        assert_eq!(ending["detail"], "its root is gone", "{ending}");
        // A process with a cleared environment might be alive unseen without a cgroup.
        assert_eq!(ending["confirmed"], cgroup, "{ending}");
        run.wait_dead();
        bystander.assert_untouched();
    }
}

#[test]
fn a_process_that_ignores_sigterm_is_killed_after_the_grace() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("registry.db");
    let thief = OwnedDaemon::start(OwnedDaemon::sharing(&path));
    let mut owner = OwnedDaemon::start(OwnedDaemon::sharing(&path));
    let script = "trap '' TERM; echo ready; while :; do sleep 1; done";
    let flags = ["--orphan", "terminate", "--grace", "100ms"];
    let run = owner.install.start_in_background(&flags, &["sh", "-c", script]);
    owner.install.wait_for_output(&run, "ready");
    owner.kill();
    let ending = thief.ending(&run);
    assert_eq!((&ending["reason"], &ending["confirmed"]), (&"owner-lost".into(), &true.into()), "{ending}");
    assert_eq!(ending["signal"], 9, "{ending}");
    let journal = owner.dir(&run).journal().expect("a journal");
    let sent = |wanted: signal::Signal| {
        journal
            .iter()
            .filter(
                |entry| matches!(&entry.what, JournalEvent::Signalled { signal, .. } if *signal == wanted),
            )
            .count()
    };
    assert!(sent(signal::Signal::TERM) > 0 && sent(signal::Signal::KILL) > 0, "{journal:?}");
    thief.assert_judged(&run, &["end-by-policy"]);
}

/// A mount hides the root's `/proc` directory.
#[test]
#[expect(clippy::disallowed_methods, reason = "a daemon that may not see a process is started by unshare")]
fn an_unreadable_process_table_is_reported_and_nothing_is_touched() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("cannot run here: only root can hide a process");
        return;
    }
    let mut served = served(false);
    let run = OrphanedRun::from_script(&mut served, &[], "echo ready; exec sleep 600");
    let hide = format!("mount -t tmpfs none /proc/{} && exec \"$@\"", run.members[0].pid);
    let tenure = served.install.command(&["daemon", "run"]);
    let mut command = std::process::Command::new("unshare");
    command.args(["--mount", "sh", "-c", &hide, "sh"]).arg(tenure.get_program()).args(tenure.get_args());
    command.envs(tenure.get_envs().filter_map(|(name, value)| Some((name, value?))));
    served.restart_by(command);
    eventually("a verdict", || (!served.verdicts(&run.run).is_empty()).then_some(()));
    let before = (served.install.show(&run.run), served.events().len());
    let plan = served.install.tenure(&["reap", "--dry-run", "--json"]);
    let plan: serde_json::Value = serde_json::from_slice(&plan.stdout).expect("a plan");
    assert_eq!(plan[0]["verdict"], "retry-later", "{plan}");
    assert!(plan[0]["evidence"].as_str().expect("why").contains("is hidden from this user"), "{plan}");
    let done = served.install.tenure(&["reap", "--run", &run.run, "--json"]);
    let done: serde_json::Value = serde_json::from_slice(&done.stdout).expect("a report");
    assert_eq!(done[0]["verdict"], "retry-later", "{done}");
    assert_eq!(
        (served.install.show(&run.run), served.events().len()),
        before,
        "nothing was changed or reported again"
    );
    assert_eq!(run.living(), 1);
    assert_eq!(served.install.tenure(&["reap", "--run", "ffffffff"]).status.code(), Some(4));
    served.kill();
    served.restart();
    assert_eq!(served.ending(&run.run)["reason"], "owner-lost");
    run.wait_dead();
    served.assert_judged(&run.run, &["retry-later", "end-tree"]);
}

#[test]
fn a_stale_lease_on_a_dead_process_is_stolen_and_closed() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("registry.db");
    let thief = OwnedDaemon::start(OwnedDaemon::sharing(&path));
    let mut owner = OwnedDaemon::start(OwnedDaemon::sharing(&path));
    let run = OrphanedRun::from_command(&mut owner, &[], &["sh", "-c", "echo ready; exec sleep 600"]);
    run.wait_dead();
    let ending = thief.ending(&run.run);
    assert_eq!(
        (&ending["reason"], &ending["detail"]),
        (&"reconciled-stale".into(), &"its root is gone".into())
    );
    let shown = thief.install.show(&run.run);
    assert_eq!((&shown["leaseEpoch"], &shown["leaseState"]), (&2.into(), &"lost".into()), "{shown}");
    thief.assert_judged(&run.run, &["close-as-lost"]);
    assert_eq!(thief.events_of(&run.run, "lease-stolen").len(), 1);
    owner.restart();
    assert_eq!(owner.events_of(&run.run, "run-ended").len(), 1);
}

#[test]
fn a_startup_orphan_of_a_wrapper_a_child_and_a_grandchild_is_ended_whole() {
    for cgroup in [true, false] {
        let bystander = bystander();
        let mut served = served(cgroup);
        let script = "sh -c 'setsid sh -c \"sleep 600 & echo ready; wait\" & wait' & wait; :";
        let run = OrphanedRun::from_script(&mut served, &[], script);
        assert!(run.living() >= 4, "a wrapper, a child, a grandchild and its own: {}", run.living());
        served.restart();
        let ending = served.ending(&run.run);
        assert_eq!(
            (&ending["reason"], &ending["confirmed"]),
            (&"owner-lost".into(), &cgroup.into()),
            "{ending}"
        );
        assert_eq!(ending["detail"], "its keeper and nursery were gone, so its processes were ended");
        assert!(ending["leftovers"].as_u64().expect("a count") >= 3, "{ending}");
        let named = ending["leftoverProcesses"].as_array().expect("names");
        assert_eq!(named.len() as u64, ending["leftovers"].as_u64().expect("a count"), "{ending}");
        assert!(named.iter().all(|one| one["pid"].is_number() && one["exe"].is_string()), "{ending}");
        let told = served.events_of(&run.run, "run-escaped");
        assert_eq!(told.len(), named.len(), "{told:?}");
        assert!(!served.events_of(&run.run, "run-signalled").is_empty());
        run.wait_dead();
        served.assert_judged(&run.run, &["end-tree"]);
        assert_eq!(served.events_of(&run.run, "run-ended").len(), 1);
        bystander.assert_untouched();
    }
}

#[test]
fn a_kill_for_a_dead_keeper_and_nursery_is_reported_with_proof_and_counted() {
    for wanted in [true, false] {
        let served = served(wanted);
        let script = "setsid sleep 600 & echo ready; exec sleep 600";
        let run = served.install.start_in_background(&[], &[&OUTLIVING[..], &["sh", "-c", script]].concat());
        served.install.wait_for_output(&run, "ready");
        // A boundary without a cgroup where none is available.
        let cgroup = served.install.show(&run)["boundary"]["kind"] == "cgroup";
        let keepers = served.keepers(&run);
        let members: Vec<HeldProcess> =
            proc::descendants(keepers[0].pid).into_iter().filter_map(HeldProcess::hold).collect();
        keepers.iter().for_each(HeldProcess::stop);
        keepers.iter().for_each(|one| one.send(Signal::KILL));
        let ending = served.ending(&run);
        assert_eq!(ending["reason"], "owner-lost", "{ending}");
        members.iter().for_each(|one| one.wait_dead(WAIT_LIMIT));
        let api = Api::of(&served.install);
        let story = api.get(&format!("/v1/runs/{run}/why")).is(200).json();
        let lines = |what: &str| -> Vec<String> {
            let lines = story.as_array().expect("lines").iter().filter(|line| line["what"] == what);
            lines.map(|line| line["text"].as_str().expect("a text").to_owned()).collect()
        };
        let exiting = lines("exiting");
        assert!(exiting.len() == 1 && exiting[0].contains("owner-lost"), "{story:#}");
        let signalled = lines("signalled");
        assert!(signalled.iter().all(|line| line.contains("SIGKILL to ") && line.contains("because")));
        if cgroup {
            assert!(signalled.iter().any(|line| line.contains("made for the run")), "{story:#}");
        } else {
            for member in &members {
                let whom = format!("pid {} (started", member.pid);
                assert_eq!(signalled.iter().filter(|line| line.contains(&whom)).count(), 1, "{story:#}");
            }
        }
        let metrics = api.get("/metrics").is(200).text();
        let kills =
            |mode: &str| metric(&metrics, &format!("tenure_run_cleanup_kill_total{{mode=\"{mode}\"}}"));
        assert!(
            if cgroup { kills("cgroup") >= 1 } else { kills("pid") == members.len() as u64 },
            "{metrics}"
        );
    }
}

/// Only the foreground caller is left, to which its processes do not return.
#[test]
fn a_caller_without_daemon_keeper_and_nursery_closes_its_run_and_the_next_daemon_records_how() {
    for wanted in [true, false] {
        let mut served = served(wanted);
        let script = "setsid sleep 600 & echo ready; exec sleep 600";
        let words = [&["run", "--quiet", "--"], &OUTLIVING[..], &["sh", "-c", script]].concat();
        let mut caller = served.install.start(&words);
        caller.wait_for("ready");
        let run = served.install.only_run();
        let keepers = served.keepers(&run);
        let members: Vec<HeldProcess> =
            proc::descendants(keepers[0].pid).into_iter().filter_map(HeldProcess::hold).collect();
        let daemon = served.process();
        let victims = [&daemon].into_iter().chain(&keepers);
        victims.clone().for_each(HeldProcess::stop);
        victims.for_each(|one| one.send(Signal::KILL));
        assert_eq!(caller.code(), 123, "{}", caller.err());
        members.iter().for_each(|one| one.wait_dead(WAIT_LIMIT));
        let ending = served.dir(&run).ending().expect("a record").expect("an ending");
        assert_eq!(ending.termination.detail.as_deref(), Some("keeper-killed"));
        assert!(!ending.kills.is_none(), "{ending:?}");
        served.wait_exit();
        served.restart();
        assert_eq!(served.ending(&run)["reason"], "owner-lost");
        served.assert_judged(&run, &["take-ending"]);
        let journal = served.dir(&run).journal().expect("a journal");
        let told = |is: fn(&JournalEvent) -> bool| journal.iter().filter(|entry| is(&entry.what)).count();
        assert_eq!(told(|what| matches!(what, JournalEvent::Exiting { .. })), 1, "{journal:?}");
        assert!(told(|what| matches!(what, JournalEvent::Signalled { .. })) > 0, "{journal:?}");
        let metrics = Api::of(&served.install).get("/metrics").is(200).text();
        let kills =
            |mode: &str| metric(&metrics, &format!("tenure_run_cleanup_kill_total{{mode=\"{mode}\"}}"));
        assert_eq!(kills("pid") + kills("cgroup"), u64::from(ending.kills.pid + ending.kills.cgroup));
    }
}
