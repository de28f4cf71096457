//! The parent of last resort: a child subreaper gets every orphan below it.

use crate::poll::{self, Interest};
use crate::process::Process;
use crate::reaper::Ended;
use crate::{clock, system};
use rustix::fd::AsFd;
use std::io;
use std::time::Duration;
use tenure_core::ending::Exit;

/// Makes this process a subreaper, where the system has them: a process below it that loses its parent becomes its
/// child.
pub fn become_subreaper() -> io::Result<()> {
    system::become_subreaper().map_err(Into::into)
}

/// Returns true if this process has no child, dead or alive.
pub fn childless() -> bool {
    matches!(system::wait_any(system::Reap::Look), system::Waited::NoChildren)
}

/// Reaps ended children, including those that end meanwhile, until the given time. `keep` is a child that must stay
/// a zombie, because its pid pins a group.
pub fn reap(keep: Option<i32>, until: Duration) -> Vec<Ended> {
    let mut reaped = Vec::new();
    while clock::awake() < until {
        match system::wait_any(system::Reap::Look) {
            system::Waited::Ended(ended) if Some(ended.pid) != keep => {
                reaped.extend(system::wait_one(ended.pid, system::Reap::Take));
            }
            system::Waited::Ended(_) => {
                // The kept zombie hides the others from a wait for any child: wait for each by its pid.
                let own = rustix::process::getpid().as_raw_nonzero().get();
                let others = crate::tree::children(own).into_iter().filter(|&pid| Some(pid) != keep);
                let before = reaped.len();
                reaped.extend(others.filter_map(|pid| system::wait_one(pid, system::Reap::Take)));
                if reaped.len() == before {
                    break;
                }
            }
            system::Waited::Nobody | system::Waited::NoChildren => break,
        }
    }
    reaped
}

/// Reaps the children that have ended by now.
pub fn reap_now() -> Vec<Ended> {
    reap(None, clock::awake() + Duration::from_millis(100))
}

/// Waits for the end of a child and reaps it.
pub fn wait_for(pid: i32) -> io::Result<Exit> {
    if let Some(process) = Process::open(pid)? {
        poll::wait(&[Interest { on: process.as_fd(), read: true, write: false }], None)?;
    }
    // On macOS, a process's end is visible a moment before it can be waited for.
    let ended = system::wait_out(pid);
    ended
        .map(|ended| ended.exit)
        .ok_or_else(|| io::Error::other(format!("{pid} is no child of this process")))
}

/// Returns a child's exit without reaping it.
pub fn peek(pid: i32) -> Option<Exit> {
    system::wait_one(pid, system::Reap::Look).map(|ended| ended.exit)
}
