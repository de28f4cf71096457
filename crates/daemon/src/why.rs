//! A run's whole story, in order: what the registry recorded and what its keeper noted.

use crate::daemon::Daemon;
use crate::refusal::Refusal;
use serde_json::Value;
use std::fmt::Write;
use std::sync::Arc;
use tenure_core::api::StoryLine;
use tenure_store::{EventRow, RunRow};

/// The most lines of a story.
const MOST: usize = 2000;

/// The story, the oldest line first.
pub(crate) async fn story(daemon: &Arc<Daemon>, row: &RunRow) -> Result<Vec<StoryLine>, Refusal> {
    let events = daemon.registry.events(0, Some(row.ticket.run_id.clone()), MOST).await?;
    let mut lines: Vec<StoryLine> = events.into_iter().map(told).collect();
    lines.sort_by_key(|line| line.at_ms);
    Ok(lines)
}

/// One event for people: its word, and what it says of itself.
fn told(row: EventRow) -> StoryLine {
    let text = match &row.event.detail {
        Value::Object(fields) => {
            let mut text = String::new();
            for (name, value) in fields.iter().filter(|(_, value)| !is_nothing(value)) {
                let shown = match value {
                    Value::String(text) => text.clone(),
                    Value::Array(words) if words.iter().all(Value::is_string) => {
                        words.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" ")
                    }
                    other => other.to_string(),
                };
                let separator = if text.is_empty() { "" } else { "; " };
                // A String takes everything.
                let _ = write!(text, "{separator}{}: {shown}", spaced(name));
            }
            text
        }
        other => other.to_string(),
    };
    StoryLine { at_ms: row.event.at_ms, source: "registry".to_owned(), what: row.event.kind, text }
}

fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => false,
    }
}

/// `exitCode` as `exit code`.
fn spaced(name: &str) -> String {
    let mut words = String::new();
    for c in name.chars() {
        if c.is_uppercase() {
            words.push(' ');
        }
        words.extend(c.to_lowercase());
    }
    words
}
