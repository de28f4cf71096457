//! Being the parent of last resort: where there are child subreapers, one gets every orphan below it.

use crate::poll::{self, Interest};
use crate::process::Process;
use crate::{clock, system};
use rustix::fd::AsFd;
use std::io;
use std::time::Duration;
use tenure_core::ending::Exit;

/// From now on, whoever below this process loses its parent becomes a child of this process, where the system can do that.
pub fn become_subreaper() -> io::Result<()> {
    system::become_subreaper().map_err(Into::into)
}

/// Whether this process has any child, dead or alive.
pub fn childless() -> bool {
    matches!(system::wait_any(system::Reap::Look), system::Waited::NoChildren)
}

/// A child that has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ended {
    /// Its pid, free again.
    pub pid: i32,
    /// How it ended.
    pub exit: Exit,
}

/// Takes the ended children off the list, those who end meanwhile too, until the time is over. `keep` is a child
/// that must stay a zombie, because its number pins a group.
pub fn reap(keep: Option<i32>, until: Duration) -> Vec<Ended> {
    let mut reaped = Vec::new();
    while clock::awake() < until {
        match system::wait_any(system::Reap::Look) {
            system::Waited::Ended(ended) if Some(ended.pid) != keep => {
                reaped.extend(system::wait_one(ended.pid, system::Reap::Take));
            }
            system::Waited::Ended(_) => {
                // The kept zombie hides the others from a wait for anybody: ask for each by name.
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

/// Takes the ended children off the list that there are now.
pub fn reap_now() -> Vec<Ended> {
    reap(None, clock::awake() + Duration::from_millis(100))
}

/// Waits for the end of a child and takes it off the list.
pub fn wait_for(pid: i32) -> io::Result<Exit> {
    if let Some(process) = Process::open(pid)? {
        poll::wait(&[Interest { on: process.as_fd(), read: true, write: false }], None)?;
    }
    // On macOS a process is seen to end a moment before it can be waited for.
    let ended = system::wait_out(pid);
    ended
        .map(|ended| ended.exit)
        .ok_or_else(|| io::Error::other(format!("{pid} is no child of this process")))
}

/// How a child ended, without taking it off the list.
pub fn peek(pid: i32) -> Option<Exit> {
    system::wait_one(pid, system::Reap::Look).map(|ended| ended.exit)
}
