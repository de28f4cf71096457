//! The registry file, read without Tenure's own code, and its invariants: one ending for each ended run, told once,
//! equal to the one that its keeper wrote, and counters that agree.

use crate::install::Install;
use rusqlite::{Connection, OpenFlags};
use serde_json::Value;
use std::collections::BTreeMap;
use tenure_keeper::rundir::RunDir;

/// A run's row, and the number of its events by kind.
#[derive(Debug, Clone, PartialEq)]
pub struct RunRow {
    /// The run.
    pub id: String,
    /// Its state.
    pub state: String,
    /// The label that it was started with.
    pub label: Option<String>,
    /// Its ending.
    pub ending: Option<Value>,
    /// True if its root is on record.
    pub noted: bool,
    told: BTreeMap<String, u64>,
}

impl RunRow {
    /// The reason of its ending.
    pub fn reason(&self) -> Option<&str> {
        self.ending.as_ref()?["termination"]["reason"].as_str()
    }

    /// The text of its ending.
    pub fn termination(&self) -> &Value {
        static NONE: Value = Value::Null;
        self.ending.as_ref().map_or(&NONE, |ending| &ending["termination"])
    }

    /// Number of its events of this kind.
    pub fn event_count(&self, kind: &str) -> u64 {
        self.told.get(kind).copied().unwrap_or(0)
    }

    /// True if its command was executed, as far as known.
    fn executed(&self) -> bool {
        match self.reason() {
            Some(reason) => reason != "spawn-error",
            None => self.noted,
        }
    }
}

/// All rows of the registry that tests check.
#[derive(Debug, PartialEq)]
pub struct RegistryFile {
    /// Every run.
    pub runs: Vec<RunRow>,
}

impl RegistryFile {
    /// Reads the registry of an installation, and checks the integrity of the file.
    #[track_caller]
    pub fn read(install: &Install) -> Self {
        Self::load(install).expect("a registry that can be read")
    }

    fn load(install: &Install) -> rusqlite::Result<Self> {
        let path = install.state().join("tenure.db");
        let db = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        db.busy_timeout(crate::WAIT_LIMIT)?;
        let whole: String = db.query_row("PRAGMA integrity_check", [], |row| row.get(0))?;
        assert_eq!(whole, "ok", "the registry is damaged");
        // Both tables in one snapshot.
        db.execute_batch("BEGIN")?;
        let mut told: BTreeMap<String, BTreeMap<String, u64>> = BTreeMap::new();
        let mut events = db.prepare(
            "SELECT run_id, kind, count(*) FROM events WHERE run_id IS NOT NULL GROUP BY run_id, kind",
        )?;
        let mut rows = events.query([])?;
        while let Some(row) = rows.next()? {
            told.entry(row.get(0)?).or_default().insert(row.get(1)?, row.get::<_, u32>(2)?.into());
        }
        let mut runs =
            db.prepare("SELECT run_id, state, ticket, note, ending FROM runs ORDER BY created_at_ms")?;
        let json = |text: String| serde_json::from_str::<Value>(&text).expect("JSON");
        let mut rows = runs.query([])?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            let id: String = row.get(0)?;
            found.push(RunRow {
                state: row.get(1)?,
                label: json(row.get(2)?)["label"].as_str().map(str::to_owned),
                noted: row.get::<_, Option<String>>(3)?.is_some(),
                ending: row.get::<_, Option<String>>(4)?.map(json),
                told: told.remove(&id).unwrap_or_default(),
                id,
            });
        }
        Ok(Self { runs: found })
    }

    /// The row of a run.
    #[track_caller]
    pub fn run(&self, id: &str) -> &RunRow {
        self.runs.iter().find(|run| run.id == id).unwrap_or_else(|| panic!("no row of {id}"))
    }

    /// Checks that every row is consistent in itself, with its events and with its keeper's files.
    #[track_caller]
    pub fn check(&self, install: &Install) {
        for run in &self.runs {
            let ended = u64::from(run.ending.is_some());
            assert_eq!(run.state == "exited", ended == 1, "{run:?}");
            assert_eq!(run.event_count("run-created"), 1, "{run:?}");
            assert_eq!(run.event_count("run-ended"), ended, "{run:?}");
            assert_eq!(run.event_count("run-started"), u64::from(run.executed()), "{run:?}");
            assert_eq!(run.noted, run.executed(), "{run:?}");
            assert!(run.event_count("run-leaving") <= 1, "{run:?}");
            let path = install.state().join("runs").join(&run.id);
            let Some(ending) = run.ending.as_ref().filter(|_| path.exists()) else { continue };
            let dir = RunDir::open(&path).expect("a run's directory");
            let written = dir.ending().expect("an ending that is whole").expect("an ending");
            let written = serde_json::to_value(&written.termination).expect("JSON");
            assert_eq!(ending["termination"], written, "the registry and the keeper agree: {run:?}");
        }
    }

    /// Checks that the counters count these runs, each once.
    #[track_caller]
    pub fn check_metrics(&self, text: &str) {
        let executed = self.runs.iter().filter(|run| run.executed()).count();
        assert_eq!(metric(text, "tenure_run_spawn_total"), executed as u64, "{text}");
        let reasons = [
            "exit",
            "signal",
            "manual-cancel",
            "overall-timeout",
            "no-output-timeout",
            "spawn-error",
            "ownership-escape",
            "owner-lost",
            "reconciled-stale",
        ];
        for reason in reasons {
            let ended = self.runs.iter().filter(|run| run.reason() == Some(reason)).count();
            let name = format!("tenure_run_exit_total{{reason=\"{reason}\"}}");
            assert_eq!(metric(text, &name), ended as u64, "{name}: {text}");
        }
        for (kind, reason) in [("no_output", "no-output-timeout"), ("overall", "overall-timeout")] {
            let ended = self.runs.iter().filter(|run| run.reason() == Some(reason)).count();
            let name = format!("tenure_run_timeout_total{{type=\"{kind}\"}}");
            assert_eq!(metric(text, &name), ended as u64, "{name}: {text}");
        }
    }
}

/// A value of the metrics.
#[track_caller]
pub fn metric(text: &str, name: &str) -> u64 {
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    value.and_then(|value| value.trim().parse().ok()).unwrap_or_else(|| panic!("no {name} in {text}"))
}
