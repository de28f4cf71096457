//! An interactive bash whose screen is the same everywhere: its prompt is known, and it keeps no history.

use crate::install::Install;

/// How it is started.
pub const BASH: [&str; 4] = ["bash", "--norc", "--noprofile", "-i"];

/// An installation in whose terminals it is.
pub fn install() -> Install {
    Install::new()
        .with_env("TERM", "xterm")
        .with_env("PS1", "prompt> ")
        .with_env("PROMPT_COMMAND", "")
        .with_env("HISTFILE", "")
}

/// Starts one in a terminal, without anybody at it, and waits for its prompt; returns the run.
#[track_caller]
pub fn bash(install: &Install) -> String {
    let id = install.start_in_background(&["--grace", "200ms", "--pty"], &BASH);
    install.wait_for_line(&id, "prompt>");
    id
}
