//! The children of this process. Windows reparents no orphans: a run's leftovers are in its job.

use super::{children, root};
use crate::poll::{self, Interest};
use crate::process::Process;
use crate::reaper::Ended;
use std::io;
use std::time::Duration;
use tenure_core::ending::Exit;

/// Does nothing: there are no subreapers here.
pub fn become_subreaper() -> io::Result<()> {
    Ok(())
}

/// Returns true if every child that was started here has been reaped.
pub fn childless() -> bool {
    children::pids().is_empty()
}

/// Reaps the children that have ended. A root is not among them.
pub fn reap(_: Option<i32>, _: Duration) -> Vec<Ended> {
    reap_now()
}

/// Reaps the children that have ended by now.
pub fn reap_now() -> Vec<Ended> {
    let ended = children::take_ended();
    ended.into_iter().map(|(pid, code)| Ended { pid, exit: root::exit(code) }).collect()
}

/// Waits for the end of a child and reaps it.
pub fn wait_for(pid: i32) -> io::Result<Exit> {
    if let Some(process) = Process::open(pid)? {
        poll::wait(&[Interest::reading(&process)], None)?;
    }
    children::take_one(pid)
        .map(root::exit)
        .ok_or_else(|| io::Error::other(format!("{pid} is no child of this process")))
}
