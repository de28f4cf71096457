//! A tree that looks like a run and is none: the same command line, the same user, the same names in its environment,
//! but another lease. It blocks every signal, so each one that it gets stays visible.

use crate::held_process::HeldProcess;
use crate::install::{Install, actor};
use crate::{eventually, proc};
use rustix::process::Signal;
use std::process::{Child, Command, Stdio};

/// Processes that only the test may signal.
#[derive(Debug)]
pub struct Bystander {
    child: Child,
    processes: Vec<HeldProcess>,
    _dir: Option<Install>,
}

impl Bystander {
    /// Starts `actor` with these words, and waits until `role` is in its list of pids.
    #[track_caller]
    #[expect(clippy::disallowed_methods, reason = "a process that is not Tenure's")]
    pub fn start(words: &[&str], role: &str) -> Self {
        let dir = Install::new();
        let mut command = Command::new("env");
        command.arg("--block-signal").arg(actor()).args(words).current_dir(dir.dir());
        for name in ["TENURE_RUN_ID", "TENURE_LEASE_ID", "TENURE_INSTANCE_ID"] {
            command.env(name, "0123456789abcdef0123456789abcdef");
        }
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().expect("env starts");
        let pids = dir.dir().join("pids");
        eventually("a bystander", || has_role(&pids, role).then_some(()));
        let top = child.id().cast_signed();
        let all = [top].into_iter().chain(proc::descendants(top));
        let processes = all.map(|pid| HeldProcess::hold(pid).expect("a bystander lives")).collect();
        Self { child, processes, _dir: Some(dir) }
    }

    /// Starts a command that runs while its input is open, and waits until it executes.
    #[track_caller]
    #[expect(clippy::disallowed_methods, reason = "a process that is not Tenure's")]
    pub fn of(words: &[&str]) -> Self {
        let mut command = Command::new("env");
        command.arg("--block-signal").args(words).stdin(Stdio::piped()).stdout(Stdio::null());
        let child = command.spawn().expect("env starts");
        let top = child.id().cast_signed();
        eventually("the command of a bystander", || (proc::command(top) == words).then_some(()));
        let processes = vec![HeldProcess::hold(top).expect("a bystander lives")];
        Self { child, processes, _dir: None }
    }

    /// The pid of its first process.
    pub fn pid(&self) -> i32 {
        self.child.id().cast_signed()
    }

    /// Asserts that none of its processes was signalled.
    #[track_caller]
    pub fn assert_untouched(&self) {
        for process in &self.processes {
            assert!(!process.is_dead(), "bystander {} was killed", process.pid);
            assert!(!proc::is_stopped(process.pid), "bystander {} was stopped", process.pid);
            let pending = proc::pending(process.pid);
            assert!(pending.is_empty(), "bystander {} was sent {pending:?}", process.pid);
        }
    }
}

impl Drop for Bystander {
    fn drop(&mut self) {
        self.processes.iter().for_each(|process| process.send(Signal::KILL));
        let _ = self.child.wait();
    }
}

/// True if an actor's list of pids has a line of this role.
pub fn has_role(pids: &std::path::Path, role: &str) -> bool {
    let text = std::fs::read_to_string(pids).unwrap_or_default();
    text.lines().any(|line| line.split(' ').next() == Some(role))
}
