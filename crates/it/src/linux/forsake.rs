//! Ways in which a run loses whoever keeps it, by the test's own hand.

use crate::install::Install;
use crate::known::Known;
use crate::served::Served;
use crate::{PATIENCE, eventually, proc};
use rustix::process::Signal;
use tenure_core::record::{self, KeeperNote};

/// What is put before a command so that its root outlives its keeper.
pub const OUTLIVING: [&str; 3] = ["setpriv", "--pdeathsig", "clear"];

/// A run that nobody keeps any more, and whose daemon is dead.
#[derive(Debug)]
pub struct Forsaken {
    /// Its id.
    pub run: String,
    /// Everybody who was below its keeper, the root first.
    pub members: Vec<Known>,
}

impl Forsaken {
    /// Starts a script whose root outlives its keeper, waits until `ready` is printed, and kills daemon, nursery and
    /// keeper in one stroke.
    #[track_caller]
    pub fn by(served: &mut Served, flags: &[&str], script: &str) -> Self {
        Self::of(served, flags, &[&OUTLIVING[..], &["sh", "-c", script]].concat())
    }

    /// The same with any command.
    #[track_caller]
    pub fn of(served: &mut Served, flags: &[&str], command: &[&str]) -> Self {
        let run = served.install.start_in_background(flags, command);
        served.install.wait_for_output(&run, "ready");
        let keepers = served.keepers(&run);
        let members: Vec<Known> =
            proc::descendants(keepers[0].pid).into_iter().filter_map(Known::hold).collect();
        let daemon = served.process();
        let victims = [&daemon].into_iter().chain(&keepers);
        victims.clone().for_each(Known::stop);
        victims.clone().for_each(|one| one.send(Signal::KILL));
        victims.for_each(|one| one.wait_dead(PATIENCE));
        served.bury();
        Self { run, members }
    }

    /// How many of it live.
    pub fn living(&self) -> usize {
        self.members.iter().filter(|one| !one.is_dead()).count()
    }

    /// Waits until nobody of it lives.
    #[track_caller]
    pub fn wait_dead(&self) {
        self.members.iter().for_each(|one| one.wait_dead(PATIENCE));
    }

    /// Kills whoever is left of it.
    #[track_caller]
    pub fn end(&self) {
        self.members.iter().for_each(|one| one.send(Signal::KILL));
        self.wait_dead();
    }
}

impl Drop for Forsaken {
    fn drop(&mut self) {
        self.members.iter().for_each(|one| one.send(Signal::KILL));
    }
}

/// Changes what is recorded of a run's processes.
#[track_caller]
pub fn rewrite_note(served: &Served, run: &str, change: impl FnOnce(&mut KeeperNote)) {
    let mut note = served.dir(run).note().expect("a note").expect("a note");
    change(&mut note);
    std::fs::write(served.run_path(run).join("keeper"), record::encode(&note)).expect("the note is written");
}

/// Starts a daemon and a run that stops it at a pause point, kills it there, and returns the run.
#[track_caller]
pub fn killed_at(served: &mut Served, point: &str, command: &[&str]) -> String {
    served.restart_with(&[("TENURE_PAUSE", point)]);
    let daemon = served.process();
    let mut cli = served.install.start(&[&["run", "--bg", "--"], command].concat());
    eventually("a daemon that stands still", || proc::is_stopped(daemon.pid).then_some(()));
    daemon.send(Signal::KILL);
    daemon.wait_dead(PATIENCE);
    served.bury();
    assert_ne!(cli.code(), 0, "nobody promised a run: {}", cli.out());
    // Its row tells its id; nobody reads a registry but a daemon, so one looks at a copy of it.
    newest_of_a_copy(served)
}

/// The newest run in a copy of the registry, as a daemon with a state root of its own sees it.
#[track_caller]
fn newest_of_a_copy(served: &Served) -> String {
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
    let looker = Served::start(looker);
    let listed = looker.install.tenure(&["ps", "--all", "--json"]);
    let listed: Vec<serde_json::Value> = serde_json::from_slice(&listed.stdout).expect("a list");
    let newest = listed.iter().max_by_key(|run| run["createdAtMs"].as_u64()).expect("a run");
    newest["runId"].as_str().expect("an id").to_owned()
}
