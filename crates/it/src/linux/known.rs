//! A process that a test has found, held by a descriptor that never comes to mean another: it can be signalled and
//! its death seen however long ago it was found.

use crate::{proc, within};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open};
use std::time::Duration;

/// A process that the test started, or that Tenure started for it.
#[derive(Debug)]
pub struct Known {
    /// Its pid while it was found.
    pub pid: i32,
    name: String,
    pidfd: OwnedFd,
}

impl Known {
    /// Holds a process; `None` if it is gone.
    pub fn hold(pid: i32) -> Option<Self> {
        assert!(pid > 1, "pid {pid} is nobody's of ours");
        let pidfd = pidfd_open(Pid::from_raw(pid)?, PidfdFlags::empty()).ok()?;
        Some(Self { pid, name: proc::name(pid), pidfd })
    }

    /// Sends a signal to it, or to nobody.
    #[expect(clippy::disallowed_methods, reason = "the test's own processes, through a pidfd")]
    pub fn send(&self, signal: Signal) {
        // One that is gone meanwhile is as dead as it was to be.
        let _ = rustix::process::pidfd_send_signal(&self.pidfd, signal);
    }

    /// Whether it has ended: a pidfd can be read then.
    pub fn is_dead(&self) -> bool {
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        let mut fds = [PollFd::new(&self.pidfd, PollFlags::IN)];
        poll(&mut fds, Some(&now)).is_ok_and(|ready| ready > 0)
    }

    /// Stops it and waits until it has stopped, or died before.
    #[track_caller]
    pub fn stop(&self) {
        self.send(Signal::STOP);
        within(crate::PATIENCE, "a stopped process", || {
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
