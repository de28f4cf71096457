//! A foreground run that is stopped at a named pause point, and the processes that hold it.

use crate::child_program::ChildProgram;
use crate::held_process::HeldProcess;
use crate::install::Install;
use crate::{eventually, proc};
use rustix::process::Signal;
use std::path::Path;

/// The processes that hold a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holder {
    /// The foreground caller.
    Cli,
    /// Its child, the keeper's parent.
    Nursery,
    /// The root's parent.
    Keeper,
}

/// Every choice of one, two or three of them.
pub const CHOICES: [&[Holder]; 7] = [
    &[Holder::Cli],
    &[Holder::Nursery],
    &[Holder::Keeper],
    &[Holder::Cli, Holder::Nursery],
    &[Holder::Cli, Holder::Keeper],
    &[Holder::Nursery, Holder::Keeper],
    &[Holder::Cli, Holder::Nursery, Holder::Keeper],
];

/// A run at its pause point.
#[derive(Debug)]
pub struct PausedRun {
    /// The caller.
    pub cli: ChildProgram,
    /// Caller, nursery, keeper and root, as far as they exist yet.
    chain: Vec<HeldProcess>,
    /// Index of the stopped one.
    at: usize,
}

impl PausedRun {
    /// Starts a foreground run and waits until one of its processes stops at `point`.
    #[track_caller]
    pub fn start(install: &Install, point: &str, args: &[&str], env: &[(&str, &Path)]) -> Self {
        let mut command = install.command(args);
        command.env("TENURE_PAUSE", point).envs(env.iter().copied());
        let cli = ChildProgram::new(command);
        let stopped = eventually(&format!("a process at {point}"), || {
            [cli.pid()].into_iter().chain(proc::descendants(cli.pid())).find(|&pid| proc::is_stopped(pid))
        });
        let mut chain = vec![stopped];
        while let Some(&first) = chain.first().filter(|&&first| first != cli.pid()) {
            let (_, parent, ..) = proc::stat(first).expect("it stands still, so its parents are there");
            chain.insert(0, parent);
        }
        let at = chain.len() - 1;
        // The children of the stopped process are collected too: a keeper has a root by then, or none.
        while let Some(&child) = proc::children(chain[chain.len() - 1]).first().filter(|_| chain.len() < 4) {
            chain.push(child);
        }
        let chain = chain.into_iter().filter_map(HeldProcess::hold).collect();
        Self { cli, chain, at }
    }

    /// A process that holds the run, if it exists yet.
    pub fn holder(&self, holder: Holder) -> Option<&HeldProcess> {
        self.chain.get(holder as usize)
    }

    /// The stopped process.
    pub fn paused(&self) -> &HeldProcess {
        &self.chain[self.at]
    }

    /// All processes that existed at the pause.
    pub fn all_processes(&self) -> &[HeldProcess] {
        &self.chain
    }

    /// Kills these processes at once, as far as they exist: none of them sees another's death. A stopped
    /// process that is not among them continues.
    #[track_caller]
    pub fn kill(&self, victims: &[Holder]) {
        let victims: Vec<&HeldProcess> = victims.iter().filter_map(|&victim| self.holder(victim)).collect();
        for victim in &victims {
            victim.stop();
        }
        for victim in &victims {
            victim.send(Signal::KILL);
        }
        for victim in &victims {
            victim.wait_dead(crate::WAIT_LIMIT);
        }
        self.resume();
    }

    /// Continues the stopped process.
    pub fn resume(&self) {
        self.paused().send(Signal::CONT);
    }
}

impl Drop for PausedRun {
    /// Leaves no process stopped after a failed test; the caller is killed with its run.
    fn drop(&mut self) {
        self.resume();
    }
}
