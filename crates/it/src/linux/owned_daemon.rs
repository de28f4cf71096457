//! A daemon that the test itself starts and owns: in the foreground, without a warden, so that its pid is known and
//! only the test restarts it. Several can share one registry.

use crate::child_program::ChildProgram;
use crate::held_process::HeldProcess;
use crate::install::Install;
use crate::{WAIT_LIMIT, eventually};
use rustix::process::Signal;
use serde_json::Value;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use tenure_keeper::rundir::RunDir;

/// An installation with a daemon that the test owns.
#[derive(Debug)]
pub struct OwnedDaemon {
    /// The installation.
    pub install: Install,
    daemon: Option<ChildProgram>,
}

impl OwnedDaemon {
    /// Starts a daemon on an installation and waits until it answers.
    #[track_caller]
    pub fn start(install: Install) -> Self {
        let mut served = Self { install, daemon: None };
        served.restart();
        served
    }

    /// An installation that shares this registry, with leases that expire soon.
    pub fn sharing(registry: &Path) -> Install {
        Install::new()
            .with_env("TENURE_REGISTRY", &format!("sqlite:{}", registry.display()))
            .with_env("TENURE_LEASE_TTL", "4s")
            .with_env("TENURE_HEARTBEAT", "400ms")
    }

    /// Starts the daemon again, after its end.
    #[track_caller]
    pub fn restart(&mut self) {
        self.restart_with(&[]);
    }

    /// Starts the daemon again with variables in its environment.
    #[track_caller]
    pub fn restart_with(&mut self, env: &[(&str, &str)]) {
        let mut command = self.install.command(&["daemon", "run"]);
        command.envs(env.iter().copied());
        self.restart_by(command);
    }

    /// Starts the daemon again by another command that executes it.
    #[track_caller]
    pub fn restart_by(&mut self, command: Command) {
        self.daemon = Some(ChildProgram::new(command));
        self.wait_ready();
    }

    #[track_caller]
    fn wait_ready(&mut self) {
        let socket = self.install.state().join("daemon.sock");
        let daemon = self.daemon.as_mut().expect("a daemon");
        eventually("a daemon that answers", || {
            assert!(daemon.ended().is_none(), "the daemon ended: {}", daemon.err());
            UnixStream::connect(&socket).is_ok().then_some(())
        });
    }

    /// The daemon's process.
    #[track_caller]
    pub fn process(&self) -> HeldProcess {
        HeldProcess::hold(self.daemon.as_ref().expect("a daemon").pid()).expect("it lives")
    }

    /// The daemon's log so far.
    pub fn log(&self) -> String {
        self.daemon.as_ref().map(ChildProgram::err).unwrap_or_default()
    }

    /// Kills the daemon, as a crash does.
    #[track_caller]
    pub fn kill(&mut self) {
        let daemon = self.process();
        daemon.send(Signal::KILL);
        daemon.wait_dead(WAIT_LIMIT);
        self.wait_exit();
    }

    /// Stops the daemon deliberately.
    #[track_caller]
    pub fn stop(&mut self) {
        let output = self.install.tenure(&["daemon", "stop"]);
        assert!(output.status.success(), "{output:?}");
        self.wait_exit();
    }

    /// Waits until it has ended; returns its log.
    pub fn wait_exit(&mut self) -> String {
        let Some(mut daemon) = self.daemon.take() else { return String::new() };
        daemon.code();
        daemon.err()
    }

    /// Its instance id.
    #[track_caller]
    pub fn instance(&self) -> String {
        let text = std::fs::read_to_string(self.install.state().join("instance-id")).expect("an instance");
        text.lines().next().expect("an id").to_owned()
    }

    /// All events of the registry, the oldest first.
    #[track_caller]
    pub fn events(&self) -> Vec<Value> {
        let output = self.install.tenure(&["events", "--since", "0", "--json"]);
        assert!(output.status.success(), "{output:?}");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        serde_json::Deserializer::from_str(&text).into_iter().map(|event| event.expect("JSON")).collect()
    }

    /// The events of one run of this kind.
    #[track_caller]
    pub fn events_of(&self, run: &str, kind: &str) -> Vec<Value> {
        let is = |event: &Value| event["runId"] == run && event["kind"] == kind;
        self.events().into_iter().filter(is).collect()
    }

    /// The verdicts on a run, in order.
    #[track_caller]
    pub fn verdicts(&self, run: &str) -> Vec<String> {
        let name = |event: Value| event["detail"]["verdict"].as_str().expect("a verdict").to_owned();
        self.events_of(run, "reconciled").into_iter().map(name).collect()
    }

    /// Waits until a run has as many verdicts as these, and asserts that they are these. A new daemon serves
    /// before slow keepers have answered.
    #[track_caller]
    pub fn assert_judged(&self, run: &str, verdicts: &[&str]) {
        let passed = eventually("its verdicts", || {
            Some(self.verdicts(run)).filter(|passed| passed.len() >= verdicts.len())
        });
        assert_eq!(passed, verdicts);
    }

    /// Waits until the registry has a run's ending; returns it.
    #[track_caller]
    pub fn ending(&self, run: &str) -> Value {
        eventually(&format!("the ending of {run}"), || {
            let shown = self.install.show(run);
            (shown["state"] == "exited").then(|| shown["termination"].clone())
        })
    }

    /// A run's directory.
    #[track_caller]
    pub fn dir(&self, run: &str) -> RunDir {
        RunDir::open(&self.run_path(run)).expect("a run's directory")
    }

    /// The path of a run's directory.
    pub fn run_path(&self, run: &str) -> PathBuf {
        self.install.state().join("runs").join(run)
    }

    /// Keeper and nursery of a run, alive.
    #[track_caller]
    pub fn keepers(&self, run: &str) -> [HeldProcess; 2] {
        let keeper = self.dir(run).note().expect("a note").expect("a note").keeper.pid;
        let (_, nursery, ..) = crate::proc::stat(keeper).expect("a keeper");
        [keeper, nursery].map(|pid| HeldProcess::hold(pid).expect("it lives"))
    }
}

impl Drop for OwnedDaemon {
    /// Leaves neither a daemon nor a run behind after a failed test; other tests have ended their runs.
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("--- {} logged:\n{}", self.install.state().display(), self.log());
            for id in self.install.runs() {
                let note = RunDir::open(&self.run_path(&id)).ok().and_then(|dir| dir.note().ok().flatten());
                for identity in note.into_iter().flat_map(|note| [note.keeper, note.root]) {
                    if let (tenure_core::identity::Evidence::Same(_), _) = tenure_os::process::look(&identity)
                    {
                        crate::proc::kill(identity.pid);
                    }
                }
            }
        }
        if let Some(daemon) = &self.daemon
            && let Some(known) = HeldProcess::hold(daemon.pid())
        {
            known.send(Signal::KILL);
        }
        self.wait_exit();
    }
}
