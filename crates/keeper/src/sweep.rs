//! Removes leftovers of killed nurseries and keepers: locks, sockets, drafts, empty control groups. A leftover goes
//! only if it is proven unused, and only once it is old: a process that is about to use a file has just made it.

use crate::nursery;
use crate::rundir::RunDir;
use crate::state_root::StateRoot;
use std::path::Path;
use std::time::Duration;
use tenure_core::ids::{InstanceId, NurseryId};
use tenure_os::enclosure::{self, Enclosure};
use tenure_os::file::Dir;

/// Minimum age of a file before it may count as a leftover.
pub const OLD: Duration = Duration::from_mins(1);

/// Removes leftovers of at least this age from a state root, and the empty control groups of runs that have ended.
pub fn sweep(state: &StateRoot, instance: &InstanceId, old: Duration) {
    sweep_nurseries(state, old);
    for id in state.runs().unwrap_or_default() {
        if let Ok(dir) = state.run(&id) {
            dir.sweep(|path| is_old(path, old));
            // The groups of a predecessor's runs are not below a daemon that was started elsewhere.
            let note = dir.note().ok().flatten();
            if let Some(group) = note.and_then(|note| Enclosure::open(&note.boundary).ok().flatten())
                && has_ended(&dir)
            {
                remove_empty(&group);
            }
        }
    }
    for (run, group) in enclosure::all_of(instance) {
        let ended = match state.run(&run) {
            Ok(dir) => has_ended(&dir),
            Err(error) => error.kind() == std::io::ErrorKind::NotFound,
        };
        if ended {
            remove_empty(&group);
        }
    }
}

fn has_ended(dir: &RunDir) -> bool {
    matches!(dir.ending(), Ok(Some(_))) && matches!(dir.has_keeper(), Ok(false))
}

fn remove_empty(group: &Enclosure) {
    if !group.is_occupied() {
        // If it is not empty after all, it stays.
        let _ = group.remove();
    }
}

/// Removes the lock files of dead nurseries. A nursery holds its lock until it dies, and removes the file when it
/// exits normally.
fn sweep_nurseries(state: &StateRoot, old: Duration) {
    let path = state.nurseries();
    let Ok(dir) = Dir::open(&path) else { return };
    for entry in std::fs::read_dir(&path).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some(id) = name.to_str().and_then(|name| name.parse::<NurseryId>().ok()) else { continue };
        if is_old(&entry.path(), old) && matches!(nursery::lives(state.path(), &id), Ok(false)) {
            // The next sweep tries again.
            let _ = dir.remove(id.as_str());
        }
    }
}

fn is_old(path: &Path, old: Duration) -> bool {
    let changed = std::fs::symlink_metadata(path).and_then(|file| file.modified());
    changed.is_ok_and(|at| at.elapsed().is_ok_and(|age| age >= old))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::with_heir;
    use crate::state_root::new_nursery;
    use tenure_core::record::Ending;

    #[test]
    fn leftovers_are_removed_and_files_that_may_be_in_use_stay() {
        let root = tempfile::tempdir().expect("a directory");
        let state = StateRoot::open(root.path()).expect("a state root");
        let instance = state.instance().expect("an id");
        let left = state.nurseries().join(new_nursery().expect("an id").as_str());
        let other = state.nurseries().join("not-ours");
        let (ended, live) = with_heir(&state, true);
        let files: Vec<_> = [&ended, &live]
            .iter()
            .flat_map(|dir| ["ctl.sock", "ending.1234", "ending.notes"].map(|name| dir.path().join(name)))
            .chain([left.clone(), other.clone()])
            .collect();
        for file in &files {
            std::fs::write(file, "").expect("a file");
        }
        let ending = Ending::never_started(ended.id().clone(), String::new(), 1);
        assert!(ended.write_ending(&ending, None).expect("an ending"));
        let there = || -> Vec<bool> { files.iter().map(|file| file.exists()).collect() };
        sweep(&state, &instance, OLD);
        assert!(there().iter().all(|&is| is), "they are young");
        sweep(&state, &instance, Duration::ZERO);
        assert_eq!(there(), [false, false, true, true, true, true, false, true], "{files:?}");
        assert!(matches!(ended.ending(), Ok(Some(_))));
    }
}
