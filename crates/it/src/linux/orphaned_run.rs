//! Runs that lose their keeper, killed by the test.

use crate::held_process::HeldProcess;
use crate::install::Install;
use crate::owned_daemon::OwnedDaemon;
use crate::{WAIT_LIMIT, eventually, proc};
use rustix::process::Signal;
use tenure_core::record::{self, KeeperNote};

/// Prefix of a command whose root must outlive its keeper.
pub const OUTLIVING: [&str; 3] = ["setpriv", "--pdeathsig", "clear"];

/// A run without a keeper, whose daemon is dead.
#[derive(Debug)]
pub struct OrphanedRun {
    /// Its id.
    pub run: String,
    /// All processes that were below its keeper, the root first.
    pub members: Vec<HeldProcess>,
}

impl OrphanedRun {
    /// Starts a script whose root outlives its keeper, waits until `ready` is printed, and kills daemon,
    /// nursery and keeper at once.
    #[track_caller]
    pub fn from_script(served: &mut OwnedDaemon, flags: &[&str], script: &str) -> Self {
        Self::from_command(served, flags, &[&OUTLIVING[..], &["sh", "-c", script]].concat())
    }

    /// [`Self::from_script`] with any command.
    #[track_caller]
    pub fn from_command(served: &mut OwnedDaemon, flags: &[&str], command: &[&str]) -> Self {
        let run = served.install.start_in_background(flags, command);
        served.install.wait_for_output(&run, "ready");
        let keepers = served.keepers(&run);
        let members: Vec<HeldProcess> =
            proc::descendants(keepers[0].pid).into_iter().filter_map(HeldProcess::hold).collect();
        let daemon = served.process();
        let victims = [&daemon].into_iter().chain(&keepers);
        victims.clone().for_each(HeldProcess::stop);
        victims.clone().for_each(|one| one.send(Signal::KILL));
        victims.for_each(|one| one.wait_dead(WAIT_LIMIT));
        served.wait_exit();
        Self { run, members }
    }

    /// Number of its live processes.
    pub fn living(&self) -> usize {
        self.members.iter().filter(|one| !one.is_dead()).count()
    }

    /// Waits until all of its processes are dead.
    #[track_caller]
    pub fn wait_dead(&self) {
        self.members.iter().for_each(|one| one.wait_dead(WAIT_LIMIT));
    }

    /// Kills the rest of its processes.
    #[track_caller]
    pub fn end(&self) {
        self.members.iter().for_each(|one| one.send(Signal::KILL));
        self.wait_dead();
    }
}

impl Drop for OrphanedRun {
    fn drop(&mut self) {
        self.members.iter().for_each(|one| one.send(Signal::KILL));
    }
}

/// Changes the recorded processes of a run.
#[track_caller]
pub fn rewrite_note(served: &OwnedDaemon, run: &str, change: impl FnOnce(&mut KeeperNote)) {
    let mut note = served.dir(run).note().expect("a note").expect("a note");
    change(&mut note);
    std::fs::write(served.run_path(run).join("keeper"), record::encode(&note)).expect("the note is written");
}

/// Starts a daemon and a run that stops it at a pause point, kills it there, and returns the run.
#[track_caller]
pub fn killed_at(served: &mut OwnedDaemon, point: &str, command: &[&str]) -> String {
    served.restart_with(&[("TENURE_PAUSE", point)]);
    let daemon = served.process();
    let mut cli = served.install.start(&[&["run", "--bg", "--"], command].concat());
    eventually("a stopped daemon", || proc::is_stopped(daemon.pid).then_some(()));
    daemon.send(Signal::KILL);
    daemon.wait_dead(WAIT_LIMIT);
    served.wait_exit();
    assert_ne!(cli.code(), 0, "the client got an id: {}", cli.out());
    // Its row names its id; only a daemon reads a registry, so this reads a copy.
    newest_of_a_copy(served)
}

/// The newest run in a copy of the registry, read by a daemon with a state root of its own.
#[track_caller]
fn newest_of_a_copy(served: &OwnedDaemon) -> String {
    let looker = Install::new();
    std::fs::create_dir(looker.state()).expect("a state root");
    std::fs::set_permissions(looker.state(), std::os::unix::fs::PermissionsExt::from_mode(0o700))
        .expect("chmod");
    for name in ["tenure.db", "tenure.db-wal"] {
        let from = served.install.state().join(name);
        if from.exists() {
            std::fs::copy(from, looker.state().join(name)).expect("a copy");
        }
    }
    let looker = OwnedDaemon::start(looker);
    let listed = looker.install.tenure(&["ps", "--all", "--json"]);
    let listed: Vec<serde_json::Value> = serde_json::from_slice(&listed.stdout).expect("a list");
    let newest = listed.iter().max_by_key(|run| run["createdAtMs"].as_u64()).expect("a run");
    newest["runId"].as_str().expect("an id").to_owned()
}
