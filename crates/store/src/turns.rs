//! Turns: a message to a session, and the answer.

use serde::{Deserialize, Serialize};
use tenure_core::defaults;
use tenure_core::ids::{InstanceId, RunId, TurnId};
use tenure_core::session::{SessionKey, Stop, TurnState};

/// A message to a session, sent now or when the session is idle. Its id is the turn's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewTurn {
    /// The turn's id, now and later.
    pub id: TurnId,
    /// The recipient.
    pub session: SessionKey,
    /// The message.
    pub message: String,
    /// The sender, for people.
    pub asked_by: String,
    /// The time.
    pub sent_at_ms: u64,
}

/// A queued message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// The message.
    pub turn: NewTurn,
    /// Its position in the queue: later messages have greater ones.
    pub place: u64,
}

/// The end of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The agent answered.
    Done,
    /// The turn failed.
    Failed,
    /// A client cancelled the turn.
    Cancelled,
    /// A time limit ended it.
    TimedOut,
    /// Nobody saw the turn's end.
    Lost,
}

/// The agent's final text, as much of it as is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FinalText {
    /// The text, or its beginning.
    pub text: String,
    /// The number of bytes that were cut off.
    pub cut_bytes: u64,
}

/// The data of a turn's end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnEnd {
    /// The outcome.
    pub outcome: Outcome,
    /// The reason why a long-lived agent stopped.
    pub stop: Option<Stop>,
    /// The time.
    pub at_ms: u64,
    /// The agent's final text; the registry stores the first [`defaults::TURN_TEXT`] bytes.
    pub text: Option<FinalText>,
    /// The error and the way out.
    pub error: Option<String>,
    /// The agent's own id of the conversation, if known; stored with the session.
    pub resume: Option<String>,
}

/// A turn, as stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turn {
    /// The message.
    pub asked: NewTurn,
    /// The turn's number in its session; the first is 1.
    pub number: u64,
    /// The state.
    pub state: TurnState,
    /// The reason why a long-lived agent stopped.
    pub stop: Option<Stop>,
    /// The instance that runs it.
    pub instance: InstanceId,
    /// The run, once there is one.
    pub run: Option<RunId>,
    /// The time when it began.
    pub began_at_ms: u64,
    /// The time when it ended.
    pub ended_at_ms: Option<u64>,
    /// The agent's final text.
    pub text: Option<FinalText>,
    /// The error.
    pub error: Option<String>,
}

/// The start and direction of a page of turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The turns after this number, the oldest first; 0 is the beginning.
    After(u64),
    /// The turns before this number, the newest first; `u64::MAX` is the end.
    Before(u64),
}

/// A page of a transcript.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TurnPage {
    /// The turns.
    pub turns: Vec<Turn>,
    /// The start of the next page, if there is one.
    pub next: Option<Side>,
}

impl From<Outcome> for TurnState {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Done => Self::Done,
            Outcome::Failed => Self::Failed,
            Outcome::Cancelled => Self::Cancelled,
            Outcome::TimedOut => Self::TimedOut,
            Outcome::Lost => Self::Lost,
        }
    }
}

impl FinalText {
    /// Makes a complete text.
    pub fn whole(text: impl Into<String>) -> Self {
        Self { text: text.into(), cut_bytes: 0 }
    }

    /// Returns the part to store, cut between two characters, and the number of bytes cut off.
    #[must_use]
    pub(crate) fn kept(&self) -> (&str, u64) {
        let end = self.text.floor_char_boundary(defaults::TURN_TEXT);
        (&self.text[..end], self.cut_bytes.saturating_add((self.text.len() - end) as u64))
    }
}

impl Turn {
    /// Returns the size of the turn's texts.
    pub fn bytes(&self) -> u64 {
        let texts = [
            Some(self.asked.message.len()),
            self.text.as_ref().map(|it| it.text.len()),
            self.error.as_ref().map(String::len),
        ];
        texts.into_iter().flatten().sum::<usize>() as u64
    }
}
