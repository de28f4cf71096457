//! What a keeper did and why, for people who ask later: one JSON line an entry, the first [`MOST`] of them. It is no
//! record: nothing is decided by it, and a line that is torn or not understood is passed over.

use crate::ending::{Cause, Exit, ProcessNote};
use crate::record::Boundary;
use crate::signal::Signal;
use crate::wire::Via;
use serde::{Deserialize, Serialize};

/// How many entries a journal has before [`What::MoreNotWritten`] ends it.
pub const MOST: usize = 200;

/// One entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    /// When.
    pub at_ms: u64,
    /// What.
    #[serde(flatten)]
    pub what: What,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum What {
    /// The command executes.
    Started {
        /// The root.
        pid: i32,
        /// Its executable, where it could be found.
        exe: Option<String>,
        /// What encloses the tree.
        boundary: Boundary,
    },
    /// The command wrote something for the first time.
    FirstOutput,
    /// The run is being ended, or its root has ended by itself.
    Exiting {
        /// Why somebody other than the command itself ends it.
        cause: Option<Cause>,
        /// How the root ended, if that came first.
        exit: Option<Exit>,
        /// More, in a person's words.
        detail: Option<String>,
    },
    /// A signal reached somebody. One that is sent again to the same target while a tree is hunted is not said again.
    Signalled {
        /// Which.
        signal: Signal,
        /// Whom.
        target: Target,
        /// What allowed it (I1).
        proof: Proof,
    },
    /// So many processes of the run's own session outlived the root.
    Leftovers {
        /// How many.
        count: u32,
        /// The first of them. Older keepers do not name them.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        processes: Vec<ProcessNote>,
    },
    /// These had left the session and outlived the root.
    Escapees {
        /// Who.
        processes: Vec<ProcessNote>,
    },
    /// The stop was given up.
    GivenUp,
    /// These were still alive then.
    Survivors {
        /// Who.
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
        /// The one that it came with.
        epoch: u64,
        /// The one that holds.
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
    /// There is more, which is not written.
    MoreNotWritten,
}

impl What {
    /// Returns true if the registry records it as an event of its own.
    pub fn is_event(&self) -> bool {
        match self {
            What::Signalled { .. }
            | What::Leftovers { .. }
            | What::Escapees { .. }
            | What::MoreNotWritten => true,
            What::Started { .. }
            | What::FirstOutput
            | What::Exiting { .. }
            | What::GivenUp
            | What::Survivors { .. }
            | What::HolderLost
            | What::HolderBack { .. }
            | What::HolderReleased
            | What::EpochRefused { .. }
            | What::HolderAsked { .. }
            | What::HolderRefused { .. } => false,
        }
    }
}

/// Whom a signal was for.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum Target {
    /// The group that the root leads, in one stroke.
    Group {
        /// Its number.
        pgid: i32,
    },
    /// Everybody in the run's cgroup, in one stroke.
    Cgroup {
        /// Its directory.
        path: String,
    },
    /// Everybody in the run's job, in one stroke.
    Job {
        /// What the system knows it by.
        name: String,
    },
    /// One process.
    Process {
        /// Its number.
        pid: i32,
        /// When it started, in the system's own unit since boot.
        start_time: u64,
    },
}

/// Why a target was known to be the run's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Proof {
    /// The root was not reaped, so the number of its group could be nobody else's.
    UnreapedRoot,
    /// The cgroup was made for the run.
    RunCgroup,
    /// The job was made for the run.
    RunJob,
    /// A pidfd of one that descends from the root by living parents.
    Child,
    /// A pidfd of one that came back to the keeper, or to the nursery after it.
    Adopted,
    /// One in the session of the root, which lived or was not reaped, so that the session's number could be nobody else's.
    InSession,
    /// A pidfd of one in the run's cgroup.
    InCgroup,
    /// A handle of one in the run's job.
    InJob,
    /// A pidfd of one that carries the lease in its environment.
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

/// An entry as it stands in the file.
pub fn line(entry: &Entry) -> Vec<u8> {
    let mut line = serde_json::to_vec(entry).expect("an entry has no map with keys that are not strings");
    line.push(b'\n');
    line
}

/// The entries of a journal, as far as they are whole and understood.
pub fn read(bytes: &[u8]) -> Vec<Entry> {
    bytes.split(|&b| b == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries() -> Vec<Entry> {
        let target = Target::Process { pid: 7, start_time: 99 };
        let what = [
            What::Started { pid: 7, exe: None, boundary: Boundary::Subreaper { why: None } },
            What::Signalled { signal: Signal::KILL, target, proof: Proof::Adopted },
            What::HolderBack { epoch: 2 },
        ];
        what.into_iter().map(|what| Entry { at_ms: 5, what }).collect()
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
        assert_eq!(read[0].what, What::Leftovers { count: 3, processes: Vec::new() });
    }

    #[test]
    fn entries_are_spelled_as_documented() {
        let text = String::from_utf8(line(&entries()[1])).expect("text");
        let expected = r#"{"atMs":5,"what":"signalled","signal":9,"target":{"kind":"process","pid":7,"startTime":99},"proof":"adopted"}"#;
        assert_eq!(text.trim_end(), expected);
    }
}
