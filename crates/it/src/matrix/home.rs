//! One installation of Tenure for one test: a state root of its own, and a daemon that nobody starts but the test.

use super::book::{self, Book};
use super::known::Known;
use crate::eventually;
use crate::started::{self, Started};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// An installation. Whatever happens to the test, nothing of it is left.
#[derive(Debug)]
pub struct Home {
    dir: tempfile::TempDir,
    env: Vec<(String, String)>,
    book: Book,
}

/// What a `tenure` that has ended left.
#[derive(Debug)]
pub struct Output {
    /// Its exit code; `None` where a signal ended it.
    pub code: Option<i32>,
    /// The text on its standard output.
    pub out: String,
    /// The text on its standard error.
    pub err: String,
}

impl Home {
    /// An installation with a daemon.
    #[track_caller]
    pub fn new() -> Self {
        let home = Self::with_env(&[]);
        home.begin();
        home
    }

    /// An installation without a daemon yet, with these variables in Tenure's environment.
    #[track_caller]
    pub fn with_env(env: &[(&str, &str)]) -> Self {
        let dir = tempfile::Builder::new().prefix("tm-").tempdir().expect("a temporary directory");
        std::fs::write(dir.path().join("config.toml"), "").expect("a configuration");
        let env = env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Self { book: Book::new(dir.path()), dir, env }
    }

    /// A directory for the test's own files.
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// The state root.
    pub fn state(&self) -> PathBuf {
        self.dir.path().join("state")
    }

    /// Who has played here.
    pub fn book(&self) -> &Book {
        &self.book
    }

    /// A `tenure` command line that is not started yet.
    #[expect(clippy::disallowed_methods, reason = "a test starts the program that it tests")]
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(tenure());
        command.args(args).current_dir(self.dir()).stdin(Stdio::null());
        command.env_remove("TENURE_PAUSE").env("TENURE_STATE", self.state());
        command.env("TENURE_NO_AUTOSTART", "1").env("TENURE_CONFIG", self.dir().join("config.toml"));
        command.env(book::VARIABLE, self.book.path());
        command.envs(self.env.iter().cloned());
        command
    }

    /// Starts `tenure`, and goes on.
    #[track_caller]
    pub fn start(&self, args: &[&str]) -> Started {
        Started::new(self.command(args))
    }

    /// Runs `tenure` to its end.
    #[track_caller]
    pub fn tenure(&self, args: &[&str]) -> Output {
        let output = self.start(args).output();
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Output { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }

    /// What `tenure` prints, which succeeds.
    #[track_caller]
    pub fn says(&self, args: &[&str]) -> String {
        let output = self.tenure(args);
        assert_eq!(output.code, Some(0), "{args:?}: {output:?}\n{}", self.log());
        output.out
    }

    /// Starts the daemon, or finds that it runs.
    #[track_caller]
    pub fn begin(&self) -> Known {
        self.says(&["daemon", "start"]);
        self.daemon().expect("a daemon")
    }

    /// The daemon that serves now, if one does.
    #[track_caller]
    pub fn daemon(&self) -> Option<Known> {
        let daemon = Known::now(self.serving()?)?;
        // What is held is what the status spoke of: while it is held, its pid is nobody else's to answer with.
        (self.serving() == Some(daemon.pid())).then_some(daemon)
    }

    fn serving(&self) -> Option<i32> {
        let said = started::attempt(self.command(&["daemon", "status", "--json"]))?;
        let status: Value = serde_json::from_str(&said).ok()?;
        i32::try_from(status["pid"].as_i64()?).ok()
    }

    /// Ends the daemon as a crash does.
    #[track_caller]
    pub fn kill_daemon(&self) {
        let daemon = self.daemon().expect("a daemon");
        daemon.kill();
        daemon.wait_dead();
    }

    /// Starts a command in the background; returns its run.
    #[track_caller]
    pub fn start_in_background(&self, flags: &[&str], command: &[&str]) -> String {
        self.says(&[&["run", "--bg"], flags, &["--"], command].concat()).trim().to_owned()
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

    /// One run's record.
    #[track_caller]
    pub fn show(&self, run: &str) -> Value {
        serde_json::from_str(&self.says(&["show", "--json", run])).expect("JSON")
    }

    /// How a run ended, if it has.
    #[track_caller]
    pub fn termination(&self, run: &str) -> Value {
        self.show(run)["termination"].clone()
    }

    /// How a run ended that has, once the daemon knows: one that begins serves before it has heard from slow keepers.
    #[track_caller]
    pub fn ended(&self, run: &str) -> Value {
        eventually("an ending", || Some(self.termination(run)).filter(|ending| !ending.is_null()))
    }

    /// A run's output as it is kept.
    #[track_caller]
    pub fn logs(&self, run: &str) -> String {
        self.says(&["logs", run])
    }

    /// Waits until a run's output holds this text.
    #[track_caller]
    pub fn wait_for_output(&self, run: &str, text: &str) {
        self.start(&["logs", "-f", run]).wait_for(text);
    }

    /// Waits for a run's end, and returns the exit code that `tenure wait` makes of it.
    #[track_caller]
    pub fn wait(&self, run: &str) -> Option<i32> {
        self.tenure(&["wait", run]).code
    }

    /// What the daemon, nurseries and keepers wrote about themselves.
    pub fn log(&self) -> String {
        let read = |name: &str| std::fs::read_to_string(self.state().join(name)).unwrap_or_default();
        format!("daemon.log:\n{}\nnursery.log:\n{}", read("daemon.log"), read("nursery.log"))
    }

    /// Every run has ended: checks the records, stops the daemon, and finds nobody left.
    #[track_caller]
    pub fn finish(self) {
        self.audit_metrics(&self.audit());
        self.leave();
    }

    /// Stops the daemon, and finds nobody left.
    #[track_caller]
    pub fn leave(self) {
        self.book.wait_nobody();
        self.says(&["daemon", "stop"]);
        eventually(&format!("that no lock is held\n{}", self.log()), || {
            self.locks().expect("locks").is_empty().then_some(())
        });
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        if self.locks().is_ok_and(|held| held.is_empty()) && self.book.living().is_empty() {
            self.remove_groups();
            return;
        }
        if std::thread::panicking() {
            eprintln!("{}", self.log());
        }
        // What does not leave when it is asked is ended below.
        started::attempt(self.command(&["daemon", "start"]));
        let daemon = self.serving().and_then(Known::now);
        started::attempt(self.command(&["daemon", "stop", "--cancel-runs"]));
        let keepers = self.keepers();
        daemon.iter().chain(&keepers).chain(&self.book.living()).for_each(Known::kill);
        self.remove_groups();
    }
}

impl Default for Home {
    fn default() -> Self {
        Self::new()
    }
}

/// The program that is tested: what `TENURE` names, or the one that was built with the tests.
pub fn tenure() -> PathBuf {
    std::env::var_os("TENURE").map_or_else(|| crate::program("tenure-it"), PathBuf::from)
}

/// The player's path, for a command line.
pub fn player() -> &'static str {
    static PLAYER: std::sync::LazyLock<String> =
        std::sync::LazyLock::new(|| crate::program("player").to_str().expect("a path in UTF-8").to_owned());
    &PLAYER
}
