//! The state root: the directory of one installation. Only its owner can access it.

use crate::rundir::{RecordError, RunDir};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tenure_core::ids::{InstanceId, LeaseId, NurseryId, RunId};
use tenure_core::location::{FileLocation, Origin};
use tenure_os::file::{self, Dir};
use tenure_os::lock::Lock;
use tenure_os::{clock, pause, poll, process, random};

/// Name of the file that identifies the installation.
const INSTANCE: &str = "instance-id";
/// Name of the directory that holds the runs' directories.
const RUNS: &str = "runs";
/// Name of that file's draft, until it is complete.
const INSTANCE_DRAFT: &str = "instance-id.draft";
/// Lock for changes to that file.
const INSTANCE_LOCK: &str = "instance.lock";
/// Lock between threads: the file's lock does not exclude threads of one process.
static INSTANCE_MUTEX: Mutex<()> = Mutex::new(());
/// Time limit for another process to change the file, which is small.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);
/// Time between two attempts to take the lock.
const LOCK_RETRY: Duration = Duration::from_millis(2);

/// The directory of one installation.
#[derive(Debug)]
pub struct StateRoot {
    dir: Dir,
    runs: PathBuf,
    /// The state root's location when it was opened.
    opened_at: FileLocation,
}

/// A state root that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("the state root {} cannot be used: {source}; set TENURE_STATE to a directory of your own", path.display())]
pub struct StateRootError {
    path: PathBuf,
    source: io::Error,
}

impl StateRoot {
    /// Opens the state root; creates it if it is missing. A root that other users can change is refused: its files
    /// could not be trusted.
    pub fn open(path: &Path) -> Result<Self, StateRootError> {
        let unusable = |source| StateRootError { path: path.to_owned(), source };
        let path = std::path::absolute(path).map_err(unusable)?;
        let runs = path.join(RUNS);
        let open = || {
            let dir = Dir::ensure(&path)?;
            dir.claim()?;
            Dir::ensure(&runs)?;
            Dir::ensure(&path.join("nurseries"))?;
            Ok(dir)
        };
        let dir = open().map_err(unusable)?;
        let opened_at = file::location(&path).map_err(unusable)?;
        Ok(Self { dir, runs, opened_at })
    }

    /// Returns the open directory.
    pub fn dir(&self) -> &Dir {
        &self.dir
    }

    /// Returns the path.
    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Returns true if the state root was moved or removed since it was opened: its path leads elsewhere, or nowhere.
    pub fn is_moved(&self) -> bool {
        match file::location(self.path()) {
            Ok(now) => self.opened_at.origin(&now) == Origin::Copy,
            Err(error) => error.kind() == io::ErrorKind::NotFound,
        }
    }

    /// Returns true if the state root was deleted since it was opened: nobody can reach its runs any more. If that
    /// cannot be checked, it counts as present (I6).
    pub fn is_deleted(&self) -> bool {
        self.dir.is_deleted().unwrap_or(false)
    }

    /// Returns the directory of the nurseries' locks.
    pub fn nurseries(&self) -> PathBuf {
        self.dir.path().join("nurseries")
    }

    /// Returns the installation's stable id, created at the first use. A copy of the state root, here or on another
    /// machine, is another installation: two with the same id would each hold the other's runs.
    pub fn instance(&self) -> io::Result<InstanceId> {
        instance_in(&self.dir)
    }

    /// Returns the path of a run's directory, which may not exist.
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

    /// Marks a run that is started without a daemon, so the next daemon finds it without reading all runs.
    pub fn mark_unregistered(&self, id: &RunId) -> io::Result<()> {
        Dir::ensure(&self.unregistered_path())?.write_new(id.as_str(), b"")
    }

    /// Returns the runs that were started without a daemon, with the age of each mark.
    pub fn unregistered(&self) -> Vec<(RunId, Duration)> {
        let Ok(entries) = std::fs::read_dir(self.unregistered_path()) else { return Vec::new() };
        let marked = |entry: std::fs::DirEntry| {
            let age = entry.metadata().ok()?.modified().ok()?.elapsed().unwrap_or_default();
            Some((entry.file_name().to_str()?.parse().ok()?, age))
        };
        entries.flatten().filter_map(marked).collect()
    }

    /// Returns true if a run is marked as started without a daemon.
    pub fn is_marked(&self, id: &RunId) -> bool {
        self.unregistered_path().join(id.as_str()).exists()
    }

    /// Removes the mark of a run that is in the registry now.
    pub fn remove_mark(&self, id: &RunId) {
        // A mark that stays costs one more look.
        let _ = std::fs::remove_file(self.unregistered_path().join(id.as_str()));
    }

    fn unregistered_path(&self) -> PathBuf {
        self.dir.path().join("unregistered")
    }

    /// Returns every run that has a directory.
    pub fn runs(&self) -> io::Result<Vec<RunId>> {
        let entries = std::fs::read_dir(&self.runs)?;
        Ok(entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect())
    }
}

/// Returns true if a run's directory lies in the state root of the installation that made it. A run in a copied root
/// does not: nobody may touch its lock, its socket or its pids.
pub fn is_in_own_root(run: &RunDir) -> io::Result<bool> {
    let owner = match run.ticket() {
        Ok(ticket) => ticket.owner_instance_id,
        // A run without a ticket has started nothing.
        Err(RecordError::Missing { .. }) => return Ok(true),
        Err(error) => return Err(io::Error::other(error)),
    };
    let root = run.path().parent().and_then(Path::parent);
    let root = root.ok_or_else(|| io::Error::other("the run's directory is in no state root"))?;
    let root = Dir::open(root)?;
    // A root without an installation file is no copy.
    Ok(root.read(INSTANCE)?.is_none() || instance_in(&root)? == owner)
}

/// The content of an installation's file.
struct InstanceFile {
    id: InstanceId,
    /// The machine that the installation was made on, where one is named.
    machine: Option<String>,
    /// The state root's location when it was last opened; older files do not name it.
    location: Option<FileLocation>,
}

impl InstanceFile {
    fn new(machine: Option<&str>, location: &FileLocation) -> io::Result<Self> {
        let id = InstanceId::from_random(random::bytes()?);
        Ok(Self { id, machine: machine.map(str::to_owned), location: Some(location.clone()) })
    }

    /// Reads the file; `None` if there is none.
    fn read(dir: &Dir, name: &str) -> io::Result<Option<Self>> {
        let Some(bytes) = dir.read(name)? else { return Ok(None) };
        let malformed =
            |error: &dyn std::fmt::Display| io::Error::new(io::ErrorKind::InvalidData, error.to_string());
        let text = String::from_utf8_lossy(&bytes);
        let mut lines = text.lines().map(str::trim);
        let id = lines.next().unwrap_or_default().parse().map_err(|error| malformed(&error))?;
        let (mut machine, mut location) = (None, None);
        for line in lines.filter(|line| !line.is_empty()) {
            if line.starts_with('{') {
                location = Some(serde_json::from_str(line).map_err(|error| malformed(&error))?);
            } else {
                machine = machine.or(Some(line.to_owned()));
            }
        }
        Ok(Some(Self { id, machine, location }))
    }

    fn text(&self) -> String {
        let location = self.location.as_ref().and_then(|location| serde_json::to_string(location).ok());
        let lines = [Some(self.id.to_string()), self.machine.clone(), location];
        lines.into_iter().flatten().map(|line| line + "\n").collect()
    }

    /// Replaces the file. A process that dies here leaves the old file or the new one, and at most a draft that the
    /// next writer removes; a power failure leaves one of them, too.
    fn write(&self, dir: &Dir, name: &str) -> io::Result<()> {
        dir.remove(INSTANCE_DRAFT)?;
        let written = dir.write_synced(INSTANCE_DRAFT, self.text().as_bytes()).and_then(|()| {
            pause::point("instance-drafted");
            dir.replace(INSTANCE_DRAFT, name)
        });
        if written.is_err() {
            let _ = dir.remove(INSTANCE_DRAFT);
        }
        pause::point("instance-written");
        written
    }

    /// Returns the file for a root at location `now`: unchanged, with the new location, or with a new id.
    fn refreshed(
        self,
        root: &Dir,
        machine: Option<&str>,
        now: &FileLocation,
    ) -> io::Result<(Self, FileChange)> {
        let is_copy = match &self.location {
            Some(location) if location == now => return Ok((self, FileChange::No)),
            Some(location) => location.origin(now) == Origin::Copy,
            None => has_copied_runs(root),
        };
        if is_copy {
            return Ok((Self::new(machine, now)?, FileChange::Id));
        }
        Ok((Self { location: Some(now.clone()), ..self }, FileChange::Location))
    }
}

/// Returns true if a root of an older Tenure, which did not record its location, is a copy: the keepers of its live
/// runs keep other directories.
fn has_copied_runs(root: &Dir) -> bool {
    let Ok(entries) = std::fs::read_dir(root.path().join(RUNS)) else { return false };
    entries.flatten().any(|entry| RunDir::open(&entry.path()).is_ok_and(|run| run.is_kept_elsewhere()))
}

/// The part of the file that has to be written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FileChange {
    No,
    Location,
    Id,
}

/// Returns the id of the installation in a directory.
fn instance_in(dir: &Dir) -> io::Result<InstanceId> {
    let machine = process::here().machine_id.as_deref();
    let now = file::location(dir.path())?;
    let elsewhere = |file: &InstanceFile| matches!((file.machine.as_deref(), machine), (Some(made_on), Some(here)) if made_on != here);
    let mut name = INSTANCE.to_owned();
    let mut found = InstanceFile::read(dir, &name)?;
    if found.as_ref().is_some_and(elsewhere) {
        name = format!("{INSTANCE}@{}", machine.unwrap_or_default());
        found = InstanceFile::read(dir, &name)?;
    }
    if let Some(file) = found {
        let (file, changed) = file.refreshed(dir, machine, &now)?;
        if changed == FileChange::No {
            return Ok(file.id);
        }
    }
    // Two processes or threads that read a copy at the same time must give it the same id.
    let _turn = INSTANCE_MUTEX.lock().unwrap_or_else(PoisonError::into_inner);
    let _lock = lock_instance(dir)?;
    let (file, changed) = match InstanceFile::read(dir, &name)? {
        Some(file) => file.refreshed(dir, machine, &now)?,
        None => (InstanceFile::new(machine, &now)?, FileChange::Id),
    };
    match changed {
        FileChange::No => {}
        // The id is valid even if the root cannot be written.
        FileChange::Location => drop(file.write(dir, &name)),
        FileChange::Id => file.write(dir, &name)?,
    }
    Ok(file.id)
}

fn lock_instance(dir: &Dir) -> io::Result<Option<Lock>> {
    let deadline = clock::awake() + LOCK_TIMEOUT;
    loop {
        match Lock::take(dir, INSTANCE_LOCK) {
            Ok(Some(lock)) => return Ok(Some(lock)),
            Ok(None) if clock::awake() < deadline => {
                poll::wait(&[], Some(LOCK_RETRY))?;
            }
            Ok(None) => {
                return Err(io::Error::new(
                    io::ErrorKind::TimedOut,
                    "instance.lock is held by another process",
                ));
            }
            // A read-only file system needs no lock: nobody can write to it.
            Err(error) if error.kind() == io::ErrorKind::ReadOnlyFilesystem => return Ok(None),
            Err(error) => return Err(error),
        }
    }
}

/// Makes a new run id.
pub fn new_run_id() -> io::Result<RunId> {
    Ok(RunId::from_random(random::bytes()?))
}

/// Makes a new lease id.
pub fn new_lease() -> io::Result<LeaseId> {
    Ok(LeaseId::from_random(random::bytes()?))
}

/// Makes a new nursery id.
pub fn new_nursery() -> io::Result<NurseryId> {
    Ok(NurseryId::from_random(random::bytes()?))
}
