//! The children that this process has started. Windows gives orphans to nobody: what a run leaves is in its job.

use super::{children, root};
use crate::poll::{self, Interest};
use crate::process::Process;
use std::io;
use std::time::Duration;
use tenure_core::ending::Exit;

/// Nobody comes back to a process here.
pub fn become_subreaper() -> io::Result<()> {
    Ok(())
}

/// Whether no child that was started here is left to be heard of.
pub fn childless() -> bool {
    children::pids().is_empty()
}

/// A child that has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ended {
    /// Its pid, free again.
    pub pid: i32,
    /// How it ended.
    pub exit: Exit,
}

/// Lets go of the children that have ended. A root is none of them.
pub fn reap(_: Option<i32>, _: Duration) -> Vec<Ended> {
    reap_now()
}

/// Lets go of the children that have ended by now.
pub fn reap_now() -> Vec<Ended> {
    let ended = children::take_ended();
    ended.into_iter().map(|(pid, code)| Ended { pid, exit: root::exit(code) }).collect()
}

/// Waits for the end of a child and lets go of it.
pub fn wait_for(pid: i32) -> io::Result<Exit> {
    if let Some(process) = Process::open(pid)? {
        poll::wait(&[Interest::reading(&process)], None)?;
    }
    children::take_one(pid)
        .map(root::exit)
        .ok_or_else(|| io::Error::other(format!("{pid} is no child of this process")))
}
