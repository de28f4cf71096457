//! The state root: the directory of one installation. It is its owner's alone.

use crate::rundir::RunDir;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tenure_core::ids::{InstanceId, LeaseId, NurseryId, RunId};
use tenure_os::file::Dir;
use tenure_os::{process, random};

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
    /// Opens the state root, making it if it is not there. One that others could change would have us trust their files.
    pub fn open(path: &Path) -> Result<Self, Unusable> {
        let unusable = |source| Unusable { path: path.to_owned(), source };
        let path = std::path::absolute(path).map_err(unusable)?;
        let runs = path.join("runs");
        let open = || {
            let dir = Dir::ensure(&path)?;
            dir.claim()?;
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

    /// The installation's stable identity on this machine, made at the first use. A copy of the state root on another
    /// machine is another installation: two that called themselves the same would each hold the other's runs.
    pub fn instance(&self) -> io::Result<InstanceId> {
        const NAME: &str = "instance-id";
        let machine = process::here().machine_id.as_deref();
        match (self.instance_in(NAME, machine)?, machine) {
            ((_, Some(made_on)), Some(here)) if made_on != here => {
                let (id, _) = self.instance_in(&format!("{NAME}@{here}"), machine)?;
                Ok(id)
            }
            ((id, _), _) => Ok(id),
        }
    }

    /// The identity in a file, which is made if it is not there, and the machine that it was made on, where one is named.
    fn instance_in(&self, name: &str, machine: Option<&str>) -> io::Result<(InstanceId, Option<String>)> {
        if let Some(bytes) = self.dir.read(name)? {
            let text = String::from_utf8_lossy(&bytes);
            let mut lines = text.lines().map(str::trim);
            let id = lines.next().unwrap_or_default().parse();
            let id = id.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
            return Ok((id, lines.next().map(str::to_owned)));
        }
        let id = InstanceId::from_random(random::bytes()?);
        let draft = format!("instance-id.{id}");
        let text =
            [id.as_str()].into_iter().chain(machine).fold(String::new(), |text, line| text + line + "\n");
        let written = self.dir.write_new(&draft, text.as_bytes());
        let first = written.and_then(|()| self.dir.publish(&draft, name));
        self.dir.remove(&draft)?;
        // Whoever was first has made it for both.
        if first? { Ok((id, machine.map(str::to_owned))) } else { self.instance_in(name, machine) }
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

    /// The runs that were started without a daemon, and for how long they have been marked so.
    pub fn unregistered(&self) -> Vec<(RunId, Duration)> {
        let Ok(entries) = std::fs::read_dir(self.unregistered_path()) else { return Vec::new() };
        let marked = |entry: std::fs::DirEntry| {
            let age = entry.metadata().ok()?.modified().ok()?.elapsed().unwrap_or_default();
            Some((entry.file_name().to_str()?.parse().ok()?, age))
        };
        entries.flatten().filter_map(marked).collect()
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
