//! The shells of this system.

use crate::executable::may_execute;
use std::path::{Path, PathBuf};

/// Returns the shell of a user who has none of their own: bash before `sh`. It is the system's, because the caller
/// chooses the PATH.
pub fn default() -> PathBuf {
    let bash = Path::new("/bin/bash");
    let there = bash.is_file() && may_execute(bash);
    if there { bash.to_owned() } else { PathBuf::from("/bin/sh") }
}

/// Returns the shell for lines written for `sh`; `None` on systems with another language.
pub fn posix() -> Option<&'static str> {
    Some("/bin/sh")
}

/// Returns true if this system lists the shell; without a list, every shell counts.
pub fn is_known(shell: &Path) -> bool {
    match std::fs::read_to_string("/etc/shells") {
        Ok(known) => known.lines().any(|line| Path::new(line.trim()) == shell),
        Err(_) => true,
    }
}
