//! An unresponsive daemon: clients report it within their limit and read the files, the warden replaces it, `stop` ends
//! it by identity, and runs continue. A killed warden is replaced. A removed socket is bound again; a replaced registry
//! is opened again.

use rustix::process::Signal;
use std::os::unix::net::UnixDatagram;
use std::time::Duration;
use tenure_it::child_program::ChildProgram;
use tenure_it::daemon_fixture::DaemonFixture;
use tenure_it::held_process::HeldProcess;
use tenure_it::install::Install;
use tenure_it::{WAIT_LIMIT, eventually, proc, within};

/// Time limit for a client to report that the daemon does not answer: its own limit is 10 s, the rest is for
/// a slow machine.
const CLIENT_LIMIT: Duration = Duration::from_secs(25);

/// A daemon that is never replaced.
fn never_replaced() -> DaemonFixture {
    let fixture =
        DaemonFixture::of(Install::new().with_daemon().with_env("TENURE_DAEMON_REPLACE_AFTER", "off"));
    fixture.start_daemon();
    fixture
}

/// A daemon that is replaced soon, and checks its files often.
fn soon_replaced() -> DaemonFixture {
    let install = Install::new().with_daemon().with_env("TENURE_DAEMON_REPLACE_AFTER", "2s");
    let fixture =
        DaemonFixture::of(install.with_env("TENURE_HEARTBEAT", "300ms").with_env("TENURE_LEASE_TTL", "3s"));
    fixture.start_daemon();
    fixture
}

fn warden_of(daemon: &HeldProcess) -> HeldProcess {
    let (_, parent, ..) = proc::stat(daemon.pid).expect("a daemon");
    assert_eq!(proc::name(parent), "tenure-warden");
    HeldProcess::hold(parent).expect("a warden")
}

/// The warden that a daemon has started after its own was killed.
fn second_warden(daemon: &HeldProcess) -> HeldProcess {
    eventually("another warden", || {
        let mut wardens =
            proc::children(daemon.pid).into_iter().filter(|&pid| proc::name(pid) == "tenure-warden");
        // A killed one that the daemon has not reaped yet is still a child.
        wardens.find_map(|pid| HeldProcess::hold(pid).filter(|warden| !warden.is_dead()))
    })
}

/// Starts a run that exits with 6 once it reads a line.
fn waiting_run(fixture: &DaemonFixture) -> String {
    fixture.start_in_background(&["--stdin", "open"], &["sh", "-c", "read line; exit 6"])
}

fn let_end(fixture: &DaemonFixture, id: &str) {
    assert!(fixture.tenure(&["write", id, "go\n"]).status.success());
}

#[track_caller]
fn assert_silent(asked: &mut ChildProgram, pid: i32, code: i32) -> String {
    assert_eq!(asked.code_within(CLIENT_LIMIT), code, "{} {}", asked.out(), asked.err());
    let said = format!("the daemon (pid {pid}) does not answer");
    assert!(asked.err().contains(&said), "{}", asked.err());
    asked.out()
}

#[test]
fn a_hung_daemon_is_reported_and_the_files_answer_instead() {
    let fixture = never_replaced();
    let id = waiting_run(&fixture);
    let daemon = fixture.daemon();
    daemon.stop();
    // At the same time, because each takes as long as its limit.
    let mut listed = fixture.start(&["ps", "--json"]);
    let mut shown = fixture.start(&["show", "--json", &id]);
    let mut waited = fixture.start(&["wait", "--timeout", "1s", &id]);
    let mut background = fixture.start(&["run", "--bg", "--", "true"]);
    let mut foreground = fixture.start(&["run", "--", "true"]);
    let mut executed = fixture.start(&["exec", "true"]);
    let mut status = fixture.start(&["daemon", "status"]);
    let mut status_json = fixture.start(&["daemon", "status", "--json"]);
    let mut started = fixture.start(&["daemon", "start"]);
    let mut doctor = fixture.start(&["doctor"]);
    let mut others =
        [vec!["why", &id], vec!["rm", &id], vec!["events"], vec!["metrics"], vec!["tasks", "list"]]
            .map(|args| fixture.start(&args));
    assert!(assert_silent(&mut listed, daemon.pid, 0).contains(&id));
    assert!(assert_silent(&mut shown, daemon.pid, 0).contains("\"running\""));
    assert_silent(&mut waited, daemon.pid, 124);
    for run in [&mut background, &mut foreground, &mut executed] {
        assert_silent(run, daemon.pid, 125);
    }
    for other in &mut others {
        assert_silent(other, daemon.pid, 1);
    }
    assert_silent(&mut started, daemon.pid, 1);
    assert_eq!(status.code_within(CLIENT_LIMIT), 1);
    assert!(
        status.out().contains(&format!("the daemon (pid {}) does not answer", daemon.pid)),
        "{}",
        status.out()
    );
    assert_eq!(status_json.code_within(CLIENT_LIMIT), 1);
    let said: serde_json::Value = serde_json::from_str(&status_json.out()).expect("JSON");
    assert_eq!(
        (&said["running"], &said["answers"], &said["pid"]),
        (&true.into(), &false.into(), &daemon.pid.into())
    );
    doctor.code_within(CLIENT_LIMIT);
    assert!(!doctor.out().contains("runs and answers"), "{}", doctor.out());
    assert!(
        doctor.out().contains(&format!("the daemon (pid {}) does not answer", daemon.pid)),
        "{}",
        doctor.out()
    );
    // Keepers need no daemon.
    assert!(fixture.tenure(&["tree", &id]).status.success());
    assert!(fixture.tenure(&["logs", &id]).status.success());
    let mut cancelled = fixture.start(&["cancel", &id]);
    assert_silent(&mut cancelled, daemon.pid, 0);
    fixture.wait_nobody(WAIT_LIMIT);
    daemon.send(Signal::CONT);
    assert_eq!(fixture.wait(&id), 123);
    // The suspended daemon still has the requests that were sent to it. Their runs end, too.
    fixture.finish();
}

#[test]
fn a_waiting_client_gets_the_ending_even_if_the_daemon_hangs_meanwhile() {
    let fixture = never_replaced();
    let id = waiting_run(&fixture);
    let mut waiting = fixture.start(&["wait", &id]);
    let pid = waiting.pid();
    eventually("it waits for an answer", || {
        std::fs::read_to_string(format!("/proc/{pid}/wchan"))
            .unwrap_or_default()
            .contains("poll")
            .then_some(())
    });
    let daemon = fixture.daemon();
    daemon.stop();
    let_end(&fixture, &id);
    assert_eq!(waiting.code(), 6, "{}", waiting.err());
    daemon.send(Signal::CONT);
    fixture.finish();
}

#[test]
fn stop_continues_a_suspended_daemon_so_that_it_exits() {
    let fixture = never_replaced();
    let daemon = fixture.daemon();
    let warden = warden_of(&daemon);
    daemon.stop();
    let stopped = fixture.tenure(&["daemon", "stop"]);
    assert!(stopped.status.success(), "{stopped:?}");
    daemon.wait_dead(WAIT_LIMIT);
    warden.wait_dead(WAIT_LIMIT);
    assert!(fixture.log().contains("shutting down"), "{}", fixture.log());
    fixture.assert_nothing_left();
}

/// A daemon that hangs for good: it is stopped again after each SIGCONT.
#[test]
fn stop_kills_an_unresponsive_daemon_and_its_runs_continue() {
    for cancel_runs in [false, true] {
        let fixture = never_replaced();
        let id = waiting_run(&fixture);
        let daemon = fixture.daemon();
        let warden = warden_of(&daemon);
        daemon.stop();
        let mut words = vec!["daemon", "stop"];
        words.extend(cancel_runs.then_some("--cancel-runs"));
        let mut stop = fixture.start(&words);
        within(WAIT_LIMIT, "its end", || {
            if !proc::is_stopped(daemon.pid) {
                daemon.send(Signal::STOP);
            }
            daemon.is_dead().then_some(())
        });
        assert_eq!(stop.code(), 0, "{}", stop.err());
        assert!(
            stop.err().contains(&format!("the daemon (pid {}) does not answer", daemon.pid)),
            "{}",
            stop.err()
        );
        warden.wait_dead(WAIT_LIMIT);
        assert_eq!(fixture.serving_pid(), None, "no other was started");
        if cancel_runs {
            fixture.wait_nobody(WAIT_LIMIT);
        }
        fixture.start_daemon();
        if !cancel_runs {
            let_end(&fixture, &id);
        }
        assert_eq!(fixture.wait(&id), if cancel_runs { 123 } else { 6 });
        fixture.finish();
    }
}

#[test]
fn stop_kills_a_daemon_that_hangs_after_it_agreed_to_exit() {
    let fixture = never_replaced();
    let script = "trap '' TERM; echo ready; read line; exit 6";
    let id = fixture.start_in_background(&["--stdin", "open", "--grace", "10m"], &["sh", "-c", script]);
    fixture.wait_for_output(&id, "ready");
    let daemon = fixture.daemon();
    let mut stop = fixture.start(&["daemon", "stop", "--cancel-runs"]);
    eventually("the daemon ends its runs", || (fixture.show(&id)["state"] == "exiting").then_some(()));
    daemon.stop();
    // A daemon that hangs for good: it is stopped again after each SIGCONT. If it could answer in between, `stop` begins
    // anew, and a hang takes it half a minute to find.
    within(3 * WAIT_LIMIT, "its end", || {
        if !proc::is_stopped(daemon.pid) {
            daemon.send(Signal::STOP);
        }
        daemon.is_dead().then_some(())
    });
    let_end(&fixture, &id);
    assert_eq!(stop.code(), 0, "{}", stop.err());
    assert!(
        stop.err().contains(&format!("the daemon (pid {}) does not answer", daemon.pid)),
        "{}",
        stop.err()
    );
    assert_eq!(fixture.serving_pid(), None, "no other was started");
    fixture.start_daemon();
    assert_eq!(fixture.wait(&id), 123);
    fixture.finish();
}

#[test]
fn the_warden_replaces_a_hung_daemon_and_runs_continue() {
    let fixture = soon_replaced();
    let id = waiting_run(&fixture);
    let daemon = fixture.daemon();
    let warden = warden_of(&daemon);
    daemon.stop();
    daemon.wait_dead(WAIT_LIMIT);
    let next = fixture.wait_next_daemon(daemon.pid);
    assert_eq!(warden_of(&next).pid, warden.pid);
    let said = format!("the daemon (pid {}) showed no sign of life", daemon.pid);
    assert!(fixture.log().contains(&said), "{}", fixture.log());
    let_end(&fixture, &id);
    assert_eq!(fixture.wait(&id), 6);
    fixture.finish();
}

#[test]
fn a_request_to_a_daemon_being_replaced_is_answered_by_the_next() {
    let fixture = soon_replaced();
    let id = waiting_run(&fixture);
    let daemon = fixture.daemon();
    daemon.stop();
    let mut shown = fixture.start(&["show", "--json", &id]);
    // All of them: the cancel may be answered first.
    let mut listed = fixture.start(&["ps", "--all"]);
    let mut cancelled = fixture.start(&["cancel", &id]);
    daemon.wait_dead(WAIT_LIMIT);
    for asked in [&mut shown, &mut listed, &mut cancelled] {
        assert_eq!(asked.code(), 0, "{}", asked.err());
        assert_eq!(asked.err(), "");
    }
    assert!(listed.out().contains(&id[..12]), "{}", listed.out());
    assert_eq!(fixture.wait(&id), 123);
    fixture.finish();
}

/// As when a container is frozen, or the machine sleeps: the warden does not count that time.
#[test]
fn a_daemon_suspended_together_with_its_warden_is_not_replaced() {
    let fixture = soon_replaced();
    let daemon = fixture.daemon();
    let warden = warden_of(&daemon);
    // The daemon first, so that no unread heartbeat is left for the warden.
    daemon.stop();
    warden.stop();
    std::thread::park_timeout(Duration::from_secs(4));
    warden.send(Signal::CONT);
    // The warden checks before the daemon can send a heartbeat.
    std::thread::park_timeout(Duration::from_millis(500));
    daemon.send(Signal::CONT);
    // Long enough for a warden that had counted the time to act.
    std::thread::park_timeout(Duration::from_secs(1));
    assert!(!daemon.is_dead(), "{}", fixture.log());
    assert_eq!(fixture.daemon().pid, daemon.pid);
    fixture.finish();
}

#[test]
fn a_killed_warden_is_replaced_and_starts_the_next_daemon() {
    let fixture = soon_replaced();
    let id = waiting_run(&fixture);
    let daemon = fixture.daemon();
    let nursery_of = |pid: i32| {
        let nurseries = proc::children(pid).into_iter().filter(|&pid| proc::name(pid) != "tenure-warden");
        nurseries.collect::<Vec<_>>()
    };
    let nursery = HeldProcess::hold(nursery_of(daemon.pid)[0]).expect("a nursery");
    let first = warden_of(&daemon);
    first.send(Signal::KILL);
    let second = second_warden(&daemon);
    // The second one is replaced, too.
    second.send(Signal::KILL);
    second.wait_dead(WAIT_LIMIT);
    let third = second_warden(&daemon);
    assert_eq!(fixture.kill(), daemon.pid);
    let next = fixture.wait_next_daemon(daemon.pid);
    assert_eq!(warden_of(&next).pid, third.pid);
    assert!(!nursery.is_dead(), "the run's nursery is alive");
    let_end(&fixture, &id);
    assert_eq!(fixture.wait(&id), 6);
    fixture.finish();
}

#[test]
fn a_replaced_warden_replaces_a_hung_daemon() {
    let fixture = soon_replaced();
    let id = waiting_run(&fixture);
    let daemon = fixture.daemon();
    warden_of(&daemon).send(Signal::KILL);
    let second = second_warden(&daemon);
    daemon.stop();
    daemon.wait_dead(WAIT_LIMIT);
    let next = fixture.wait_next_daemon(daemon.pid);
    assert_eq!(warden_of(&next).pid, second.pid);
    let_end(&fixture, &id);
    assert_eq!(fixture.wait(&id), 6);
    fixture.finish();
}

#[test]
fn a_replaced_warden_exits_with_a_stopped_daemon() {
    let fixture = soon_replaced();
    let daemon = fixture.daemon();
    warden_of(&daemon).send(Signal::KILL);
    let second = second_warden(&daemon);
    assert!(fixture.tenure(&["daemon", "stop"]).status.success());
    second.wait_dead(WAIT_LIMIT);
    assert_eq!(fixture.serving_pid(), None);
    fixture.assert_nothing_left();
}

#[test]
fn a_removed_socket_is_bound_again() {
    let fixture = soon_replaced();
    let daemon = fixture.daemon();
    let socket = fixture.state().join("daemon.sock");
    for replaced in [false, true] {
        std::fs::remove_file(&socket).expect("a socket");
        if replaced {
            std::fs::write(&socket, "not a socket").expect("a file");
        }
        let listed = fixture.tenure(&["ps"]);
        assert!(listed.status.success(), "{listed:?}");
        assert!(listed.stderr.is_empty(), "{listed:?}");
        assert_eq!(fixture.daemon().pid, daemon.pid);
    }
    std::fs::remove_file(&socket).expect("a socket");
    fixture.finish();
}

/// A directory at the socket's path keeps the daemon from binding it.
#[test]
fn a_socket_that_cannot_be_bound_again_is_reported_and_stop_ends_the_daemon() {
    let fixture = soon_replaced();
    let id = waiting_run(&fixture);
    let daemon = fixture.daemon();
    let warden = warden_of(&daemon);
    let socket = fixture.state().join("daemon.sock");
    std::fs::remove_file(&socket).expect("a socket");
    std::fs::create_dir(&socket).expect("a directory");
    std::fs::write(socket.join("full"), "").expect("a file");
    let mut listed = fixture.start(&["ps"]);
    let mut run = fixture.start(&["run", "--", "true"]);
    let mut status = fixture.start(&["daemon", "status"]);
    assert_eq!(listed.code_within(CLIENT_LIMIT), 0, "{}", listed.err());
    assert!(listed.out().contains(&id[..12]), "{}", listed.out());
    assert_eq!(run.code_within(CLIENT_LIMIT), 125);
    for said in [listed.err(), run.err()] {
        assert!(
            said.contains(&format!("the daemon (pid {}) runs, but nobody can connect", daemon.pid)),
            "{said}"
        );
    }
    assert_eq!(status.code_within(CLIENT_LIMIT), 1);
    assert!(status.out().contains("daemon.sock"), "{}", status.out());
    let stopped = fixture.tenure(&["daemon", "stop"]);
    assert!(stopped.status.success(), "{stopped:?}");
    daemon.wait_dead(WAIT_LIMIT);
    warden.wait_dead(WAIT_LIMIT);
    std::fs::remove_dir_all(&socket).expect("a directory");
    fixture.start_daemon();
    let_end(&fixture, &id);
    assert_eq!(fixture.wait(&id), 6);
    fixture.finish();
}

#[test]
fn the_next_daemon_recreates_a_removed_registry() {
    let fixture = soon_replaced();
    let daemon = fixture.daemon();
    for name in ["tenure.db", "tenure.db-wal", "tenure.db-shm"] {
        std::fs::remove_file(fixture.state().join(name)).expect("a registry");
    }
    daemon.wait_dead(WAIT_LIMIT);
    fixture.wait_next_daemon(daemon.pid);
    assert!(
        fixture.log().contains("was removed or replaced while the daemon was running"),
        "{}",
        fixture.log()
    );
    assert!(fixture.state().join("tenure.db").exists());
    fixture.finish();
}

/// A service manager restarts the daemon by this code.
#[test]
fn a_daemon_in_the_foreground_exits_with_75_when_its_registry_is_replaced() {
    let install = Install::new().with_env("TENURE_HEARTBEAT", "300ms").with_env("TENURE_LEASE_TTL", "3s");
    let mut daemon = install.start(&["daemon", "run"]);
    let registry = install.state().join("tenure.db");
    eventually("a daemon", || install.state().join("daemon.sock").exists().then_some(()));
    let copy = install.dir().join("copy");
    std::fs::copy(&registry, &copy).expect("a copy");
    std::fs::rename(&copy, &registry).expect("another file");
    assert_eq!(daemon.code(), 75, "{}", daemon.err());
    assert!(daemon.err().contains("was removed or replaced"), "{}", daemon.err());
}

#[test]
fn the_service_manager_gets_watchdog_pings_while_the_daemon_lives() {
    let install = Install::new();
    let path = install.dir().join("notify");
    let manager = UnixDatagram::bind(&path).expect("a socket");
    manager.set_read_timeout(Some(WAIT_LIMIT)).expect("a limit");
    let mut command = install.command(&["daemon", "run"]);
    command.env("NOTIFY_SOCKET", &path).env("WATCHDOG_USEC", "600000").env_remove("WATCHDOG_PID");
    let mut daemon = ChildProgram::new(command);
    let hear = || {
        let mut bytes = [0; 256];
        manager.recv(&mut bytes).map(|n| String::from_utf8_lossy(&bytes[..n]).into_owned())
    };
    let mut signs = 0;
    let mut ready = false;
    while !ready || signs < 5 {
        let heard = hear().expect("a sign of life");
        ready |= heard.contains("READY=1");
        signs += usize::from(heard.contains("WATCHDOG=1"));
    }
    let process = HeldProcess::hold(daemon.pid()).expect("a daemon");
    process.stop();
    manager.set_read_timeout(Some(Duration::from_secs(2))).expect("a limit");
    // A few heartbeats may be in transit.
    let after = std::iter::from_fn(|| hear().ok()).take(20).count();
    assert!(after < 20, "a stopped daemon sends no heartbeat");
    process.send(Signal::CONT);
    manager.set_read_timeout(Some(WAIT_LIMIT)).expect("a limit");
    assert!(hear().expect("a sign of life").contains("WATCHDOG=1"));
    process.send(Signal::TERM);
    assert_eq!(daemon.code(), 0, "{}", daemon.err());
}
