//! The registry of conversations with agents whose process lives from turn to turn, and of the history of sessions.

use crate::Reply;
use crate::turns::Side;
use tenure_core::ids::{InstanceId, RunId, TurnId};
use tenure_core::session::SessionKey;
use tenure_core::talk::{AcpConversation, ConversationStep, Entry, Line, OpenConversation, RecordedStep};

/// A page of a history.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EntryPage {
    /// The entries.
    pub entries: Vec<Entry>,
    /// The start of the next page, if there is one.
    pub next: Option<Side>,
}

/// The registry of conversations. Every call is one transaction.
pub trait TalkRegistry: Send + Sync + 'static {
    /// Begins a conversation with an adapter that will be this run; `false` if the session has an adapter, which
    /// must end first.
    fn begin_talk(&self, run: RunId, session: SessionKey, at_ms: u64) -> Reply<bool>;
    /// Returns the open parts of a session's conversation, if there is one.
    fn open_talk(&self, session: SessionKey) -> Reply<Option<OpenConversation>>;
    /// Returns the conversations that have not ended and whose adapters belong to this instance.
    fn open_talks(&self, of: InstanceId) -> Reply<Vec<AcpConversation>>;
    /// Returns the lines written from this offset in the adapter's stdin: the line that contains it, and those
    /// after it.
    fn lines_from(&self, run: RunId, at: u64) -> Reply<Vec<Line>>;
    /// Returns the newest conversation of a session, ended or not: for the agent's id of it.
    fn last_talk(&self, session: SessionKey) -> Reply<Option<AcpConversation>>;
    /// Records a step and, for a request that a turn makes, that its adapter runs the turn; `None` if the
    /// conversation has ended, or its run belongs to another instance.
    fn advance_talk(
        &self,
        run: RunId,
        by: InstanceId,
        step: ConversationStep,
        at_ms: u64,
    ) -> Reply<Option<RecordedStep>>;
    /// Returns the request of a turn, with its response if there is one.
    fn question_of(&self, turn: TurnId) -> Reply<Option<Line>>;
    /// Ends a conversation; `false` if it has ended already.
    fn end_talk(&self, run: RunId, at_ms: u64) -> Reply<bool>;
    /// Returns a page of a session's history, of at most `limit` entries and about `bytes` bytes, but at least one
    /// entry.
    fn entries(&self, session: SessionKey, side: Side, limit: usize, bytes: u64) -> Reply<EntryPage>;
}
