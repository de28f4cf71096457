//! What a driver needs of whoever holds the adapter's process and its record.

use crate::conversation::Asked;
use crate::message::raw;
use crate::schema::Error;
use serde_json::Value;
use serde_json::value::RawValue;
use std::future::Future;
use tenure_core::ids::RunId;
use tenure_core::talk::{Advance, Advanced, Line};

/// What is answered, by the agent or to it.
pub type Answer = Result<Box<RawValue>, Error>;

/// What the agent is answered.
#[derive(Debug)]
pub struct Reply {
    /// What.
    pub answer: Answer,
    /// What is told of it, if something was permitted or refused.
    pub told: Option<Value>,
}

impl From<Answer> for Reply {
    fn from(answer: Answer) -> Self {
        Self { answer, told: None }
    }
}

/// The conversation is over: the adapter has ended, or is another's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the conversation is over")]
pub struct Over;

/// What an adapter printed.
#[derive(Debug)]
pub enum Output {
    /// These bytes of its standard output, at this place.
    Bytes {
        /// Where.
        at: u64,
        /// What.
        bytes: Vec<u8>,
    },
    /// Nothing for us up to there: other output, or what is not kept any more.
    Until {
        /// Where it goes on.
        at: u64,
        /// Whether something is missing.
        is_lost: bool,
    },
    /// Nothing more will come.
    Over,
}

/// One adapter and its record, as whoever holds both has them.
pub trait Host: Send + Sync + 'static {
    /// What the adapter has printed from there on; waits until there is something. It may be asked again at any time.
    fn output(&self, from: u64) -> impl Future<Output = Output> + Send;
    /// Up to where the adapter's input is taken.
    fn input_taken(&self) -> impl Future<Output = Result<u64, Over>> + Send;
    /// Gives the adapter a line that stands there in its input. What it has already is not given again.
    fn give(&self, at: u64, line: String) -> impl Future<Output = Result<(), Over>> + Send;
    /// The recorded lines from there on.
    fn lines_from(&self, at: u64) -> impl Future<Output = Result<Vec<Line>, Over>> + Send;
    /// Records a step.
    fn record(&self, step: Advance) -> impl Future<Output = Result<Advanced, Over>> + Send;
    /// What the agent is answered. It may take as long as a person takes.
    fn answer(&self, asked: Asked) -> impl Future<Output = Reply> + Send;
    /// The question that somebody else is asked about that, if somebody is.
    fn question(&self, asked: &Asked) -> Option<RunId>;
    /// Withdraws an approval request: the agent has changed its tool call, and was refused.
    fn withdraw(&self, _asked: &Asked) {}
    /// When it is, in Unix milliseconds.
    fn now_ms(&self) -> u64;
}

/// An answer as it is recorded.
pub fn answer_text(answer: &Answer) -> String {
    match answer {
        Ok(result) => format!("{{\"result\":{}}}", result.get()),
        Err(error) => format!("{{\"error\":{}}}", raw(error).get()),
    }
}

/// An answer as it was recorded.
pub fn answer_of(text: &str) -> Answer {
    #[derive(serde::Deserialize)]
    #[serde(rename_all = "camelCase")]
    enum Recorded {
        Result(Box<RawValue>),
        Error(Error),
    }
    match serde_json::from_str(text) {
        Ok(Recorded::Result(result)) => Ok(result),
        Ok(Recorded::Error(error)) => Err(error),
        Err(error) => Err(Error::internal_error().data(Value::String(error.to_string()))),
    }
}
