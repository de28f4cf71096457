//! Tenure's records of a run's processes, and the locks of its own live processes.

use super::held_process::HeldProcess;
use super::install::MatrixInstall;
use std::io;
use std::path::{Path, PathBuf};
use tenure_core::record::{self, Boundary, KeeperNote};
use tenure_os::file::Dir;
use tenure_os::lock::{self, Holder};

/// The file with a run's note, locked by its keeper.
const NOTE: &str = "keeper";

impl MatrixInstall {
    /// The directory of a run.
    pub fn run_path(&self, run: &str) -> PathBuf {
        self.state().join("runs").join(run)
    }

    /// The recorded processes of a run.
    #[track_caller]
    pub fn note(&self, run: &str) -> KeeperNote {
        let bytes = std::fs::read(self.run_path(run).join(NOTE)).expect("a note");
        record::decode(&bytes).expect("a note")
    }

    /// Changes the note. No process may hold it.
    #[track_caller]
    pub fn rewrite_note(&self, run: &str, change: impl FnOnce(&mut KeeperNote)) {
        let mut note = self.note(run);
        change(&mut note);
        std::fs::write(self.run_path(run).join(NOTE), record::encode(&note)).expect("the note is written");
    }

    /// Removes the cgroup that an installation keeps for later runs; a test's has none. Only Linux has
    /// cgroups.
    pub(crate) fn remove_groups(&self) {
        for note in self.notes() {
            if let Boundary::Cgroup { path } = note.boundary {
                // An occupied one stays: the test has failed.
                let _ = Path::new(&path).parent().map(std::fs::remove_dir);
            }
        }
    }

    /// All live keepers.
    pub(crate) fn keepers(&self) -> Vec<HeldProcess> {
        self.notes().iter().filter_map(|note| HeldProcess::recorded(&note.keeper)).collect()
    }

    fn notes(&self) -> Vec<KeeperNote> {
        let runs = std::fs::read_dir(self.state().join("runs")).into_iter().flatten().flatten();
        let notes = runs.filter_map(|run| std::fs::read(run.path().join(NOTE)).ok());
        notes.filter_map(|bytes| record::decode(&bytes).ok()).collect()
    }

    /// The live keeper of a run.
    #[track_caller]
    pub fn keeper(&self, run: &str) -> HeldProcess {
        HeldProcess::recorded(&self.note(run).keeper).expect("a keeper that lives")
    }

    /// The live root of a run.
    #[track_caller]
    pub fn root(&self, run: &str) -> HeldProcess {
        HeldProcess::recorded(&self.note(run).root).expect("a root that lives")
    }

    /// The live nursery of a run's keeper: its parent, with the same program.
    #[track_caller]
    pub fn nursery(&self, run: &str) -> HeldProcess {
        let keeper = self.keeper(run);
        let parent = || tenure_os::process::ancestors(keeper.pid()).get(1).copied().expect("a parent");
        let nursery = HeldProcess::now(parent()).expect("a nursery");
        assert_eq!(nursery.exe(), keeper.exe(), "the parent of {run}'s keeper is no nursery");
        // While both live, the parent's pid is that of the held process.
        assert!(parent() == nursery.pid() && !nursery.is_dead() && !keeper.is_dead(), "no nursery of {run}");
        nursery
    }

    /// The held locks: of the daemon, nurseries and keepers.
    pub fn locks(&self) -> io::Result<Vec<String>> {
        let below = |name: &str| -> Vec<PathBuf> {
            let entries = std::fs::read_dir(self.state().join(name)).into_iter().flatten().flatten();
            entries.map(|entry| entry.path()).collect()
        };
        let keepers = below("runs").into_iter().map(|dir| dir.join(NOTE));
        let all = [self.state().join("daemon.lock")].into_iter().chain(below("nurseries")).chain(keepers);
        let mut held = Vec::new();
        for path in all {
            if is_held(&path)? {
                held.push(path.display().to_string());
            }
        }
        Ok(held)
    }
}

fn is_held(path: &Path) -> io::Result<bool> {
    let (Some(dir), Some(name)) = (path.parent(), path.file_name().and_then(|name| name.to_str())) else {
        return Ok(false);
    };
    match Dir::open(dir) {
        Ok(dir) => Ok(lock::holder(&dir, name)? == Holder::Somebody),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}
