//! An installation of Tenure for one test: its own state root, optionally its own user, with or without cgroups.

use crate::child_program::ChildProgram;
use serde_json::Value;
use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tenure_core::record::Boundary;
use tenure_keeper::rundir::RunDir;

/// An installation. Dropped, it removes its state root, and cancels the runs of a failed test.
#[derive(Debug)]
pub struct Install {
    dir: tempfile::TempDir,
    state: PathBuf,
    cgroup: bool,
    unprivileged: bool,
    daemon: bool,
    env: Vec<(OsString, OsString)>,
}

/// The unprivileged user that tests use beside root.
const NOBODY: u32 = 65534;

impl Install {
    /// An installation of this user, with cgroups where they are available.
    pub fn new() -> Self {
        let dir = tempfile::Builder::new().prefix("tenure-it-").tempdir().expect("a temporary directory");
        std::fs::set_permissions(dir.path(), PermissionsExt::from_mode(0o777)).expect("chmod");
        let state = dir.path().join("state");
        std::fs::write(dir.path().join("config.toml"), "").expect("a configuration");
        Self { dir, state, cgroup: true, unprivileged: false, daemon: false, env: Vec::new() }
    }

    /// Disables cgroups.
    #[must_use]
    pub fn without_cgroup(mut self) -> Self {
        self.cgroup = false;
        self
    }

    /// Enables a daemon that starts on first use; without this there is none.
    #[must_use]
    pub fn with_daemon(mut self) -> Self {
        self.daemon = true;
        self
    }

    /// Uses an unprivileged user. Tests run as root; others are unprivileged already.
    #[must_use]
    pub fn unprivileged(mut self) -> Self {
        self.unprivileged = rustix::process::geteuid().is_root();
        self
    }

    /// Uses another state root.
    #[must_use]
    pub fn with_state(mut self, state: PathBuf) -> Self {
        self.state = state;
        self
    }

    /// Sets a variable in Tenure's environment.
    #[must_use]
    pub fn with_env(mut self, name: &str, value: &str) -> Self {
        self.env.push((name.into(), value.into()));
        self
    }

    /// A directory for the test's own files, which every user may write to.
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// The state root.
    pub fn state(&self) -> &Path {
        &self.state
    }

    /// The configuration file, which a test may write.
    pub fn config(&self) -> PathBuf {
        self.dir.path().join("config.toml")
    }

    /// True if its runs must get a cgroup; `None` if that depends on the system.
    pub fn expects_cgroup(&self) -> Option<bool> {
        let is_root = rustix::process::geteuid().is_root() && !self.unprivileged;
        if self.cgroup && !is_root { None } else { Some(self.cgroup) }
    }

    /// A `tenure` command line that is not started yet.
    #[expect(clippy::disallowed_methods, reason = "a test starts the program that it tests")]
    pub fn command(&self, args: &[&str]) -> Command {
        let program = self.program(tenure());
        let mut command = if self.unprivileged {
            let mut command = Command::new("setpriv");
            command.args([
                format!("--reuid={NOBODY}"),
                format!("--regid={NOBODY}"),
                "--clear-groups".to_owned(),
            ]);
            command.arg("--").arg(program);
            command
        } else {
            Command::new(program)
        };
        command.args(args).current_dir(self.dir.path());
        command.env_remove("TENURE_PAUSE").env("TENURE_STATE", &self.state);
        if !self.daemon {
            command.env("TENURE_NO_AUTOSTART", "1");
        }
        command.env("TENURE_CGROUP", if self.cgroup { "on" } else { "off" });
        // Not that of the user who runs the tests.
        command.env("TENURE_CONFIG", self.config());
        command.envs(self.env.iter().cloned());
        command.stdin(Stdio::null());
        command
    }

    /// Runs `tenure` to its end and collects what it printed.
    #[track_caller]
    pub fn tenure(&self, args: &[&str]) -> Output {
        ChildProgram::new(self.command(args)).output()
    }

    /// Runs a shell script with this installation's environment, to its end.
    #[track_caller]
    pub fn shell(&self, script: &str) -> Output {
        ChildProgram::new(self.shell_command(script)).output()
    }

    /// A shell script with this installation's environment that is not started yet; `$TENURE` is the program.
    #[expect(clippy::disallowed_methods, reason = "some callers of Tenure are shells")]
    pub fn shell_command(&self, script: &str) -> Command {
        let tenure = self.command(&[]);
        let mut command = Command::new("sh");
        command.args(["-c", script]).current_dir(self.dir.path()).stdin(Stdio::null());
        for (name, value) in tenure.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command.env("TENURE", self.program(self::tenure()));
        command
    }

    /// Starts `tenure` with its output captured, without waiting.
    #[track_caller]
    pub fn start(&self, args: &[&str]) -> ChildProgram {
        ChildProgram::new(self.command(args))
    }

    /// Starts a command in the background; returns its run.
    #[track_caller]
    pub fn start_in_background(&self, flags: &[&str], command: &[&str]) -> String {
        let output = self.tenure(&[&["run", "--bg"], flags, &["--"], command].concat());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    /// Cancels a run and waits for its end.
    #[track_caller]
    pub fn cancel(&self, id: &str) {
        assert!(self.tenure(&["cancel", id]).status.success());
        self.tenure(&["wait", id]);
    }

    /// A copy of a program where the unprivileged user can execute it, or the program itself.
    pub fn program(&self, program: &Path) -> PathBuf {
        if !self.unprivileged || is_executable_by_all(program) {
            return program.to_owned();
        }
        let copy = self.dir.path().join(program.file_name().expect("a program has a name"));
        if !copy.exists() {
            std::fs::copy(program, &copy).expect("copy the program");
            std::fs::set_permissions(&copy, PermissionsExt::from_mode(0o755)).expect("chmod");
        }
        copy
    }

    /// The actor's path, for a command line.
    pub fn actor(&self) -> String {
        self.program(actor()).to_str().expect("a path in UTF-8").to_owned()
    }

    /// The record of a run.
    #[track_caller]
    pub fn show(&self, id: &str) -> Value {
        let output = self.tenure(&["show", "--json", id]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).expect("JSON")
    }

    /// The pid of a run's root.
    #[track_caller]
    pub fn root_pid(&self, id: &str) -> i32 {
        self.show(id)["pid"].as_i64().and_then(|pid| pid.try_into().ok()).expect("a pid")
    }

    /// Waits until a run's output holds this text.
    #[track_caller]
    pub fn wait_for_output(&self, id: &str, text: &str) {
        self.start(&["logs", "-f", id]).wait_for(text);
    }

    /// The stored output of a run.
    #[track_caller]
    pub fn logs(&self, args: &[&str]) -> Vec<u8> {
        let output = self.tenure(&[&["logs"], args].concat());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    }

    /// Waits for a run's end, and returns the exit code of `tenure wait`.
    #[track_caller]
    pub fn wait(&self, id: &str) -> i32 {
        self.start(&["wait", id]).code()
    }

    /// Requests a run's end without waiting for it.
    #[track_caller]
    pub fn ask_to_cancel(&self, args: &[&str]) {
        let output = self.tenure(&[&["cancel"], args].concat());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    /// The ids of all run directories.
    pub fn runs(&self) -> Vec<String> {
        let Ok(entries) = std::fs::read_dir(self.state.join("runs")) else { return Vec::new() };
        entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect()
    }

    /// The only run.
    #[track_caller]
    pub fn only_run(&self) -> String {
        let runs = self.runs();
        assert_eq!(runs.len(), 1, "{runs:?}");
        runs.into_iter().next().expect("one")
    }

    /// The log of nurseries and keepers.
    pub fn nursery_log(&self) -> String {
        std::fs::read_to_string(self.state.join("nursery.log")).unwrap_or_default()
    }
}

impl Install {
    /// Removes the installation's own cgroup, which Tenure keeps for later runs.
    fn remove_cgroup(&self) {
        for id in self.runs() {
            let note = RunDir::open(&self.state.join("runs").join(id))
                .ok()
                .and_then(|dir| dir.note().ok().flatten());
            if let Some(Boundary::Cgroup { path }) = note.map(|note| note.boundary) {
                // An occupied one stays: the test has failed.
                let _ = Path::new(&path).parent().map(std::fs::remove_dir);
            }
        }
    }
}

impl Drop for Install {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let runs = self.runs();
            let args =
                [&["cancel", "--now"], &runs.iter().map(String::as_str).collect::<Vec<_>>()[..]].concat();
            // The test has failed already, and has its message.
            let _ = self.command(&args).output();
        }
        if self.daemon {
            // The daemon of this installation, and its runs, end with the installation.
            let _ = self.command(&["daemon", "stop", "--cancel-runs"]).output();
        }
        self.remove_cgroup();
    }
}

impl Default for Install {
    fn default() -> Self {
        Self::new()
    }
}

/// The `tenure` program that the tests were built with.
pub fn tenure() -> &'static Path {
    built_program("tenure-it")
}

/// The program with the nasty behaviours.
pub fn actor() -> &'static Path {
    built_program("actor")
}

/// The scripted agent with a command line.
pub fn scripted() -> &'static Path {
    built_program("scripted")
}

/// The scripted ACP agent.
pub fn scripted_acp() -> &'static Path {
    built_program("scripted-acp")
}

/// True if every user can reach and execute a program at its place.
fn is_executable_by_all(program: &Path) -> bool {
    let allows =
        |path: &Path, bits| std::fs::metadata(path).is_ok_and(|it| it.permissions().mode() & bits == bits);
    allows(program, 0o005) && program.ancestors().skip(1).all(|dir| allows(dir, 0o001))
}

/// A program of this package, found once per test process.
pub(crate) fn built_program(name: &str) -> &'static Path {
    Box::leak(crate::program(name).into_boxed_path())
}
