//! A daemon that does not answer: clients say so within their limit and read the files, the warden replaces it, `stop`
//! ends it by identity, and runs go on. A killed warden is replaced. A removed socket is bound again; a replaced
//! registry is opened again.

use rustix::process::Signal;
use std::os::unix::net::UnixDatagram;
use std::time::Duration;
use tenure_it::home::Home;
use tenure_it::install::Install;
use tenure_it::known::Known;
use tenure_it::started::Started;
use tenure_it::{PATIENCE, eventually, proc, within};

/// Time limit for a client to say that the daemon does not answer: its own limit is 10 s, the rest is for a slow
/// machine.
const CLIENT_LIMIT: Duration = Duration::from_secs(25);

/// A home with a daemon that is never replaced.
fn never_replaced() -> Home {
    let home = Home::of(Install::new().with_daemon().with_env("TENURE_DAEMON_REPLACE_AFTER", "off"));
    home.begin();
    home
}

/// A home with a daemon that is replaced soon, and checks its files often.
fn soon_replaced() -> Home {
    let install = Install::new().with_daemon().with_env("TENURE_DAEMON_REPLACE_AFTER", "2s");
    let home = Home::of(install.with_env("TENURE_HEARTBEAT", "300ms").with_env("TENURE_LEASE_TTL", "3s"));
    home.begin();
    home
}

fn warden_of(daemon: &Known) -> Known {
    let (_, parent, ..) = proc::stat(daemon.pid).expect("a daemon");
    assert_eq!(proc::name(parent), "tenure-warden");
    Known::hold(parent).expect("a warden")
}

/// The warden that a daemon has started after its own was killed.
fn second_warden(daemon: &Known) -> Known {
    eventually("another warden", || {
        let children = proc::children(daemon.pid);
        Known::hold(children.into_iter().find(|&pid| proc::name(pid) == "tenure-warden")?)
    })
}

/// Starts a run that exits with 6 once it reads a line.
fn waiting_run(home: &Home) -> String {
    home.start_in_background(&["--stdin", "open"], &["sh", "-c", "read line; exit 6"])
}

fn let_end(home: &Home, id: &str) {
    assert!(home.tenure(&["write", id, "go\n"]).status.success());
}

#[track_caller]
fn assert_silent(asked: &mut Started, pid: i32, code: i32) -> String {
    assert_eq!(asked.code_within(CLIENT_LIMIT), code, "{} {}", asked.out(), asked.err());
    let said = format!("the daemon (pid {pid}) does not answer");
    assert!(asked.err().contains(&said), "{}", asked.err());
    asked.out()
}

#[test]
fn a_daemon_that_does_not_answer_is_said_and_the_files_answer() {
    let home = never_replaced();
    let id = waiting_run(&home);
    let daemon = home.daemon();
    daemon.stop();
    // All at once, because each takes as long as its limit.
    let mut listed = home.start(&["ps", "--json"]);
    let mut shown = home.start(&["show", "--json", &id]);
    let mut waited = home.start(&["wait", "--timeout", "1s", &id]);
    let mut background = home.start(&["run", "--bg", "--", "true"]);
    let mut foreground = home.start(&["run", "--", "true"]);
    let mut executed = home.start(&["exec", "true"]);
    let mut status = home.start(&["daemon", "status"]);
    let mut status_json = home.start(&["daemon", "status", "--json"]);
    let mut started = home.start(&["daemon", "start"]);
    let mut doctor = home.start(&["doctor"]);
    let mut others =
        [vec!["why", &id], vec!["rm", &id], vec!["events"], vec!["metrics"], vec!["tasks", "list"]]
            .map(|args| home.start(&args));
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
    assert!(home.tenure(&["tree", &id]).status.success());
    assert!(home.tenure(&["logs", &id]).status.success());
    let mut cancelled = home.start(&["cancel", &id]);
    assert_silent(&mut cancelled, daemon.pid, 0);
    home.wait_nobody(PATIENCE);
    daemon.send(Signal::CONT);
    assert_eq!(home.wait(&id), 123);
    // The stopped daemon still has the requests that were sent to it. Their runs end, too.
    home.finish();
}

#[test]
fn whoever_waits_hears_of_the_end_though_the_daemon_stopped_meanwhile() {
    let home = never_replaced();
    let id = waiting_run(&home);
    let mut waiting = home.start(&["wait", &id]);
    let pid = waiting.pid();
    eventually("that it waits for an answer", || {
        std::fs::read_to_string(format!("/proc/{pid}/wchan"))
            .unwrap_or_default()
            .contains("poll")
            .then_some(())
    });
    let daemon = home.daemon();
    daemon.stop();
    let_end(&home, &id);
    assert_eq!(waiting.code(), 6, "{}", waiting.err());
    daemon.send(Signal::CONT);
    home.finish();
}

#[test]
fn stop_lets_a_stopped_daemon_go_on_and_leave() {
    let home = never_replaced();
    let daemon = home.daemon();
    let warden = warden_of(&daemon);
    daemon.stop();
    let stopped = home.tenure(&["daemon", "stop"]);
    assert!(stopped.status.success(), "{stopped:?}");
    daemon.wait_dead(PATIENCE);
    warden.wait_dead(PATIENCE);
    assert!(home.log().contains("leaving"), "{}", home.log());
    home.find_nothing();
}

/// A daemon that hangs for good: it is stopped again after each SIGCONT.
#[test]
fn stop_kills_a_daemon_that_never_answers_and_its_runs_go_on() {
    for cancel_runs in [false, true] {
        let home = never_replaced();
        let id = waiting_run(&home);
        let daemon = home.daemon();
        let warden = warden_of(&daemon);
        daemon.stop();
        let mut words = vec!["daemon", "stop"];
        words.extend(cancel_runs.then_some("--cancel-runs"));
        let mut stop = home.start(&words);
        within(PATIENCE, "its end", || {
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
        warden.wait_dead(PATIENCE);
        assert_eq!(home.serving(), None, "nobody started another");
        if cancel_runs {
            home.wait_nobody(PATIENCE);
        }
        home.begin();
        if !cancel_runs {
            let_end(&home, &id);
        }
        assert_eq!(home.wait(&id), if cancel_runs { 123 } else { 6 });
        home.finish();
    }
}

#[test]
fn the_warden_replaces_a_daemon_that_hangs_and_runs_go_on() {
    let home = soon_replaced();
    let id = waiting_run(&home);
    let daemon = home.daemon();
    let warden = warden_of(&daemon);
    daemon.stop();
    daemon.wait_dead(PATIENCE);
    let next = home.next_after(daemon.pid);
    assert_eq!(warden_of(&next).pid, warden.pid);
    let said = format!("the daemon (pid {}) showed no sign of life", daemon.pid);
    assert!(home.log().contains(&said), "{}", home.log());
    let_end(&home, &id);
    assert_eq!(home.wait(&id), 6);
    home.finish();
}

#[test]
fn who_asks_a_daemon_that_is_replaced_meanwhile_is_answered_by_the_next() {
    let home = soon_replaced();
    let id = waiting_run(&home);
    let daemon = home.daemon();
    daemon.stop();
    let mut shown = home.start(&["show", "--json", &id]);
    // All of them: the cancel may be answered first.
    let mut listed = home.start(&["ps", "--all"]);
    let mut cancelled = home.start(&["cancel", &id]);
    daemon.wait_dead(PATIENCE);
    for asked in [&mut shown, &mut listed, &mut cancelled] {
        assert_eq!(asked.code(), 0, "{}", asked.err());
        assert_eq!(asked.err(), "");
    }
    assert!(listed.out().contains(&id[..12]), "{}", listed.out());
    assert_eq!(home.wait(&id), 123);
    home.finish();
}

/// As when a container is frozen, or the machine sleeps: the warden does not count that time.
#[test]
fn a_daemon_that_stood_still_together_with_its_warden_is_not_replaced() {
    let home = soon_replaced();
    let daemon = home.daemon();
    let warden = warden_of(&daemon);
    // The daemon first, so that no unread sign of life is left for the warden.
    daemon.stop();
    warden.stop();
    std::thread::park_timeout(Duration::from_secs(4));
    warden.send(Signal::CONT);
    // The warden checks before the daemon can show a sign of life.
    std::thread::park_timeout(Duration::from_millis(500));
    daemon.send(Signal::CONT);
    // Long enough for a warden that had counted the time to act.
    std::thread::park_timeout(Duration::from_secs(1));
    assert!(!daemon.is_dead(), "{}", home.log());
    assert_eq!(home.daemon().pid, daemon.pid);
    home.finish();
}

#[test]
fn a_killed_warden_is_replaced_and_starts_the_next_daemon() {
    let home = soon_replaced();
    let id = waiting_run(&home);
    let daemon = home.daemon();
    let nursery_of = |pid: i32| {
        let nurseries = proc::children(pid).into_iter().filter(|&pid| proc::name(pid) != "tenure-warden");
        nurseries.collect::<Vec<_>>()
    };
    let nursery = Known::hold(nursery_of(daemon.pid)[0]).expect("a nursery");
    let first = warden_of(&daemon);
    first.send(Signal::KILL);
    let second = second_warden(&daemon);
    // The second one is replaced, too.
    second.send(Signal::KILL);
    second.wait_dead(PATIENCE);
    let third = second_warden(&daemon);
    assert_eq!(home.kill(), daemon.pid);
    let next = home.next_after(daemon.pid);
    assert_eq!(warden_of(&next).pid, third.pid);
    assert!(!nursery.is_dead(), "the run's nursery lives on");
    let_end(&home, &id);
    assert_eq!(home.wait(&id), 6);
    home.finish();
}

#[test]
fn a_replaced_warden_replaces_a_daemon_that_hangs() {
    let home = soon_replaced();
    let id = waiting_run(&home);
    let daemon = home.daemon();
    warden_of(&daemon).send(Signal::KILL);
    let second = second_warden(&daemon);
    daemon.stop();
    daemon.wait_dead(PATIENCE);
    let next = home.next_after(daemon.pid);
    assert_eq!(warden_of(&next).pid, second.pid);
    let_end(&home, &id);
    assert_eq!(home.wait(&id), 6);
    home.finish();
}

#[test]
fn a_replaced_warden_leaves_with_a_daemon_that_was_told_to_leave() {
    let home = soon_replaced();
    let daemon = home.daemon();
    warden_of(&daemon).send(Signal::KILL);
    let second = second_warden(&daemon);
    assert!(home.tenure(&["daemon", "stop"]).status.success());
    second.wait_dead(PATIENCE);
    assert_eq!(home.serving(), None);
    home.find_nothing();
}

#[test]
fn a_removed_socket_is_bound_anew() {
    let home = soon_replaced();
    let daemon = home.daemon();
    let socket = home.state().join("daemon.sock");
    for replaced in [false, true] {
        std::fs::remove_file(&socket).expect("a socket");
        if replaced {
            std::fs::write(&socket, "not a socket").expect("a file");
        }
        let listed = home.tenure(&["ps"]);
        assert!(listed.status.success(), "{listed:?}");
        assert!(listed.stderr.is_empty(), "{listed:?}");
        assert_eq!(home.daemon().pid, daemon.pid);
    }
    std::fs::remove_file(&socket).expect("a socket");
    home.finish();
}

/// A directory at the socket's path keeps the daemon from binding it.
#[test]
fn a_socket_that_cannot_be_bound_anew_is_said_and_stop_ends_the_daemon() {
    let home = soon_replaced();
    let id = waiting_run(&home);
    let daemon = home.daemon();
    let warden = warden_of(&daemon);
    let socket = home.state().join("daemon.sock");
    std::fs::remove_file(&socket).expect("a socket");
    std::fs::create_dir(&socket).expect("a directory");
    std::fs::write(socket.join("full"), "").expect("a file");
    let mut listed = home.start(&["ps"]);
    let mut run = home.start(&["run", "--", "true"]);
    let mut status = home.start(&["daemon", "status"]);
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
    let stopped = home.tenure(&["daemon", "stop"]);
    assert!(stopped.status.success(), "{stopped:?}");
    daemon.wait_dead(PATIENCE);
    warden.wait_dead(PATIENCE);
    std::fs::remove_dir_all(&socket).expect("a directory");
    home.begin();
    let_end(&home, &id);
    assert_eq!(home.wait(&id), 6);
    home.finish();
}

#[test]
fn a_registry_that_was_removed_is_made_anew_by_the_next_daemon() {
    let home = soon_replaced();
    let daemon = home.daemon();
    for name in ["tenure.db", "tenure.db-wal", "tenure.db-shm"] {
        std::fs::remove_file(home.state().join(name)).expect("a registry");
    }
    daemon.wait_dead(PATIENCE);
    home.next_after(daemon.pid);
    assert!(home.log().contains("was removed or replaced while the daemon ran"), "{}", home.log());
    assert!(home.state().join("tenure.db").exists());
    home.finish();
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
fn a_service_manager_is_shown_signs_of_life_while_the_daemon_is_alive() {
    let install = Install::new();
    let path = install.dir().join("notify");
    let manager = UnixDatagram::bind(&path).expect("a socket");
    manager.set_read_timeout(Some(PATIENCE)).expect("a limit");
    let mut command = install.command(&["daemon", "run"]);
    command.env("NOTIFY_SOCKET", &path).env("WATCHDOG_USEC", "600000").env_remove("WATCHDOG_PID");
    let mut daemon = Started::new(command);
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
    let process = Known::hold(daemon.pid()).expect("a daemon");
    process.stop();
    manager.set_read_timeout(Some(Duration::from_secs(2))).expect("a limit");
    // A few signs may be on their way.
    let after = std::iter::from_fn(|| hear().ok()).take(20).count();
    assert!(after < 20, "a stopped daemon shows no sign of life");
    process.send(Signal::CONT);
    manager.set_read_timeout(Some(PATIENCE)).expect("a limit");
    assert!(hear().expect("a sign of life").contains("WATCHDOG=1"));
    process.send(Signal::TERM);
    assert_eq!(daemon.code(), 0, "{}", daemon.err());
}
