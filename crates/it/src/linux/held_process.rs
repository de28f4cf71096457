//! A process held by a descriptor that never means another: it can be signalled, and its death seen, at any later time.

use crate::{proc, within};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open};
use std::time::Duration;

/// A process that the test started, or that Tenure started for it.
#[derive(Debug)]
pub struct HeldProcess {
    /// Its pid when it was found.
    pub pid: i32,
    name: String,
    pidfd: OwnedFd,
}

impl HeldProcess {
    /// Holds a process; `None` if it is gone.
    pub fn hold(pid: i32) -> Option<Self> {
        assert!(pid > 1, "pid {pid} is nobody's of ours");
        let pidfd = pidfd_open(Pid::from_raw(pid)?, PidfdFlags::empty()).ok()?;
        Some(Self { pid, name: proc::name(pid), pidfd })
    }

    /// Sends a signal, if the process lives.
    #[expect(clippy::disallowed_methods, reason = "the test's own processes, through a pidfd")]
    pub fn send(&self, signal: Signal) {
        // The process is dead already, as intended.
        let _ = rustix::process::pidfd_send_signal(&self.pidfd, signal);
    }

    /// True if it has ended: a pidfd is readable then.
    pub fn is_dead(&self) -> bool {
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        let mut fds = [PollFd::new(&self.pidfd, PollFlags::IN)];
        poll(&mut fds, Some(&now)).is_ok_and(|ready| ready > 0)
    }

    /// Sends SIGSTOP and waits until it has stopped or died.
    #[track_caller]
    pub fn stop(&self) {
        self.send(Signal::STOP);
        within(crate::WAIT_LIMIT, "a stopped process", || {
            (self.is_dead() || proc::is_stopped(self.pid)).then_some(())
        });
    }

    /// Waits until it has ended.
    #[track_caller]
    pub fn wait_dead(&self, patience: Duration) {
        within(patience, &format!("the end of {} ({})", self.name, self.pid), || {
            self.is_dead().then_some(())
        });
    }
}
