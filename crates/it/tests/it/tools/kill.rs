//! `process kill` and `remove`: the run has ended when they return, even if its starter or keeper has died.

use rustix::process::Signal;
use serde_json::json;
use tenure_it::agent::{Agent, daemon, short_grace_install, start_agent};
use tenure_it::api::text;
use tenure_it::held_process::HeldProcess;
use tenure_it::install::Install;
use tenure_it::orphaned_run::{OUTLIVING, OrphanedRun};
use tenure_it::owned_daemon::OwnedDaemon;
use tenure_it::{WAIT_LIMIT, eventually, proc};

/// All processes below a run's keeper.
#[track_caller]
fn members(install: &Install, run: &str) -> Vec<HeldProcess> {
    let keeper = i32::try_from(install.show(run)["keeperPid"].as_i64().expect("a keeper")).expect("a pid");
    proc::descendants(keeper).into_iter().filter_map(HeldProcess::hold).collect()
}

const DEAF: &str = "ignore-term child ignore-term child setsid ignore-term tree";

#[test]
fn a_tree_that_ignores_sigterm_in_two_sessions_is_gone_when_its_kill_returns() {
    for install in [short_grace_install(), short_grace_install().without_cgroup()] {
        let (fixture, agent) = start_agent(install);
        for flags in [json!({"pty": false}), json!({"pty": true})] {
            let command = format!("{} {DEAF}", fixture.actor());
            let run = agent.start_with(json!({"command": command, "pty": flags["pty"]}));
            agent.wait_for(&run, "ready child");
            let tree = members(&fixture, &run);
            assert!(tree.len() >= 5, "{tree:?}");
            let reply = agent.process("kill", &run, &json!({}));
            assert!(tree.iter().all(HeldProcess::is_dead), "{tree:?}");
            assert_eq!(
                (&reply["status"], &reply["failureKind"]),
                (&json!("failed"), &json!("aborted")),
                "{reply}"
            );
            let again = agent.process("kill", &run, &json!({}));
            assert!(again["message"].as_str().is_some_and(|said| said.contains("already ended")), "{again}");
        }
        fixture.finish();
    }
}

#[test]
fn runs_of_an_earlier_daemon_can_be_killed_removed_and_cleared() {
    let (fixture, agent) = daemon();
    let command = format!("{} {DEAF}", fixture.actor());
    let [killed, removed] = [agent.start(&command), agent.start(&command)];
    let cleared = agent.start("read line; exit 3");
    for run in [&killed, &removed] {
        agent.wait_for(run, "ready child");
    }
    let trees = [members(&fixture, &killed), members(&fixture, &removed)];
    fixture.kill();
    assert!(fixture.tenure(&["write", &cleared, "--eof"]).status.success());
    eventually("its ending", || fixture.run_path(&cleared).join("ending").exists().then_some(()));
    fixture.start_daemon();
    agent.ask("clear", &killed, &json!({})).refused(409, "wrong-state");
    agent.process("kill", &killed, &json!({}));
    assert!(trees[0].iter().all(HeldProcess::is_dead));
    agent.process("remove", &removed, &json!({}));
    assert!(trees[1].iter().all(HeldProcess::is_dead));
    assert_eq!(agent.poll(&cleared)["exitCode"], 3);
    for run in [&killed, &cleared] {
        agent.process("clear", run, &json!({}));
    }
    for run in [&killed, &cleared, &removed] {
        agent.ask("poll", run, &json!({})).refused(404, "no-such-run");
    }
    eventually("nothing of them is stored", || fixture.runs().is_empty().then_some(()));
    assert!(fixture.tenure(&["daemon", "stop"]).status.success());
    fixture.assert_nothing_left();
}

/// Its daemon, its nursery and its keeper died at once. The next daemon ends it on request.
#[test]
fn a_run_without_a_keeper_is_gone_when_its_kill_or_removal_returns() {
    for action in ["kill", "remove"] {
        let mut served = OwnedDaemon::start(short_grace_install());
        let lost = OrphanedRun::from_script(
            &mut served,
            &[],
            "trap '' TERM; echo ready; while :; do sleep 600; done",
        );
        assert!(lost.living() > 0);
        served.restart();
        let agent = Agent::of(&served.install);
        agent.process(action, &lost.run, &json!({}));
        assert_eq!(lost.living(), 0, "{action}");
        if action == "kill" {
            let shown = served.install.show(&lost.run);
            assert_eq!(shown["state"], "exited", "{shown}");
            agent.process("clear", &lost.run, &json!({}));
        }
        agent.ask("poll", &lost.run, &json!({})).refused(404, "no-such-run");
        served.stop();
    }
}

/// The same with a daemon that stays alive.
#[test]
fn a_run_that_lost_its_keeper_under_a_live_daemon_is_gone_when_its_kill_returns() {
    for action in ["kill", "remove"] {
        let served = OwnedDaemon::start(short_grace_install());
        let agent = Agent::of(&served.install);
        let command = format!(
            "{} sh -c \"trap '' TERM; echo ready; while :; do sleep 600; done\"",
            OUTLIVING.join(" ")
        );
        let run = agent.start(&command);
        agent.wait_for(&run, "ready");
        let tree = members(&served.install, &run);
        let keepers = served.keepers(&run);
        keepers.iter().for_each(HeldProcess::stop);
        keepers.iter().for_each(|one| one.send(Signal::KILL));
        keepers.iter().for_each(|one| one.wait_dead(WAIT_LIMIT));
        agent.process(action, &run, &json!({}));
        assert!(tree.iter().all(HeldProcess::is_dead), "{action}: {tree:?}");
        drop(served);
    }
}

#[test]
fn a_removed_run_is_hidden_before_it_has_ended() {
    let (fixture, agent) = start_agent(Install::new().with_env("TENURE_RUN_GRACE", "1h"));
    let run = agent.start("trap '' TERM; echo ready; while :; do read line || exit 0; done");
    agent.wait_for(&run, "ready");
    let tree = members(&fixture, &run);
    let mut removing = agent.begin_process("remove", &run, &json!({}));
    eventually("it is hidden", || agent.list().is_empty().then_some(()));
    assert!(tree.iter().all(|one| !one.is_dead()), "its grace is long");
    agent.ask("poll", &run, &json!({})).refused(404, "no-such-run");
    tree.iter().for_each(|one| one.send(Signal::KILL));
    let said = text(&removing.answer().is(200).json()["message"]);
    assert!(said.contains("forgotten"), "{said}");
    eventually("nothing of it is stored", || fixture.runs().is_empty().then_some(()));
    assert!(fixture.tenure(&["daemon", "stop"]).status.success());
    fixture.assert_nothing_left();
}
