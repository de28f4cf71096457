//! What is kept of a conversation with an agent whose process goes on from turn to turn, so that the next
//! daemon goes on with it: nothing that was said is said twice, and nothing that was heard is missed or told twice.

use crate::ids::{RunId, TurnId};
use crate::session::SessionKey;

/// A conversation with one adapter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Talk {
    /// The adapter's run. It is named before there is one.
    pub run: RunId,
    /// Whose it is.
    pub session: SessionKey,
    /// When it began.
    pub began_at_ms: u64,
    /// When it was over.
    pub over_at_ms: Option<u64>,
    /// Up to where the adapter's output was handled.
    pub heard_to: u64,
    /// Up to where its input is spoken for.
    pub said_to: u64,
    /// The last number that a question had.
    pub last_id: i64,
    /// What the agent calls the conversation.
    pub agent_session: Option<String>,
    /// What it said that it can do, as JSON.
    pub abilities: Option<String>,
}

/// A question to the agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asks {
    /// Its number.
    pub id: i64,
    /// What is asked.
    pub verb: String,
    /// The turn that it is asked for.
    pub turn: Option<TurnId>,
}

/// A line to the adapter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Where it stands in the adapter's input.
    pub at: u64,
    /// What it asks; nothing, if it answers or tells.
    pub asks: Option<Asks>,
    /// The line, with its end.
    pub text: String,
    /// What was answered, as JSON.
    pub answer: Option<String>,
}

/// A request of the agent that was not answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AskedOfUs {
    /// What the answer is to name, as JSON.
    pub id: String,
    /// What is wanted.
    pub method: String,
    /// More of that, as JSON.
    pub params: Option<String>,
    /// When it was heard.
    pub at_ms: u64,
}

/// What was left open when a conversation was last recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenTalk {
    /// The conversation.
    pub talk: Talk,
    /// The questions that were not answered.
    pub questions: Vec<Line>,
    /// What the agent wants.
    pub asked: Vec<AskedOfUs>,
}

/// Something that happened in a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its place; the first is 1.
    pub number: u64,
    /// In which turn.
    pub turn: Option<TurnId>,
    /// When it began.
    pub at_ms: u64,
    /// What it is.
    pub kind: String,
    /// More of that, as JSON.
    pub body: String,
}

/// What becomes of a history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Told {
    /// Something more happened. Its number is the next one.
    New {
        /// In which turn.
        turn: Option<TurnId>,
        /// What it is.
        kind: String,
        /// More of that, as JSON.
        body: String,
    },
    /// The entry with this number is this now.
    Again {
        /// Its number.
        number: u64,
        /// More of it, as JSON.
        body: String,
    },
}

/// A step of a conversation. All of it is recorded, or nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Advance {
    /// Up to where the adapter's output is handled by it.
    pub heard_to: u64,
    /// What the agent answered: to which number, and what, as JSON.
    pub answers: Vec<(i64, String)>,
    /// What it asks.
    pub asked: Vec<AskedOfUs>,
    /// What of that is answered by the lines, by id.
    pub answered: Vec<String>,
    /// What is said to it: where the lines stand is decided here, one after the other.
    pub lines: Vec<(String, Option<Asks>)>,
    /// What is told of it.
    pub told: Vec<Told>,
    /// What it calls the conversation, once it has said so.
    pub agent_session: Option<String>,
    /// What it can do, once it has said so.
    pub abilities: Option<String>,
}

/// What came of a step.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Advanced {
    /// Where each of its lines stands in the adapter's input.
    pub at: Vec<u64>,
    /// The number of each new entry.
    pub numbers: Vec<u64>,
}
