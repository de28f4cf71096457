//! The messages on the sockets of the nursery and of each keeper. A frame is two little-endian lengths, a JSON head
//! of the first length and raw bytes of the second. The first head on a keeper's socket is [`KeeperRequest::Hello`]
//! with a version. Unknown fields are ignored, so that a version can grow. A side never sends a message that the
//! other side's version lacks ([`KeeperMessage::since`]), and a keeper understands every earlier version.

mod connection;
mod frame;
mod packed;
pub mod refusal;

use crate::ending::{Cause, ProcessNote, SpawnError};
use crate::ids::{InstanceId, RegistryId, RunId};
use crate::output::{Stream, Totals};
use crate::record::{Ending, KeeperNote};
use crate::signal::Signal;
use crate::spec::Size;
use crate::state::State;
use serde::{Deserialize, Serialize};

pub use connection::Connection;
pub use frame::{BadFrame, Frame, MAX_BODY, MAX_HEAD, PREFIX, decode, encode};
pub use packed::{pack, unpack};

/// The version of the keeper's socket, which the first connections use without a hello. The second added
/// [`KeeperMessage::Leaving`] and [`KeeperRequest::Unfollow`], and keys: [`KeeperRequest::Type`],
/// [`KeeperMessage::Typed`] and [`KeeperMessage::KeysTaken`]. The third added [`Holder`] to the hello, and the
/// question to the present holder when another connects: [`KeeperMessage::StillYours`], [`KeeperRequest::Mine`] and
/// [`KeeperRequest::Yield`]. The fourth added [`KeeperMessage::Noted`].
pub const VERSION: u32 = 4;

/// A request to a nursery for a keeper. The descriptors of the keeper's first connections come with it, one for each
/// role in that order, each with at least one byte of the frame: one read never receives two of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Launch {
    /// The run's directory, absolute.
    pub directory: String,
    /// The roles of the first connections; there is at least one.
    pub roles: Vec<Role>,
    /// The parts of the spec that no record keeps, beside those in the body.
    pub umask: u32,
    /// The soft and hard limits of open descriptors that the command gets.
    pub nofile: (u64, u64),
    /// The number of the command's words in the [packed](pack) body.
    pub argc: usize,
    /// True if the run gets a cgroup where one can be had.
    pub cgroup: bool,
    /// True if the command reads its caller's own standard input. The descriptor comes on the caller's connection, with
    /// its first frame: a [`KeeperRequest::Stdin`] without bytes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub passes_stdin: bool,
}

/// The role of a keeper's client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum Role {
    /// A foreground caller: when it disconnects, the run ends at once. Output that it has not read is not dropped.
    Caller,
    /// The holder of the lease: when it disconnects, the orphan grace begins. An older epoch is refused.
    Holder {
        /// The lease's fencing number.
        epoch: u64,
    },
    /// A client that reads, or acts for a person on this machine.
    Viewer,
}

/// The daemon that requests a run's lease, sent with the hello. A keeper hands its run only to the run's own
/// instance, or to one that shares the run's own registry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Holder {
    /// The daemon's instance.
    pub instance_id: InstanceId,
    /// The registry that the daemon uses.
    pub registry_id: RegistryId,
    /// Time limit for a silent present holder to say that the run is still its own.
    pub lease_ttl_ms: u64,
}

/// A client's request to a keeper.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum KeeperRequest {
    /// The first message.
    Hello {
        /// The wire's version.
        version: u32,
        /// The client's role.
        #[serde(flatten)]
        role: Role,
        /// The daemon that requests the lease; older versions do not send it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        holder: Option<Holder>,
    },
    /// The present holder keeps the run: its lease is valid.
    Mine,
    /// The present holder gives up the run: its lease is lost, or it does not know.
    Yield,
    /// Requests [`KeeperMessage::Status`].
    Status,
    /// End the run.
    Cancel {
        /// True to skip the grace.
        now: bool,
    },
    /// Standard input; the body holds the bytes.
    Stdin {
        /// The absolute offset of the body's first byte. A repeat is ignored, a gap refused.
        offset: u64,
        /// True if the input ends after the body.
        eof: bool,
    },
    /// Keys; the body holds their bytes. They are queued after all earlier input of any client, and have no offset in
    /// standard input, so any number of clients may type at once. An empty body only asks whether the client may
    /// type.
    Type,
    /// The terminal's new size.
    Resize(Size),
    /// Send a signal to the root's group.
    Signal {
        /// The signal.
        signal: Signal,
    },
    /// Subscribes to the output's growth and to the ending.
    Follow,
    /// Ends the subscription; the holder of the lease still gets the ending.
    Unfollow,
    /// A foreground caller has read the output up to here.
    Taken {
        /// The offset.
        to: u64,
    },
    /// Requests [`KeeperMessage::Tree`].
    Tree,
    /// Requests [`KeeperMessage::Blocked`].
    Blocked,
    /// The holder disconnects on purpose: continue without it, without a time limit.
    Release,
    /// The holder took the run from a lost owner, and the run's orphan policy ends it.
    Abandon,
}

/// A keeper's message to a client.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "tell", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum KeeperMessage {
    /// The response to a hello.
    Welcome {
        /// The wire version that both sides speak.
        version: u32,
        /// The keeper's run.
        run_id: RunId,
        /// True if the keeper waits for a foreground caller's own standard input, as [`Launch::passes_stdin`] says.
        /// Older daemons leave it out, and their callers copy the input.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        takes_stdin: bool,
    },
    /// The command executes.
    Started {
        /// The keeper's note: the live processes and their boundary.
        note: Box<KeeperNote>,
    },
    /// The command could not be executed; an ending is written.
    NotStarted {
        /// The reason.
        error: SpawnError,
    },
    /// The state of the run.
    Status {
        /// The phase of its life.
        state: State,
        /// Its output so far.
        output: Totals,
        /// The time of the last output.
        last_output_at_ms: Option<u64>,
        /// The absolute offset of the next byte of standard input.
        stdin_offset: u64,
        /// True if standard input can still be written.
        stdin_open: bool,
        /// The cause, if somebody other than the command itself ends the run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cause: Option<Cause>,
        /// The lease's fencing number; a keeper of the first version does not send it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        epoch: Option<u64>,
        /// True if a client is attached to the run's terminal: its own terminal answers the queries.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        attached: bool,
    },
    /// The request was carried out.
    Done,
    /// The command has taken standard input up to here.
    StdinTaken {
        /// The offset.
        to: u64,
    },
    /// The keys are queued, up to here in the count of all bytes ever sent to the command.
    Typed {
        /// The count.
        to: u64,
    },
    /// The command has taken the keys up to here, in that count.
    KeysTaken {
        /// The count.
        to: u64,
    },
    /// The command takes no more input.
    StdinClosed,
    /// The input was refused.
    StdinRefused {
        /// The reason, and what to do.
        why: String,
    },
    /// The request was refused.
    Refused {
        /// The reason, and what to do. [`refusal`] has the reasons that clients act on.
        why: String,
    },
    /// The output has grown to here (a hint; the files are the truth, I4).
    Grown {
        /// The offset.
        to: u64,
    },
    /// Output that the disk could not keep; the body holds the bytes. Only for a foreground caller.
    Unkept {
        /// The absolute offset of the body's first byte.
        offset: u64,
        /// The stream that they came from.
        stream: Stream,
    },
    /// The process tree.
    Tree {
        /// The live processes, parents first.
        processes: Vec<ProcessView>,
    },
    /// The system calls that the tree is blocked in.
    Blocked {
        /// An entry for each process that could be read.
        processes: Vec<BlockedView>,
        /// True if a process waits for the run's own input; `None` if that cannot be told.
        waiting_for_input: Option<bool>,
    },
    /// The run is `exiting` (a hint for the holder and for followers).
    Leaving {
        /// The cause; `None` if the command ended by itself.
        cause: Option<Cause>,
        /// More details, for people.
        detail: Option<String>,
    },
    /// The journal has new entries that are events (a hint for the holder; the file is the truth, I4).
    Noted,
    /// The run has ended, but the disk refused the ending: this message is its only record.
    Unrecorded {
        /// The ending in words, and the error.
        why: String,
        /// The ending, for a holder that can record it elsewhere. Older keepers do not send it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ending: Option<Box<Ending>>,
    },
    /// Asks the present holder whether it still holds the run, because another daemon requests it. The holder answers
    /// [`KeeperRequest::Mine`] or [`KeeperRequest::Yield`]; without an answer the keeper hands over the run.
    StillYours {
        /// The other daemon's epoch.
        epoch: u64,
    },
    /// The run has ended; the ending is on disk.
    Ended {
        /// The ending.
        ending: Box<Ending>,
    },
}

impl KeeperRequest {
    /// Returns the wire version that added the request. An older keeper would disconnect the sender.
    pub fn since(&self) -> u32 {
        match self {
            KeeperRequest::Mine | KeeperRequest::Yield => 3,
            KeeperRequest::Unfollow | KeeperRequest::Type | KeeperRequest::Abandon => 2,
            KeeperRequest::Hello { .. }
            | KeeperRequest::Status
            | KeeperRequest::Cancel { .. }
            | KeeperRequest::Stdin { .. }
            | KeeperRequest::Resize(_)
            | KeeperRequest::Signal { .. }
            | KeeperRequest::Follow
            | KeeperRequest::Taken { .. }
            | KeeperRequest::Tree
            | KeeperRequest::Blocked
            | KeeperRequest::Release => 1,
        }
    }

    /// Translates the request for a keeper that speaks an older version; `None` if that version has no equivalent.
    pub fn for_version(self, version: u32) -> Option<KeeperRequest> {
        if self.since() <= version {
            return Some(self);
        }
        // The present holder ends the run; the older wire has only this word for it.
        matches!(self, KeeperRequest::Abandon).then_some(KeeperRequest::Cancel { now: false })
    }
}

impl KeeperMessage {
    /// Returns the first wire version that has the message.
    pub fn since(&self) -> u32 {
        match self {
            KeeperMessage::Noted => 4,
            KeeperMessage::StillYours { .. } => 3,
            KeeperMessage::Leaving { .. } | KeeperMessage::Typed { .. } | KeeperMessage::KeysTaken { .. } => {
                2
            }
            KeeperMessage::Welcome { .. }
            | KeeperMessage::Started { .. }
            | KeeperMessage::NotStarted { .. }
            | KeeperMessage::Status { .. }
            | KeeperMessage::Done
            | KeeperMessage::StdinTaken { .. }
            | KeeperMessage::StdinClosed
            | KeeperMessage::StdinRefused { .. }
            | KeeperMessage::Refused { .. }
            | KeeperMessage::Grown { .. }
            | KeeperMessage::Unkept { .. }
            | KeeperMessage::Tree { .. }
            | KeeperMessage::Blocked { .. }
            | KeeperMessage::Unrecorded { .. }
            | KeeperMessage::Ended { .. } => 1,
        }
    }
}

/// The way in which a process belongs to its run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Via {
    /// Descends from the root by living parents.
    Child,
    /// Its parent died and it came back to the keeper.
    Adopted,
    /// Its parent died, and it is still in the root's session.
    Session,
    /// Its parent died, and it carries the run's lease in its environment.
    Mark,
    /// Is in the run's cgroup.
    Cgroup,
    /// Is in the run's job.
    Job,
}

/// A live process of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProcessView {
    /// Its pid and executable.
    #[serde(flatten)]
    pub note: ProcessNote,
    /// Its parent.
    pub ppid: i32,
    /// Its group.
    pub pgid: i32,
    /// Its session.
    pub sid: i32,
    /// Returns the command line, for people.
    pub command: String,
    /// The time of its start.
    pub started_at_ms: u64,
    /// The CPU time it has used.
    pub cpu_ms: u64,
    /// The memory it holds.
    pub rss_bytes: u64,
    /// The way in which it belongs to the run.
    pub via: Via,
}

/// The system call that a process is blocked in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BlockedView {
    /// The process.
    pub pid: i32,
    /// The system call it is in, by name; `running` if it is in none.
    pub syscall: String,
    /// True if it waits for the run's input alone; `None` if that cannot be told.
    pub waits_for_input: Option<bool>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_field_is_ignored() {
        let mut frame = Vec::new();
        let head = br#"{"ask":"cancel","now":true,"later":1}"#;
        frame.extend_from_slice(&u32::try_from(head.len()).unwrap().to_le_bytes());
        frame.extend_from_slice(&[0; 4]);
        frame.extend_from_slice(head);
        assert_eq!(decode::<KeeperRequest>(&frame).unwrap().unwrap().0, KeeperRequest::Cancel { now: true });
    }

    #[test]
    fn the_status_of_version_one_is_still_read() {
        let head = br#"{"tell":"status","state":"running","output":{"bytes":3,"droppedBytes":0},"lastOutputAtMs":null,"stdinOffset":7,"stdinOpen":true}"#;
        let Ok(KeeperMessage::Status { stdin_offset: 7, cause: None, epoch: None, .. }) =
            serde_json::from_slice(head)
        else {
            panic!("not read");
        };
    }

    #[test]
    fn an_older_keeper_is_told_only_what_it_has_words_for() {
        assert_eq!(KeeperRequest::Status.for_version(1), Some(KeeperRequest::Status));
        assert_eq!(KeeperRequest::Abandon.for_version(2), Some(KeeperRequest::Abandon));
        assert_eq!(KeeperRequest::Abandon.for_version(1), Some(KeeperRequest::Cancel { now: false }));
        assert_eq!(
            (KeeperRequest::Unfollow.for_version(1), KeeperRequest::Type.for_version(1)),
            (None, None)
        );
    }

    #[test]
    fn hello_carries_its_role() {
        let hello = KeeperRequest::Hello { version: 1, role: Role::Holder { epoch: 4 }, holder: None };
        let frame = encode(&hello, b"");
        assert_eq!(decode::<KeeperRequest>(&frame).unwrap().unwrap().0, hello);
    }

    #[test]
    fn the_hello_of_version_two_is_still_read() {
        let head = br#"{"ask":"hello","version":2,"role":"holder","epoch":4}"#;
        let read: KeeperRequest = serde_json::from_slice(head).unwrap();
        assert_eq!(read, KeeperRequest::Hello { version: 2, role: Role::Holder { epoch: 4 }, holder: None });
    }

    #[test]
    fn a_holder_says_who_it_is() {
        let holder = Holder {
            instance_id: InstanceId::from_random([1; 12]),
            registry_id: RegistryId::from_random([2; 12]),
            lease_ttl_ms: 15_000,
        };
        let hello =
            KeeperRequest::Hello { version: 3, role: Role::Holder { epoch: 4 }, holder: Some(holder) };
        assert_eq!(decode::<KeeperRequest>(&encode(&hello, b"")).unwrap().unwrap().0, hello);
    }
}
