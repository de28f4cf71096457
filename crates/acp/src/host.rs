//! The driver's access to the adapter's process and its record.

use crate::conversation::AgentRequest;
use crate::message::raw;
use crate::schema::Error;
use serde_json::Value;
use serde_json::value::RawValue;
use std::future::Future;
use tenure_core::ids::RunId;
use tenure_core::talk::{ConversationStep, Line, RecordedStep};

/// The result or the error of a request, in either direction.
pub type Answer = Result<Box<RawValue>, Error>;

/// The reply to a request of the agent.
#[derive(Debug)]
pub struct Reply {
    /// The result or the error.
    pub answer: Answer,
    /// The history's entry about it, if something was permitted or refused.
    pub told: Option<Value>,
}

impl From<Answer> for Reply {
    fn from(answer: Answer) -> Self {
        Self { answer, told: None }
    }
}

/// The end of the conversation: the adapter has exited, or another daemon holds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the conversation has ended: the adapter exited, or another daemon holds it")]
pub struct Over;

/// A part of an adapter's output.
#[derive(Debug)]
pub enum Output {
    /// Bytes of its stdout.
    Bytes {
        /// The offset of the first byte.
        at: u64,
        /// The bytes.
        bytes: Vec<u8>,
    },
    /// A part without stdout: stderr, or output that is not kept any more.
    Until {
        /// The offset after the part.
        at: u64,
        /// True if output is missing.
        is_lost: bool,
    },
    /// The end of the output.
    Over,
}

/// An adapter's process and its record.
pub trait Host: Send + Sync + 'static {
    /// Returns the adapter's output from this offset; waits until there is some. Cancel-safe.
    fn output(&self, from: u64) -> impl Future<Output = Output> + Send;
    /// Returns the offset up to which the adapter's stdin was accepted.
    fn input_taken(&self) -> impl Future<Output = Result<u64, Over>> + Send;
    /// Writes a line to the adapter's stdin at this offset. Bytes that were accepted before are not written again.
    fn write_line(&self, at: u64, line: String) -> impl Future<Output = Result<(), Over>> + Send;
    /// Returns the recorded lines from this stdin offset on.
    fn lines_from(&self, at: u64) -> impl Future<Output = Result<Vec<Line>, Over>> + Send;
    /// Records a step.
    fn record(&self, step: ConversationStep) -> impl Future<Output = Result<RecordedStep, Over>> + Send;
    /// Answers a request of the agent. This may take as long as a person takes.
    fn answer(&self, asked: AgentRequest) -> impl Future<Output = Reply> + Send;
    /// Returns the id of the approval request for a request of the agent, if a person is asked about it.
    fn question(&self, asked: &AgentRequest) -> Option<RunId>;
    /// Withdraws the approval request: the agent changed its tool call and was refused.
    fn withdraw(&self, _asked: &AgentRequest) {}
    /// Returns the time, in Unix milliseconds.
    fn now_ms(&self) -> u64;
}

/// Returns the text that records an answer.
pub fn answer_text(answer: &Answer) -> String {
    match answer {
        Ok(result) => format!("{{\"result\":{}}}", result.get()),
        Err(error) => format!("{{\"error\":{}}}", raw(error).get()),
    }
}

/// Reads a recorded answer.
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
