//! An interactive bash whose screen is the same everywhere: its prompt is fixed, and it keeps no history.

use crate::install::Install;

/// Its command.
pub const BASH: [&str; 4] = ["bash", "--norc", "--noprofile", "-i"];

/// An installation with its prompt.
pub fn install() -> Install {
    Install::new()
        .with_env("TERM", "xterm")
        .with_env("PS1", "prompt> ")
        .with_env("PROMPT_COMMAND", "")
        .with_env("HISTFILE", "")
}

/// Starts a bash on a background pty, and waits for its prompt; returns the run.
#[track_caller]
pub fn bash(install: &Install) -> String {
    let id = install.start_in_background(&["--grace", "200ms", "--pty"], &BASH);
    install.wait_for_line(&id, "prompt>");
    id
}
