//! Finds the file of a command's name. The system's own search is not used, because it looks beside our program
//! first, and in the current directory.

use std::fs::Metadata;
use std::path::{Path, PathBuf};
use tenure_core::ending::SpawnError;

/// Endings to add to a name without one. Batch files are found too, so that the refusal can name them.
const ENDINGS: [&str; 4] = ["exe", "com", "bat", "cmd"];

/// Returns the file that a name means in a directory, with this `PATH`.
pub(crate) fn find(program: &str, cwd: &Path, path: &str) -> Result<PathBuf, SpawnError> {
    let has_place = program.contains(['/', '\\', ':']);
    let places: Vec<PathBuf> = if has_place {
        vec![cwd.to_owned()]
    } else {
        path.split(';')
            .map(|dir| dir.trim_matches('"'))
            .filter(|dir| !dir.is_empty())
            .map(|dir| cwd.join(dir))
            .collect()
    };
    let candidates = places.iter().flat_map(|place| spellings(&place.join(program)));
    let mut is_directory = false;
    for candidate in candidates {
        if is_file(&candidate) {
            // The path as the system will see it: it takes `x.bat\.` for `x.bat`, and the ending decides how a file
            // is started.
            return Ok(std::path::absolute(&candidate).unwrap_or(candidate));
        }
        is_directory |= has_place && candidate.is_dir();
    }
    Err(if is_directory {
        SpawnError { detail: format!("cannot execute {program}: it is a directory"), not_found: false }
    } else {
        SpawnError { detail: format!("command not found: {program}"), not_found: true }
    })
}

/// Returns true for a file. An app from the system's store is a link of a kind that nobody can follow, and is
/// started like a file.
pub(crate) fn is_file(path: &Path) -> bool {
    let is_itself = |of: Metadata| !of.is_dir() && !of.is_symlink();
    path.is_file() || path.symlink_metadata().is_ok_and(is_itself)
}

/// Returns the name itself if it has an ending, then with each possible ending.
fn spellings(path: &Path) -> Vec<PathBuf> {
    let exact = path.extension().map(|_| path.to_owned());
    let longer = ENDINGS.iter().map(|ending| {
        let mut name = path.as_os_str().to_owned();
        name.push(".");
        name.push(ending);
        PathBuf::from(name)
    });
    exact.into_iter().chain(longer).collect()
}
