//! One process, held by a descriptor that never comes to mean another.

use crate::linux::{self, stat::Stat};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use std::io;
use tenure_core::ending::ProcessNote;
use tenure_core::identity::{Evidence, Held, Identity, Place, Sighting, judge};
use tenure_core::signal::Signal;

/// An open process. While it is open, its pid may be reused by others, but this keeps meaning the same one.
#[derive(Debug)]
pub struct Process {
    pidfd: OwnedFd,
    identity: Identity,
    stat: Stat,
}

/// What came of a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sent {
    /// It was sent.
    Yes,
    /// The process is gone.
    Gone,
    /// The system would not let us: the process has more rights than we.
    Denied,
}

impl Process {
    /// Opens a process; `None` if there is no such one.
    pub fn open(pid: i32) -> io::Result<Option<Self>> {
        if pid <= 0 {
            return Ok(None);
        }
        let Some(pidfd) = linux::pidfd_open(pid)? else { return Ok(None) };
        Self::from_pidfd(pidfd, pid)
    }

    /// The process behind a pidfd, if it is still there.
    pub(crate) fn from_pidfd(pidfd: OwnedFd, pid: i32) -> io::Result<Option<Self>> {
        let Some(stat) = Stat::read(pid)? else {
            // One that lives but shows no status is hidden from us, not gone (I6).
            return if linux::exists(pidfd.as_fd())? { Err(hidden(pid)) } else { Ok(None) };
        };
        // The pid still belongs to what we opened, so what we just read was about it and nobody else.
        if !linux::exists(pidfd.as_fd())? {
            return Ok(None);
        }
        let identity = Identity {
            place: here().clone(),
            pid,
            start_time: stat.start_time,
            pidfs_inode: linux::pidfs_inode(pidfd.as_fd()),
        };
        Ok(Some(Self { pidfd, identity, stat }))
    }

    /// Who it is.
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// What its status said when it was opened.
    pub fn stat(&self) -> &Stat {
        &self.stat
    }

    /// Whether it can still run: not gone and not a zombie.
    pub fn is_alive(&self) -> bool {
        linux::is_alive(self.pidfd.as_fd())
    }

    /// What is to be said of a recorded identity, now that this process was opened by its pid.
    pub fn judge(&self, recorded: &Identity) -> Evidence {
        let Identity { start_time, pidfs_inode, .. } = self.identity;
        judge(recorded, here(), &Sighting::Found { start_time, pidfs_inode })
    }

    /// Sends a signal to this very process. The proof must be about it, and never about this program or the
    /// first process of the system.
    pub fn signal(&self, held: &Held, signal: Signal) -> Sent {
        let own = rustix::process::getpid().as_raw_nonzero().get();
        let theirs = held.identity();
        assert!(theirs == &self.identity, "the proof is about {held}, not about pid {}", self.identity.pid);
        if theirs.pid <= 1 || theirs.pid == own {
            return Sent::Denied;
        }
        linux::pidfd_signal(self.pidfd.as_fd(), signal, linux::Reach::Process)
    }

    /// When it started, in Unix milliseconds.
    pub fn started_at_ms(&self) -> u64 {
        linux::stat::started_at_ms(self.stat.start_time)
    }

    /// The words of its command line, exactly; an error if they cannot be had, also when it is gone.
    pub fn words(&self) -> io::Result<Vec<String>> {
        let words = linux::command_words(self.identity.pid);
        if self.is_alive() { words } else { Err(io::Error::new(io::ErrorKind::NotFound, "it is gone")) }
    }

    /// The path of its executable, if that can be read.
    pub fn exe(&self) -> Option<String> {
        linux::exe_path(self.identity.pid).filter(|_| self.is_alive())
    }

    /// Its pid and executable, for people.
    pub fn note(&self) -> ProcessNote {
        ProcessNote { pid: self.identity.pid, exe: linux::exe(self.identity.pid) }
    }
}

impl AsFd for Process {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.pidfd.as_fd()
    }
}

fn hidden(pid: i32) -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, format!("process {pid} is hidden from this user"))
}

/// What is to be said of a recorded identity now, and the process if it is the same.
pub fn look(recorded: &Identity) -> (Evidence, Option<Process>) {
    let seen = match Process::open(recorded.pid) {
        Ok(Some(process)) => {
            let evidence = process.judge(recorded);
            return (evidence, Some(process));
        }
        Ok(None) => Sighting::NoSuchProcess,
        Err(error) => Sighting::Unreadable(error.to_string()),
    };
    (judge(recorded, here(), &seen), None)
}

/// This machine, this boot, this pid namespace.
pub fn here() -> &'static Place {
    linux::here()
}

/// A process, its parent, and so on up, as far as can be read. For hints only: a pid may be reused meanwhile.
pub fn ancestors(pid: i32) -> Vec<i32> {
    const LOOKS: usize = 16;
    let mut above = above(pid);
    // Whoever loses its parent while it is looked at has another one by then, so it is looked at until nothing changes.
    for _ in 0..LOOKS {
        let again = self::above(pid);
        if again == above {
            break;
        }
        above = again;
    }
    above
}

/// Whether there is a process of this number.
pub(crate) fn exists(pid: i32) -> bool {
    matches!(Stat::read(pid), Ok(Some(_)))
}

fn above(pid: i32) -> Vec<i32> {
    let mut above = Vec::new();
    let mut next = pid;
    while next > 1 && !above.contains(&next) {
        above.push(next);
        next = match Stat::read(next) {
            Ok(Some(stat)) => stat.parent,
            Ok(None) | Err(_) => break,
        };
    }
    above
}

/// This process.
pub fn own() -> io::Result<Identity> {
    let pid = rustix::process::getpid().as_raw_nonzero().get();
    let own = Process::open(pid)?.ok_or_else(|| io::Error::other("this process cannot be found in /proc"))?;
    Ok(own.identity)
}
