//! Limits for processes of a run: none of them starts a daemon inside the run, and a process that lost its keeper or
//! cannot be identified has no rights.

use rustix::process::Signal;
use serde_json::json;
use std::path::Path;
use std::process::Command;
use tenure_it::api::Api;
use tenure_it::child_program::ChildProgram;
use tenure_it::eventually;
use tenure_it::held_process::HeldProcess;
use tenure_it::install::{Install, tenure};
use tenure_it::paused_run::PausedRun;
use tenure_it::proc;

/// A script that tries every way to start a daemon, and writes their output to the file `said`.
const START_DAEMONS: &str = "unset TENURE_NO_AUTOSTART TENURE_PAUSE; \
    for verb in ps 'daemon start' 'daemon run' 'run --bg --scope x -- true'; do \
        timeout 20 \"$TENURE\" $verb >said.part 2>&1; echo \"code $?\" >>said.part; cat said.part >>said.all; \
    done; mv said.all said";

/// Waits for the file `said` and reads it.
#[track_caller]
fn said(install: &Install) -> String {
    let path = install.dir().join("said");
    eventually("the message", || std::fs::read_to_string(&path).ok())
}

#[track_caller]
fn assert_no_daemon_was_started(install: &Install) {
    let said = said(install);
    assert!(!install.state().join("daemon.lock").exists(), "there was a daemon: {said}");
    let refused = "the daemon cannot be started inside a run, because it would end with that run";
    assert_eq!(said.matches(refused).count(), 2, "{said}");
    assert_eq!(said.matches("code ").count(), 4, "{said}");
}

/// Keeper and nursery of a run.
#[track_caller]
fn keepers(install: &Install, run: &str) -> [HeldProcess; 2] {
    let keeper = install.show(run)["keeperPid"].as_i64().and_then(|pid| pid.try_into().ok()).expect("a pid");
    let (_, nursery, ..) = proc::stat(keeper).expect("a keeper");
    [keeper, nursery].map(|pid| HeldProcess::hold(pid).expect("it lives"))
}

/// A child of the root that outlives it: it waits for the file `go`, then runs a script.
fn waits_then(script: &str) -> String {
    format!("(while [ ! -e go ]; do sleep 0.02; done; {script}) & echo up; wait")
}

#[test]
fn a_runs_first_action_starts_no_daemon() {
    let install = Install::new();
    let script = format!("{START_DAEMONS}; exec sleep 0");
    let mut paused = PausedRun::start(
        &install,
        "keeper-released",
        &["run", "--on-escape", "reap", "--", "sh", "-c", &script],
        &[("TENURE", tenure())],
    );
    assert_no_daemon_was_started(&install);
    paused.resume();
    assert_eq!(paused.cli.code(), 0);
}

#[test]
fn no_daemon_is_started_below_a_nursery() {
    let install = Install::new().without_cgroup().with_env("TENURE", tenure().to_str().expect("UTF-8"));
    let run =
        install.start_in_background(&["--orphan-grace", "5m"], &["sh", "-c", &waits_then(START_DAEMONS)]);
    install.wait_for_output(&run, "up");
    let [keeper, nursery] = keepers(&install, &run);
    nursery.stop();
    keeper.send(Signal::KILL);
    keeper.wait_dead(tenure_it::WAIT_LIMIT);
    std::fs::write(install.dir().join("go"), "").expect("it waits");
    assert_no_daemon_was_started(&install);
    nursery.send(Signal::CONT);
    nursery.wait_dead(tenure_it::WAIT_LIMIT);
}

#[test]
fn no_daemon_is_started_in_a_runs_cgroup() {
    let install = Install::new().with_env("TENURE", tenure().to_str().expect("UTF-8"));
    let run =
        install.start_in_background(&["--orphan-grace", "5m"], &["sh", "-c", &waits_then(START_DAEMONS)]);
    install.wait_for_output(&run, "up");
    if install.show(&run)["boundary"]["kind"] != "cgroup" {
        return install.cancel(&run);
    }
    let holders = keepers(&install, &run);
    holders.iter().for_each(HeldProcess::stop);
    for holder in &holders {
        holder.send(Signal::KILL);
        holder.wait_dead(tenure_it::WAIT_LIMIT);
    }
    std::fs::write(install.dir().join("go"), "").expect("it waits");
    assert_no_daemon_was_started(&install);
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a run's processes may have a pid namespace of their own")]
fn no_daemon_is_started_in_a_pid_namespace_inside_a_run() {
    if !rustix::process::geteuid().is_root() {
        return eprintln!("cannot run here: only root can make a pid namespace");
    }
    let install = Install::new().without_cgroup().with_env("TENURE", tenure().to_str().expect("UTF-8"));
    let unshare = ["unshare", "--pid", "--fork", "--kill-child"];
    let mut can = Command::new(unshare[0]);
    if !can.args(&unshare[1..]).args(["--mount-proc", "true"]).status().is_ok_and(|status| status.success()) {
        return eprintln!("cannot run here: unshare cannot make a pid namespace");
    }
    // With its own `/proc` a process sees none outside, but carries the lease. Without one it sees its
    // keeper.
    for inside in [&["--mount-proc"][..], &["env", "-u", "TENURE_LEASE_ID"]] {
        let run = ["run", "--on-escape", "reap", "--"];
        let _ = install.tenure(&[&run, &unshare[..], inside, &["sh", "-c", START_DAEMONS]].concat());
        assert_no_daemon_was_started(&install);
        std::fs::remove_file(install.dir().join("said")).expect("it was there");
    }
}

#[test]
fn a_client_that_killed_its_keeper_has_no_rights() {
    let install = Install::new().with_daemon();
    let api = Api::of(&install);
    let other = api.start(&json!({"command": ["sleep", "1000"], "session": "agent:b:main"}));
    let script = format!(
        "for verb in 'ps --json' 'cancel {other}' 'backup ./copy' 'run --bg -- true' 'daemon stop'; do \
            \"$T\" $verb >>said.all 2>&1; echo \"code $?\" >>said.all; \
        done; \"$T\" daemon status >>said.all 2>&1; mv said.all said"
    );
    for session in [json!("agent:a:main"), json!(null)] {
        let run = api.start(&json!({"command": ["sh", "-c", waits_then(&script)], "session": session,
            "cwd": install.dir(), "env": {"T": tenure(), "TENURE_NO_AUTOSTART": "1"}}));
        install.wait_for_output(&run, "up");
        let [keeper, nursery] = keepers(&install, &run);
        nursery.stop();
        keeper.send(Signal::KILL);
        keeper.wait_dead(tenure_it::WAIT_LIMIT);
        std::fs::write(install.dir().join("go"), "").expect("it waits");
        let said = said(&install);
        nursery.send(Signal::CONT);
        assert_eq!(said.matches("so it has no rights").count(), 5, "{said}");
        assert!(!said.contains(&other) && !said.contains("code 0"), "{said}");
        assert!(said.contains("ok for "), "it may learn that a daemon runs: {said}");
        assert_eq!(api.get(&format!("/v1/runs/{other}")).is(200).json()["state"], "running");
        assert!(!install.dir().join("copy").exists());
        assert_eq!(api.wait(&run)["termination"]["reason"], "owner-lost");
        for file in ["go", "said"] {
            std::fs::remove_file(install.dir().join(file)).expect("it was there");
        }
    }
}

/// Without a cgroup and without its lease, only the parent shows that such a process belongs to a run.
#[test]
fn a_client_that_killed_its_keeper_and_nursery_has_no_rights() {
    let install = Install::new().without_cgroup().with_daemon();
    let api = Api::of(&install);
    let other = api.start(&json!({"command": ["sleep", "1000"], "session": "agent:b:main"}));
    let asks =
        "(while [ ! -e go ]; do sleep 0.02; done; \"$T\" ps --json >said.all 2>&1; mv said.all said) &";
    let script = format!("setsid -f env -u TENURE_LEASE_ID sh -c '{asks}'; echo up; exec sleep 1000");
    let run = api.start(&json!({"command": ["sh", "-c", script], "session": "agent:a:main",
        "cwd": install.dir(), "env": {"T": tenure(), "TENURE_NO_AUTOSTART": "1"}}));
    install.wait_for_output(&run, "up");
    let holders = keepers(&install, &run);
    holders.iter().for_each(HeldProcess::stop);
    for holder in &holders {
        holder.send(Signal::KILL);
        holder.wait_dead(tenure_it::WAIT_LIMIT);
    }
    std::fs::write(install.dir().join("go"), "").expect("it waits");
    let said = said(&install);
    assert!(said.contains("so it has no rights") && !said.contains(&other), "{said}");
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the daemon has a pid namespace of its own here")]
fn a_client_of_another_pid_namespace_gets_a_clear_error() {
    let install = Install::new();
    let mut inner = Command::new("unshare");
    if !rustix::process::geteuid().is_root() {
        inner.args(["--user", "--map-current-user"]);
    }
    inner.args(["--pid", "--fork", "--mount-proc", "--kill-child", "--"]);
    let can = inner.arg(tenure()).args(["--version"]).output().is_ok_and(|output| output.status.success());
    if !can {
        return eprintln!("cannot run here: unshare cannot make a pid namespace");
    }
    let mut daemon = Command::new("unshare");
    daemon.args(inner.get_args().take_while(|word| *word != tenure().as_os_str()));
    daemon
        .arg(tenure())
        .args(["daemon", "run"])
        .env("TENURE_STATE", install.state())
        .stdin(std::process::Stdio::null());
    let namespace = ChildProgram::new(daemon);
    eventually("its socket", || Path::exists(&install.state().join("daemon.sock")).then_some(()));
    let ask = |args: &[&str]| {
        let output = install.tenure(args);
        (output.status.code(), String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
    };
    for args in [&["ps"][..], &["events"], &["daemon", "stop"]] {
        let (code, said) = ask(args);
        assert!(code == Some(1) && said.contains("in another pid namespace"), "{args:?}: {code:?} {said}");
        assert!(!said.contains("os error 0"), "{said}");
    }
    let (code, said) = ask(&["run", "--bg", "--", "true"]);
    assert!(code == Some(125) && said.contains("in another pid namespace"), "{code:?} {said}");
    let (code, said) = ask(&["daemon", "status"]);
    assert!(code == Some(0) && said.starts_with("ok for "), "{code:?} {said}");
    drop(namespace);
}
