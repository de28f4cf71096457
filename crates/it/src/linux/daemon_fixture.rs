//! An installation whose daemon the test may kill, by a descriptor that means exactly that process.

use crate::child_program::ChildProgram;
use crate::held_process::HeldProcess;
use crate::install::Install;
use crate::registry_file::RegistryFile;
use crate::witness::Witness;
use crate::{WAIT_LIMIT, eventually, leftovers, proc, within};
use rustix::process::Signal;
use serde_json::Value;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// An installation with a daemon. Every actor of it holds its witness.
#[derive(Debug)]
pub struct DaemonFixture {
    install: Install,
    witness: Witness,
}

impl DaemonFixture {
    /// Starts a daemon that a warden restarts.
    #[track_caller]
    pub fn with_warden() -> Self {
        let fixture = Self::of(Install::new().with_daemon());
        fixture.start_daemon();
        fixture
    }

    /// Starts a daemon that only the test restarts.
    #[track_caller]
    pub fn without_warden() -> Self {
        let fixture = Self::of(Install::new());
        fixture.start_daemon();
        fixture
    }

    /// Uses this installation without a daemon yet.
    pub fn of(install: Install) -> Self {
        let witness = Witness::new(install.dir());
        let path = witness.path().to_str().expect("UTF-8").to_owned();
        Self { install: install.with_env("ACTOR_WITNESS", &path), witness }
    }

    /// Starts the daemon, or finds it running.
    #[track_caller]
    pub fn start_daemon(&self) -> HeldProcess {
        let output = self.tenure(&["daemon", "start"]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        self.daemon()
    }

    /// Starts a daemon that stops at this pause point.
    #[track_caller]
    pub fn start_daemon_paused(&self, point: &str) -> HeldProcess {
        let mut command = self.command(&["daemon", "start"]);
        let output = ChildProgram::new({
            command.env("TENURE_PAUSE", point);
            command
        })
        .output();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        self.daemon()
    }

    /// The pid of the daemon that serves now.
    pub fn serving_pid(&self) -> Option<i32> {
        let output = self.tenure(&["daemon", "status", "--json"]);
        let status: Value = serde_json::from_slice(&output.stdout).ok()?;
        i32::try_from(status["pid"].as_i64()?).ok()
    }

    /// The daemon, once one serves.
    #[track_caller]
    pub fn daemon(&self) -> HeldProcess {
        eventually(&format!("a daemon; {}", self.log()), || {
            let daemon = HeldProcess::hold(self.serving_pid()?)?;
            // The held process is the one that the status named: a daemon of this state root, alive.
            assert!(self.is_ours(daemon.pid) || daemon.is_dead(), "pid {} is not ours", daemon.pid);
            (!daemon.is_dead()).then_some(daemon)
        })
    }

    /// The live root of a run.
    #[track_caller]
    pub fn root(&self, id: &str) -> HeldProcess {
        HeldProcess::hold(self.root_pid(id)).expect("a root that lives")
    }

    /// The daemon that holds the lock, serving or not.
    pub fn lock_holder(&self) -> Option<HeldProcess> {
        let text = std::fs::read_to_string(self.state().join("daemon.lock")).ok()?;
        let daemon = HeldProcess::hold(text.lines().next()?.trim().parse().ok()?)?;
        (self.is_ours(daemon.pid) && !daemon.is_dead()).then_some(daemon)
    }

    fn is_ours(&self, pid: i32) -> bool {
        proc::naming(self.dir().to_str().expect("UTF-8")).contains(&pid) && proc::name(pid) == "tenure-daemon"
    }

    /// Kills the daemon; returns its pid.
    #[track_caller]
    pub fn kill(&self) -> i32 {
        let daemon = self.daemon();
        daemon.send(Signal::KILL);
        daemon.wait_dead(WAIT_LIMIT);
        daemon.pid
    }

    /// Waits until another daemon than this one serves.
    #[track_caller]
    pub fn wait_next_daemon(&self, pid: i32) -> HeldProcess {
        eventually(&format!("the daemon after {pid}; {}", self.log()), || {
            (self.serving_pid()? != pid).then_some(())
        });
        self.daemon()
    }

    /// Starts the actor in the background; returns its run.
    #[track_caller]
    pub fn act(&self, flags: &[&str], words: &[&str]) -> String {
        let actor = self.actor();
        self.start_in_background(flags, &[&[actor.as_str()], words].concat())
    }

    /// Waits until an actor's run says that its behaviour is in place.
    #[track_caller]
    pub fn wait_ready(&self, id: &str) {
        self.wait_for_output(id, "ready");
    }

    /// The directory of a run.
    pub fn run_path(&self, id: &str) -> PathBuf {
        self.state().join("runs").join(id)
    }

    /// The daemon's log.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.state().join("daemon.log")).unwrap_or_default()
    }

    /// Starts `tenure` with autostart of the daemon, which this installation disables.
    #[track_caller]
    pub fn start_with_autostart(&self, args: &[&str]) -> ChildProgram {
        let mut command = self.command(args);
        command.env_remove("TENURE_NO_AUTOSTART");
        ChildProgram::new(command)
    }

    /// Waits until no process of any run is alive.
    #[track_caller]
    pub fn wait_nobody(&self, patience: Duration) {
        self.witness.wait_nobody(patience);
    }

    /// Reads the registry, checks it, and compares the metrics with it.
    #[track_caller]
    pub fn audit(&self) -> RegistryFile {
        let (ledger, metrics) = eventually("a moment without changes", || {
            let before = RegistryFile::read(&self.install);
            let metrics = self.tenure(&["metrics"]);
            assert!(metrics.status.success(), "{}", String::from_utf8_lossy(&metrics.stderr));
            let ledger = RegistryFile::read(&self.install);
            (before == ledger).then_some((ledger, metrics))
        });
        ledger.check(&self.install);
        ledger.check_metrics(&String::from_utf8_lossy(&metrics.stdout));
        ledger
    }

    /// Checks the records after every run has ended, stops the daemon, and asserts that no process is left.
    #[track_caller]
    pub fn finish(self) {
        // A foreground caller learns of the end from the keeper, at the same time as the daemon.
        eventually(&format!("every run is recorded as ended\n{}", self.log()), || {
            self.audit().runs.iter().all(|run| run.state == "exited").then_some(())
        });
        let stopped = self.tenure(&["daemon", "stop"]);
        assert!(stopped.status.success(), "{stopped:?}");
        assert!(!self.state().join("tenure.db-wal").exists(), "the registry was not closed");
        self.assert_nothing_left();
    }

    /// Asserts that only records are left.
    #[track_caller]
    pub fn assert_nothing_left(&self) {
        self.wait_nobody(WAIT_LIMIT);
        within(WAIT_LIMIT, "the end of all processes that name the state root", || {
            leftovers::processes(self).is_empty().then_some(())
        });
        assert_eq!(leftovers::locks(self), Vec::<String>::new(), "locks are held");
        assert_eq!(leftovers::groups(self), Vec::<PathBuf>::new(), "control groups are left");
        leftovers::forget(self);
    }
}

impl Deref for DaemonFixture {
    type Target = Install;

    fn deref(&self) -> &Install {
        &self.install
    }
}

impl Drop for DaemonFixture {
    /// Ends all processes after a failed test: a process that names its directory, which no other test has,
    /// was started by it.
    fn drop(&mut self) {
        if !std::thread::panicking() {
            return;
        }
        eprintln!("daemon.log:\n{}\nnursery.log:\n{}", self.log(), self.nursery_log());
        for _ in 0..200 {
            let left: Vec<HeldProcess> = self.processes().into_iter().filter_map(HeldProcess::hold).collect();
            if left.is_empty() {
                break;
            }
            for one in left.iter().filter(|one| names(one.pid, self.dir())) {
                one.send(Signal::KILL);
            }
            std::thread::park_timeout(Duration::from_millis(10));
        }
        // The installation would cancel them, and start a daemon for that.
        let _ = std::fs::remove_dir_all(self.state().join("runs"));
    }
}

fn names(pid: i32, dir: &Path) -> bool {
    proc::naming(dir.to_str().expect("UTF-8")).contains(&pid)
}
