//! Notices for listeners in the registry: read from its file, without Tenure's own code.

use crate::eventually;
use crate::install::Install;
use rusqlite::{Connection, OpenFlags};
use serde_json::Value;
use std::collections::BTreeMap;

/// Notice state of a run of the exec tool.
#[derive(Debug, Clone, PartialEq)]
pub struct NoticeState {
    /// The state of the notice for listeners: `none`, `due`, `delivered`, `acknowledged` or `dropped`.
    pub notice: String,
    /// True if it went to the background.
    pub background: bool,
    /// Read mark of its owner.
    pub read_to: Option<String>,
    /// Every event that reported its end.
    pub told: Vec<Value>,
}

/// All runs of the exec tool, in one snapshot.
#[track_caller]
pub fn read(install: &Install) -> BTreeMap<String, NoticeState> {
    load(install).expect("a registry that can be read")
}

fn load(install: &Install) -> rusqlite::Result<BTreeMap<String, NoticeState>> {
    let path = install.state().join("tenure.db");
    let db = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    db.busy_timeout(crate::WAIT_LIMIT)?;
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
    let mut runs = db.prepare(
        "SELECT e.run_id, coalesce(o.state, 'none'), e.background, e.read_to
         FROM exec_runs e LEFT JOIN tasks t ON t.run_id = e.run_id
             LEFT JOIN outbox o ON o.task_id = t.task_id AND o.purpose = 'exec-ended'",
    )?;
    let mut rows = runs.query([])?;
    let mut found = BTreeMap::new();
    while let Some(row) = rows.next()? {
        let id: String = row.get(0)?;
        let told = told.remove(&id).unwrap_or_default();
        let (notice, background, read_to) = (row.get(1)?, row.get(2)?, row.get(3)?);
        found.insert(id, NoticeState { notice, background, read_to, told });
    }
    Ok(found)
}

/// Number of reported ends, including those of pruned runs.
#[track_caller]
pub fn count(install: &Install) -> u64 {
    let db = Connection::open_with_flags(install.state().join("tenure.db"), OpenFlags::SQLITE_OPEN_READ_ONLY)
        .expect("a registry");
    db.busy_timeout(crate::WAIT_LIMIT).expect("a registry");
    let count =
        db.query_row("SELECT count(*) FROM events WHERE kind = 'exec-ended'", [], |row| row.get::<_, u32>(0));
    count.expect("a registry that can be read").into()
}

/// The notice state of one run.
#[track_caller]
pub fn of(install: &Install, run: &str) -> NoticeState {
    read(install).remove(run).unwrap_or_else(|| panic!("{run} is no run of exec"))
}

/// Waits until no notice is due, and checks that each notice is in the events as often as its state says: once if it was
/// delivered, else never.
#[track_caller]
pub fn settled(install: &Install) -> BTreeMap<String, NoticeState> {
    let all = eventually("no notice is due", || {
        let all = read(install);
        all.values().all(|one| one.notice != "due").then_some(all)
    });
    for (run, one) in &all {
        assert_eq!(one.told.len(), usize::from(one.notice == "delivered"), "{run}: {one:?}");
    }
    all
}
