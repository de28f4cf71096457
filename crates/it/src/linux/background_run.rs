//! A run without a caller, and the processes that hold it.

use crate::bystander::has_role;
use crate::held_process::HeldProcess;
use crate::install::Install;
use crate::witness::Witness;
use crate::{WAIT_LIMIT, eventually, leftovers, proc, within};
use tenure_core::record::Ending;
use tenure_keeper::rundir::RunDir;

/// A run in the background.
#[derive(Debug)]
pub struct BackgroundRun {
    /// Its directory.
    pub dir: RunDir,
    /// Its nursery.
    pub nursery: HeldProcess,
    /// Its keeper.
    pub keeper: HeldProcess,
    /// All processes below the keeper, the root first.
    pub members: Vec<HeldProcess>,
    witness: Witness,
}

impl BackgroundRun {
    /// Starts a run of the actor with these words, and waits until the first of them is ready.
    #[track_caller]
    pub fn start(install: &Install, options: &[&str], words: &[&str]) -> Self {
        Self::start_in_time(install, options, words).expect("it lives")
    }

    /// [`Self::start`] for a run that may end before its words are ready; then `None`.
    #[track_caller]
    pub fn start_in_time(install: &Install, options: &[&str], words: &[&str]) -> Option<Self> {
        let witness = Witness::new(install.dir());
        let actor = install.actor();
        let args = [&["run", "--bg"], options, &["--", &actor, "--pids", "pids"], words].concat();
        let mut command = install.command(&args);
        let output = command.env("ACTOR_WITNESS", witness.path()).output().expect("tenure starts");
        assert!(output.status.success(), "{output:?}");
        let id = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        let dir = RunDir::open(&install.state().join("runs").join(id)).expect("the run's directory");
        eventually("the tree or its end", || {
            let is_there = has_role(&install.dir().join("pids"), words[0]);
            (is_there || dir.ending().expect("a record").is_some()).then_some(is_there)
        })
        .then_some(())?;
        let keeper = dir.note().expect("a note").expect("a note").keeper.pid;
        let (_, nursery, ..) = proc::stat(keeper)?;
        let members = proc::descendants(keeper).into_iter().filter_map(HeldProcess::hold).collect();
        Some(Self {
            nursery: HeldProcess::hold(nursery)?,
            keeper: HeldProcess::hold(keeper)?,
            members,
            dir,
            witness,
        })
    }

    /// Kills these processes before any can react.
    #[track_caller]
    pub fn kill(&self, victims: &[&HeldProcess]) {
        for victim in victims {
            victim.stop();
        }
        for victim in victims {
            victim.send(rustix::process::Signal::KILL);
        }
        for victim in victims {
            victim.wait_dead(WAIT_LIMIT);
        }
    }

    /// True if a process of the run lives.
    pub fn lives(&self) -> bool {
        !self.witness.all_dead()
    }

    /// Waits until only the run's records are left, and returns its ending.
    #[track_caller]
    pub fn wait_end(&self, install: &Install) -> Ending {
        self.witness.wait_all_dead();
        [&self.nursery, &self.keeper]
            .into_iter()
            .chain(&self.members)
            .for_each(|one| one.wait_dead(WAIT_LIMIT));
        within(WAIT_LIMIT, "the end of all processes that name the state root", || {
            leftovers::processes(install).is_empty().then_some(())
        });
        assert_eq!(leftovers::locks(install), Vec::<String>::new(), "locks are held");
        assert_eq!(leftovers::groups(install), Vec::<std::path::PathBuf>::new(), "control groups are left");
        leftovers::forget(install);
        self.dir.ending().expect("an ending that is whole").expect("an ending")
    }
}

impl Drop for BackgroundRun {
    /// Ends the run after a failed test. Its processes are the test's own.
    fn drop(&mut self) {
        for one in [&self.nursery, &self.keeper].into_iter().chain(&self.members) {
            one.send(rustix::process::Signal::KILL);
        }
    }
}
