//! The state root: the directory of one installation. It is its owner's alone.

use crate::rundir::RunDir;
use std::io;
use std::path::{Path, PathBuf};
use tenure_core::ids::{InstanceId, LeaseId, NurseryId, RunId};
use tenure_os::file::Dir;
use tenure_os::random;

/// One installation's directory.
#[derive(Debug)]
pub struct StateRoot {
    dir: Dir,
    runs: PathBuf,
}

/// A state root that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("the state root {} cannot be used: {source}; set TENURE_STATE to a directory of your own", path.display())]
pub struct Unusable {
    path: PathBuf,
    source: io::Error,
}

impl StateRoot {
    /// Opens the state root, making it if it is not there.
    pub fn open(path: &Path) -> Result<Self, Unusable> {
        let unusable = |source| Unusable { path: path.to_owned(), source };
        let path = std::path::absolute(path).map_err(unusable)?;
        let runs = path.join("runs");
        let open = || {
            let dir = Dir::ensure(&path)?;
            Dir::ensure(&runs)?;
            Dir::ensure(&path.join("nurseries"))?;
            Ok(dir)
        };
        Ok(Self { dir: open().map_err(unusable)?, runs })
    }

    /// It, held open.
    pub fn dir(&self) -> &Dir {
        &self.dir
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Where its nurseries hold their locks.
    pub fn nurseries(&self) -> PathBuf {
        self.dir.path().join("nurseries")
    }

    /// The installation's stable identity, made at the first use.
    pub fn instance(&self) -> io::Result<InstanceId> {
        const NAME: &str = "instance-id";
        if let Some(bytes) = self.dir.read(NAME)? {
            let text = String::from_utf8_lossy(&bytes);
            return text.trim().parse().map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error));
        }
        let id = InstanceId::from_random(random::bytes()?);
        let draft = format!("{NAME}.{id}");
        let written = self.dir.write_new(&draft, format!("{id}\n").as_bytes());
        let first = written.and_then(|()| self.dir.publish(&draft, NAME));
        self.dir.remove(&draft)?;
        if first? { Ok(id) } else { self.instance() }
    }

    /// Where a run's directory is, or would be.
    pub fn run_path(&self, id: &RunId) -> PathBuf {
        self.runs.join(id.as_str())
    }

    /// Makes the directory of a new run.
    pub fn make_run(&self, id: RunId) -> io::Result<RunDir> {
        RunDir::make(&self.run_path(&id), id)
    }

    /// Opens the directory of a run.
    pub fn run(&self, id: &RunId) -> io::Result<RunDir> {
        RunDir::open(&self.run_path(id))
    }

    /// Marks a run that is started without a daemon, so that the next one finds it without looking at all of them.
    pub fn mark_unregistered(&self, id: &RunId) -> io::Result<()> {
        Dir::ensure(&self.unregistered_path())?.write_new(id.as_str(), b"")
    }

    /// The runs that were started without a daemon.
    pub fn unregistered(&self) -> Vec<RunId> {
        let Ok(entries) = std::fs::read_dir(self.unregistered_path()) else { return Vec::new() };
        entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
    }

    /// A run is in the registry now.
    pub fn registered(&self, id: &RunId) {
        // One that stays is looked at once more.
        let _ = std::fs::remove_file(self.unregistered_path().join(id.as_str()));
    }

    fn unregistered_path(&self) -> PathBuf {
        self.dir.path().join("unregistered")
    }

    /// Every run that there is a directory of.
    pub fn runs(&self) -> io::Result<Vec<RunId>> {
        let entries = std::fs::read_dir(&self.runs)?;
        Ok(entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect())
    }
}

/// A new run's id.
pub fn new_run_id() -> io::Result<RunId> {
    Ok(RunId::from_random(random::bytes()?))
}

/// A new lease's id.
pub fn new_lease() -> io::Result<LeaseId> {
    Ok(LeaseId::from_random(random::bytes()?))
}

/// A new nursery's id.
pub fn new_nursery() -> io::Result<NurseryId> {
    Ok(NurseryId::from_random(random::bytes()?))
}
