//! Snapshots of everything that clients read: records and events as JSON, one refusal of each code, and the `OpenAPI`
//! document. Requests go through the router of a daemon without processes, whose registry has a scripted history.
//! The CLI's tests read the snapshots of `records` and `problems`, and print them.

mod api;
mod events;
mod history;
mod problems;
mod records;
mod samples;
mod served;

use std::path::PathBuf;
use tenure_snapshots::{Album, check_albums};

/// Folders with snapshots.
const ALBUMS: [&str; 4] = ["api", "events", "problems", "records"];

fn folder() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/src/faces"))
}

fn album(name: &str) -> Album {
    assert!(ALBUMS.contains(&name), "{name} is not in ALBUMS");
    Album::open(folder().join(name))
}

#[test]
fn every_folder_of_snapshots_has_its_test() {
    check_albums(&folder(), &ALBUMS);
}
