//! The journal of a keeper: its actions and their reasons, for people who ask later. The file has one JSON line per
//! entry, and the first [`MAX_ENTRIES`] of them. No decision depends on it; a torn or unknown line is skipped.

use crate::ending::{Cause, Exit, ProcessNote};
use crate::record::Boundary;
use crate::signal::Signal;
use crate::wire::Via;
use serde::{Deserialize, Serialize};

/// Maximum number of entries of a journal; [`JournalEvent::MoreNotWritten`] follows them.
pub const MAX_ENTRIES: usize = 200;

/// An entry of the journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct JournalEntry {
    /// The time.
    pub at_ms: u64,
    /// The event.
    #[serde(flatten)]
    pub what: JournalEvent,
}

/// The kinds of events.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum JournalEvent {
    /// The command executes.
    Started {
        /// The root's pid.
        pid: i32,
        /// The root's executable, if it could be found.
        exe: Option<String>,
        /// The boundary of the tree.
        boundary: Boundary,
    },
    /// The command wrote its first output.
    FirstOutput,
    /// The run is being ended, or its root has exited by itself.
    Exiting {
        /// The cause, if the command itself did not end the run.
        cause: Option<Cause>,
        /// The root's exit, if it came first.
        exit: Option<Exit>,
        /// More details, for people.
        detail: Option<String>,
    },
    /// A signal reached its target. Repeats of a signal to the same target are not recorded while a tree is killed.
    Signalled {
        /// The signal.
        signal: Signal,
        /// The target.
        target: Target,
        /// The proof that allowed the signal (I1).
        proof: Proof,
    },
    /// Processes of the run's own session outlived the root.
    Leftovers {
        /// The number of leftovers.
        count: u32,
        /// The first leftovers. Older keepers do not name them.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        processes: Vec<ProcessNote>,
    },
    /// Processes that had left the session outlived the root.
    Escapees {
        /// The escapees.
        processes: Vec<ProcessNote>,
    },
    /// The stop was given up.
    GivenUp,
    /// Processes were still alive when the stop was given up.
    Survivors {
        /// The survivors.
        processes: Vec<ProcessNote>,
    },
    /// The last holder of the lease is gone.
    HolderLost,
    /// A holder of the lease connected.
    HolderBack {
        /// The lease's fencing number.
        epoch: u64,
    },
    /// The holder left on purpose.
    HolderReleased,
    /// A holder of an older epoch was turned away (I5).
    EpochRefused {
        /// The refused holder's epoch.
        epoch: u64,
        /// The present holder's epoch.
        current: u64,
    },
    /// Another daemon asked for the run, and the keeper asked the present holder whether it still holds it.
    HolderAsked {
        /// The other daemon's epoch.
        epoch: u64,
    },
    /// The keeper refused a daemon that has neither the run's instance nor its registry.
    HolderRefused {
        /// The refused daemon's epoch.
        epoch: u64,
    },
    /// The journal is full; later entries are not written.
    MoreNotWritten,
}

impl JournalEvent {
    /// Returns true if the registry records the entry as an event of its own.
    pub fn is_event(&self) -> bool {
        match self {
            JournalEvent::Signalled { .. }
            | JournalEvent::Leftovers { .. }
            | JournalEvent::Escapees { .. }
            | JournalEvent::MoreNotWritten => true,
            JournalEvent::Started { .. }
            | JournalEvent::FirstOutput
            | JournalEvent::Exiting { .. }
            | JournalEvent::GivenUp
            | JournalEvent::Survivors { .. }
            | JournalEvent::HolderLost
            | JournalEvent::HolderBack { .. }
            | JournalEvent::HolderReleased
            | JournalEvent::EpochRefused { .. }
            | JournalEvent::HolderAsked { .. }
            | JournalEvent::HolderRefused { .. } => false,
        }
    }
}

/// The target of a signal.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum Target {
    /// The group that the root leads, in one call.
    Group {
        /// The group's number.
        pgid: i32,
    },
    /// All processes in the run's cgroup, in one call.
    Cgroup {
        /// The cgroup's directory.
        path: String,
    },
    /// All processes in the run's job, in one call.
    Job {
        /// The job's name in the system.
        name: String,
    },
    /// A single process.
    Process {
        /// The process's pid.
        pid: i32,
        /// The start time, in the system's own unit since boot.
        start_time: u64,
    },
}

/// The proof that a target belongs to the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Proof {
    /// The root was not reaped, so no other group could have its number.
    UnreapedRoot,
    /// The cgroup was made for the run.
    RunCgroup,
    /// The job was made for the run.
    RunJob,
    /// A pidfd of a process that descends from the root by living parents.
    Child,
    /// A pidfd of a process that was reparented to the keeper, or to the nursery after it.
    Adopted,
    /// A process in the root's session. The root was alive or not reaped, so no other session could have its
    /// number.
    InSession,
    /// A pidfd of a process in the run's cgroup.
    InCgroup,
    /// A handle of a process in the run's job.
    InJob,
    /// A pidfd of a process that has the lease in its environment.
    LeaseMark,
}

impl From<Via> for Proof {
    fn from(via: Via) -> Self {
        match via {
            Via::Child => Proof::Child,
            Via::Adopted => Proof::Adopted,
            Via::Session => Proof::InSession,
            Via::Mark => Proof::LeaseMark,
            Via::Cgroup => Proof::InCgroup,
            Via::Job => Proof::InJob,
        }
    }
}

/// Formats an entry as its line in the file.
pub fn line(entry: &JournalEntry) -> Vec<u8> {
    let mut line = serde_json::to_vec(entry).expect("an entry has no map with keys that are not strings");
    line.push(b'\n');
    line
}

/// Parses a journal; skips lines that are torn or not understood.
pub fn read(bytes: &[u8]) -> Vec<JournalEntry> {
    bytes.split(|&b| b == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries() -> Vec<JournalEntry> {
        let target = Target::Process { pid: 7, start_time: 99 };
        let what = [
            JournalEvent::Started { pid: 7, exe: None, boundary: Boundary::Subreaper { why: None } },
            JournalEvent::Signalled { signal: Signal::KILL, target, proof: Proof::Adopted },
            JournalEvent::HolderBack { epoch: 2 },
        ];
        what.into_iter().map(|what| JournalEntry { at_ms: 5, what }).collect()
    }

    #[test]
    fn a_journal_reads_back_as_written_and_a_torn_last_line_is_passed_over() {
        let whole: Vec<u8> = entries().iter().flat_map(line).collect();
        assert_eq!(read(&whole), entries());
        let torn = &whole[..whole.len() - 3];
        assert_eq!(read(torn), entries()[..2]);
    }

    #[test]
    fn an_entry_of_a_later_tenure_is_passed_over() {
        let mut bytes = b"{\"atMs\":1,\"what\":\"teleported\"}\n".to_vec();
        bytes.extend(line(&entries()[2]));
        assert_eq!(read(&bytes), entries()[2..]);
    }

    #[test]
    fn leftovers_that_an_older_keeper_only_counted_are_still_read() {
        let read = read(b"{\"atMs\":1,\"what\":\"leftovers\",\"count\":3}\n");
        assert_eq!(read[0].what, JournalEvent::Leftovers { count: 3, processes: Vec::new() });
    }

    #[test]
    fn entries_are_spelled_as_documented() {
        let text = String::from_utf8(line(&entries()[1])).expect("text");
        let expected = r#"{"atMs":5,"what":"signalled","signal":9,"target":{"kind":"process","pid":7,"startTime":99},"proof":"adopted"}"#;
        assert_eq!(text.trim_end(), expected);
    }
}
