//! Finds the file of a word, as execvp(3) does, but only in absolute directories of the PATH: with a relative one,
//! the working directory would decide what `git` is.

use serde::{Deserialize, Serialize};
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use tenure_os::{executable, file};

/// The longest path that the system accepts, in bytes.
const LONGEST: usize = 4096;

/// A program that was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Executable {
    /// The path to execute: the program's own name, in a directory whose path has no link and no `..` in it. The
    /// name may be a link, and must stay: `cargo` is a link to `rustup`, which acts by its name.
    pub called: PathBuf,
    /// The file behind all links.
    pub real: PathBuf,
    /// True if it was called by its bare name and found through the PATH.
    pub through_path: bool,
}

/// The reason why a word names no program.
#[derive(Debug, thiserror::Error)]
pub enum NotFound {
    /// The word is empty, too long, or contains a NUL.
    #[error("{word:?} is not the name of a program; write one")]
    NoName {
        /// The word.
        word: String,
    },
    /// The working directory is relative.
    #[error("the directory {cwd:?} is not absolute; pass an absolute workdir")]
    RelativeCwd {
        /// The directory.
        cwd: PathBuf,
    },
    /// No directory of the PATH has the program.
    #[error("{word:?} is not in the PATH; install it, or write its whole path")]
    NotInPath {
        /// The word.
        word: String,
    },
    /// The file does not exist, or cannot be reached.
    #[error("{path:?} cannot be executed: {error}; write the path of a program")]
    Unreachable {
        /// The path.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// The path is a directory, a device, or a file without permission to execute it.
    #[error("{path:?} is not an executable file; write the path of a program, or chmod +x it")]
    NotExecutable {
        /// The path.
        path: PathBuf,
    },
}

/// Finds the program that `word` means in `cwd`. `path` is the PATH that the command will have.
pub fn resolve(word: &str, cwd: &Path, path: &OsStr) -> Result<Executable, NotFound> {
    if word.is_empty() || word.contains('\0') || word.len() > LONGEST {
        return Err(NotFound::NoName { word: word.chars().take(64).collect() });
    }
    let names = executable::spellings(word);
    if executable::has_place(word) {
        if !cwd.is_absolute() {
            return Err(NotFound::RelativeCwd { cwd: cwd.to_owned() });
        }
        let found = names.iter().find_map(|name| at(&cwd.join(name), false).ok());
        return found.map_or_else(|| at(&cwd.join(word), false), Ok);
    }
    std::env::split_paths(path)
        .filter(|directory| directory.is_absolute())
        .find_map(|directory| names.iter().find_map(|name| at(&directory.join(name), true).ok()))
        .ok_or_else(|| NotFound::NotInPath { word: word.to_owned() })
}

/// Returns the program at `path`, which is absolute.
fn at(path: &Path, through_path: bool) -> Result<Executable, NotFound> {
    let unreachable = |error| NotFound::Unreachable { path: path.to_owned(), error };
    let not_executable = || NotFound::NotExecutable { path: path.to_owned() };
    // Uses the path as it is written, so that a suffix such as a slash is not lost.
    if !path.metadata().map_err(unreachable)?.is_file() {
        return Err(not_executable());
    }
    if !executable::may_execute(path) {
        return Err(not_executable());
    }
    let (Some(directory), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(not_executable());
    };
    let called = file::real(directory).map_err(unreachable)?.join(name);
    let real = file::real(path).map_err(unreachable)?;
    Ok(Executable { called, real, through_path })
}
