//! A process, held by a descriptor that always means the same one.

use crate::system;
use std::io;
use tenure_core::ending::ProcessNote;
use tenure_core::identity::{Evidence, Identity, Place, Sighting, SignalProof, judge};
use tenure_core::signal::Signal;

/// An open process. Its pid may be reused once it is gone, but this value always means the same process.
#[derive(Debug)]
pub struct Process {
    pub(crate) handle: system::ProcessHandle,
    pub(crate) identity: Identity,
    pub(crate) facts: system::Facts,
}

/// The result of sending a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sent {
    /// The signal was sent.
    Yes,
    /// The process is gone.
    Gone,
    /// The system refused, because the process has more privileges.
    Denied,
}

impl Process {
    /// Opens a process; `None` if there is no such process.
    pub fn open(pid: i32) -> io::Result<Option<Self>> {
        if pid <= 0 {
            return Ok(None);
        }
        match system::open_process(pid)? {
            Some(handle) => Self::hold(handle, pid),
            None => Ok(None),
        }
    }

    /// Returns the process of a handle, if it still exists.
    pub(crate) fn hold(handle: system::ProcessHandle, pid: i32) -> io::Result<Option<Self>> {
        Ok(system::identify(&handle, pid)?.map(|(identity, facts)| Self { handle, identity, facts }))
    }

    /// Returns the process's identity.
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Returns true if the process can still run: it is not gone and no zombie.
    pub fn is_alive(&self) -> bool {
        system::lives(&self.handle)
    }

    /// Compares a recorded identity with this process, which was opened by the recorded pid.
    pub fn judge(&self, recorded: &Identity) -> Evidence {
        let Identity { start_time, pidfs_inode, .. } = self.identity;
        judge(recorded, here(), &Sighting::Found { start_time, pidfs_inode })
    }

    /// Signals this very process. The proof must be about it; this program and the first process of the system are
    /// refused.
    pub fn signal(&self, held: &SignalProof, signal: Signal) -> Sent {
        let own = std::process::id().cast_signed();
        let theirs = held.identity();
        assert!(theirs == &self.identity, "the proof is about {held}, not about pid {}", self.identity.pid);
        if theirs.pid <= 1 || theirs.pid == own {
            return Sent::Denied;
        }
        system::signal_process(&self.handle, signal)
    }

    /// Returns the start time, in Unix milliseconds.
    pub fn started_at_ms(&self) -> u64 {
        system::started_at_ms(&self.facts)
    }

    /// Returns the exact words of the command line; an error if they cannot be read, or the process is gone.
    pub fn words(&self) -> io::Result<Vec<String>> {
        let words = system::words_of(&self.handle, self.identity.pid);
        if self.is_alive() { words } else { Err(io::Error::new(io::ErrorKind::NotFound, "it is gone")) }
    }

    /// Returns the path of the executable, if it can be read.
    pub fn exe(&self) -> Option<String> {
        system::exe_of(&self.handle, self.identity.pid).filter(|_| self.is_alive())
    }

    /// Returns the pid and the executable, for people.
    pub fn note(&self) -> ProcessNote {
        // Cut, because an ending has little room.
        let short = |path: String| path.chars().take(160).collect();
        let pid = self.identity.pid;
        ProcessNote { pid, exe: system::exe_shown(&self.handle, pid).map(short) }
    }
}

/// Compares a recorded identity with the system's present state, and returns the process if it is the same.
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

/// Returns the scope of identities here: this machine, boot and pid namespace.
pub fn here() -> &'static Place {
    system::here()
}

/// Returns a process, its parent, and so on up, as far as they can be read. A hint only: a pid may be reused
/// meanwhile.
pub fn ancestors(pid: i32) -> Vec<i32> {
    settled_ancestors(pid).unwrap_or_else(|| above(pid))
}

/// Returns the same as [`ancestors`]; `None` if every read gave another result, so that one may have been missed.
pub fn settled_ancestors(pid: i32) -> Option<Vec<i32>> {
    const MAX_READS: usize = 16;
    let mut above = above(pid);
    // A process that loses its parent meanwhile gets another one, so this is repeated until nothing changes.
    for _ in 0..MAX_READS {
        let again = self::above(pid);
        if again == above {
            return Some(above);
        }
        above = again;
    }
    None
}

/// Returns the value that a variable had when a process was executed, if it can be read. A hint only: a pid may be
/// reused.
pub fn environment_value(pid: i32, name: &str) -> Option<Vec<u8>> {
    system::environment_value(pid, name)
}

fn above(pid: i32) -> Vec<i32> {
    let mut above = Vec::new();
    let mut next = pid;
    while next > 1 && !above.contains(&next) {
        above.push(next);
        match system::parent_of(next) {
            Some(parent) => next = parent,
            None => break,
        }
    }
    above
}

/// Returns the identity of this process.
pub fn own() -> io::Result<Identity> {
    let pid = std::process::id().cast_signed();
    let own = Process::open(pid)?.ok_or_else(|| io::Error::other("this process cannot be found"))?;
    Ok(own.identity)
}
