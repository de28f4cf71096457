//! Reads a conversation's record: the open requests of both sides, and the lines that the adapter may not have yet.

use crate::conversation::{AgentRequest, Verb};
use crate::host::Host;
use crate::message::{Message, raw};
use crate::schema::RequestId;
use serde_json::value::RawValue;
use std::sync::Arc;
use tenure_core::talk::{Line, RecordedRequest};
use tokio::sync::mpsc;

/// Writes the lines to the adapter in order, beginning with the recorded ones that it has not fully read.
pub(crate) async fn write<H: Host>(host: Arc<H>, mut lines: mpsc::UnboundedReceiver<(u64, String)>) {
    let Ok(taken) = host.input_taken().await else { return };
    let Ok(before) = host.lines_from(taken).await else { return };
    for line in before {
        if host.write_line(line.at, line.text).await.is_err() {
            return;
        }
    }
    while let Some((at, text)) = lines.recv().await {
        if host.write_line(at, text).await.is_err() {
            return;
        }
    }
}

/// Reads a recorded request of the agent.
pub(crate) fn recorded_request(asked: &RecordedRequest) -> Option<AgentRequest> {
    let params = asked.params.clone().map(RawValue::from_string).transpose().ok()?;
    let id = serde_json::from_str(&asked.id).ok()?;
    Some(AgentRequest { id, method: asked.method.clone(), params, at_ms: asked.at_ms })
}

/// Reads the parameters of a recorded request of ours.
pub(crate) fn recorded_params(line: &Line) -> Option<(i64, Box<RawValue>)> {
    let asks = line.asks.as_ref().filter(|asks| Verb::of_word(&asks.verb) != Some(Verb::Prompt))?;
    match Message::read(line.text.trim_end().as_bytes()).ok()?.into_iter().next()? {
        Message::Request { params, .. } => Some((asks.id, params?)),
        _ => None,
    }
}

pub(crate) fn id_text(id: &RequestId) -> String {
    raw(id).get().to_owned()
}
