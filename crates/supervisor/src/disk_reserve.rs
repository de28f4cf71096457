//! Disk space reserved for the registry. When the disk is full, the reserve is deleted, so that records of removed runs
//! can be deleted, which frees more. The reserve is created again when there is room.

use crate::supervisor::Supervisor;
use std::path::{Path, PathBuf};
use tenure_core::defaults::DISK_RESERVE;
use tenure_os::filesystem;
use tenure_store::Failed;

/// The file's name in the state root.
const FILE_NAME: &str = "reserve";
/// Free space below which the disk counts as full, in bytes.
const FULL_BELOW: u64 = 64 << 10;
/// The reserve is created only if this many times its size is free.
const MIN_FREE_FACTOR: u64 = 8;

/// Deletes the reserve before the registry is opened, if the disk is full.
pub fn release_at_start(state: &Path) {
    if is_full(state) && std::fs::remove_file(state.join(FILE_NAME)).is_ok() {
        tracing::warn!(state = %state.display(), "the disk is full: deleting the reserve");
    }
}

/// Returns true if the disk of this directory is full.
pub fn is_full(directory: &Path) -> bool {
    filesystem::space(directory).is_ok_and(|(free, _)| free < FULL_BELOW)
}

/// Deletes the reserve if a failure may come from a full disk. Returns true if that made room.
pub(crate) fn release_after(supervisor: &Supervisor, failed: &Failed) -> bool {
    let says_full = matches!(failed, Failed::Unavailable(why) if why.contains("disk is full"));
    let given_up =
        (says_full || is_full(supervisor.state.path())) && std::fs::remove_file(reserve(supervisor)).is_ok();
    if given_up {
        tracing::warn!(state = %supervisor.state.path().display(), "the disk is full: deleting the reserve");
    }
    given_up
}

/// Creates the reserve, if there is plenty of room.
pub fn create(supervisor: &Supervisor) {
    let has_plenty = || {
        filesystem::space(supervisor.state.path())
            .is_ok_and(|(free, _)| free >= MIN_FREE_FACTOR * DISK_RESERVE)
    };
    if reserve(supervisor).exists() || !has_plenty() {
        return;
    }
    let room = vec![0; usize::try_from(DISK_RESERVE).unwrap_or(0)];
    if supervisor.state.dir().write_new(FILE_NAME, &room).is_err() {
        // An incomplete reserve is of no use. It is created again later.
        let _ = std::fs::remove_file(reserve(supervisor));
    }
}

fn reserve(supervisor: &Supervisor) -> PathBuf {
    supervisor.state.path().join(FILE_NAME)
}
