//! The records of one run on disk: the ticket (the request, written before anything starts), the keeper's note (the
//! live processes, written before the root may execute, I2) and the ending (I3). Each is one JSON line followed by
//! its checksum, with a version; a newer version is refused.

use crate::ending::{Kills, SpawnError, Termination};
use crate::hash;
use crate::identity::Identity;
use crate::ids::{InstanceId, LeaseId, NurseryId, RegistryId, RunId};
use crate::output::Totals;
use crate::session::Backend;
use crate::spec::RunOptions;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// The version of these records that this program writes.
pub const VERSION: u32 = 1;

/// The ticket: what was asked for, with the ids and the lease that were settled for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Ticket {
    /// The run.
    pub run_id: RunId,
    /// The run's lease.
    pub lease_id: LeaseId,
    /// The lease's fencing number.
    pub lease_epoch: u64,
    /// Its owner.
    pub owner_instance_id: InstanceId,
    /// The face that asked: `run`, `exec`, `cli` or `acp`.
    pub backend_id: String,
    /// The command, for people: bytes that are not UTF-8 are replaced.
    pub command: Vec<String>,
    /// The hash of the command's exact bytes.
    pub command_hash: String,
    /// The working directory, for people.
    pub cwd: String,
    /// Its options; of the names of variables, as many as records keep.
    #[serde(flatten)]
    pub options: RunOptions,
    /// The time of the request.
    pub created_at_ms: u64,
    /// The run whose escaped process this run took over, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub escaped_from: Option<RunId>,
    /// The registry that recorded the run first. Runs without a daemon have none, and older records do not name it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub registry_id: Option<RegistryId>,
}

impl Ticket {
    /// Returns the command line as its author wrote it: for exec the line, without the shell that runs it.
    pub fn command_line(&self) -> String {
        command_line(&self.backend_id, &self.command)
    }
}

/// Returns the command line of a run as its author wrote it. The last word of an exec run is the line that its shell runs.
pub fn command_line(backend: &str, command: &[String]) -> String {
    match command.last() {
        Some(line) if backend == Backend::Exec.word() => line.clone(),
        _ => command.join(" "),
    }
}

/// Maximum length of a command, and of the names of its variables, in records and events, in bytes.
pub const RECORD_BYTES: usize = 4 << 10;

/// Cuts words for people to at most `most` bytes. A cut word says how long it was, and the last word says how many were
/// left out.
pub fn cut_words(words: Vec<String>, most: usize) -> Vec<String> {
    if words.iter().map(|word| word.len() + 1).sum::<usize>() <= most {
        return words;
    }
    let count = words.len();
    let (mut kept, mut left) = (Vec::new(), most);
    for word in words {
        if left == 0 {
            kept.push(format!("… ({} more words)", count - kept.len()));
            break;
        }
        if word.len() <= left {
            left = left.saturating_sub(word.len() + 1);
            kept.push(word);
        } else {
            kept.push(format!("{}… ({} bytes)", &word[..word.floor_char_boundary(left)], word.len()));
            left = 0;
        }
    }
    kept
}

impl Ticket {
    /// Returns true if the run belongs to neither this instance nor this registry. Its row came here with a copy:
    /// Tenure must not connect to it, signal it, or look into its recorded directory.
    pub fn is_foreign(&self, instance: &InstanceId, registry: &RegistryId) -> bool {
        self.owner_instance_id != *instance && self.registry_id.as_ref() != Some(registry)
    }
}

/// The boundary: the means that enclose the tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum Boundary {
    /// The keeper as the subreaper of everything below it, with the root's session and group.
    Subreaper {
        /// The reason why there is no cgroup as well.
        #[serde(default)]
        why: Option<String>,
    },
    /// All of the subreaper's means, and a control group.
    Cgroup {
        /// The cgroup's directory.
        path: String,
    },
    /// The root's session and group, and every process that has the lease in its environment (macOS).
    Group,
    /// A job, which no process leaves and which ends with its keeper (Windows).
    Job {
        /// The job's name in the system.
        name: String,
    },
}

impl Boundary {
    /// Returns true if no process in the boundary outlives the keeper. A keeper that is gone has then left none.
    pub fn ends_with_its_keeper(&self) -> bool {
        matches!(self, Self::Job { .. })
    }
}

/// The keeper's note: the live processes of the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct KeeperNote {
    /// The keeper's identity.
    pub keeper: Identity,
    /// The nursery that forked it.
    pub nursery_id: NurseryId,
    /// The root's identity; the root executes only after this note is written.
    pub root: Identity,
    /// The boundary of the tree.
    pub boundary: Boundary,
    /// The time when the root was forked.
    pub started_at_ms: u64,
    /// The absolute path of the root's executable, if it could be found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exe: Option<String>,
    /// The root's process group; a note of the first version means the root's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process_group: Option<i32>,
    /// The instance that the run belongs to; a note of the first version does not name it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance_id: Option<InstanceId>,
    /// The registry that recorded the run first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub registry_id: Option<RegistryId>,
}

/// The ending of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Ending {
    /// The run.
    pub run_id: RunId,
    /// The termination.
    pub termination: Termination,
    /// The time of the end.
    pub ended_at_ms: u64,
    /// The time of the last output.
    pub last_output_at_ms: Option<u64>,
    /// The size of the output.
    pub output: Totals,
    /// The runs that took over escaped processes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub handed_over_to: Vec<RunId>,
    /// The number of SIGKILLs that the cleanup took.
    #[serde(default, skip_serializing_if = "Kills::is_none")]
    pub kills: Kills,
}

impl Ending {
    /// Returns the ending of a run whose last moments nobody saw.
    pub fn unseen(run_id: RunId, termination: Termination, now_ms: u64) -> Self {
        Self {
            run_id,
            termination,
            ended_at_ms: now_ms,
            last_output_at_ms: None,
            output: Totals::default(),
            handed_over_to: Vec::new(),
            kills: Kills::default(),
        }
    }

    /// Returns the ending of a run whose command was never executed.
    pub fn not_started(run_id: RunId, error: &SpawnError, now_ms: u64) -> Self {
        Self::unseen(run_id, Termination::not_started(error), now_ms)
    }

    /// Returns the ending of a run whose command was never executed because a part of Tenure failed.
    pub fn never_started(run_id: RunId, why: String, now_ms: u64) -> Self {
        Self::unseen(run_id, Termination::never_started(why), now_ms)
    }
}

/// A record that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BadRecord {
    /// The record was cut off or changed.
    #[error("the record is torn: its checksum does not match")]
    Torn,
    /// A later Tenure wrote the record.
    #[error(
        "the record has version {found}, this Tenure reads up to {VERSION}: use the newer Tenure that wrote it"
    )]
    Newer {
        /// The record's version.
        found: u32,
    },
    /// The record is whole but not understood.
    #[error("the record is not understood: {0}")]
    Malformed(#[from] serde_json::Error),
}

#[derive(Serialize)]
struct Versioned<'a, T> {
    version: u32,
    #[serde(flatten)]
    record: &'a T,
}

#[derive(Deserialize)]
struct VersionOnly {
    version: u32,
}

/// Encodes a record for the disk.
pub fn encode<T: Serialize>(record: &T) -> Vec<u8> {
    let mut line = serde_json::to_vec(&Versioned { version: VERSION, record })
        .expect("a record has no map with keys that are not strings");
    let sum = hash::fnv64(&line);
    line.extend_from_slice(format!("\n{sum:016x}\n").as_bytes());
    line
}

/// Decodes a record.
pub fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, BadRecord> {
    let text = bytes.strip_suffix(b"\n").ok_or(BadRecord::Torn)?;
    let cut = text.iter().rposition(|&b| b == b'\n').ok_or(BadRecord::Torn)?;
    let (line, sum) = (&text[..cut], &text[cut + 1..]);
    if sum != format!("{:016x}", hash::fnv64(line)).as_bytes() {
        return Err(BadRecord::Torn);
    }
    let VersionOnly { version } = serde_json::from_slice(line)?;
    if version > VERSION {
        return Err(BadRecord::Newer { found: version });
    }
    Ok(serde_json::from_slice(line)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ending::Reason;

    fn ending() -> Ending {
        Ending {
            run_id: RunId::from_random([1; 12]),
            termination: Termination::new(Reason::Exit, Some(crate::ending::Exit::Code(7)), None),
            ended_at_ms: 5,
            last_output_at_ms: None,
            output: Totals { bytes: 10, dropped_bytes: 0 },
            handed_over_to: Vec::new(),
            kills: Kills::default(),
        }
    }

    #[test]
    fn a_record_reads_back_as_written() {
        assert_eq!(decode::<Ending>(&encode(&ending())).unwrap(), ending());
    }

    #[test]
    fn a_record_cut_anywhere_is_torn() {
        let whole = encode(&ending());
        for len in 0..whole.len() {
            assert!(matches!(decode::<Ending>(&whole[..len]), Err(BadRecord::Torn)), "{len}");
        }
    }

    #[test]
    fn a_newer_record_is_refused() {
        let line = br#"{"version":2,"runId":"x"}"#;
        let mut bytes = line.to_vec();
        bytes.extend_from_slice(format!("\n{:016x}\n", hash::fnv64(line)).as_bytes());
        assert!(matches!(decode::<Ending>(&bytes), Err(BadRecord::Newer { found: 2 })));
    }

    // The first versions ever shipped. These files are never edited.

    #[test]
    fn the_ticket_of_version_one_is_still_read() {
        let ticket: Ticket = decode(include_bytes!("../fixtures/ticket-v1")).unwrap();
        assert_eq!((ticket.command.join(" "), ticket.lease_epoch), ("npm test".to_owned(), 3));
        assert_eq!((ticket.options.label.as_deref(), ticket.options.stdin), (Some("web"), true));
    }

    #[test]
    fn a_ticket_is_still_written_with_the_words_of_version_one() {
        let line = |bytes: &[u8]| -> serde_json::Value {
            serde_json::from_slice(bytes.split(|&b| b == b'\n').next().unwrap()).unwrap()
        };
        let first = include_bytes!("../fixtures/ticket-v1");
        assert_eq!(line(&encode(&decode::<Ticket>(first).unwrap())), line(first));
    }

    #[test]
    fn the_keepers_note_of_version_one_is_still_read() {
        let note: KeeperNote = decode(include_bytes!("../fixtures/keeper-v1")).unwrap();
        assert_eq!((note.keeper.pidfs_inode, note.root.pidfs_inode), (Some(77), None));
        assert_eq!(note.boundary, Boundary::Cgroup { path: "/sys/fs/cgroup/tenure-x/y".into() });
        assert_eq!((note.exe, note.process_group), (None, None));
    }

    #[test]
    fn the_ending_of_version_one_is_still_read() {
        let ending: Ending = decode(include_bytes!("../fixtures/ending-v1")).unwrap();
        assert_eq!((ending.termination.exit_code, ending.kills), (Some(7), Kills::default()));
    }
}
