//! kill -9 of the daemon at each of its pause points. The next daemon finds every run either going on, and able to be
//! cancelled, or ended once, truly; nothing is started twice, nothing is left, and the counters agree with the records.

use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, utimensat};
use rustix::process::Signal;
use std::path::{Path, PathBuf};
use tenure_it::TRANSPORTS;
use tenure_it::home::Home;
use tenure_it::install::Install;
use tenure_it::known::Known;
use tenure_it::ledger::{Entry, Ledger};
use tenure_it::started::Started;
use tenure_it::{PATIENCE, eventually, proc};

/// What the command is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Command {
    /// A tree that stays.
    Stays,
    /// One that ends by itself, with 3.
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

/// One daemon, one run, one death.
struct Case {
    home: Home,
    asked: Started,
}

impl Case {
    /// Asks for a run, and kills the daemon that stands still at this point.
    fn play(point: &str, how: &[&str], command: Command) -> Self {
        eprintln!("{point}: {how:?} {command:?}");
        let home = Home::of(Install::new());
        let daemon = home.begin_paused(point);
        let actor = home.actor();
        let flags = ["run", "--quiet", "--grace", "100ms", "--label", "the-run"];
        let asked = home.start(&[&flags, how, &["--", &actor], command.words()].concat());
        eventually(&format!("a daemon at {point}"), || proc::is_stopped(daemon.pid).then_some(()));
        daemon.send(Signal::KILL);
        daemon.wait_dead(PATIENCE);
        home.begin();
        Self { home, asked }
    }

    /// The only row there is.
    #[track_caller]
    fn row(&self) -> Entry {
        let ledger = self.home.audit();
        assert_eq!(ledger.runs.len(), 1, "asked for once, recorded once: {ledger:?}");
        ledger.runs[0].clone()
    }

    /// The run is there and goes on until it is cancelled.
    fn goes_on(&self) {
        let id = self.row().id;
        self.home.wait_ready(&id);
        assert_eq!(self.home.show(&id)["state"], "running");
        self.home.ask_to_cancel(&[&id]);
        assert_eq!(self.home.wait(&id), 123);
        assert_eq!(self.row().reason(), Some("manual-cancel"));
    }

    /// The run ends, or has ended, as the command did.
    fn ends(&self) {
        let id = self.row().id;
        assert_eq!(self.home.wait(&id), 3);
        assert_eq!((self.row().reason(), &self.row().termination()["exitCode"]), (Some("exit"), &3.into()));
    }

    fn went_on_or_ended(&self, command: Command) {
        match command {
            Command::Stays => self.goes_on(),
            Command::Ends => self.ends(),
        }
    }

    /// What the caller was told: the id of the run there is, or that something went wrong.
    fn finish_background(mut self) {
        match self.asked.code() {
            0 => assert_eq!(self.asked.out().trim(), self.row().id),
            125 => assert_eq!(self.asked.err().lines().count(), 1, "{}", self.asked.err()),
            other => panic!("{other}: {}", self.asked.err()),
        }
        self.home.finish();
    }

    fn finish_foreground(mut self, code: i32) {
        assert_eq!(self.asked.code(), code, "{}", self.asked.err());
        self.home.finish();
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

/// A death between the steps of a launch, as the row and the directory are found after it.
#[test]
fn a_directory_without_a_whole_ticket_is_closed_as_never_started_too() {
    for (transport, torn) in [(TRANSPORTS[0], false), (TRANSPORTS[1], true)] {
        let home = Home::of(Install::new());
        let daemon = home.begin_paused("daemon-row-written");
        let scope = ["run", "--bg", "--scope", "the-scope"];
        let mut asked = home.start(&[&scope, transport, &["--", "true"]].concat());
        eventually("a daemon with a row", || proc::is_stopped(daemon.pid).then_some(()));
        let run = Ledger::read(&home).runs[0].id.clone();
        daemon.send(Signal::KILL);
        daemon.wait_dead(PATIENCE);
        std::fs::create_dir_all(home.run_path(&run)).expect("mkdir");
        if torn {
            std::fs::write(home.run_path(&run).join("ticket"), "").expect("write");
        }
        assert_eq!(asked.code(), 125, "{}", asked.err());
        home.begin();
        assert_eq!(home.audit().run(&run).reason(), Some("spawn-error"));
        // Its scope is free again.
        let next = home.tenure(&[&scope[..], transport, &["--", "true"]].concat());
        assert!(next.status.success(), "{}", String::from_utf8_lossy(&next.stderr));
        assert_eq!(home.wait(String::from_utf8_lossy(&next.stdout).trim()), 0);
        home.finish();
    }
}

#[test]
fn a_run_that_was_just_launched_goes_on() {
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
fn nursery_of(daemon: &Known) -> Option<Known> {
    proc::children(daemon.pid)
        .into_iter()
        .find(|&pid| proc::name(pid) == "tenure-nursery")
        .and_then(Known::hold)
}

/// Runs a foreground command that makes a file, and kills daemon, nursery or both while a process is paused at this
/// point. Either the command has run and its caller gets 0, or it never runs and its caller gets 125.
fn kill_while_starting(point: &str, victims: Victims) {
    eprintln!("{point}: {victims:?}");
    let home = Home::of(Install::new());
    let daemon = home.begin_paused(point);
    if point == BEFORE_THE_ROW {
        daemon.stop();
    }
    // Outside of the installation, which is removed before the last check.
    let elsewhere = tempfile::tempdir().expect("a temporary directory");
    let file = elsewhere.path().join("made");
    let path = file.to_str().expect("UTF-8");
    let mut asked = home.start(&["run", "--quiet", "--grace", "100ms", "--", "touch", path]);
    let stopped = eventually(&format!("a process at {point}"), || {
        let chain = [daemon.pid].into_iter().chain(proc::descendants(daemon.pid));
        chain.into_iter().find(|&pid| proc::is_stopped(pid)).and_then(Known::hold)
    });
    let nursery = nursery_of(&daemon).filter(|_| victims != Victims::Daemon);
    let dying: Vec<&Known> = nursery.iter().chain((victims != Victims::Nursery).then_some(&daemon)).collect();
    dying.iter().for_each(|victim| victim.stop());
    dying.iter().for_each(|victim| victim.send(Signal::KILL));
    dying.iter().for_each(|victim| victim.wait_dead(PATIENCE));
    if dying.iter().all(|victim| victim.pid != stopped.pid) {
        stopped.send(Signal::CONT);
    }
    let (code, ran) = (asked.code(), file.exists());
    assert!([(0, true), (125, false)].contains(&(code, ran)), "{code}, ran: {ran}, {}", asked.err());
    home.begin();
    let runs = home.audit().runs;
    let endings: Vec<_> = runs.iter().map(|run| run.reason()).collect();
    assert!(endings.len() <= 1, "asked for once, recorded once: {endings:?}");
    home.finish();
    assert_eq!(file.exists(), ran, "what was said to have never started was started: {endings:?}");
}

/// Not a pause point: the daemon is stopped before it has heard of the run.
const BEFORE_THE_ROW: &str = "before-the-row";

#[test]
fn a_foreground_command_that_never_started_because_daemon_or_nursery_died_is_125() {
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

/// Makes a file look as if it was written an hour ago.
fn age(path: &Path) {
    let ago = std::time::SystemTime::now() - std::time::Duration::from_hours(1);
    let since = ago.duration_since(std::time::UNIX_EPOCH).expect("a time after 1970");
    let at = Timespec { tv_sec: since.as_secs().cast_signed(), tv_nsec: 0 };
    let times = Timestamps { last_access: at, last_modification: at };
    utimensat(CWD, path, &times, AtFlags::SYMLINK_NOFOLLOW).expect("it is there");
}

/// A run's socket, its nursery's lock and its control group, if it has one.
fn files_of(home: &Home, id: &str) -> (Vec<PathBuf>, [Known; 2]) {
    let shown = home.show(id);
    let keeper = shown["keeperPid"].as_i64().and_then(|pid| pid.try_into().ok()).expect("a pid");
    let (_, nursery, ..) = proc::stat(keeper).expect("a keeper");
    let words = std::fs::read_to_string(format!("/proc/{nursery}/cmdline")).expect("a nursery");
    let lock = home.state().join("nurseries").join(words.split('\0').nth(2).expect("its id"));
    let group = shown["boundary"]["path"].as_str().map(PathBuf::from);
    let files = [home.run_path(id).join("ctl.sock"), lock].into_iter().chain(group).collect();
    (files, [keeper, nursery].map(|pid| Known::hold(pid).expect("it lives")))
}

#[test]
fn what_killed_nurseries_and_keepers_left_is_swept() {
    let home = Home::of(Install::new().with_env("TENURE_RETENTION_EVERY", "200ms"));
    home.begin();
    let id = home.act(&["--grace", "100ms"], &["tree"]);
    home.wait_ready(&id);
    let (mut left, [keeper, nursery]) = files_of(&home, &id);
    left.iter().for_each(|file| assert!(file.exists(), "{file:?}"));
    nursery.stop();
    keeper.send(Signal::KILL);
    keeper.wait_dead(PATIENCE);
    nursery.send(Signal::KILL);
    nursery.wait_dead(PATIENCE);
    home.wait(&id);
    let live = home.act(&["--grace", "100ms"], &["tree"]);
    home.wait_ready(&live);
    let (kept, _) = files_of(&home, &live);
    assert!(left[1].exists() && left[1] != kept[1], "a killed nursery leaves its lock");
    // The leftovers of a keeper that was killed while it ended, and of a failed rmdir.
    left.push(home.run_path(&id).join("ending.4194305"));
    for file in [&left[0], left.last().expect("a draft")] {
        std::fs::write(file, "").expect("a file");
    }
    let groups = left.iter().filter(|path| path.starts_with("/sys"));
    groups.for_each(|group| std::fs::create_dir_all(group).expect("a control group"));
    left.iter().chain(&kept).filter(|path| !path.starts_with("/sys")).for_each(|file| age(file));
    eventually("that it is swept", || left.iter().all(|file| !file.exists()).then_some(()));
    kept.iter().for_each(|file| assert!(file.exists(), "{file:?} is in use"));
    home.ask_to_cancel(&[&live]);
    assert_eq!(home.wait(&live), 123);
    home.finish();
}

#[test]
fn a_start_that_was_not_recorded_is_recorded_by_the_next() {
    for transport in TRANSPORTS {
        for command in [Command::Stays, Command::Ends] {
            let case = Case::play("daemon-before-started", &in_background(transport), command);
            case.went_on_or_ended(command);
            case.finish_background();
        }
    }
}

#[test]
fn a_start_that_was_recorded_is_not_recorded_again() {
    for transport in TRANSPORTS {
        for command in [Command::Stays, Command::Ends] {
            let case = Case::play("daemon-after-started", &in_background(transport), command);
            case.went_on_or_ended(command);
            case.finish_background();
        }
    }
}

#[test]
fn an_ending_that_was_not_recorded_is_taken_by_the_next() {
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
fn an_ending_that_was_recorded_is_not_recorded_again() {
    for transport in TRANSPORTS {
        let case = Case::play("daemon-after-ending", &in_background(transport), Command::Ends);
        case.ends();
        case.finish_background();
    }
}

/// Two instances with one registry. The owner dies and stays dead; whoever steals from it dies in the middle of that.
fn steal_interrupted_at(point: &str, transport: &[&str]) {
    eprintln!("{point}: {transport:?}");
    let shared = tempfile::tempdir().expect("a temporary directory");
    let registry = shared.path().join("shared.db");
    let registry = registry.to_str().expect("UTF-8");
    let instance = || {
        let install = Install::new().with_env("TENURE_REGISTRY", registry);
        Home::of(install.with_env("TENURE_LEASE_TTL", "4s").with_env("TENURE_HEARTBEAT", "400ms"))
    };
    let (owner, thief) = (instance(), instance());
    owner.begin();
    let id = owner.act(&[transport, &["--grace", "100ms", "--orphan", "keep"]].concat(), &["tree"]);
    owner.wait_ready(&id);
    owner.kill();
    let daemon: Known = thief.begin_paused(point);
    eventually(&format!("a daemon at {point}"), || proc::is_stopped(daemon.pid).then_some(()));
    daemon.send(Signal::KILL);
    daemon.wait_dead(PATIENCE);
    thief.begin();
    let file = std::fs::read_to_string(thief.state().join("instance-id")).expect("an instance");
    let instance = file.split_whitespace().next().expect("an id");
    let shown = eventually("that the thief holds it", || {
        let shown = thief.show(&id);
        (shown["ownerInstanceId"] == instance && shown["state"] == "running").then_some(shown)
    });
    assert_eq!(shown["leaseEpoch"], 2, "taken once: {shown}");
    let metrics = String::from_utf8_lossy(&thief.tenure(&["metrics"]).stdout).into_owned();
    assert_eq!(tenure_it::ledger::metric(&metrics, "tenure_run_lease_steal_total"), 1);
    thief.ask_to_cancel(&[&id]);
    assert_eq!(thief.wait(&id), 123);
    assert!(thief.tenure(&["daemon", "stop"]).status.success());
    owner.find_nothing();
    thief.find_nothing();
}

#[test]
fn a_steal_that_was_not_committed_is_made_by_the_next() {
    TRANSPORTS.iter().for_each(|transport| steal_interrupted_at("daemon-before-steal", transport));
}

#[test]
fn a_steal_that_was_committed_is_not_made_again() {
    TRANSPORTS.iter().for_each(|transport| steal_interrupted_at("daemon-after-steal", transport));
}
