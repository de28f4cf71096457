//! Implements `process.rs` with pidfds and `/proc`.

use super::pidfd::{self, Reach};
use super::stat::Stat;
use crate::process::{Process, Sent};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use std::io;
use tenure_core::identity::Identity;
use tenure_core::signal::Signal;

pub(crate) type ProcessHandle = OwnedFd;
pub(crate) type Facts = Stat;

impl Process {
    /// Returns the process's status when it was opened.
    pub fn stat(&self) -> &Stat {
        &self.facts
    }
}

impl AsFd for Process {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.handle.as_fd()
    }
}

pub(crate) fn open_process(pid: i32) -> io::Result<Option<OwnedFd>> {
    pidfd::pidfd_open(pid)
}

/// Returns the identity of the process of a pidfd; `None` if it is gone.
pub(crate) fn identify(process: &OwnedFd, pid: i32) -> io::Result<Option<(Identity, Stat)>> {
    let pidfd = process.as_fd();
    let Some(stat) = Stat::read(pid)? else {
        // A process that lives but shows no status is hidden from us, not gone (I6).
        return if pidfd::exists(pidfd)? { Err(hidden(pid)) } else { Ok(None) };
    };
    // The pid still belongs to the process that we opened, so the status was about it and no other.
    if !pidfd::exists(pidfd)? {
        return Ok(None);
    }
    let identity = Identity {
        place: pidfd::here().clone(),
        pid,
        start_time: stat.start_time,
        pidfs_inode: pidfd::pidfs_inode(pidfd),
    };
    Ok(Some((identity, stat)))
}

fn hidden(pid: i32) -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, format!("process {pid} is hidden from this user"))
}

pub(crate) fn lives(process: &OwnedFd) -> bool {
    pidfd::is_alive(process.as_fd())
}

pub(crate) fn signal_process(process: &OwnedFd, signal: Signal) -> Sent {
    pidfd::pidfd_signal(process.as_fd(), signal, Reach::Process)
}

/// Signals the whole group that this process leads; the caller pins the leader.
pub(crate) fn signal_group(process: &OwnedFd, leader: i32, signal: Signal) -> Sent {
    pidfd::pidfd_signal(process.as_fd(), signal, Reach::Group { leader })
}

pub(crate) fn started_at_ms(facts: &Stat) -> u64 {
    super::stat::started_at_ms(facts.start_time)
}

pub(crate) fn words_of(_: &OwnedFd, pid: i32) -> io::Result<Vec<String>> {
    super::facts::command_words(pid)
}

/// Returns the whole path, if it is UTF-8.
pub(crate) fn exe_of(_: &OwnedFd, pid: i32) -> Option<String> {
    super::facts::exe_path(pid)
}

/// Returns the path for people.
pub(crate) fn exe_shown(_: &OwnedFd, pid: i32) -> Option<String> {
    super::facts::exe(pid)
}

/// Returns the parent, as a hint only: the pid may belong to another process by now.
pub(crate) fn parent_of(pid: i32) -> Option<i32> {
    Stat::read(pid).ok().flatten().map(|stat| stat.parent)
}
