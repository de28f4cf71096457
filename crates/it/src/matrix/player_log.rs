//! Log of players: every player records its identity before it does anything. So a survivor of a run is found, whatever
//! happened to it, and a reused pid is not mistaken for it.

use super::held_process::HeldProcess;
use crate::eventually;
use serde_json::{Value, json};
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use tenure_core::identity::Identity;

/// The variable with the log's path for players.
pub const VARIABLE: &str = "PLAYER_BOOK";

/// The record of a player.
#[derive(Debug, Clone)]
pub struct PlayerRecord {
    /// The run of its environment.
    pub run: Option<String>,
    /// Its command line.
    pub words: Vec<String>,
    /// Its identity.
    pub identity: Identity,
}

/// The log of one installation.
#[derive(Debug)]
pub struct PlayerLog {
    path: PathBuf,
}

impl PlayerLog {
    /// The log in this directory.
    pub fn new(dir: &Path) -> Self {
        Self { path: dir.join("book") }
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// All records so far.
    #[track_caller]
    pub fn entries(&self) -> Vec<PlayerRecord> {
        let text = std::fs::read_to_string(&self.path).unwrap_or_default();
        // The last line may be incomplete.
        let lines = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
        lines.map(|line| entry(&serde_json::from_str(line).expect("an entry"))).collect()
    }

    /// Waits until this many players of a run are recorded, and holds them.
    #[track_caller]
    pub fn wait_for(&self, run: &str, number: usize) -> Vec<HeldProcess> {
        let found = eventually(&format!("{number} players of {run}"), || {
            let of_run: Vec<PlayerRecord> = self.of(run);
            (of_run.len() >= number).then_some(of_run)
        });
        found
            .iter()
            .map(|one| HeldProcess::recorded(&one.identity).unwrap_or_else(|| panic!("{one:?} is gone")))
            .collect()
    }

    /// The players of a run.
    #[track_caller]
    pub fn of(&self, run: &str) -> Vec<PlayerRecord> {
        self.entries().into_iter().filter(|entry| entry.run.as_deref() == Some(run)).collect()
    }

    /// The live players.
    #[track_caller]
    pub fn living(&self) -> Vec<HeldProcess> {
        let held = self.entries().into_iter().filter_map(|entry| HeldProcess::recorded(&entry.identity));
        held.filter(|one| !one.is_dead()).collect()
    }

    /// Waits until no player of a run lives.
    #[track_caller]
    pub fn wait_nobody_of(&self, run: &str) {
        for PlayerRecord { identity, .. } in self.of(run) {
            if let Some(known) = HeldProcess::recorded(&identity) {
                known.wait_dead();
            }
        }
    }

    /// Waits until no player lives.
    #[track_caller]
    pub fn wait_nobody(&self) {
        self.living().iter().for_each(HeldProcess::wait_dead);
    }
}

fn entry(line: &Value) -> PlayerRecord {
    PlayerRecord {
        run: line["run"].as_str().map(str::to_owned),
        words: serde_json::from_value(line["words"].clone()).expect("words"),
        identity: serde_json::from_value(line["identity"].clone()).expect("an identity"),
    }
}

/// Records this very process; the first step of a player.
pub fn enter(words: &[String]) {
    let Some(path) = std::env::var_os(VARIABLE) else { return };
    let identity = tenure_os::process::own().expect("a process knows itself");
    let run = std::env::var("TENURE_RUN_ID").ok();
    let line = format!("{}\n", json!({ "run": run, "words": words, "identity": identity }));
    write(Path::new(&path), &line).expect("the book can be written");
}

/// Appends a line under a lock: Wine reads the position of the end before it writes there. The lock is a file
/// of its own, because on Windows a locked file cannot be read.
fn write(book: &Path, line: &str) -> io::Result<()> {
    let lock = File::create(book.with_extension("lock"))?;
    lock.lock()?;
    OpenOptions::new().create(true).append(true).open(book)?.write_all(line.as_bytes())
}
