//! What the registry keeps of conversations with agents whose process goes on from turn to turn, and of the history of
//! sessions.

use crate::Reply;
use crate::turns::Side;
use tenure_core::ids::{InstanceId, RunId, TurnId};
use tenure_core::session::SessionKey;
use tenure_core::talk::{Advance, Advanced, Entry, Line, OpenTalk, Talk};

/// A part of a history.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EntryPage {
    /// The entries.
    pub entries: Vec<Entry>,
    /// From where the next page is read, if there is one.
    pub next: Option<Side>,
}

/// What the registry keeps of conversations. Every call is one transaction.
pub trait TalkRegistry: Send + Sync + 'static {
    /// A conversation is about to begin with an adapter that will be this run. `false` if the session has an adapter,
    /// which is to be over first.
    fn begin_talk(&self, run: RunId, session: SessionKey, at_ms: u64) -> Reply<bool>;
    /// What is open of a session's conversation, if there is one.
    fn open_talk(&self, session: SessionKey) -> Reply<Option<OpenTalk>>;
    /// The conversations that are not over and whose adapters are this instance's.
    fn open_talks(&self, of: InstanceId) -> Reply<Vec<Talk>>;
    /// What was said from this place in the adapter's input on: the line that is there, and those after it.
    fn lines_from(&self, run: RunId, at: u64) -> Reply<Vec<Line>>;
    /// The newest conversation of a session, over or not: for what the agent called it.
    fn last_talk(&self, session: SessionKey) -> Reply<Option<Talk>>;
    /// Records a step, and of a question that a turn asks that its adapter carries it out; `None` if the conversation is over, or its run another instance's.
    fn advance_talk(&self, run: RunId, by: InstanceId, step: Advance, at_ms: u64) -> Reply<Option<Advanced>>;
    /// The question of a turn, with its answer if there is one.
    fn question_of(&self, turn: TurnId) -> Reply<Option<Line>>;
    /// Nothing more comes of a conversation; `false` if that was known.
    fn end_talk(&self, run: RunId, at_ms: u64) -> Reply<bool>;
    /// A part of a session's history, of at most `limit` entries and about `bytes` bytes, but of one at least.
    fn entries(&self, session: SessionKey, side: Side, limit: usize, bytes: u64) -> Reply<EntryPage>;
}
