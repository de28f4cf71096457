//! kill -9 of the daemon at each of its pause points. The next daemon finds every run either going on, and able to be
//! cancelled, or ended once, truly; nothing is started twice, nothing is left, and the counters agree with the records.

use rustix::process::Signal;
use tenure_it::home::{Home, TRANSPORTS};
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
