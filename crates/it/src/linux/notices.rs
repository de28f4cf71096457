//! What the registry says of the ends that are owed to somebody: read from its file, by other means than Tenure's own.

use crate::eventually;
use crate::install::Install;
use rusqlite::{Connection, OpenFlags};
use serde_json::Value;
use std::collections::BTreeMap;

/// How a run of the exec tool stands with its owner.
#[derive(Debug, Clone, PartialEq)]
pub struct Standing {
    /// `none`, `owed`, `told` or `acknowledged`.
    pub notice: String,
    /// Whether it went to the background.
    pub background: bool,
    /// Up to where it was read.
    pub read_to: Option<String>,
    /// Every event that told of its end.
    pub told: Vec<Value>,
}

/// All runs of the exec tool, at one moment.
#[track_caller]
pub fn read(install: &Install) -> BTreeMap<String, Standing> {
    load(install).expect("a registry that can be read")
}

fn load(install: &Install) -> rusqlite::Result<BTreeMap<String, Standing>> {
    let path = install.state().join("tenure.db");
    let db = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    db.busy_timeout(crate::PATIENCE)?;
    db.execute_batch("BEGIN")?;
    let mut told: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    let mut events =
        db.prepare("SELECT run_id, session, detail FROM events WHERE kind = 'exec-ended' ORDER BY seq")?;
    let mut rows = events.query([])?;
    while let Some(row) = rows.next()? {
        let mut detail: Value = serde_json::from_str(&row.get::<_, String>(2)?).expect("JSON");
        detail["session"] = row.get::<_, Option<String>>(1)?.into();
        told.entry(row.get(0)?).or_default().push(detail);
    }
    let mut runs = db.prepare("SELECT run_id, notice, background, read_to FROM exec_runs")?;
    let mut rows = runs.query([])?;
    let mut found = BTreeMap::new();
    while let Some(row) = rows.next()? {
        let id: String = row.get(0)?;
        let told = told.remove(&id).unwrap_or_default();
        let (notice, background, read_to) = (row.get(1)?, row.get(2)?, row.get(3)?);
        found.insert(id, Standing { notice, background, read_to, told });
    }
    Ok(found)
}

/// How many ends were told of, also of runs that are forgotten.
#[track_caller]
pub fn count(install: &Install) -> u64 {
    let db = Connection::open_with_flags(install.state().join("tenure.db"), OpenFlags::SQLITE_OPEN_READ_ONLY)
        .expect("a registry");
    db.busy_timeout(crate::PATIENCE).expect("a registry");
    let count =
        db.query_row("SELECT count(*) FROM events WHERE kind = 'exec-ended'", [], |row| row.get::<_, u32>(0));
    count.expect("a registry that can be read").into()
}

/// One run's standing.
#[track_caller]
pub fn of(install: &Install, run: &str) -> Standing {
    read(install).remove(run).unwrap_or_else(|| panic!("exec knows nothing of {run}"))
}

/// Waits until nothing is owed any more, and finds that each notice is in the events as often as the run's row says:
/// once if it was told, and never otherwise.
#[track_caller]
pub fn settled(install: &Install) -> BTreeMap<String, Standing> {
    let all = eventually("that nothing is owed", || {
        let all = read(install);
        all.values().all(|one| one.notice != "owed").then_some(all)
    });
    for (run, one) in &all {
        assert_eq!(one.told.len(), usize::from(one.notice == "told"), "{run}: {one:?}");
    }
    all
}
