//! A pid namespace of the test's own, with few pids: processes in it can reach none outside, and all of them are gone
//! when the test is.

use crate::child_program::ChildProgram;
use crate::install::built_program;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Runs a verb of `lab` in a new pid namespace where pids go from 300 up to `pid_max`, and expects success.
#[track_caller]
#[expect(clippy::disallowed_methods, reason = "a test starts its own laboratory")]
pub fn play(pid_max: u32, words: &[&str]) {
    if !has_own_pid_max() {
        eprintln!("cannot run here: before Linux 6.14 this would make pids scarce for the whole machine");
        return;
    }
    let mut command = Command::new("unshare");
    if !rustix::process::geteuid().is_root() {
        command.args(["--user", "--map-root-user"]);
    }
    command.args(["--pid", "--fork", "--mount-proc", "--kill-child", "--"]);
    command.arg(built_program("lab")).arg("init").arg(pid_max.to_string()).args(words).stdin(Stdio::null());
    for name in ["TENURE_RUN_ID", "TENURE_LEASE_ID", "TENURE_INSTANCE_ID"] {
        // A process that is forked there looks like one of some run, but of none that is judged.
        command.env(name, "0123456789abcdef0123456789abcdef");
    }
    succeed(command, words);
}

/// Runs a verb of `lab` in this namespace, and expects success.
#[track_caller]
pub fn play_here(words: &[&str]) {
    succeed(laboratory(words), words);
}

/// A verb of `lab` that is not started yet.
#[expect(clippy::disallowed_methods, reason = "a test starts its own laboratory")]
pub fn laboratory(words: &[&str]) -> Command {
    let mut command = Command::new(built_program("lab"));
    command.args(words).stdin(Stdio::null());
    command
}

/// Time limit of a verb of `lab`: a chaos of half a minute takes several on a busy machine.
const PLAY: Duration = Duration::from_mins(5);

#[track_caller]
fn succeed(command: Command, words: &[&str]) {
    let mut lab = ChildProgram::new(command);
    let code = lab.code_within(PLAY);
    assert_eq!(code, 0, "lab {words:?}\n{}\n{}", lab.out(), lab.err());
    lab.out()
        .lines()
        .filter(|line| line.starts_with("cannot run here: "))
        .for_each(|line| eprintln!("{line}"));
}

fn has_own_pid_max() -> bool {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let mut numbers = release.split(['.', '-']).map_while(|part| part.parse::<u32>().ok());
    (numbers.next(), numbers.next()) >= (Some(6), Some(14))
}
