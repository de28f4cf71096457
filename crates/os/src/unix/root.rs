//! The root of a run, from its fork to its reaping. As long as this value lives the root is not reaped, so its pid,
//! its group and its session cannot come to mean anything else: that is the proof for a group signal (I1).

use crate::poll::{self, Interest};
use crate::process::{Process, Sent};
use crate::{clock, reaper, system};
use rustix::fd::AsFd;
use std::time::Duration;
use tenure_core::ending::Exit;
use tenure_core::identity::{Evidence, Identity};
use tenure_core::signal::Signal;

/// Time that a killed process may take to be gone.
const KILL_TIMEOUT: Duration = Duration::from_secs(1);
/// Pause between two attempts to reap a process that has ended.
const REAP_RETRY: Duration = Duration::from_millis(1);

/// An unreaped child: the root of a run. It was forked here or reparented to us, and cannot be made in any other
/// way:
///
/// ```compile_fail,E0624
/// use tenure_os::{process::Process, root::Root};
/// fn forge(process: Process) -> Root {
///     Root::new(process)
/// }
/// ```
#[derive(Debug)]
pub struct Root {
    process: Process,
    leads: bool,
}

impl Root {
    pub(crate) fn new(process: Process) -> Self {
        // The root makes itself the leader before it does anything else.
        Self { process, leads: true }
    }

    /// Adopts a process that was reparented to us as the root of a run of its own. It must be our child.
    pub(crate) fn adopt(process: Process) -> Option<Self> {
        let own = rustix::process::getpid().as_raw_nonzero().get();
        let leads = process.stat().group == process.identity().pid;
        (process.stat().parent == own).then_some(Self { process, leads })
    }

    /// Returns the root's identity.
    pub fn identity(&self) -> &Identity {
        self.process.identity()
    }

    /// Returns the root's pid.
    pub fn pid(&self) -> i32 {
        self.identity().pid
    }

    /// Returns the root's process group.
    pub fn group(&self) -> i32 {
        if self.leads { self.pid() } else { self.process.stat().group }
    }

    /// Returns the root's exit, if it has ended; it stays unreaped.
    pub fn exit(&self) -> Option<Exit> {
        reaper::peek(self.pid())
    }

    /// Signals the group that the root leads in one call, which no fork can outrun. A root that leads no group is
    /// signalled with the listed processes instead.
    pub fn signal_group(&self, signal: Signal) -> Sent {
        if !self.leads {
            return Sent::Gone;
        }
        let own_group = rustix::process::getpgrp().as_raw_nonzero().get();
        assert!(self.pid() > 1 && self.pid() != own_group, "group {} is never signalled", self.pid());
        system::signal_group(&self.process.handle, self.pid(), signal)
    }

    /// Kills the root alone and reaps it.
    pub(crate) fn end(self) {
        if let Evidence::Same(held) = self.process.judge(self.identity()) {
            self.process.signal(&held, Signal::KILL);
        }
        let interest = Interest { on: self.process.as_fd(), read: true, write: false };
        // If it cannot die now, the process that inherits it reaps it.
        let until = clock::awake() + KILL_TIMEOUT;
        let _ = poll::wait(&[interest], Some(KILL_TIMEOUT));
        let mut dying = self.reap();
        // On macOS, a process's end is visible a moment before it can be reaped.
        while let Err(root) = dying
            && clock::awake() < until
        {
            let _ = poll::wait(&[], Some(REAP_RETRY));
            dying = root.reap();
        }
    }

    /// Reaps the ended root and frees its pid. A root that has not ended is given back.
    pub fn reap(self) -> Result<Exit, Box<Self>> {
        match system::wait_one(self.pid(), system::Reap::Take) {
            Some(ended) => Ok(ended.exit),
            None => Err(Box::new(self)),
        }
    }
}
