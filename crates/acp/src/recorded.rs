//! What a driver finds in the record: what was asked on either side, and the lines that the adapter may not have.

use crate::conversation::{Asked, Verb};
use crate::host::Host;
use crate::message::{Message, raw};
use crate::schema::RequestId;
use serde_json::value::RawValue;
use std::sync::Arc;
use tenure_core::talk::{AskedOfUs, Line};
use tokio::sync::mpsc;

/// Gives the adapter its lines in their order: first those of which it has not all.
pub(crate) async fn write<H: Host>(host: Arc<H>, mut lines: mpsc::UnboundedReceiver<(u64, String)>) {
    let Ok(taken) = host.input_taken().await else { return };
    let Ok(before) = host.lines_from(taken).await else { return };
    for line in before {
        if host.give(line.at, line.text).await.is_err() {
            return;
        }
    }
    while let Some((at, text)) = lines.recv().await {
        if host.give(at, text).await.is_err() {
            return;
        }
    }
}

/// What the agent asked, as it was recorded.
pub(crate) fn asked_before(asked: &AskedOfUs) -> Option<Asked> {
    let params = asked.params.clone().map(RawValue::from_string).transpose().ok()?;
    let id = serde_json::from_str(&asked.id).ok()?;
    Some(Asked { id, method: asked.method.clone(), params, at_ms: asked.at_ms })
}

/// The parameters of a question, as it was recorded.
pub(crate) fn params_before(line: &Line) -> Option<(i64, Box<RawValue>)> {
    let asks = line.asks.as_ref().filter(|asks| Verb::of_word(&asks.verb) != Some(Verb::Prompt))?;
    match Message::read(line.text.trim_end().as_bytes()).ok()?.into_iter().next()? {
        Message::Request { params, .. } => Some((asks.id, params?)),
        _ => None,
    }
}

pub(crate) fn id_text(id: &RequestId) -> String {
    raw(id).get().to_owned()
}
