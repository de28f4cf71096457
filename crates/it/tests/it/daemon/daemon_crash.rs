//! kill -9 of the daemon at each of its pause points. The next daemon finds every run either alive and cancellable, or
//! ended once, truly; nothing is started twice, nothing is left, and the counters agree with the records.

use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, utimensat};
use rustix::process::Signal;
use std::path::{Path, PathBuf};
use tenure_it::TRANSPORTS;
use tenure_it::child_program::ChildProgram;
use tenure_it::daemon_fixture::DaemonFixture;
use tenure_it::held_process::HeldProcess;
use tenure_it::install::Install;
use tenure_it::registry_file::{RegistryFile, RunRow};
use tenure_it::{WAIT_LIMIT, eventually, proc};

/// The command of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Command {
    /// A tree that stays.
    Stays,
    /// A command that exits with 3.
    Ends,
}

impl Command {
    fn words(self) -> &'static [&'static str] {
        match self {
            Command::Stays => &["tree"],
            Command::Ends => &["exit", "3"],
        }
    }
}

/// A daemon, its run, and a kill.
struct Case {
    fixture: DaemonFixture,
    asked: ChildProgram,
}

impl Case {
    /// Requests a run, and kills the daemon that is paused at this point.
    fn play(point: &str, how: &[&str], command: Command) -> Self {
        eprintln!("{point}: {how:?} {command:?}");
        let fixture = DaemonFixture::of(Install::new());
        let daemon = fixture.start_daemon_paused(point);
        let actor = fixture.actor();
        let flags = ["run", "--quiet", "--grace", "100ms", "--label", "the-run"];
        let asked = fixture.start(&[&flags, how, &["--", &actor], command.words()].concat());
        eventually(&format!("a daemon at {point}"), || proc::is_stopped(daemon.pid).then_some(()));
        daemon.send(Signal::KILL);
        daemon.wait_dead(WAIT_LIMIT);
        fixture.start_daemon();
        Self { fixture, asked }
    }

    /// The only row.
    #[track_caller]
    fn row(&self) -> RunRow {
        let ledger = self.fixture.audit();
        assert_eq!(ledger.runs.len(), 1, "requested once, recorded once: {ledger:?}");
        ledger.runs[0].clone()
    }

    /// Asserts that the run lives until it is cancelled.
    fn goes_on(&self) {
        let id = self.row().id;
        self.fixture.wait_ready(&id);
        assert_eq!(self.fixture.show(&id)["state"], "running");
        self.fixture.ask_to_cancel(&[&id]);
        assert_eq!(self.fixture.wait(&id), 123);
        assert_eq!(self.row().reason(), Some("manual-cancel"));
    }

    /// Asserts that the run ends, or has ended, as the command did.
    fn ends(&self) {
        let id = self.row().id;
        assert_eq!(self.fixture.wait(&id), 3);
        assert_eq!((self.row().reason(), &self.row().termination()["exitCode"]), (Some("exit"), &3.into()));
    }

    fn went_on_or_ended(&self, command: Command) {
        match command {
            Command::Stays => self.goes_on(),
            Command::Ends => self.ends(),
        }
    }

    /// Checks the caller's output: the id of the existing run, or an error.
    fn finish_background(mut self) {
        match self.asked.code() {
            0 => assert_eq!(self.asked.out().trim(), self.row().id),
            125 => assert_eq!(self.asked.err().lines().count(), 1, "{}", self.asked.err()),
            other => panic!("{other}: {}", self.asked.err()),
        }
        self.fixture.finish();
    }

    fn finish_foreground(mut self, code: i32) {
        assert_eq!(self.asked.code(), code, "{}", self.asked.err());
        self.fixture.finish();
    }
}

fn in_background(transport: &[&'static str]) -> Vec<&'static str> {
    [&["--bg"], transport].concat()
}

#[test]
fn a_row_without_a_keeper_is_closed_as_never_started() {
    for transport in TRANSPORTS {
        let case = Case::play("daemon-row-written", &in_background(transport), Command::Ends);
        assert_eq!(case.row().reason(), Some("spawn-error"), "{:?}", case.row());
        case.finish_background();
        let case = Case::play("daemon-row-written", transport, Command::Ends);
        assert_eq!(case.row().reason(), Some("spawn-error"), "{:?}", case.row());
        case.finish_foreground(125);
    }
}

/// A crash between the steps of a launch leaves such a row and directory.
#[test]
fn a_directory_without_a_complete_ticket_is_closed_as_never_started() {
    for (transport, torn) in [(TRANSPORTS[0], false), (TRANSPORTS[1], true)] {
        let fixture = DaemonFixture::of(Install::new());
        let daemon = fixture.start_daemon_paused("daemon-row-written");
        let scope = ["run", "--bg", "--scope", "the-scope"];
        let mut asked = fixture.start(&[&scope, transport, &["--", "true"]].concat());
        eventually("a daemon with a row", || proc::is_stopped(daemon.pid).then_some(()));
        let run = RegistryFile::read(&fixture).runs[0].id.clone();
        daemon.send(Signal::KILL);
        daemon.wait_dead(WAIT_LIMIT);
        std::fs::create_dir_all(fixture.run_path(&run)).expect("mkdir");
        if torn {
            std::fs::write(fixture.run_path(&run).join("ticket"), "").expect("write");
        }
        assert_eq!(asked.code(), 125, "{}", asked.err());
        fixture.start_daemon();
        assert_eq!(fixture.audit().run(&run).reason(), Some("spawn-error"));
        // Its scope is free again.
        let next = fixture.tenure(&[&scope[..], transport, &["--", "true"]].concat());
        assert!(next.status.success(), "{}", String::from_utf8_lossy(&next.stderr));
        assert_eq!(fixture.wait(String::from_utf8_lossy(&next.stdout).trim()), 0);
        fixture.finish();
    }
}

#[test]
fn a_newly_launched_run_survives_a_daemon_crash() {
    for transport in TRANSPORTS {
        for command in [Command::Stays, Command::Ends] {
            let case = Case::play("daemon-launched", &in_background(transport), command);
            case.went_on_or_ended(command);
            case.finish_background();
        }
        let case = Case::play("daemon-launched", transport, Command::Ends);
        case.ends();
        case.finish_foreground(3);
        let case = Case::play("daemon-launched", transport, Command::Stays);
        case.goes_on();
        case.finish_foreground(123);
    }
}

/// The processes that are killed while a foreground command is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Victims {
    Daemon,
    Nursery,
    Both,
}

/// The nursery that a daemon started, if it has one.
fn nursery_of(daemon: &HeldProcess) -> Option<HeldProcess> {
    proc::children(daemon.pid)
        .into_iter()
        .find(|&pid| proc::name(pid) == "tenure-nursery")
        .and_then(HeldProcess::hold)
}

/// Runs a foreground command that makes a file, and kills daemon, nursery or both while a process is paused
/// at this point. Either the command has run and its caller gets 0, or it never runs and its caller gets 125.
fn kill_while_starting(point: &str, victims: Victims) {
    eprintln!("{point}: {victims:?}");
    let fixture = DaemonFixture::of(Install::new());
    let daemon = fixture.start_daemon_paused(point);
    if point == BEFORE_THE_ROW {
        daemon.stop();
    }
    // Outside the installation, which is removed before the last check.
    let elsewhere = tempfile::tempdir().expect("a temporary directory");
    let file = elsewhere.path().join("made");
    let path = file.to_str().expect("UTF-8");
    let mut asked = fixture.start(&["run", "--quiet", "--grace", "100ms", "--", "touch", path]);
    let stopped = eventually(&format!("a process at {point}"), || {
        let chain = [daemon.pid].into_iter().chain(proc::descendants(daemon.pid));
        chain.into_iter().find(|&pid| proc::is_stopped(pid)).and_then(HeldProcess::hold)
    });
    let nursery = nursery_of(&daemon).filter(|_| victims != Victims::Daemon);
    let dying: Vec<&HeldProcess> =
        nursery.iter().chain((victims != Victims::Nursery).then_some(&daemon)).collect();
    dying.iter().for_each(|victim| victim.stop());
    dying.iter().for_each(|victim| victim.send(Signal::KILL));
    dying.iter().for_each(|victim| victim.wait_dead(WAIT_LIMIT));
    if dying.iter().all(|victim| victim.pid != stopped.pid) {
        stopped.send(Signal::CONT);
    }
    let (code, ran) = (asked.code(), file.exists());
    assert!([(0, true), (125, false)].contains(&(code, ran)), "{code}, ran: {ran}, {}", asked.err());
    fixture.start_daemon();
    let runs = fixture.audit().runs;
    let endings: Vec<_> = runs.iter().map(|run| run.reason()).collect();
    assert!(endings.len() <= 1, "requested once, recorded once: {endings:?}");
    fixture.finish();
    assert_eq!(file.exists(), ran, "a run reported as never started was started: {endings:?}");
}

/// Not a pause point: the daemon is suspended before it knows of the run.
const BEFORE_THE_ROW: &str = "before-the-row";

#[test]
fn a_foreground_command_that_never_started_because_daemon_or_nursery_died_exits_with_125() {
    let points = [
        BEFORE_THE_ROW,
        "daemon-row-written",
        "caller-before-launch",
        "daemon-launched",
        "nursery-before-fork",
        "keeper-begun",
        "keeper-locked",
        "keeper-root-forked",
        "root-before-gate",
        "keeper-note-written",
        "root-before-exec",
        "keeper-released",
    ];
    for point in points {
        for victims in [Victims::Daemon, Victims::Nursery, Victims::Both] {
            kill_while_starting(point, victims);
        }
    }
}

/// Sets a file's time to an hour ago.
fn age(path: &Path) {
    let ago = std::time::SystemTime::now() - std::time::Duration::from_hours(1);
    let since = ago.duration_since(std::time::UNIX_EPOCH).expect("a time after 1970");
    let at = Timespec { tv_sec: since.as_secs().cast_signed(), tv_nsec: 0 };
    let times = Timestamps { last_access: at, last_modification: at };
    utimensat(CWD, path, &times, AtFlags::SYMLINK_NOFOLLOW).expect("it is there");
}

/// A run's socket, its nursery's lock and its cgroup, if it has one.
fn files_of(fixture: &DaemonFixture, id: &str) -> (Vec<PathBuf>, [HeldProcess; 2]) {
    let shown = fixture.show(id);
    let keeper = shown["keeperPid"].as_i64().and_then(|pid| pid.try_into().ok()).expect("a pid");
    let (_, nursery, ..) = proc::stat(keeper).expect("a keeper");
    let words = std::fs::read_to_string(format!("/proc/{nursery}/cmdline")).expect("a nursery");
    let lock = fixture.state().join("nurseries").join(words.split('\0').nth(2).expect("its id"));
    let group = shown["boundary"]["path"].as_str().map(PathBuf::from);
    let files = [fixture.run_path(id).join("ctl.sock"), lock].into_iter().chain(group).collect();
    (files, [keeper, nursery].map(|pid| HeldProcess::hold(pid).expect("it lives")))
}

#[test]
fn leftovers_of_killed_nurseries_and_keepers_are_swept() {
    let fixture = DaemonFixture::of(Install::new().with_env("TENURE_RETENTION_EVERY", "200ms"));
    fixture.start_daemon();
    let id = fixture.act(&["--grace", "100ms"], &["tree"]);
    fixture.wait_ready(&id);
    let (mut left, [keeper, nursery]) = files_of(&fixture, &id);
    left.iter().for_each(|file| assert!(file.exists(), "{file:?}"));
    nursery.stop();
    keeper.send(Signal::KILL);
    keeper.wait_dead(WAIT_LIMIT);
    nursery.send(Signal::KILL);
    nursery.wait_dead(WAIT_LIMIT);
    fixture.wait(&id);
    let live = fixture.act(&["--grace", "100ms"], &["tree"]);
    fixture.wait_ready(&live);
    let (kept, _) = files_of(&fixture, &live);
    assert!(left[1].exists() && left[1] != kept[1], "a killed nursery leaves its lock");
    // The leftovers of a keeper that was killed during its end, and of a failed rmdir.
    left.push(fixture.run_path(&id).join("ending.4194305"));
    for file in [&left[0], left.last().expect("a draft")] {
        std::fs::write(file, "").expect("a file");
    }
    let groups = left.iter().filter(|path| path.starts_with("/sys"));
    groups.for_each(|group| std::fs::create_dir_all(group).expect("a control group"));
    left.iter().chain(&kept).filter(|path| !path.starts_with("/sys")).for_each(|file| age(file));
    eventually("it is swept", || left.iter().all(|file| !file.exists()).then_some(()));
    kept.iter().for_each(|file| assert!(file.exists(), "{file:?} is in use"));
    fixture.ask_to_cancel(&[&live]);
    assert_eq!(fixture.wait(&live), 123);
    fixture.finish();
}

#[test]
fn the_next_daemon_records_an_unrecorded_start() {
    for transport in TRANSPORTS {
        for command in [Command::Stays, Command::Ends] {
            let case = Case::play("daemon-before-started", &in_background(transport), command);
            case.went_on_or_ended(command);
            case.finish_background();
        }
    }
}

#[test]
fn a_recorded_start_is_not_recorded_again() {
    for transport in TRANSPORTS {
        for command in [Command::Stays, Command::Ends] {
            let case = Case::play("daemon-after-started", &in_background(transport), command);
            case.went_on_or_ended(command);
            case.finish_background();
        }
    }
}

#[test]
fn the_next_daemon_records_an_unrecorded_ending() {
    for transport in TRANSPORTS {
        let case = Case::play("daemon-before-ending", &in_background(transport), Command::Ends);
        case.ends();
        case.finish_background();
        let case = Case::play("daemon-before-ending", transport, Command::Ends);
        case.ends();
        case.finish_foreground(3);
    }
}

#[test]
fn a_recorded_ending_is_not_recorded_again() {
    for transport in TRANSPORTS {
        let case = Case::play("daemon-after-ending", &in_background(transport), Command::Ends);
        case.ends();
        case.finish_background();
    }
}

/// Two instances with one registry. The owner dies and stays dead; the instance that steals from it dies in
/// the middle of that.
fn steal_interrupted_at(point: &str, transport: &[&str]) {
    eprintln!("{point}: {transport:?}");
    let shared = tempfile::tempdir().expect("a temporary directory");
    let registry = shared.path().join("shared.db");
    let registry = registry.to_str().expect("UTF-8");
    let instance = || {
        let install = Install::new().with_env("TENURE_REGISTRY", registry);
        DaemonFixture::of(install.with_env("TENURE_LEASE_TTL", "4s").with_env("TENURE_HEARTBEAT", "400ms"))
    };
    let (owner, thief) = (instance(), instance());
    owner.start_daemon();
    let id = owner.act(&[transport, &["--grace", "100ms", "--orphan", "keep"]].concat(), &["tree"]);
    owner.wait_ready(&id);
    owner.kill();
    let daemon: HeldProcess = thief.start_daemon_paused(point);
    eventually(&format!("a daemon at {point}"), || proc::is_stopped(daemon.pid).then_some(()));
    daemon.send(Signal::KILL);
    daemon.wait_dead(WAIT_LIMIT);
    thief.start_daemon();
    let file = std::fs::read_to_string(thief.state().join("instance-id")).expect("an instance");
    let instance = file.split_whitespace().next().expect("an id");
    let shown = eventually("the thief holds it", || {
        let shown = thief.show(&id);
        (shown["ownerInstanceId"] == instance && shown["state"] == "running").then_some(shown)
    });
    assert_eq!(shown["leaseEpoch"], 2, "recorded once: {shown}");
    let metrics = String::from_utf8_lossy(&thief.tenure(&["metrics"]).stdout).into_owned();
    assert_eq!(tenure_it::registry_file::metric(&metrics, "tenure_run_lease_steal_total"), 1);
    thief.ask_to_cancel(&[&id]);
    assert_eq!(thief.wait(&id), 123);
    assert!(thief.tenure(&["daemon", "stop"]).status.success());
    owner.assert_nothing_left();
    thief.assert_nothing_left();
}

#[test]
fn the_next_daemon_makes_an_uncommitted_steal() {
    TRANSPORTS.iter().for_each(|transport| steal_interrupted_at("daemon-before-steal", transport));
}

#[test]
fn a_committed_steal_is_not_made_again() {
    TRANSPORTS.iter().for_each(|transport| steal_interrupted_at("daemon-after-steal", transport));
}
