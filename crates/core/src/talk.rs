//! The record of a conversation with an agent whose process lives from turn to turn. With it, the next daemon
//! continues the conversation: nothing is sent twice, and no output is missed or handled twice.

use crate::ids::{RunId, TurnId};
use crate::session::SessionKey;

/// A conversation with one adapter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AcpConversation {
    /// The adapter's run. Its id is chosen before the run exists.
    pub run: RunId,
    /// The session of the conversation.
    pub session: SessionKey,
    /// The time when it began.
    pub began_at_ms: u64,
    /// The time when it ended.
    pub over_at_ms: Option<u64>,
    /// The offset in the adapter's stdout up to which it was handled.
    pub heard_to: u64,
    /// The offset in the adapter's stdin after the last recorded line.
    pub said_to: u64,
    /// The highest JSON-RPC id used for a request.
    pub last_id: i64,
    /// The agent's own id of the conversation.
    pub agent_session: Option<String>,
    /// The agent's capabilities, as JSON.
    pub abilities: Option<String>,
}

/// A request to the agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SentRequest {
    /// The request's id.
    pub id: i64,
    /// The method.
    pub verb: String,
    /// The turn that it belongs to.
    pub turn: Option<TurnId>,
}

/// A line written to the adapter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Its offset in the adapter's stdin.
    pub at: u64,
    /// The request in it; none for a response or a notification.
    pub asks: Option<SentRequest>,
    /// The line, with its line end.
    pub text: String,
    /// The agent's response, as JSON.
    pub answer: Option<String>,
}

/// An unanswered request of the agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedRequest {
    /// The request's id, as JSON.
    pub id: String,
    /// The method.
    pub method: String,
    /// The parameters, as JSON.
    pub params: Option<String>,
    /// The time when it was received.
    pub at_ms: u64,
}

/// The open parts of a conversation at its last record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenConversation {
    /// The conversation.
    pub talk: AcpConversation,
    /// The unanswered requests to the agent.
    pub questions: Vec<Line>,
    /// The unanswered requests of the agent.
    pub asked: Vec<RecordedRequest>,
}

/// An entry of a session's history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The entry's number; the first is 1.
    pub number: u64,
    /// The entry's turn.
    pub turn: Option<TurnId>,
    /// The time when it began.
    pub at_ms: u64,
    /// The kind of entry.
    pub kind: String,
    /// The content, as JSON.
    pub body: String,
}

/// A change to a history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HistoryChange {
    /// A new entry. Its number is the next one.
    New {
        /// The entry's turn.
        turn: Option<TurnId>,
        /// The kind of entry.
        kind: String,
        /// The content, as JSON.
        body: String,
    },
    /// New content of an existing entry.
    Again {
        /// The entry's number.
        number: u64,
        /// The content, as JSON.
        body: String,
    },
}

/// A step of a conversation, recorded as a whole or not at all.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ConversationStep {
    /// The offset in the adapter's stdout up to which the step handles it.
    pub heard_to: u64,
    /// The agent's responses: the id of the request, and the response as JSON.
    pub answers: Vec<(i64, String)>,
    /// The agent's new requests.
    pub asked: Vec<RecordedRequest>,
    /// The ids of the agent's requests that the lines answer.
    pub answered: Vec<String>,
    /// The lines to write. The registry assigns their offsets, one after the other.
    pub lines: Vec<(String, Option<SentRequest>)>,
    /// The changes to the history.
    pub told: Vec<HistoryChange>,
    /// The agent's own id of the conversation, once known.
    pub agent_session: Option<String>,
    /// The agent's capabilities, once known.
    pub abilities: Option<String>,
}

/// The result of a step.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RecordedStep {
    /// The offset of each line in the adapter's stdin.
    pub at: Vec<u64>,
    /// The number of each new entry.
    pub numbers: Vec<u64>,
}
