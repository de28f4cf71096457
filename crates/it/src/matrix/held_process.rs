//! A process that a test has identified: it is killed, and its death seen, by a handle of that very process.

use crate::eventually;
use std::path::PathBuf;
use tenure_core::identity::{Evidence, Identity, SignalProof};
use tenure_core::signal::Signal;
use tenure_os::process::{self, Process, Sent};

/// A process that the test started, or that Tenure started for it.
#[derive(Debug)]
pub struct HeldProcess {
    process: Process,
    held: SignalProof,
}

impl HeldProcess {
    /// Holds the recorded process; `None` if it is gone.
    #[track_caller]
    pub fn recorded(identity: &Identity) -> Option<Self> {
        match process::look(identity) {
            (Evidence::Same(held), Some(process)) => Some(Self { process, held }),
            (Evidence::Same(_) | Evidence::Other | Evidence::Gone, _) => None,
            (Evidence::Unreadable(why), _) => panic!("pid {} cannot be judged: {why}", identity.pid),
        }
    }

    /// Holds the current process of this pid; `None` if there is none.
    #[track_caller]
    pub fn now(pid: i32) -> Option<Self> {
        let process = Process::open(pid).expect("a process that can be opened")?;
        match process.judge(process.identity()) {
            Evidence::Same(held) => Some(Self { process, held }),
            other => panic!("pid {pid} was reused: {other:?}"),
        }
    }

    /// Its pid while it lives.
    pub fn pid(&self) -> i32 {
        self.process.identity().pid
    }

    /// Its identity.
    pub fn identity(&self) -> &Identity {
        self.process.identity()
    }

    /// Its executable, if readable.
    pub fn exe(&self) -> Option<PathBuf> {
        self.process.exe().map(PathBuf::from)
    }

    /// True if it has ended.
    pub fn is_dead(&self) -> bool {
        !self.process.is_alive()
    }

    /// Kills it at once, as a crash does. If it is gone, it is dead already, as intended.
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
