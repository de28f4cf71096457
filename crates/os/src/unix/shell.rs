//! The shells of this system.

use crate::executable::may_execute;
use std::path::{Path, PathBuf};

/// The shell of a user who has none of their own: bash before `sh`. It is the system's: a PATH is the caller's to choose.
pub fn default() -> PathBuf {
    let bash = Path::new("/bin/bash");
    let there = bash.is_file() && may_execute(bash);
    if there { bash.to_owned() } else { PathBuf::from("/bin/sh") }
}

/// The shell that is there wherever lines are written for `sh`; none where lines are written for another.
pub fn posix() -> Option<&'static str> {
    Some("/bin/sh")
}

/// Whether this system has it as a shell; one that does not say has every shell.
pub fn is_known(shell: &Path) -> bool {
    match std::fs::read_to_string("/etc/shells") {
        Ok(known) => known.lines().any(|line| Path::new(line.trim()) == shell),
        Err(_) => true,
    }
}
