//! Long operations that read everything: a copy of the registry, and an integrity check. Each has its own
//! connection and thread, so that lists and writes continue meanwhile.

use super::{OpenFailed, Trouble, open};
use crate::Failed;
use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;
use tenure_core::ids::{InstanceId, RunId};
use tenure_os::file::{privately, sync_names};

/// Writes a complete copy, flushed to the disk. Refuses a path that exists.
pub(super) fn backup(from: &Path, to: &Path) -> Result<(), Trouble> {
    let system = |error: io::Error| {
        Trouble::Answer(Failed::Unavailable(format!("cannot write the copy {}: {error}", to.display())))
    };
    let name = to.to_str().ok_or_else(|| system(io::Error::other("its path is not UTF-8")))?;
    // SQLite accepts an empty file as a new one; creating it here proves that there was none, and makes it private.
    let copy = privately(OpenOptions::new().write(true).create_new(true)).open(to).map_err(system)?;
    let written = open::reader(from)
        .and_then(|db| db.execute("VACUUM INTO ?1", [name]))
        .map_err(Trouble::from)
        .and_then(|_| flush(&copy, to).map_err(system));
    if written.is_err() {
        // An incomplete copy is useless, and this function created the file.
        let _ = std::fs::remove_file(to);
    }
    written
}

fn flush(copy: &File, path: &Path) -> io::Result<()> {
    copy.sync_all()?;
    let parent_dir = path.parent().filter(|parent_dir| !parent_dir.as_os_str().is_empty());
    sync_names(parent_dir.unwrap_or(Path::new(".")))
}

/// Checks the registry; returns the problems in the words of `SQLite`.
pub(super) fn check(path: &Path) -> Result<Option<String>, Trouble> {
    let db = open::reader(path)?;
    let mut problems = Vec::new();
    let mut statement = db.prepare("PRAGMA integrity_check(20)")?;
    for line in statement.query_map([], |row| row.get::<_, String>(0))? {
        problems.push(line?);
    }
    problems.retain(|line| line != "ok");
    let mut statement = db.prepare("PRAGMA foreign_key_check")?;
    let dangling = statement.query_map([], |row| {
        let (table, parent): (String, String) = (row.get(0)?, row.get(2)?);
        Ok(format!("a row of {table} refers to a missing row of {parent}"))
    })?;
    for line in dangling.take(20) {
        problems.push(line?);
    }
    Ok((!problems.is_empty()).then(|| problems.join("; ")))
}

/// A run as the registry records it, for a comparison with the files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedRun {
    /// The run.
    pub run: RunId,
    /// The instance that started it.
    pub owner: InstanceId,
    /// True if the run's ending is recorded.
    pub has_ended: bool,
}

/// Reads every run of a registry. Never changes the file, even while others use it.
pub fn recorded(path: &Path) -> Result<Vec<RecordedRun>, OpenFailed> {
    let sql = |error| OpenFailed::of_sql(path, error);
    let db = open::reader(path).map_err(sql)?;
    let mut statement = db
        .prepare("SELECT run_id, json_extract(ticket, '$.ownerInstanceId'), state = 'exited' FROM runs")
        .map_err(sql)?;
    let mut rows = statement.query([]).map_err(sql)?;
    let mut found = Vec::new();
    while let Some(row) = rows.next().map_err(sql)? {
        let (run, owner): (String, String) = (row.get(0).map_err(sql)?, row.get(1).map_err(sql)?);
        // A row that cannot be parsed belongs to a later Tenure.
        if let (Ok(run), Ok(owner)) = (run.parse(), owner.parse()) {
            found.push(RecordedRun { run, owner, has_ended: row.get(2).map_err(sql)? });
        }
    }
    Ok(found)
}
