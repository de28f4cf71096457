//! The registry of sessions: their rows, turns and queued messages. Visibility is not decided here;
//! [`can_see`](tenure_core::session::can_see) judges the rows of a page.

use crate::Reply;
use crate::tasks::NewTask;
use crate::turns::{Message, NewTurn, Side, Turn, TurnEnd, TurnPage};
use tenure_core::ids::{InstanceId, RunId, TurnId};
use tenure_core::session::{
    AgentId, Backend, Kind, Narrowing, SessionKey, SessionRow, SessionState, SpawnLimits, SpawnRequest,
};

/// A request for a new session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewSession {
    /// The request.
    pub request: SpawnRequest,
    /// The parent session.
    pub parent: Option<SessionKey>,
    /// The limits.
    pub limits: SpawnLimits,
    /// The label.
    pub label: Option<String>,
}

/// A session, as stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// The row: ownership and state.
    pub row: SessionRow,
    /// The label.
    pub label: Option<String>,
    /// The agent's own id of the conversation, with which the next turn resumes it.
    pub resume: Option<String>,
    /// The number of turns, including a running one.
    pub turns: u64,
    /// The number of queued messages.
    pub queued: u64,
}

/// The filters of a list of sessions.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SessionQuery {
    /// Only candidates for the requester; `None` for a client outside of all sessions, who sees all.
    pub narrowing: Option<Narrowing>,
    /// Only sessions of this agent.
    pub agent: Option<AgentId>,
    /// Only sessions of this kind.
    pub kind: Option<Kind>,
    /// Only sessions with this backend.
    pub backend: Option<Backend>,
    /// Only sessions in one of these states; empty means any.
    pub states: Vec<SessionState>,
    /// Only direct children of this session.
    pub parent: Option<SessionKey>,
    /// Only sessions whose key has this prefix.
    pub prefix: Option<String>,
    /// Only sessions older than this.
    pub after: Option<SessionCursor>,
    /// The maximum number of sessions.
    pub limit: usize,
}

/// A position in a list of sessions, the newest first.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionCursor {
    /// The time of creation of the page's last session.
    pub created_at_ms: u64,
    /// The key of that session.
    pub key: SessionKey,
}

/// A page of a list. It may be shorter than requested although there is a next one, because unreadable sessions are
/// left out.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SessionPage {
    /// The sessions.
    pub sessions: Vec<Session>,
    /// The start of the next page, if there is one.
    pub next: Option<SessionCursor>,
}

/// A session and all that claim to come from it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Family {
    /// Readable rows, by key: the input of [`close_order`](tenure_core::session::close_order).
    pub rows: Vec<SessionRow>,
    /// Unreadable rows, perhaps of a newer Tenure. They must be left alone (I6).
    pub unreadable: Vec<UnreadableSession>,
}

/// A session whose row this Tenure cannot read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnreadableSession {
    /// The key, as it is stored.
    pub key: String,
    /// The error.
    pub why: String,
}

/// A step towards the end of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Move {
    /// The state that the caller expects.
    pub from: SessionState,
    /// The new state: closing or closed.
    pub to: SessionState,
    /// The time.
    pub at_ms: u64,
    /// The reason, for people.
    pub reason: Option<String>,
}

/// A completed step.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Moved {
    /// The queued messages that were withdrawn and never will be turns, in their order.
    pub withdrawn: Vec<TurnId>,
}

/// The registry of sessions. Every call is one transaction, including its event. Messages and answers are flushed
/// to disk before the call returns; the rest outlives a crash of the process.
pub trait SessionRegistry: Send + Sync + 'static {
    /// Creates a session by [`spawn`](tenure_core::session::spawn), with the facts of this very transaction.
    fn spawn_session(&self, new: NewSession) -> Reply<Session>;
    /// Imports a session of another program, as its row is: idle or closed. No limit applies.
    fn adopt_session(&self, row: SessionRow, label: Option<String>, resume: Option<String>)
    -> Reply<Session>;
    /// Returns a session.
    fn session(&self, key: SessionKey) -> Reply<Option<Session>>;
    /// Returns a page of sessions, the newest first.
    fn sessions(&self, query: SessionQuery) -> Reply<SessionPage>;
    /// Returns a session and all that name it as their owner, parent, ancestor or spawner.
    fn descendants(&self, key: SessionKey) -> Reply<Family>;
    /// Makes a step towards the end, if the session has the expected state; `None` otherwise. The first step
    /// withdraws the queued messages. A session is not closed while a turn is running.
    fn advance_session(&self, key: SessionKey, step: Move) -> Reply<Option<Moved>>;
    /// Stores the agent's own id of the conversation; `false` if there is no such session.
    fn set_resume(&self, key: SessionKey, resume: Option<String>) -> Reply<bool>;
    /// Sets a session's label; `false` if there is no such session.
    fn set_label(&self, key: SessionKey, label: Option<String>) -> Reply<bool>;
    /// Removes sessions that were closed before this, and closed ones beyond the newest `most`, with their turns:
    /// the oldest first, at most `limit`. Sessions above an open one stay. Returns the removed ones.
    fn trim_sessions(&self, before_ms: u64, most: u64, limit: usize) -> Reply<Vec<SessionKey>>;
    /// Removes a closed session with its turns, so that its key can be used again; `false` if it is not closed,
    /// does not exist, or one below it is open.
    fn forget_session(&self, key: SessionKey) -> Reply<bool>;
    /// Returns the closing sessions of this instance, by key: after a start, their closing must continue.
    fn unsettled_sessions(&self, of: InstanceId) -> Reply<Vec<SessionKey>>;

    /// Begins a turn of an idle session without queued messages, and makes it busy; creates the task that tracks
    /// the turn.
    fn begin_turn(&self, turn: NewTurn, task: Option<NewTask>, by: InstanceId, at_ms: u64) -> Reply<Turn>;
    /// Ends a turn, once, and makes its session idle; `false` if it has ended already, or does not exist. A closing
    /// session stays so. The task's state and its notice are part of the transaction.
    fn end_turn(&self, turn: TurnId, end: TurnEnd) -> Reply<bool>;
    /// Stores the run of a turn; `false` if the turn has ended, or does not exist.
    fn set_turn_run(&self, turn: TurnId, run: RunId) -> Reply<bool>;
    /// Returns a turn.
    fn turn(&self, turn: TurnId) -> Reply<Option<Turn>>;
    /// Returns the running turn.
    fn active_turn(&self, session: SessionKey) -> Reply<Option<Turn>>;
    /// Returns a page of a session's turns by their numbers: at most `limit`, and no more after this many bytes of
    /// text.
    fn turns(&self, session: SessionKey, side: Side, limit: usize, bytes: u64) -> Reply<TurnPage>;
    /// Returns the running turns of this instance, the oldest first: after a start, those that the earlier daemon
    /// left.
    fn running_turns(&self, of: InstanceId) -> Reply<Vec<Turn>>;

    /// Queues a message for a session, if fewer than `depth` are queued; returns the number before it. The task
    /// that tracks it is created with it.
    fn queue_message(&self, turn: NewTurn, task: Option<NewTask>, depth: usize) -> Reply<u64>;
    /// Makes the next message the turn of its session; `None` if none is queued, or the session is not idle.
    fn take_message(&self, session: SessionKey, by: InstanceId, at_ms: u64) -> Reply<Option<Turn>>;
    /// Returns the queued messages of a session, the next first.
    fn messages(&self, session: SessionKey) -> Reply<Vec<Message>>;
    /// Withdraws a queued message; `false` if it is not queued for this session.
    fn withdraw_message(&self, session: SessionKey, message: TurnId, at_ms: u64) -> Reply<bool>;
    /// Returns the idle sessions of this instance with queued messages: after a start, those to continue.
    fn waiting_sessions(&self, of: InstanceId) -> Reply<Vec<SessionKey>>;
}
