//! The processes of a run, and the facts about them. A list only provides targets; the run is empty only when the
//! system says so.

pub use crate::folder::tree::*;

use crate::process::{Process, Sent};
use crate::pty::Pty;
use crate::stdio::Sink;
use std::time::Duration;
use tenure_core::ending::ProcessNote;
use tenure_core::identity::{Evidence, Identity};
use tenure_core::signal::Signal;
use tenure_core::wire::Via;

/// A live process of a run, held open.
#[derive(Debug)]
pub struct Member {
    pub(crate) process: Process,
    pub(crate) via: Via,
    /// The job that it was found in.
    #[cfg(windows)]
    pub(crate) job: Option<std::sync::Arc<crate::system::JobObject>>,
}

impl Member {
    /// Returns the pid.
    pub fn pid(&self) -> i32 {
        self.process.identity().pid
    }

    /// Returns the identity.
    pub fn identity(&self) -> &Identity {
        self.process.identity()
    }

    /// Returns the way in which it belongs to its run.
    pub fn via(&self) -> Via {
        self.via
    }

    /// Returns the words of the command line; all of it as one word if it cannot be split.
    pub fn words(&self) -> Vec<String> {
        self.process.words().unwrap_or_else(|_| vec![self.command()])
    }

    /// Returns the pid and the executable, for people.
    pub fn note(&self) -> ProcessNote {
        self.process.note()
    }

    /// Signals the process. Membership was proven when it was listed; this proves that it is still the same
    /// process.
    pub fn signal(&self, signal: Signal) -> Sent {
        match self.process.judge(self.process.identity()) {
            Evidence::Same(held) => self.process.signal(&held, signal),
            Evidence::Other | Evidence::Gone => Sent::Gone,
            Evidence::Unreadable(_) => Sent::Denied,
        }
    }
}

/// The resources used by a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// CPU time of the live processes and of those that were reaped.
    pub cpu: Duration,
    /// Bytes read and written, by any call.
    pub io_bytes: u64,
}

/// Our end of a run's input.
#[derive(Debug, Clone, Copy)]
pub enum InputEnd<'a> {
    /// The end of a pipe that we write.
    Pipe(&'a Sink),
    /// A terminal.
    Pty(&'a Pty),
}
