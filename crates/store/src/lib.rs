//! The registry: the records of runs, sessions, tasks, events and counters. It decides only what must be decided in
//! one transaction: the owner of a run (a compare-and-swap), the live run of a scope, and that each ending is
//! recorded and counted once.
//!
//! [`Registry`] is the one trait; [`sqlite`] implements it. No caller knows the store behind it.
#![forbid(unsafe_code)]

mod events;
mod rows;
mod sessions;
pub mod sqlite;
mod talks;
mod tasks;
mod tools;
mod turns;

pub use events::kind;
pub use rows::{
    Beat, Change, Count, Cursor, EventRow, Hold, Home, InstanceRow, NewEvent, NewRun, Page, Query, Retention,
    RunRow, Unfinished, Unreadable,
};
pub use sessions::{
    Family, Move, Moved, NewSession, Session, SessionCursor, SessionPage, SessionQuery, SessionRegistry,
    UnreadableSession,
};
pub use talks::{EntryPage, TalkRegistry};
pub use tasks::{
    Audited, Backlog, CancelAsked, Claim, Claimed, Found, NewTask, Queued, Sweep, Swept, TaskCursor,
    TaskPage, TaskQuery, TaskRegistry, Tracked, Tried,
};
pub use tenure_core::session::TurnState;
pub use tools::{AllowRow, ApprovalRow, ApprovalState, ExecRow, NewAnswer, NewApproval, ToolRegistry};
pub use turns::{FinalText, Message, NewTurn, Outcome, Side, Turn, TurnEnd, TurnPage};

use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use tenure_core::ids::{InstanceId, RegistryId, RunId, TurnId};
use tenure_core::session::{Refused, SessionKey, SessionState};

/// The future result of a call.
pub type Reply<T> = Pin<Box<dyn Future<Output = Result<T, Failed>> + Send>>;

/// The reason why the registry refused or failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Failed {
    /// The scope has another live run.
    #[error("the scope {scope:?} has a live run: {holder}")]
    ScopeTaken {
        /// The scope.
        scope: String,
        /// The live run.
        holder: RunId,
    },
    /// The key exists already.
    #[error("session {key} exists already and is {state}: use another key")]
    SessionTaken {
        /// The key.
        key: SessionKey,
        /// The existing session's state.
        state: SessionState,
    },
    /// The session may not be created.
    #[error(transparent)]
    NotSpawned(Refused),
    /// The session does not exist.
    #[error("there is no session {key}: `tenure sessions list` shows those there are")]
    NoSession {
        /// The key.
        key: SessionKey,
    },
    /// The session has a running turn.
    #[error("session {key} is busy with turn {turn}: wait for its end, cancel it, or let the message wait")]
    SessionBusy {
        /// The session.
        key: SessionKey,
        /// The turn.
        turn: TurnId,
    },
    /// The session is closing, or closed.
    #[error("session {key} is {state}: no more is said or run in it; name another session, or spawn one")]
    SessionOver {
        /// The session.
        key: SessionKey,
        /// Its state.
        state: SessionState,
    },
    /// The session has no such transition.
    #[error(
        "session {key} cannot be moved from {from} to {to}: turns make it busy and idle, and it is closed by way of closing"
    )]
    BadMove {
        /// The session.
        key: SessionKey,
        /// The present state.
        from: SessionState,
        /// The requested state.
        to: SessionState,
    },
    /// Messages are queued for the session, and come first.
    #[error("{waiting} messages wait for session {key} and come first: let this one wait, too")]
    MessagesWait {
        /// The session.
        key: SessionKey,
        /// The number of queued messages.
        waiting: u64,
    },
    /// The session's queue is full.
    #[error(
        "{waiting} messages wait for session {key}, which is all that may: send again when it has answered one"
    )]
    QueueFull {
        /// The session.
        key: SessionKey,
        /// The number of queued messages.
        waiting: u64,
    },
    /// The message has the id of another.
    #[error("turn {turn} was sent before: give every message an id of its own")]
    TurnTaken {
        /// The id.
        turn: TurnId,
    },
    /// The store cannot be used now: full, busy, unreadable.
    #[error("the registry failed: {0}")]
    Unavailable(String),
}

/// The registry. Every call is one transaction. Records that must outlive a power cut (endings) are flushed to disk
/// before the call returns; the rest outlives a crash of the process.
pub trait Registry: ToolRegistry + SessionRegistry + TaskRegistry + TalkRegistry {
    /// Returns the registry's own id. Every daemon that shares the registry sees the same; a copy of it has
    /// another.
    fn id(&self) -> RegistryId;

    /// Sets the installation that uses the registry. From now on, rows are adapted to it.
    fn settle_in(&self, home: Home);

    /// Enrols an instance: raises its incarnation, so that an earlier process of the instance is superseded.
    fn enrol(&self, instance: InstanceId, about: String, expires_at_ms: u64) -> Reply<Beat>;
    /// Renews an instance's heartbeat; `None` if it was superseded: others may have its leases.
    fn beat(&self, instance: InstanceId, last: Beat, expires_at_ms: u64) -> Reply<Option<Beat>>;
    /// Returns every instance.
    fn instances(&self) -> Reply<Vec<InstanceRow>>;
    /// Raises the incarnation of an instance that has expired at `now_ms` and whose heartbeat is still `seen`;
    /// `None` otherwise. From then on the instance's own heartbeats fail until it enrols again.
    fn unseat(&self, instance: InstanceId, seen: Beat, now_ms: u64) -> Reply<Option<Beat>>;

    /// Records a run before any process of it is started (I2). Creates the session that it names if there is none,
    /// without any limit; a closed session refuses new runs. Creates the task that tracks it, if one is requested
    /// and none does.
    fn create(&self, run: NewRun) -> Reply<()>;
    /// Records a change of a run; `false` if it is not held that way any more, or has passed that state. The
    /// change, its event, its counts, its task's state and the task's notice are one transaction.
    fn record(&self, run: RunId, hold: Hold, change: Change, at_ms: u64) -> Reply<bool> {
        self.record_all(run, hold, vec![change], at_ms)
    }
    /// Records several changes of a run in this order, in one transaction. Returns the result of the last one.
    fn record_all(&self, run: RunId, hold: Hold, changes: Vec<Change>, at_ms: u64) -> Reply<bool>;
    /// Takes a run from an unseated owner and raises its epoch; `None` if it is not that owner's at that epoch, has
    /// ended, or the owner is back.
    #[expect(clippy::too_many_arguments, reason = "each is a part of the one comparison")]
    fn steal(
        &self,
        run: RunId,
        from: Hold,
        unseated: Beat,
        to: InstanceId,
        at_ms: u64,
    ) -> Reply<Option<Hold>>;
    /// Raises a run's epoch above one that its keeper has obeyed: the record was lost or restored, and is older
    /// than the lease. Returns `None` if the run is not held that way any more, or has ended.
    fn raise_epoch(&self, run: RunId, from: Hold, above: u64) -> Reply<Option<Hold>>;
    /// Hides a live run from lists: its record is removed when it has ended.
    fn hide(&self, run: RunId) -> Reply<()>;
    /// Removes records of ended runs.
    fn forget(&self, runs: Vec<RunId>) -> Reply<()>;

    /// Returns a run.
    fn run(&self, run: RunId) -> Reply<Option<RunRow>>;
    /// Returns those of these runs that have no row.
    fn unknown(&self, runs: Vec<RunId>) -> Reply<Vec<RunId>>;
    /// Returns up to `limit` ids with this prefix; hidden runs are not found.
    fn find(&self, prefix: String, limit: usize) -> Reply<Vec<RunId>>;
    /// Returns a page of runs, the newest first; unreadable ones are left out.
    fn runs(&self, query: Query) -> Reply<Page>;
    /// Returns every run that has not ended, whoever owns it, including hidden ones.
    fn unfinished(&self) -> Reply<Unfinished>;
    /// Returns the live run of a scope, even a hidden one.
    fn live_in_scope(&self, scope: String) -> Reply<Option<RunRow>>;
    /// Returns ended runs of this instance that exceed the retention, the oldest first, at most `limit`. Unreadable
    /// ones stay.
    fn outlived(&self, of: InstanceId, keep: Retention, now_ms: u64, limit: usize) -> Reply<Vec<RunRow>>;

    /// Adds an event that belongs to no change of a run.
    fn tell(&self, event: NewEvent) -> Reply<u64>;
    /// Returns the events after this number, the oldest first.
    fn events(&self, after: u64, run: Option<RunId>, limit: usize) -> Reply<Vec<EventRow>>;
    /// Returns the last events of a session and of its runs, the oldest first, at most `limit`.
    fn session_events(&self, session: SessionKey, limit: usize) -> Reply<Vec<EventRow>>;
    /// Returns the number of the newest event.
    fn last_event(&self) -> Reply<u64>;
    /// Removes events older than this, and all but the newest `most`.
    fn trim_events(&self, before_ms: u64, most: u64) -> Reply<()>;
    /// Returns the counters of this instance.
    fn counts(&self, instance: InstanceId) -> Reply<Vec<(Count, u64)>>;
    /// Counts something that belongs to no change of a run.
    fn count(&self, instance: InstanceId, count: Count) -> Reply<()>;

    /// Writes a whole copy of the registry to a new file, while the registry is in use.
    fn backup(&self, to: PathBuf) -> Reply<()>;
    /// Checks the store's integrity; returns the problem, if there is one.
    fn check(&self) -> Reply<Option<String>>;
}
