//! Being the parent of last resort: a child subreaper gets every orphan below it.

use crate::poll::{self, Interest};
use crate::process::Process;
use crate::{clock, linux};
use rustix::fd::AsFd;
use std::io;
use std::time::Duration;
use tenure_core::ending::Exit;

/// From now on, whoever below this process loses its parent becomes a child of this process.
pub fn become_subreaper() -> io::Result<()> {
    rustix::process::set_child_subreaper(Some(rustix::process::getpid())).map_err(Into::into)
}

/// Whether this process has any child, dead or alive.
pub fn childless() -> bool {
    matches!(linux::wait_any(linux::Reap::Look), linux::Waited::NoChildren)
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
        match linux::wait_any(linux::Reap::Look) {
            linux::Waited::Ended(ended) if Some(ended.pid) != keep => {
                reaped.extend(linux::wait_one(ended.pid, linux::Reap::Take));
            }
            linux::Waited::Ended(_) => {
                // The kept zombie hides the others from a wait for anybody: ask for each by name.
                let own = rustix::process::getpid().as_raw_nonzero().get();
                let others = crate::tree::children(own).into_iter().filter(|&pid| Some(pid) != keep);
                let before = reaped.len();
                reaped.extend(others.filter_map(|pid| linux::wait_one(pid, linux::Reap::Take)));
                if reaped.len() == before {
                    break;
                }
            }
            linux::Waited::Nobody | linux::Waited::NoChildren => break,
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
    let ended = linux::wait_one(pid, linux::Reap::Take);
    ended
        .map(|ended| ended.exit)
        .ok_or_else(|| io::Error::other(format!("{pid} is no child of this process")))
}

/// How a child ended, without taking it off the list.
pub fn peek(pid: i32) -> Option<Exit> {
    linux::wait_one(pid, linux::Reap::Look).map(|ended| ended.exit)
}
