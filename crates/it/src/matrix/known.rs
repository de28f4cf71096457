//! A process that a test has identified: it is ended, and its death seen, by what the system holds of that very process.

use crate::eventually;
use std::path::PathBuf;
use tenure_core::identity::{Evidence, Held, Identity};
use tenure_core::signal::Signal;
use tenure_os::process::{self, Process, Sent};

/// A process that the test started, or that Tenure started for it.
#[derive(Debug)]
pub struct Known {
    process: Process,
    held: Held,
}

impl Known {
    /// Holds the process that was recorded; `None` if it is gone.
    #[track_caller]
    pub fn recorded(identity: &Identity) -> Option<Self> {
        match process::look(identity) {
            (Evidence::Same(held), Some(process)) => Some(Self { process, held }),
            (Evidence::Same(_) | Evidence::Other | Evidence::Gone, _) => None,
            (Evidence::Unreadable(why), _) => panic!("pid {} cannot be judged: {why}", identity.pid),
        }
    }

    /// Holds whoever has this pid now; `None` if nobody does.
    #[track_caller]
    pub fn now(pid: i32) -> Option<Self> {
        let process = Process::open(pid).expect("a process that can be opened")?;
        match process.judge(process.identity()) {
            Evidence::Same(held) => Some(Self { process, held }),
            other => panic!("pid {pid} is not itself: {other:?}"),
        }
    }

    /// Its pid while it lives.
    pub fn pid(&self) -> i32 {
        self.process.identity().pid
    }

    /// Who it is.
    pub fn identity(&self) -> &Identity {
        self.process.identity()
    }

    /// The program that it executes, where that can be read.
    pub fn exe(&self) -> Option<PathBuf> {
        self.process.exe().map(PathBuf::from)
    }

    /// Whether it has ended.
    pub fn is_dead(&self) -> bool {
        !self.process.is_alive()
    }

    /// Ends it at once, as a crash does. One that is gone is as dead as it was to be.
    #[track_caller]
    pub fn kill(&self) {
        let sent = self.process.signal(&self.held, Signal::KILL);
        assert_ne!(sent, Sent::Denied, "{} may not be ended", self.held);
    }

    /// Waits until it has ended.
    #[track_caller]
    pub fn wait_dead(&self) {
        eventually(&format!("the end of {} {:?}", self.held, self.exe()), || self.is_dead().then_some(()));
    }
}
