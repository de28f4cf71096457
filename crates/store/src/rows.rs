//! The values that the registry stores.

pub use tenure_core::lease::Hold;

use crate::tasks::NewTask;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::PathBuf;
use tenure_core::ending::{Cause, Reason};
use tenure_core::ids::{InstanceId, RegistryId, RunId};
use tenure_core::journal::JournalEntry;
use tenure_core::record::{Ending, KeeperNote, Ticket};
use tenure_core::session::SessionKey;
use tenure_core::state::State;
use tenure_core::tools::Notify;

/// A heartbeat of an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Beat {
    /// Raised when the instance starts, and when it is unseated.
    pub incarnation: u64,
    /// Raised by every heartbeat.
    pub number: u64,
}

/// An instance, as stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstanceRow {
    /// The instance's id.
    pub instance: InstanceId,
    /// The last heartbeat.
    pub beat: Beat,
    /// The time when its leases expire. `u64::MAX`: it was stopped on purpose, and its leases wait for it.
    pub expires_at_ms: u64,
    /// The location, for people.
    pub about: String,
}

/// A run that is about to be started, or one that was started without a daemon and is now recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewRun {
    /// The request; it names the run, its first owner and epoch.
    pub ticket: Ticket,
    /// The run's directory, absolute.
    pub directory: String,
    /// The requester, for people.
    pub asked_by: String,
    /// For a run of the exec tool: the cases in which its end in the background is told.
    pub exec: Option<Notify>,
    /// The parent of the session that the ticket names, if that session is created with the run.
    pub session_parent: Option<SessionKey>,
    /// True if the run is alive already. Then it is recorded whatever the state of its session, because a live run
    /// must be held.
    pub is_started: bool,
    /// The task that tracks the run.
    pub task: Option<NewTask>,
}

/// A change of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// The command executes.
    Started(Box<KeeperNote>),
    /// The run is being ended, or its command has ended.
    Leaving {
        /// The cause; `None` if the command ended by itself.
        cause: Option<Cause>,
        /// More details, for people.
        detail: Option<String>,
    },
    /// The keeper's journal so far. Entries that are events are told, unless they were told before.
    Noted(Vec<JournalEntry>),
    /// The run has ended. Flushed to disk before the call returns.
    Ended(Box<Ending>),
}

/// A run, as stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunRow {
    /// The request.
    pub ticket: Ticket,
    /// The run's directory, absolute.
    pub directory: String,
    /// The requester, for people.
    pub asked_by: String,
    /// The present owner and epoch.
    pub hold: Hold,
    /// The time when the owner's leases expire.
    pub expires_at_ms: u64,
    /// The state.
    pub state: State,
    /// The cause, once the run is being ended.
    pub cause: Option<Cause>,
    /// The keeper's note, once the run has started.
    pub note: Option<KeeperNote>,
    /// The ending, once the run has ended.
    pub ending: Option<Ending>,
    /// True if it is hidden from lists.
    pub hidden: bool,
    /// The time of the row's last change.
    pub updated_at_ms: u64,
    /// True if the run belongs to neither our instance nor our registry: the row is a copy of another
    /// installation's.
    pub foreign: bool,
}

/// The installation that uses the registry. It determines where runs are, and which are its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Home {
    /// The installation's id.
    pub instance: InstanceId,
    /// The directory that contains its runs' directories.
    pub runs: PathBuf,
}

impl Home {
    /// Adapts a row to this installation. The row's directory is used only for a run of another instance that
    /// shares the registry.
    pub(crate) fn place(&self, registry: &RegistryId, row: RunRow) -> RunRow {
        let foreign = row.ticket.is_foreign(&self.instance, registry);
        if !foreign && row.ticket.owner_instance_id != self.instance {
            return row;
        }
        let directory = self.runs.join(row.ticket.run_id.as_str());
        RunRow { directory: directory.to_string_lossy().into_owned(), foreign, ..row }
    }
}

/// The filters of a list of runs. Hidden runs are never listed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Query {
    /// Only runs in one of these states; empty means any.
    pub states: Vec<State>,
    /// Only runs of this session.
    pub session: Option<String>,
    /// Only runs of this scope.
    pub scope: Option<String>,
    /// Only runs of sessions whose key is this agent's: `agent:<name>:…`.
    pub agent: Option<String>,
    /// Only runs older than this.
    pub after: Option<Cursor>,
    /// The maximum number of runs.
    pub limit: usize,
}

/// A position in a list of runs, the newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Cursor {
    /// The time of creation of the page's last run.
    pub created_at_ms: u64,
    /// The id of that run.
    pub run_id: RunId,
}

/// A page of a list.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Page {
    /// The runs.
    pub runs: Vec<RunRow>,
    /// The start of the next page, if there is one.
    pub next: Option<Cursor>,
}

/// The runs that have not ended.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Unfinished {
    /// Readable runs, the oldest first.
    pub runs: Vec<RunRow>,
    /// Unreadable runs, perhaps of a newer Tenure. They must be left alone (I6).
    pub unreadable: Vec<Unreadable>,
}

/// A run whose row this Tenure cannot read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable {
    /// The id, as it is stored.
    pub run: String,
    /// The error.
    pub why: String,
}

/// The retention of ended runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// The longest time since the end.
    pub age_ms: u64,
    /// The maximum number of runs.
    pub count: u64,
    /// The maximum output of ended runs on disk, in bytes.
    pub bytes: u64,
}

/// An event that is about to be recorded.
#[derive(Debug, Clone, PartialEq)]
pub struct NewEvent {
    /// The time.
    pub at_ms: u64,
    /// The kind: a frozen kebab-case word.
    pub kind: String,
    /// The instance that recorded it.
    pub instance: InstanceId,
    /// The run that it is about.
    pub run_id: Option<RunId>,
    /// The run's session.
    pub session: Option<String>,
    /// The details.
    pub detail: Value,
}

/// An event, as stored.
#[derive(Debug, Clone, PartialEq)]
pub struct EventRow {
    /// The number: later events have greater ones.
    pub seq: u64,
    /// The event.
    pub event: NewEvent,
}

/// A counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Count {
    /// Commands that were executed.
    Spawn,
    /// Ended runs, by reason.
    Exit(Reason),
    /// Runs ended by the no-output limit.
    TimeoutNoOutput,
    /// Runs ended by the overall limit.
    TimeoutOverall,
    /// Processes killed one by one.
    KillPid,
    /// Groups killed.
    KillGroup,
    /// Control groups killed.
    KillCgroup,
    /// Jobs killed.
    KillJob,
    /// Runs found without a keeper and closed.
    Orphan,
    /// Leases taken from an owner that was lost.
    Steal,
    /// Runs from which a process escaped.
    Escape,
}
