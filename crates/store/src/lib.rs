//! The registry: which runs there are, whose they are, how they ended, what happened, and how often. It decides
//! nothing but what must be decided in one transaction: who owns a run (a compare-and-swap), whether a scope is
//! free, and that each ending is recorded and counted once.
//!
//! [`Registry`] is the one trait; [`sqlite`] stands behind it. Nothing above knows which store it talks to.
#![forbid(unsafe_code)]

mod rows;
mod sessions;
pub mod sqlite;
mod talks;
mod tally;
mod tasks;
mod tools;
mod turns;

pub use rows::{
    Beat, Change, Count, Cursor, EventRow, Hold, Home, InstanceRow, NewEvent, NewRun, Page, Query, Retention,
    RunRow, Unfinished, Unreadable,
};
pub use sessions::{
    Family, Move, Moved, NewSession, Session, SessionCursor, SessionPage, SessionQuery, SessionRegistry,
    UnreadableSession,
};
pub use talks::{EntryPage, TalkRegistry};
pub use tally::kind;
pub use tasks::{
    Audited, Backlog, CancelAsked, Claim, Claimed, Found, NewTask, Queued, Sweep, Swept, TaskCursor,
    TaskPage, TaskQuery, TaskRegistry, Tracked, Tried,
};
pub use tenure_core::session::TurnState;
pub use tools::{
    AllowRow, ApprovalRow, ApprovalState, ExecRow, NewAnswer, NewApproval, Notice, ToolRegistry,
};
pub use turns::{FinalText, Message, NewTurn, Outcome, Side, Turn, TurnEnd, TurnPage};

use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use tenure_core::ids::{InstanceId, RegistryId, RunId, TurnId};
use tenure_core::session::{Refused, SessionKey, SessionState};

/// What a registry answers, later.
pub type Reply<T> = Pin<Box<dyn Future<Output = Result<T, Failed>> + Send>>;

/// Why the registry did not do it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Failed {
    /// Another live run is the scope's.
    #[error("the scope {scope:?} has a live run: {holder}")]
    ScopeTaken {
        /// Which scope.
        scope: String,
        /// Whose it is.
        holder: RunId,
    },
    /// Another session has the key.
    #[error("there is a session {key} already, and it is {state}: give the new one another key")]
    SessionTaken {
        /// The key.
        key: SessionKey,
        /// How that session is.
        state: SessionState,
    },
    /// There may be no such session.
    #[error(transparent)]
    NotSpawned(Refused),
    /// There is no such session.
    #[error("there is no session {key}: `tenure sessions list` shows those there are")]
    NoSession {
        /// The key.
        key: SessionKey,
    },
    /// A turn of the session is under way.
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
        /// How it is.
        state: SessionState,
    },
    /// A session cannot be moved that way.
    #[error(
        "session {key} cannot be moved from {from} to {to}: turns make it busy and idle, and it is closed by way of closing"
    )]
    BadMove {
        /// The session.
        key: SessionKey,
        /// From where.
        from: SessionState,
        /// Where to.
        to: SessionState,
    },
    /// Others wait for the session, and come first.
    #[error("{waiting} messages wait for session {key} and come first: let this one wait, too")]
    MessagesWait {
        /// The session.
        key: SessionKey,
        /// How many.
        waiting: u64,
    },
    /// As many messages wait for the session as may.
    #[error(
        "{waiting} messages wait for session {key}, which is all that may: send again when it has answered one"
    )]
    QueueFull {
        /// The session.
        key: SessionKey,
        /// How many.
        waiting: u64,
    },
    /// The id of a message is that of another.
    #[error("turn {turn} was sent before: give every message an id of its own")]
    TurnTaken {
        /// The id.
        turn: TurnId,
    },
    /// The store cannot be used now: full, busy, unreadable.
    #[error("the registry failed: {0}")]
    Unavailable(String),
}

/// The registry. Every call is one transaction. What must outlive a power cut (endings) is flushed to disk before
/// the answer; the rest outlives a crash of the process.
pub trait Registry: ToolRegistry + SessionRegistry + TaskRegistry + TalkRegistry {
    /// Returns the registry's own id. Every daemon that shares the registry sees the same; a copy of it has another.
    fn id(&self) -> RegistryId;

    /// Sets the installation that uses the registry. From now on, rows are adapted to it.
    fn settle_in(&self, home: Home);

    /// An instance comes to life: its incarnation is raised, so that whoever acted as it before is superseded.
    fn enrol(&self, instance: InstanceId, about: String, expires_at_ms: u64) -> Reply<Beat>;
    /// Renews an instance's heartbeat; `None` if it was superseded: its leases may be others'.
    fn beat(&self, instance: InstanceId, last: Beat, expires_at_ms: u64) -> Reply<Option<Beat>>;
    /// Every instance there is.
    fn instances(&self) -> Reply<Vec<InstanceRow>>;
    /// Raises the incarnation of an instance that has expired at `now_ms` and whose heartbeat is still the one
    /// that was seen; `None` if it is not. From then on the instance's own heartbeats fail until it enrols anew.
    fn unseat(&self, instance: InstanceId, seen: Beat, now_ms: u64) -> Reply<Option<Beat>>;

    /// Records a run before anything of it is started (I2). The session that it names is made with it if there is none,
    /// without any limit; in one that is over nothing new is started. So is the task that tracks it, if one is asked for
    /// and none does.
    fn create(&self, run: NewRun) -> Reply<()>;
    /// Records what became of a run; `false` if it is not held that way any more, or is past it already. Recorded,
    /// told as an event and counted at once, with what becomes of its task and the notice of that, or not at all.
    fn record(&self, run: RunId, hold: Hold, change: Change, at_ms: u64) -> Reply<bool> {
        self.record_all(run, hold, vec![change], at_ms)
    }
    /// Records several changes of a run in this order, all of them in one transaction. Answers for the last one.
    fn record_all(&self, run: RunId, hold: Hold, changes: Vec<Change>, at_ms: u64) -> Reply<bool>;
    /// Takes a run from an unseated owner; `None` if it is not that owner's at that epoch, has ended, or the owner
    /// is back. The epoch is raised.
    #[expect(clippy::too_many_arguments, reason = "each is a part of the one comparison")]
    fn steal(
        &self,
        run: RunId,
        from: Hold,
        unseated: Beat,
        to: InstanceId,
        at_ms: u64,
    ) -> Reply<Option<Hold>>;
    /// Raises a run's epoch above one that its keeper has obeyed: the record was lost or restored, and is older than
    /// the lease. Returns `None` if the run is not held that way any more, or has ended.
    fn raise_epoch(&self, run: RunId, from: Hold, above: u64) -> Reply<Option<Hold>>;
    /// Hides a live run from lists: its record goes when it has ended.
    fn hide(&self, run: RunId) -> Reply<()>;
    /// Removes records of runs that have ended.
    fn forget(&self, runs: Vec<RunId>) -> Reply<()>;

    /// One run.
    fn run(&self, run: RunId) -> Reply<Option<RunRow>>;
    /// Returns those of these runs that have no row.
    fn unknown(&self, runs: Vec<RunId>) -> Reply<Vec<RunId>>;
    /// Up to `limit` ids that begin with this text; hidden runs are not found.
    fn find(&self, prefix: String, limit: usize) -> Reply<Vec<RunId>>;
    /// A page of runs, the newest first; those that cannot be read are left out.
    fn runs(&self, query: Query) -> Reply<Page>;
    /// Every run that has not ended, whoever owns it, hidden ones too.
    fn unfinished(&self) -> Reply<Unfinished>;
    /// The run that has a scope to itself, if there is one; a hidden one, too.
    fn live_in_scope(&self, scope: String) -> Reply<Option<RunRow>>;
    /// Runs of this instance that have ended and are to go by these rules, the oldest first, at most `limit`. Those
    /// that cannot be read stay.
    fn outlived(&self, of: InstanceId, keep: Retention, now_ms: u64, limit: usize) -> Reply<Vec<RunRow>>;

    /// Adds an event that no change of a run brings with it.
    fn tell(&self, event: NewEvent) -> Reply<u64>;
    /// Events after this number, the oldest first.
    fn events(&self, after: u64, run: Option<RunId>, limit: usize) -> Reply<Vec<EventRow>>;
    /// The last events of a session and of its runs, the oldest first, at most `limit`.
    fn session_events(&self, session: SessionKey, limit: usize) -> Reply<Vec<EventRow>>;
    /// The number of the newest event.
    fn last_event(&self) -> Reply<u64>;
    /// Removes events older than this, and all but the newest `most`.
    fn trim_events(&self, before_ms: u64, most: u64) -> Reply<()>;
    /// What this instance has counted.
    fn counts(&self, instance: InstanceId) -> Reply<Vec<(Count, u64)>>;
    /// Counts something that no change of a run brings with it.
    fn count(&self, instance: InstanceId, count: Count) -> Reply<()>;

    /// Writes a whole copy of the registry to a new file while it is in use.
    fn backup(&self, to: PathBuf) -> Reply<()>;
    /// Looks whether the store is sound; what is wrong, if anything.
    fn check(&self) -> Reply<Option<String>>;
}
