//! A foreground run that stands still at a named pause point, and the processes that hold it.

use crate::install::Install;
use crate::known::Known;
use crate::started::Started;
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
pub struct Paused {
    /// The caller.
    pub cli: Started,
    /// Caller, nursery, keeper and root, as far as they are there yet.
    chain: Vec<Known>,
    /// Which of them stands still.
    at: usize,
}

impl Paused {
    /// Starts a foreground run and waits until one of its processes stands still at `point`.
    #[track_caller]
    pub fn start(install: &Install, point: &str, args: &[&str], env: &[(&str, &Path)]) -> Self {
        let mut command = install.command(args);
        command.env("TENURE_PAUSE", point).envs(env.iter().copied());
        let cli = Started::new(command);
        let stopped = eventually(&format!("a process at {point}"), || {
            [cli.pid()].into_iter().chain(proc::descendants(cli.pid())).find(|&pid| proc::is_stopped(pid))
        });
        let mut chain = vec![stopped];
        while let Some(&first) = chain.first().filter(|&&first| first != cli.pid()) {
            let (_, parent, ..) = proc::stat(first).expect("it stands still, so its parents are there");
            chain.insert(0, parent);
        }
        let at = chain.len() - 1;
        // Whoever stands still is looked below too: a keeper has a root by then, or none.
        while let Some(&child) = proc::children(chain[chain.len() - 1]).first().filter(|_| chain.len() < 4) {
            chain.push(child);
        }
        let chain = chain.into_iter().filter_map(Known::hold).collect();
        Self { cli, chain, at }
    }

    /// One of the processes that hold the run, if it is there yet.
    pub fn holder(&self, holder: Holder) -> Option<&Known> {
        self.chain.get(holder as usize)
    }

    /// The process that stands still.
    pub fn paused(&self) -> &Known {
        &self.chain[self.at]
    }

    /// Everybody who was there at the pause.
    pub fn everybody(&self) -> &[Known] {
        &self.chain
    }

    /// Kills these in one stroke, as far as they are there: none of them sees another's death. Whoever stands
    /// still and is not among them goes on.
    #[track_caller]
    pub fn kill(&self, victims: &[Holder]) {
        let victims: Vec<&Known> = victims.iter().filter_map(|&victim| self.holder(victim)).collect();
        for victim in &victims {
            victim.stop();
        }
        for victim in &victims {
            victim.send(Signal::KILL);
        }
        for victim in &victims {
            victim.wait_dead(crate::PATIENCE);
        }
        self.go_on();
    }

    /// Lets whoever stands still go on.
    pub fn go_on(&self) {
        self.paused().send(Signal::CONT);
    }
}

impl Drop for Paused {
    /// After a failed test nobody is left standing still; the caller is killed with its run.
    fn drop(&mut self) {
        self.go_on();
    }
}
