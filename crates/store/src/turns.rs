//! A turn: a message to a session and what came of it.

use serde::{Deserialize, Serialize};
use tenure_core::defaults;
use tenure_core::ids::{InstanceId, RunId, TurnId};
use tenure_core::session::{SessionKey, Stop, TurnState};

/// Something that is said to a session, at once or when it is idle. Its id is the turn's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewTurn {
    /// What it is and will be called.
    pub id: TurnId,
    /// To whom it is said.
    pub session: SessionKey,
    /// What is said.
    pub message: String,
    /// Who says it, for people.
    pub asked_by: String,
    /// When.
    pub sent_at_ms: u64,
}

/// A message that waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// What.
    pub turn: NewTurn,
    /// Its place among all that wait: later ones have greater ones.
    pub place: u64,
}

/// How a turn can end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// It was answered.
    Done,
    /// It was not.
    Failed,
    /// Somebody ended it.
    Cancelled,
    /// A time limit ended it.
    TimedOut,
    /// Nobody saw how it ended.
    Lost,
}

/// What the agent said at last, as much of it as is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FinalText {
    /// Its beginning, or all of it.
    pub text: String,
    /// How many bytes were left out after that.
    pub cut_bytes: u64,
}

/// How a turn ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnEnd {
    /// How.
    pub outcome: Outcome,
    /// Why it stopped, if an agent that goes on carried it out.
    pub stop: Option<Stop>,
    /// When.
    pub at_ms: u64,
    /// What the agent said at last; the registry keeps the first [`defaults::TURN_TEXT`] bytes.
    pub text: Option<FinalText>,
    /// What went wrong, and what to do.
    pub error: Option<String>,
    /// What the agent calls the conversation, if it said so: noted with the session.
    pub resume: Option<String>,
}

/// A turn as the registry knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turn {
    /// What was said.
    pub asked: NewTurn,
    /// Which of its session's turns it is; the first is 1.
    pub number: u64,
    /// How it is.
    pub state: TurnState,
    /// Why it stopped, if an agent that goes on carried it out.
    pub stop: Option<Stop>,
    /// Whose daemon carries it out.
    pub instance: InstanceId,
    /// The run that does, once there is one.
    pub run: Option<RunId>,
    /// When it began.
    pub began_at_ms: u64,
    /// When it ended.
    pub ended_at_ms: Option<u64>,
    /// What the agent said at last.
    pub text: Option<FinalText>,
    /// What went wrong.
    pub error: Option<String>,
}

/// From where turns are read, and in which direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Those after this number, the oldest first; 0 is the beginning.
    After(u64),
    /// Those before this number, the newest first; `u64::MAX` is the end.
    Before(u64),
}

/// A part of a transcript.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TurnPage {
    /// The turns.
    pub turns: Vec<Turn>,
    /// From where the next page is read, if there is one.
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
    /// A text of which nothing is left out.
    pub fn whole(text: impl Into<String>) -> Self {
        Self { text: text.into(), cut_bytes: 0 }
    }

    /// What is kept of it: the text is cut between two characters.
    #[must_use]
    pub(crate) fn kept(&self) -> (&str, u64) {
        let end = self.text.floor_char_boundary(defaults::TURN_TEXT);
        (&self.text[..end], self.cut_bytes.saturating_add((self.text.len() - end) as u64))
    }
}

impl Turn {
    /// How many bytes of text there are in it.
    pub fn bytes(&self) -> u64 {
        let texts = [
            Some(self.asked.message.len()),
            self.text.as_ref().map(|it| it.text.len()),
            self.error.as_ref().map(String::len),
        ];
        texts.into_iter().flatten().sum::<usize>() as u64
    }
}
