//! What the registry keeps, as values.

pub use tenure_core::lease::Hold;

use crate::tasks::NewTask;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::PathBuf;
use tenure_core::ending::{Cause, Reason};
use tenure_core::ids::{InstanceId, RegistryId, RunId};
use tenure_core::journal::Entry;
use tenure_core::record::{Ending, KeeperNote, Ticket};
use tenure_core::session::SessionKey;
use tenure_core::state::State;
use tenure_core::tools::Notify;

/// One heartbeat of an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Beat {
    /// Raised when the instance starts, and when it is unseated.
    pub incarnation: u64,
    /// Raised by every heartbeat.
    pub number: u64,
}

/// An instance as the registry knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstanceRow {
    /// Which.
    pub instance: InstanceId,
    /// Its last heartbeat.
    pub beat: Beat,
    /// Until when its leases hold. `u64::MAX`: it was stopped on purpose, and its leases wait for it.
    pub expires_at_ms: u64,
    /// Where it is, for people.
    pub about: String,
}

/// A run that is about to be started, or one that was started without a daemon and is taken into the registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewRun {
    /// What was asked; it names the run, its first owner and epoch.
    pub ticket: Ticket,
    /// The run's directory, absolute.
    pub directory: String,
    /// Who asked, for people.
    pub asked_by: String,
    /// For a run of the exec tool: when its end in the background is told.
    pub exec: Option<Notify>,
    /// The session that is to be right above the one that the ticket names, if that one is made with the run.
    pub session_parent: Option<SessionKey>,
    /// Whether it lives already. Then it is recorded however its session is: what lives is to be held.
    pub is_started: bool,
    /// The task that is to track it.
    pub task: Option<NewTask>,
}

/// What became of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// Its command executes.
    Started(Box<KeeperNote>),
    /// It is being ended, or its command has ended.
    Leaving {
        /// Why somebody ends it; `None` if the command ended by itself.
        cause: Option<Cause>,
        /// More, in a person's words.
        detail: Option<String>,
    },
    /// Its keeper's journal, as far as it is written. What is an event in it and was not told yet is told.
    Noted(Vec<Entry>),
    /// It has ended. Flushed to disk before the answer.
    Ended(Box<Ending>),
}

/// A run as the registry knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunRow {
    /// What was asked.
    pub ticket: Ticket,
    /// The run's directory, absolute.
    pub directory: String,
    /// Who asked, for people.
    pub asked_by: String,
    /// Whose it is now.
    pub hold: Hold,
    /// Until when the owner's leases hold.
    pub expires_at_ms: u64,
    /// Where it is in its life.
    pub state: State,
    /// Why it is being ended, once somebody ends it.
    pub cause: Option<Cause>,
    /// Who was alive, once it had started.
    pub note: Option<KeeperNote>,
    /// How it ended, once it has.
    pub ending: Option<Ending>,
    /// Whether it is hidden from lists.
    pub hidden: bool,
    /// When this row last changed.
    pub updated_at_ms: u64,
    /// True if the run belongs to neither our instance nor our registry: the row is a copy of another installation's.
    pub foreign: bool,
}

/// The installation that uses the registry. It determines where runs are, and which are its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Home {
    /// The installation's id.
    pub instance: InstanceId,
    /// The directory that holds its runs' directories.
    pub runs: PathBuf,
}

impl Home {
    /// Adapts a row to this installation. Only a run of another instance that shares the registry lies where its row
    /// says.
    pub(crate) fn place(&self, registry: &RegistryId, row: RunRow) -> RunRow {
        let foreign = row.ticket.is_foreign(&self.instance, registry);
        if !foreign && row.ticket.owner_instance_id != self.instance {
            return row;
        }
        let directory = self.runs.join(row.ticket.run_id.as_str());
        RunRow { directory: directory.to_string_lossy().into_owned(), foreign, ..row }
    }
}

/// Which runs are meant. Hidden ones never are.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Query {
    /// Only those in one of these states; empty means any.
    pub states: Vec<State>,
    /// Only this session's.
    pub session: Option<String>,
    /// Only this scope's.
    pub scope: Option<String>,
    /// Only those of sessions whose key is this agent's: `agent:<name>:…`.
    pub agent: Option<String>,
    /// Only those older than this.
    pub after: Option<Cursor>,
    /// At most so many.
    pub limit: usize,
}

/// A place in a list of runs, the newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Cursor {
    /// When the last run of the page was asked for.
    pub created_at_ms: u64,
    /// Its id.
    pub run_id: RunId,
}

/// A part of a list.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Page {
    /// The runs.
    pub runs: Vec<RunRow>,
    /// Where the next page begins, if there is one.
    pub next: Option<Cursor>,
}

/// The runs that have not ended.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Unfinished {
    /// Those that can be read, the oldest first.
    pub runs: Vec<RunRow>,
    /// Those that cannot: a newer Tenure's, perhaps. They are to be left alone (I6).
    pub unreadable: Vec<Unreadable>,
}

/// A run whose row this Tenure cannot read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable {
    /// Its id, as it is stored.
    pub run: String,
    /// What is wrong with it.
    pub why: String,
}

/// How long runs that have ended are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// The longest time since the end.
    pub age_ms: u64,
    /// The most runs.
    pub count: u64,
    /// The most output of ended runs on disk, in bytes.
    pub bytes: u64,
}

/// Something that happened, about to be recorded.
#[derive(Debug, Clone, PartialEq)]
pub struct NewEvent {
    /// When.
    pub at_ms: u64,
    /// What: a frozen kebab-case word.
    pub kind: String,
    /// Whose daemon saw it.
    pub instance: InstanceId,
    /// Which run it is about.
    pub run_id: Option<RunId>,
    /// The run's session.
    pub session: Option<String>,
    /// More.
    pub detail: Value,
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq)]
pub struct EventRow {
    /// Its number: later events have greater ones.
    pub seq: u64,
    /// What happened.
    pub event: NewEvent,
}

/// Something that is counted, once each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Count {
    /// A run's command was executed.
    Spawn,
    /// A run has ended, and why.
    Exit(Reason),
    /// A time limit ended a run.
    TimeoutNoOutput,
    /// A time limit ended a run.
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
    /// Runs out of which a process escaped.
    Escape,
}
