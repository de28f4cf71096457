//! An installation of Tenure for one test: a state root of its own, and a daemon that only the test starts.

use super::held_process::HeldProcess;
use super::player_log::{self, PlayerLog};
use crate::child_program::{self, ChildProgram};
use crate::eventually;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// An installation. Dropped, it leaves no process, whatever happened to the test.
#[derive(Debug)]
pub struct MatrixInstall {
    dir: tempfile::TempDir,
    env: Vec<(String, String)>,
    book: PlayerLog,
}

/// Result of a `tenure` that has ended.
#[derive(Debug)]
pub struct CommandOutput {
    /// Its exit code; `None` after a signal.
    pub code: Option<i32>,
    /// The text on its standard output.
    pub out: String,
    /// The text on its standard error.
    pub err: String,
}

impl MatrixInstall {
    /// An installation with a daemon.
    #[track_caller]
    pub fn new() -> Self {
        let fixture = Self::with_env(&[]);
        fixture.start_daemon();
        fixture
    }

    /// An installation without a daemon, with these variables in Tenure's environment.
    #[track_caller]
    pub fn with_env(env: &[(&str, &str)]) -> Self {
        let dir = tempfile::Builder::new().prefix("tm-").tempdir().expect("a temporary directory");
        std::fs::write(dir.path().join("config.toml"), "").expect("a configuration");
        let env = env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Self { book: PlayerLog::new(dir.path()), dir, env }
    }

    /// A directory for the test's own files.
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// The state root.
    pub fn state(&self) -> PathBuf {
        self.dir.path().join("state")
    }

    /// The log of its players.
    pub fn book(&self) -> &PlayerLog {
        &self.book
    }

    /// A `tenure` command line that is not started yet.
    #[expect(clippy::disallowed_methods, reason = "a test starts the program that it tests")]
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(tenure());
        command.args(args).current_dir(self.dir()).stdin(Stdio::null());
        command.env_remove("TENURE_PAUSE").env("TENURE_STATE", self.state());
        command.env("TENURE_NO_AUTOSTART", "1").env("TENURE_CONFIG", self.dir().join("config.toml"));
        command.env(player_log::VARIABLE, self.book.path());
        command.envs(self.env.iter().cloned());
        command
    }

    /// Starts `tenure` without waiting.
    #[track_caller]
    pub fn start(&self, args: &[&str]) -> ChildProgram {
        ChildProgram::new(self.command(args))
    }

    /// Runs `tenure` to its end.
    #[track_caller]
    pub fn tenure(&self, args: &[&str]) -> CommandOutput {
        let output = self.start(args).output();
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        CommandOutput { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }

    /// Runs `tenure`, which must succeed; returns its output.
    #[track_caller]
    pub fn output_of(&self, args: &[&str]) -> String {
        let output = self.tenure(args);
        assert_eq!(output.code, Some(0), "{args:?}: {output:?}\n{}", self.log());
        output.out
    }

    /// Starts the daemon, or finds it running.
    #[track_caller]
    pub fn start_daemon(&self) -> HeldProcess {
        self.output_of(&["daemon", "start"]);
        self.daemon().expect("a daemon")
    }

    /// The serving daemon, if there is one.
    #[track_caller]
    pub fn daemon(&self) -> Option<HeldProcess> {
        let daemon = HeldProcess::now(self.serving_pid()?)?;
        // The held process is the one that the status named: while it is held, its pid is not reused.
        (self.serving_pid() == Some(daemon.pid())).then_some(daemon)
    }

    fn serving_pid(&self) -> Option<i32> {
        let said = child_program::attempt(self.command(&["daemon", "status", "--json"]))?;
        let status: Value = serde_json::from_str(&said).ok()?;
        i32::try_from(status["pid"].as_i64()?).ok()
    }

    /// Kills the daemon, as a crash does.
    #[track_caller]
    pub fn kill_daemon(&self) {
        let daemon = self.daemon().expect("a daemon");
        daemon.kill();
        daemon.wait_dead();
    }

    /// Starts a command in the background; returns its run.
    #[track_caller]
    pub fn start_in_background(&self, flags: &[&str], command: &[&str]) -> String {
        self.output_of(&[&["run", "--bg"], flags, &["--"], command].concat()).trim().to_owned()
    }

    /// Starts a player in the background; returns its run.
    #[track_caller]
    pub fn play(&self, flags: &[&str], words: &[&str]) -> String {
        self.start_in_background(flags, &[&[player()], words].concat())
    }

    /// Starts a tree of three players, and waits until all of them play.
    #[track_caller]
    pub fn play_tree(&self, flags: &[&str]) -> String {
        let run = self.play(flags, &["tree", "3"]);
        self.book.wait_for(&run, 3);
        run
    }

    /// The record of a run.
    #[track_caller]
    pub fn show(&self, run: &str) -> Value {
        serde_json::from_str(&self.output_of(&["show", "--json", run])).expect("JSON")
    }

    /// A run's termination, or null.
    #[track_caller]
    pub fn termination(&self, run: &str) -> Value {
        self.show(run)["termination"].clone()
    }

    /// A run's termination, once the daemon has it: a new daemon serves before slow keepers have answered.
    #[track_caller]
    pub fn ended(&self, run: &str) -> Value {
        eventually("an ending", || Some(self.termination(run)).filter(|ending| !ending.is_null()))
    }

    /// A run's stored output.
    #[track_caller]
    pub fn logs(&self, run: &str) -> String {
        self.output_of(&["logs", run])
    }

    /// Waits until a run's output holds this text.
    #[track_caller]
    pub fn wait_for_output(&self, run: &str, text: &str) {
        self.start(&["logs", "-f", run]).wait_for(text);
    }

    /// Waits for a run's end, and returns the exit code of `tenure wait`.
    #[track_caller]
    pub fn wait(&self, run: &str) -> Option<i32> {
        self.tenure(&["wait", run]).code
    }

    /// The logs of the daemon, nurseries and keepers.
    pub fn log(&self) -> String {
        let read = |name: &str| std::fs::read_to_string(self.state().join(name)).unwrap_or_default();
        format!("daemon.log:\n{}\nnursery.log:\n{}", read("daemon.log"), read("nursery.log"))
    }

    /// Checks the records after every run has ended, stops the daemon, and asserts that no process is left.
    #[track_caller]
    pub fn finish(self) {
        self.audit_metrics(&self.audit());
        self.leave();
    }

    /// Stops the daemon, and asserts that no process is left.
    #[track_caller]
    pub fn leave(self) {
        self.book.wait_nobody();
        self.output_of(&["daemon", "stop"]);
        eventually(&format!("no lock is held\n{}", self.log()), || {
            self.locks().expect("locks").is_empty().then_some(())
        });
    }
}

impl Drop for MatrixInstall {
    fn drop(&mut self) {
        if self.locks().is_ok_and(|held| held.is_empty()) && self.book.living().is_empty() {
            self.remove_groups();
            return;
        }
        if std::thread::panicking() {
            eprintln!("{}", self.log());
        }
        // A process that does not exit when asked is killed below.
        child_program::attempt(self.command(&["daemon", "start"]));
        let daemon = self.serving_pid().and_then(HeldProcess::now);
        child_program::attempt(self.command(&["daemon", "stop", "--cancel-runs"]));
        let keepers = self.keepers();
        daemon.iter().chain(&keepers).chain(&self.book.living()).for_each(HeldProcess::kill);
        self.remove_groups();
    }
}

impl Default for MatrixInstall {
    fn default() -> Self {
        Self::new()
    }
}

/// The program under test: `TENURE`, or the one that was built with the tests.
pub fn tenure() -> PathBuf {
    std::env::var_os("TENURE").map_or_else(|| crate::program("tenure-it"), PathBuf::from)
}

/// The player's path, for a command line.
pub fn player() -> &'static str {
    static PLAYER: std::sync::LazyLock<String> =
        std::sync::LazyLock::new(|| crate::program("player").to_str().expect("a path in UTF-8").to_owned());
    &PLAYER
}
