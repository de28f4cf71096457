//! Snapshot tests of the texts for people: help, errors, tables and records, at four widths. The records and problems come
//! from the daemon's own snapshots (`crates/daemon/src/faces`), so that both sides are tested with the same data.

mod help;
mod local;
mod problems;
mod records;

use crate::print::Context;
use serde::de::DeserializeOwned;
use std::fmt::Write;
use std::path::PathBuf;
use tenure_snapshots::{Album, check_albums, names, stored};

/// Every folder with snapshots.
const ALBUMS: [&str; 4] = ["help", "local", "problems", "records"];

/// The widths that texts are printed at.
const WIDTHS: [u16; 4] = [60, 80, 120, 200];

/// Time at which the daemon's scripted history is printed.
const NOW: u64 = 1_700_003_600_000;

fn folder() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/src/faces"))
}

fn album(name: &str) -> Album {
    assert!(ALBUMS.contains(&name), "{name} is not in ALBUMS");
    Album::open(folder().join(name))
}

/// A folder with the daemon's snapshots.
fn daemons(name: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../daemon/src/faces")).join(name)
}

/// Reads a snapshot of the daemon as its response.
fn answer<T: DeserializeOwned>(folder: &str, name: &str) -> T {
    let text = stored(&daemons(folder), name);
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}: {text}"))
}

/// Lists the names of the daemon's snapshots.
fn answers(folder: &str) -> impl Iterator<Item = String> {
    let names = names(&daemons(folder));
    assert!(!names.is_empty(), "the daemon has no snapshots of {folder}: run its tests first");
    names.into_iter()
}

fn context(width: u16) -> Context {
    Context::fixed(width, NOW)
}

/// Formats a text at every width. A text that equals the previous one is not repeated.
fn at_widths(lines: impl Fn(&Context) -> Vec<String>) -> String {
    let mut text = String::new();
    let mut before = Vec::new();
    for width in WIDTHS {
        let lines = lines(&context(width));
        let shown = if lines == before { "(the same)".to_owned() } else { lines.join("\n") };
        writeln!(text, "=== {width} columns ===\n{shown}\n").unwrap();
        before = lines;
    }
    text
}

#[test]
fn every_folder_of_snapshots_has_its_test() {
    check_albums(&folder(), &ALBUMS);
}
