//! What Tenure wrote down of a run's processes, and the locks that say which of its own live.

use super::home::Home;
use super::known::Known;
use std::io;
use std::path::{Path, PathBuf};
use tenure_core::record::{self, Boundary, KeeperNote};
use tenure_os::file::Dir;
use tenure_os::lock::{self, Holder};

/// The file with a run's note, which its keeper holds locked.
const NOTE: &str = "keeper";

impl Home {
    /// Where a run's records are.
    pub fn run_path(&self, run: &str) -> PathBuf {
        self.state().join("runs").join(run)
    }

    /// What is recorded of a run's processes.
    #[track_caller]
    pub fn note(&self, run: &str) -> KeeperNote {
        let bytes = std::fs::read(self.run_path(run).join(NOTE)).expect("a note");
        record::decode(&bytes).expect("a note")
    }

    /// Changes it. Nobody may hold it.
    #[track_caller]
    pub fn rewrite_note(&self, run: &str, change: impl FnOnce(&mut KeeperNote)) {
        let mut note = self.note(run);
        change(&mut note);
        std::fs::write(self.run_path(run).join(NOTE), record::encode(&note)).expect("the note is written");
    }

    /// Removes the control group that an installation keeps for those of its runs; a test's has no later use. Only Linux
    /// has them.
    pub(crate) fn remove_groups(&self) {
        for note in self.notes() {
            if let Boundary::Cgroup { path } = note.boundary {
                // One that is occupied stays: the test has failed.
                let _ = Path::new(&path).parent().map(std::fs::remove_dir);
            }
        }
    }

    /// Every keeper that lives.
    pub(crate) fn keepers(&self) -> Vec<Known> {
        self.notes().iter().filter_map(|note| Known::recorded(&note.keeper)).collect()
    }

    fn notes(&self) -> Vec<KeeperNote> {
        let runs = std::fs::read_dir(self.state().join("runs")).into_iter().flatten().flatten();
        let notes = runs.filter_map(|run| std::fs::read(run.path().join(NOTE)).ok());
        notes.filter_map(|bytes| record::decode(&bytes).ok()).collect()
    }

    /// A run's keeper, alive.
    #[track_caller]
    pub fn keeper(&self, run: &str) -> Known {
        Known::recorded(&self.note(run).keeper).expect("a keeper that lives")
    }

    /// A run's root, alive.
    #[track_caller]
    pub fn root(&self, run: &str) -> Known {
        Known::recorded(&self.note(run).root).expect("a root that lives")
    }

    /// The nursery of a run's keeper, alive: whoever started the keeper, and executes the same program.
    #[track_caller]
    pub fn nursery(&self, run: &str) -> Known {
        let keeper = self.keeper(run);
        let parent = || tenure_os::process::ancestors(keeper.pid()).get(1).copied().expect("a parent");
        let nursery = Known::now(parent()).expect("a nursery");
        assert_eq!(nursery.exe(), keeper.exe(), "the parent of {run}'s keeper is no nursery");
        // While both live, a number that is still the parent's is that of the one that is held.
        assert!(parent() == nursery.pid() && !nursery.is_dead() && !keeper.is_dead(), "no nursery of {run}");
        nursery
    }

    /// Whose locks are held: the daemon's, nurseries', keepers'.
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
