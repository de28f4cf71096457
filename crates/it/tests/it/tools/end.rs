//! `process kill` and `remove`: the end is there when it is answered, whoever started the run and whoever died since.

use rustix::process::Signal;
use serde_json::json;
use tenure_it::agent::{Agent, begun, daemon, installed};
use tenure_it::api::text;
use tenure_it::forsake::{Forsaken, OUTLIVING};
use tenure_it::install::Install;
use tenure_it::known::Known;
use tenure_it::served::Served;
use tenure_it::{PATIENCE, eventually, proc};

/// Everybody below a run's keeper.
#[track_caller]
fn members(install: &Install, run: &str) -> Vec<Known> {
    let keeper = i32::try_from(install.show(run)["keeperPid"].as_i64().expect("a keeper")).expect("a pid");
    proc::descendants(keeper).into_iter().filter_map(Known::hold).collect()
}

const DEAF: &str = "ignore-term child ignore-term child setsid ignore-term tree";

#[test]
fn a_deaf_tree_in_two_sessions_is_gone_when_its_kill_is_answered() {
    for install in [installed(), installed().without_cgroup()] {
        let (home, agent) = begun(install);
        for flags in [json!({"pty": false}), json!({"pty": true})] {
            let command = format!("{} {DEAF}", home.actor());
            let run = agent.start_with(json!({"command": command, "pty": flags["pty"]}));
            agent.wait_for(&run, "ready child");
            let tree = members(&home, &run);
            assert!(tree.len() >= 5, "{tree:?}");
            let reply = agent.process("kill", &run, &json!({}));
            assert!(tree.iter().all(Known::is_dead), "{tree:?}");
            assert_eq!(
                (&reply["status"], &reply["failureKind"]),
                (&json!("failed"), &json!("aborted")),
                "{reply}"
            );
            let again = agent.process("kill", &run, &json!({}));
            assert!(again["message"].as_str().is_some_and(|said| said.contains("had ended")), "{again}");
        }
        home.finish();
    }
}

#[test]
fn runs_of_an_earlier_daemon_are_killed_removed_and_cleared_like_others() {
    let (home, agent) = daemon();
    let command = format!("{} {DEAF}", home.actor());
    let [killed, removed] = [agent.start(&command), agent.start(&command)];
    let cleared = agent.start("read line; exit 3");
    for run in [&killed, &removed] {
        agent.wait_for(run, "ready child");
    }
    let trees = [members(&home, &killed), members(&home, &removed)];
    home.kill();
    assert!(home.tenure(&["write", &cleared, "--eof"]).status.success());
    eventually("its ending", || home.run_path(&cleared).join("ending").exists().then_some(()));
    home.begin();
    agent.ask("clear", &killed, &json!({})).refused(409, "wrong-state");
    agent.process("kill", &killed, &json!({}));
    assert!(trees[0].iter().all(Known::is_dead));
    agent.process("remove", &removed, &json!({}));
    assert!(trees[1].iter().all(Known::is_dead));
    assert_eq!(agent.poll(&cleared)["exitCode"], 3);
    for run in [&killed, &cleared] {
        agent.process("clear", run, &json!({}));
    }
    for run in [&killed, &cleared, &removed] {
        agent.ask("poll", run, &json!({})).refused(404, "no-such-run");
    }
    eventually("that nothing of them is kept", || home.runs().is_empty().then_some(()));
    assert!(home.tenure(&["daemon", "stop"]).status.success());
    home.find_nothing();
}

/// Its daemon, its nursery and its keeper died at once. Whoever asks the next daemon for its end gets it.
#[test]
fn a_run_that_nobody_keeps_is_gone_when_its_kill_or_removal_is_answered() {
    for action in ["kill", "remove"] {
        let mut served = Served::start(installed());
        let lost = Forsaken::by(&mut served, &[], "trap '' TERM; echo ready; while :; do sleep 600; done");
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

/// The same with a daemon that lives on.
#[test]
fn a_run_that_lost_its_keeper_under_a_living_daemon_is_gone_when_its_kill_is_answered() {
    for action in ["kill", "remove"] {
        let served = Served::start(installed());
        let agent = Agent::of(&served.install);
        let command = format!(
            "{} sh -c \"trap '' TERM; echo ready; while :; do sleep 600; done\"",
            OUTLIVING.join(" ")
        );
        let run = agent.start(&command);
        agent.wait_for(&run, "ready");
        let tree = members(&served.install, &run);
        let keepers = served.keepers(&run);
        keepers.iter().for_each(Known::stop);
        keepers.iter().for_each(|one| one.send(Signal::KILL));
        keepers.iter().for_each(|one| one.wait_dead(PATIENCE));
        agent.process(action, &run, &json!({}));
        assert!(tree.iter().all(Known::is_dead), "{action}: {tree:?}");
        drop(served);
    }
}

#[test]
fn a_removed_run_is_hidden_before_it_has_ended() {
    let (home, agent) = begun(Install::new().with_env("TENURE_RUN_GRACE", "1h"));
    let run = agent.start("trap '' TERM; echo ready; while :; do read line || exit 0; done");
    agent.wait_for(&run, "ready");
    let tree = members(&home, &run);
    let mut removing = agent.begin_process("remove", &run, &json!({}));
    eventually("that it is hidden", || agent.list().is_empty().then_some(()));
    assert!(tree.iter().all(|one| !one.is_dead()), "its grace is long");
    agent.ask("poll", &run, &json!({})).refused(404, "no-such-run");
    tree.iter().for_each(|one| one.send(Signal::KILL));
    let said = text(&removing.answer().is(200).json()["message"]);
    assert!(said.contains("forgotten"), "{said}");
    eventually("that nothing of it is kept", || home.runs().is_empty().then_some(()));
    assert!(home.tenure(&["daemon", "stop"]).status.success());
    home.find_nothing();
}
