//! What the registry keeps of sessions: their rows, what was said in them, and what waits to be said. Who may see a
//! session is not decided here; [`can_see`](tenure_core::session::can_see) does that with the rows of a page.

use crate::Reply;
use crate::tasks::NewTask;
use crate::turns::{Message, NewTurn, Side, Turn, TurnEnd, TurnPage};
use tenure_core::ids::{InstanceId, RunId, TurnId};
use tenure_core::session::{
    AgentId, Backend, Kind, Narrowing, SessionKey, SessionRow, SessionState, SpawnLimits, SpawnRequest,
};

/// A session that is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewSession {
    /// What is asked for.
    pub request: SpawnRequest,
    /// The session right above it.
    pub parent: Option<SessionKey>,
    /// How many there may be.
    pub limits: SpawnLimits,
    /// What people call it.
    pub label: Option<String>,
}

/// A session as the registry knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// Whose it is and how it is.
    pub row: SessionRow,
    /// What people call it.
    pub label: Option<String>,
    /// What the agent itself calls the conversation: with it the next turn goes on where the last one was.
    pub resume: Option<String>,
    /// How many turns it has had, the active one too.
    pub turns: u64,
    /// How many messages wait.
    pub queued: u64,
}

/// Which sessions are meant.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SessionQuery {
    /// Only those that may be worth asking for; `None` for somebody outside of all sessions, who sees all.
    pub narrowing: Option<Narrowing>,
    /// Only this agent's.
    pub agent: Option<AgentId>,
    /// Only of this kind.
    pub kind: Option<Kind>,
    /// Only those that this carries out.
    pub backend: Option<Backend>,
    /// Only those in one of these states; empty means any.
    pub states: Vec<SessionState>,
    /// Only those right below this one.
    pub parent: Option<SessionKey>,
    /// Only those whose key begins with this text.
    pub prefix: Option<String>,
    /// Only those older than this.
    pub after: Option<SessionCursor>,
    /// At most so many.
    pub limit: usize,
}

/// A place in a list of sessions, the newest first.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionCursor {
    /// When the last session of the page was made.
    pub created_at_ms: u64,
    /// Its key.
    pub key: SessionKey,
}

/// A part of a list. It may be shorter than was asked for while there is a next one: what cannot be read is left out.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SessionPage {
    /// The sessions.
    pub sessions: Vec<Session>,
    /// Where the next page begins, if there is one.
    pub next: Option<SessionCursor>,
}

/// A session and all that say they came from it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Family {
    /// Those that can be read, by key: what [`close_order`](tenure_core::session::close_order) wants to know.
    pub rows: Vec<SessionRow>,
    /// Those that cannot: a newer Tenure's, perhaps. They are to be left alone (I6).
    pub unreadable: Vec<UnreadableSession>,
}

/// A session whose row this Tenure cannot read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnreadableSession {
    /// Its key, as it is stored.
    pub key: String,
    /// What is wrong with it.
    pub why: String,
}

/// A step towards the end of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Move {
    /// How the session is believed to be.
    pub from: SessionState,
    /// How it is to be: closing, or closed.
    pub to: SessionState,
    /// When.
    pub at_ms: u64,
    /// Why, in a person's words.
    pub reason: Option<String>,
}

/// A step that was made.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Moved {
    /// The messages that waited and never will be turns, in their order.
    pub withdrawn: Vec<TurnId>,
}

/// What the registry keeps of sessions. Every call is one transaction, and brings its event with it. What was said and
/// what came of it is flushed to disk before the answer; the rest outlives a crash of the process.
pub trait SessionRegistry: Send + Sync + 'static {
    /// Makes a session by [`spawn`](tenure_core::session::spawn), with what is known in this very transaction.
    fn spawn_session(&self, new: NewSession) -> Reply<Session>;
    /// Takes in a session that somebody else made, as its row is: idle or closed. No limit is asked.
    fn adopt_session(&self, row: SessionRow, label: Option<String>, resume: Option<String>)
    -> Reply<Session>;
    /// One session.
    fn session(&self, key: SessionKey) -> Reply<Option<Session>>;
    /// A page of sessions, the newest first.
    fn sessions(&self, query: SessionQuery) -> Reply<SessionPage>;
    /// A session and all that name it as their owner, parent or ancestor, or as who asked for them.
    fn descendants(&self, key: SessionKey) -> Reply<Family>;
    /// Makes a step towards the end, if the session is as believed; `None` if it is not. What waits is withdrawn with
    /// the first step. A session is not closed while a turn is under way.
    fn advance_session(&self, key: SessionKey, step: Move) -> Reply<Option<Moved>>;
    /// Notes what the agent itself calls the conversation; `false` if there is no such session.
    fn set_resume(&self, key: SessionKey, resume: Option<String>) -> Reply<bool>;
    /// Names a session for people; `false` if there is no such session.
    fn set_label(&self, key: SessionKey, label: Option<String>) -> Reply<bool>;
    /// Removes sessions that were closed before this, and closed ones beyond the newest `most`, with their turns: the
    /// oldest first, at most `limit`. Those above one that is open stay. Which are gone.
    fn trim_sessions(&self, before_ms: u64, most: u64, limit: usize) -> Reply<Vec<SessionKey>>;
    /// Removes a session that is closed, with its turns, so that its key can be used anew; `false` if it is not closed,
    /// there is none, or one below it is open.
    fn forget_session(&self, key: SessionKey) -> Reply<bool>;
    /// The sessions of this instance that are closing, by key: after a start, those whose end is to go on.
    fn unsettled_sessions(&self, of: InstanceId) -> Reply<Vec<SessionKey>>;

    /// Begins a turn of an idle session for which nothing waits, and makes it busy; with the task that tracks it.
    fn begin_turn(&self, turn: NewTurn, task: Option<NewTask>, by: InstanceId, at_ms: u64) -> Reply<Turn>;
    /// Ends a turn, once, and makes its session idle; `false` if it has ended already, or there is none. A session that
    /// is closing stays so. What becomes of its task, and the notice of that, comes with it.
    fn end_turn(&self, turn: TurnId, end: TurnEnd) -> Reply<bool>;
    /// Notes the run that carries a turn out; `false` if the turn has ended, or there is none.
    fn set_turn_run(&self, turn: TurnId, run: RunId) -> Reply<bool>;
    /// One turn.
    fn turn(&self, turn: TurnId) -> Reply<Option<Turn>>;
    /// The turn that is under way.
    fn active_turn(&self, session: SessionKey) -> Reply<Option<Turn>>;
    /// A page of a session's turns by their numbers: at most `limit`, and no more after this many bytes of text.
    fn turns(&self, session: SessionKey, side: Side, limit: usize, bytes: u64) -> Reply<TurnPage>;
    /// The turns under way that this instance carries out, the oldest first: after a start, those that it left.
    fn running_turns(&self, of: InstanceId) -> Reply<Vec<Turn>>;

    /// Has a message wait for a session, if fewer than `depth` do; how many are before it. The task that tracks it waits
    /// with it.
    fn queue_message(&self, turn: NewTurn, task: Option<NewTask>, depth: usize) -> Reply<u64>;
    /// Makes the next message the turn of its session; `None` if none waits, or the session is not idle.
    fn take_message(&self, session: SessionKey, by: InstanceId, at_ms: u64) -> Reply<Option<Turn>>;
    /// What waits for a session, the next first.
    fn messages(&self, session: SessionKey) -> Reply<Vec<Message>>;
    /// Withdraws a message of a session; `false` if it does not wait there.
    fn withdraw_message(&self, session: SessionKey, message: TurnId, at_ms: u64) -> Reply<bool>;
    /// The idle sessions of this instance for which messages wait: after a start, those to go on with.
    fn waiting_sessions(&self, of: InstanceId) -> Reply<Vec<SessionKey>>;
}
