//! Who has played: every player enters itself in a book before it does anything, by what makes it that process. So whoever
//! outlives a run is found, whatever was done to it, and a reused pid is nobody's.

use super::known::Known;
use crate::eventually;
use serde_json::{Value, json};
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use tenure_core::identity::Identity;

/// The variable that tells players where their book is.
pub const VARIABLE: &str = "PLAYER_BOOK";

/// One player.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The run that it said it belongs to.
    pub run: Option<String>,
    /// The words that it was started with.
    pub words: Vec<String>,
    /// Who it is.
    pub identity: Identity,
}

/// The book of one installation.
#[derive(Debug)]
pub struct Book {
    path: PathBuf,
}

impl Book {
    /// The book in this directory.
    pub fn new(dir: &Path) -> Self {
        Self { path: dir.join("book") }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Everybody so far.
    #[track_caller]
    pub fn entries(&self) -> Vec<Entry> {
        let text = std::fs::read_to_string(&self.path).unwrap_or_default();
        // The last line may be about to be written.
        let lines = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
        lines.map(|line| entry(&serde_json::from_str(line).expect("an entry"))).collect()
    }

    /// Waits until so many players of a run have entered themselves, and holds them.
    #[track_caller]
    pub fn wait_for(&self, run: &str, number: usize) -> Vec<Known> {
        let found = eventually(&format!("{number} players of {run}"), || {
            let of_run: Vec<Entry> = self.of(run);
            (of_run.len() >= number).then_some(of_run)
        });
        found
            .iter()
            .map(|one| Known::recorded(&one.identity).unwrap_or_else(|| panic!("{one:?} is gone")))
            .collect()
    }

    /// The players of a run.
    #[track_caller]
    pub fn of(&self, run: &str) -> Vec<Entry> {
        self.entries().into_iter().filter(|entry| entry.run.as_deref() == Some(run)).collect()
    }

    /// Who still plays.
    #[track_caller]
    pub fn living(&self) -> Vec<Known> {
        let held = self.entries().into_iter().filter_map(|entry| Known::recorded(&entry.identity));
        held.filter(|one| !one.is_dead()).collect()
    }

    /// Waits until nobody of a run lives.
    #[track_caller]
    pub fn wait_nobody_of(&self, run: &str) {
        for Entry { identity, .. } in self.of(run) {
            if let Some(known) = Known::recorded(&identity) {
                known.wait_dead();
            }
        }
    }

    /// Waits until nobody plays.
    #[track_caller]
    pub fn wait_nobody(&self) {
        self.living().iter().for_each(Known::wait_dead);
    }
}

fn entry(line: &Value) -> Entry {
    Entry {
        run: line["run"].as_str().map(str::to_owned),
        words: serde_json::from_value(line["words"].clone()).expect("words"),
        identity: serde_json::from_value(line["identity"].clone()).expect("an identity"),
    }
}

/// Enters this very process; what players do first.
pub fn enter(words: &[String]) {
    let Some(path) = std::env::var_os(VARIABLE) else { return };
    let identity = tenure_os::process::own().expect("a process knows itself");
    let run = std::env::var("TENURE_RUN_ID").ok();
    let line = format!("{}\n", json!({ "run": run, "words": words, "identity": identity }));
    write(Path::new(&path), &line).expect("the book can be written");
}

/// Wine looks where the end is before it writes there, so one writes at a time. The lock is beside the book, because on
/// Windows what is locked cannot be read.
fn write(book: &Path, line: &str) -> io::Result<()> {
    let lock = File::create(book.with_extension("lock"))?;
    lock.lock()?;
    OpenOptions::new().create(true).append(true).open(book)?.write_all(line.as_bytes())
}
