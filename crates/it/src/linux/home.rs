//! An installation whose runs go through a daemon that the test may kill: by a descriptor that means that very process.

use crate::install::Install;
use crate::known::Known;
use crate::ledger::Ledger;
use crate::started::Started;
use crate::witness::Witness;
use crate::{PATIENCE, eventually, proc, remains, within};
use rustix::process::Signal;
use serde_json::Value;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// An installation with a daemon. Every actor of it holds its witness.
#[derive(Debug)]
pub struct Home {
    install: Install,
    witness: Witness,
}

impl Home {
    /// With a daemon that a warden starts again.
    #[track_caller]
    pub fn watched() -> Self {
        let home = Self::of(Install::new().with_daemon());
        home.begin();
        home
    }

    /// With a daemon that nobody starts again but the test.
    #[track_caller]
    pub fn unwatched() -> Self {
        let home = Self::of(Install::new());
        home.begin();
        home
    }

    /// With no daemon yet.
    pub fn of(install: Install) -> Self {
        let witness = Witness::new(install.dir());
        let path = witness.path().to_str().expect("UTF-8").to_owned();
        Self { install: install.with_env("ACTOR_WITNESS", &path), witness }
    }

    /// Starts the daemon, or finds that it runs.
    #[track_caller]
    pub fn begin(&self) -> Known {
        let output = self.tenure(&["daemon", "start"]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        self.daemon()
    }

    /// Starts a daemon that stands still at this pause point.
    #[track_caller]
    pub fn begin_paused(&self, point: &str) -> Known {
        let mut command = self.command(&["daemon", "start"]);
        let output = Started::new({
            command.env("TENURE_PAUSE", point);
            command
        })
        .output();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        self.daemon()
    }

    /// The pid of the daemon that serves now.
    pub fn serving(&self) -> Option<i32> {
        let output = self.tenure(&["daemon", "status", "--json"]);
        let status: Value = serde_json::from_slice(&output.stdout).ok()?;
        i32::try_from(status["pid"].as_i64()?).ok()
    }

    /// The daemon, once one serves.
    #[track_caller]
    pub fn daemon(&self) -> Known {
        eventually(&format!("a daemon; {}", self.log()), || {
            let daemon = Known::hold(self.serving()?)?;
            // What was held is what the status spoke of: it is a daemon of this state root, and lives.
            assert!(self.is_ours(daemon.pid) || daemon.is_dead(), "pid {} is not ours", daemon.pid);
            (!daemon.is_dead()).then_some(daemon)
        })
    }

    /// A run's root, alive.
    #[track_caller]
    pub fn root(&self, id: &str) -> Known {
        Known::hold(self.root_pid(id)).expect("a root that lives")
    }

    /// The daemon that holds the lock, whether it serves or not.
    pub fn locked(&self) -> Option<Known> {
        let text = std::fs::read_to_string(self.state().join("daemon.lock")).ok()?;
        let daemon = Known::hold(text.lines().next()?.trim().parse().ok()?)?;
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
        daemon.wait_dead(PATIENCE);
        daemon.pid
    }

    /// Waits until another daemon than this one serves.
    #[track_caller]
    pub fn next_after(&self, pid: i32) -> Known {
        eventually(&format!("the daemon after {pid}; {}", self.log()), || {
            (self.serving()? != pid).then_some(())
        });
        self.daemon()
    }

    /// Starts a command of the actor in the background; returns its run.
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

    /// Where a run keeps its files.
    pub fn run_path(&self, id: &str) -> PathBuf {
        self.state().join("runs").join(id)
    }

    /// What the daemon wrote about itself.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.state().join("daemon.log")).unwrap_or_default()
    }

    /// Starts `tenure` as one who may start a daemon, though this installation's are not started by others.
    #[track_caller]
    pub fn start_freely(&self, args: &[&str]) -> Started {
        let mut command = self.command(args);
        command.env_remove("TENURE_NO_AUTOSTART");
        Started::new(command)
    }

    /// Waits until no process of any run is alive.
    #[track_caller]
    pub fn wait_nobody(&self, patience: Duration) {
        self.witness.wait_nobody(patience);
    }

    /// The registry, found whole, and the metrics in agreement with it.
    #[track_caller]
    pub fn audit(&self) -> Ledger {
        let (ledger, metrics) = eventually("a moment in which nothing changes", || {
            let before = Ledger::read(&self.install);
            let metrics = self.tenure(&["metrics"]);
            assert!(metrics.status.success(), "{}", String::from_utf8_lossy(&metrics.stderr));
            let ledger = Ledger::read(&self.install);
            (before == ledger).then_some((ledger, metrics))
        });
        ledger.check(&self.install);
        ledger.check_metrics(&String::from_utf8_lossy(&metrics.stdout));
        ledger
    }

    /// Every run has ended: checks the records, stops the daemon, and finds nothing left of anybody.
    #[track_caller]
    pub fn finish(self) {
        // A foreground caller hears of the end from the keeper, at the same time as the daemon.
        eventually(&format!("that every run is recorded as ended\n{}", self.log()), || {
            self.audit().runs.iter().all(|run| run.state == "exited").then_some(())
        });
        let stopped = self.tenure(&["daemon", "stop"]);
        assert!(stopped.status.success(), "{stopped:?}");
        assert!(!self.state().join("tenure.db-wal").exists(), "the registry was not closed");
        self.find_nothing();
    }

    /// Nothing is left but records.
    #[track_caller]
    pub fn find_nothing(&self) {
        self.wait_nobody(PATIENCE);
        within(PATIENCE, "an end of all that names the state root", || {
            remains::processes(self).is_empty().then_some(())
        });
        assert_eq!(remains::locks(self), Vec::<String>::new(), "locks are held");
        assert_eq!(remains::groups(self), Vec::<PathBuf>::new(), "control groups are left");
        remains::forget(self);
    }
}

impl Deref for Home {
    type Target = Install;

    fn deref(&self) -> &Install {
        &self.install
    }
}

impl Drop for Home {
    /// A failed test leaves nobody behind: whoever names its directory, which no other test has, was started by it.
    fn drop(&mut self) {
        if !std::thread::panicking() {
            return;
        }
        eprintln!("daemon.log:\n{}\nnursery.log:\n{}", self.log(), self.complaints());
        for _ in 0..200 {
            let left: Vec<Known> = self.processes().into_iter().filter_map(Known::hold).collect();
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
