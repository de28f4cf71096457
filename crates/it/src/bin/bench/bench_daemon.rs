//! A daemon of the benchmark on a state root of its own: this program, executed again.

use crate::api_client::ApiClient;
use crate::subject::Subject;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Time limit for a daemon to answer, and to exit.
const DAEMON_LIMIT: Duration = Duration::from_mins(1);

/// A daemon; dropped, it ends its runs and exits.
pub(crate) struct BenchDaemon {
    state: PathBuf,
    cgroup: bool,
    child: Child,
}

impl BenchDaemon {
    /// Starts a daemon and waits until it answers.
    pub(crate) fn start(state: &Path, cgroup: bool) -> io::Result<Self> {
        let mut daemon = Self { state: state.to_owned(), cgroup, child: execute(state, cgroup)? };
        daemon.answers()?;
        Ok(daemon)
    }

    /// Kills the daemon and starts the next; returns the time from its execution to its first response.
    pub(crate) fn kill_and_restart(&mut self) -> io::Result<Duration> {
        self.child.kill()?;
        self.child.wait()?;
        let from = Instant::now();
        self.child = execute(&self.state, self.cgroup)?;
        self.answers()?;
        Ok(from.elapsed())
    }

    pub(crate) fn pid(&self) -> i32 {
        self.child.id().cast_signed()
    }

    /// Opens a connection.
    pub(crate) fn talk(&self) -> io::Result<ApiClient> {
        ApiClient::open(&self.state)
    }

    /// Stops the daemon; its runs continue.
    pub(crate) fn leave(mut self) -> io::Result<()> {
        self.shut_down(false)
    }

    fn shut_down(&mut self, cancel_runs: bool) -> io::Result<()> {
        let body = format!("{{\"cancelRuns\":{cancel_runs}}}");
        self.talk()?.call("POST", "/v1/shutdown", &body)?;
        self.child.wait().map(drop)
    }

    fn answers(&mut self) -> io::Result<()> {
        let until = Instant::now() + DAEMON_LIMIT;
        loop {
            if let Ok(mut talk) = self.talk()
                && talk.call("GET", "/v1/health", "").is_ok()
            {
                return Ok(());
            }
            if self.child.try_wait()?.is_some() || Instant::now() > until {
                let log = std::fs::read_to_string(log(&self.state)).unwrap_or_default();
                return Err(io::Error::other(format!("the daemon does not serve: {log}")));
            }
            std::thread::park_timeout(Duration::from_millis(1));
        }
    }
}

impl Drop for BenchDaemon {
    fn drop(&mut self) {
        // A daemon that has exited needs no request; a run of one that is stuck ends after its orphan grace.
        if matches!(self.child.try_wait(), Ok(None)) && self.shut_down(true).is_err() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

fn log(state: &Path) -> PathBuf {
    state.with_extension("log")
}

#[expect(clippy::disallowed_methods, reason = "the daemon that is measured, as a service manager starts it")]
fn execute(state: &Path, cgroup: bool) -> io::Result<Child> {
    let log = File::options().create(true).append(true).open(log(state))?;
    let mut command = Command::new("/proc/self/exe");
    command.args(["daemon", "run"]).env("TENURE_STATE", state).env("TENURE_CONFIG", "/dev/null");
    command.env("TENURE_CGROUP", if cgroup { "on" } else { "off" });
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn()
}

/// Request for a run of the measured program. If daemon and benchmark both die, the run ends soon after.
pub(crate) fn request(subject: &Subject, args: &[&str]) -> String {
    let words: Vec<String> =
        subject.words(args).iter().map(|word| String::from_utf8_lossy(word).into_owned()).collect();
    let request =
        serde_json::json!({"command": words, "cwd": "/", "orphanGraceMs": 20_000, "orphan": "terminate"});
    request.to_string()
}
