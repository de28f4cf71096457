//! A tool call: one line with its title and status, and its changes of files.

use super::text_of;
use crate::print::{Style, Tone, plain, plain_lines};
use serde_json::Value;
use tenure_core::diff::{self, Line};
use tenure_core::visible::visible;

/// Maximum number of lines that change in place: they must fit on the terminal.
pub(super) const MAX_CHANGING: usize = 6;
/// Maximum number of shown lines of a change.
const CHANGE_LINES: usize = 60;
/// Maximum number of shown lines of an error.
const ERROR_LINES: usize = 8;
/// Columns of a line for the words around the title.
const AROUND_TITLE: usize = 30;

/// The last known state of a tool call.
#[derive(Debug, Default)]
pub(super) struct ToolCall {
    id: String,
    kind: String,
    title: String,
    status: String,
    content: Vec<Value>,
    /// True if its end is shown.
    over: bool,
    /// True if its changes are shown.
    changed: bool,
}

impl ToolCall {
    /// Takes its new state. Returns true if its end is to be shown now.
    pub(super) fn update(&mut self, body: &Value) -> bool {
        body["toolCallId"].as_str().unwrap_or_default().clone_into(&mut self.id);
        self.kind = body["kind"].as_str().map_or_else(|| "other".to_owned(), plain);
        self.title = text_of(&body["title"]);
        self.status = body["status"].as_str().map_or_else(|| "pending".to_owned(), plain);
        self.content = body["content"].as_array().cloned().unwrap_or_default();
        !self.over && matches!(self.status.as_str(), "completed" | "failed")
    }

    pub(super) fn is(&self, id: &str) -> bool {
        self.id == id
    }

    pub(super) fn is_over(&self) -> bool {
        self.over
    }

    /// Formats it in one line.
    pub(super) fn line(&self, style: Style) -> String {
        let (mark, tone) = match self.status.as_str() {
            "completed" => ("✓", Tone::Good),
            "failed" => ("✗", Tone::Bad),
            _ => ("•", Tone::Warning),
        };
        let room = usize::from(style.width).saturating_sub(AROUND_TITLE).max(AROUND_TITLE);
        let status = style.paint(Tone::Dim, &self.status.replace('_', " "));
        let title = shortened(&self.title, room);
        format!("{} {} {title}  {status}", style.paint(tone, mark), style.paint(Tone::Title, &self.kind))
    }

    /// Formats its end: its line, its changes and its error.
    pub(super) fn closing(&mut self, style: Style) -> Vec<String> {
        self.over = true;
        let mut lines = vec![self.line(style)];
        lines.extend(self.change(style));
        if self.status == "failed" {
            let texts = self.content.iter().filter_map(|part| part["content"]["text"].as_str());
            let error_lines = texts.flat_map(plain_lines).take(ERROR_LINES);
            lines.extend(error_lines.map(|text| style.paint(Tone::Dim, &format!("    {text}"))));
        }
        lines
    }

    /// Formats its changes, on the first call only.
    pub(super) fn change(&mut self, style: Style) -> Vec<String> {
        if self.changed {
            return Vec::new();
        }
        let diffs: Vec<&Value> = self.content.iter().filter(|part| part["type"] == "diff").collect();
        let lines: Vec<String> = diffs.iter().flat_map(|diff| changed(diff, style)).collect();
        self.changed = !diffs.is_empty();
        lines
    }
}

/// Formats a file's change.
fn changed(body: &Value, style: Style) -> Vec<String> {
    let text = |key: &str| body[key].as_str().unwrap_or_default();
    let (old, new) = (text("oldText"), text("newText"));
    let mut lines = vec![style.paint(Tone::Title, &format!("    {}", text_of(&body["path"])))];
    let all = diff::between(old, new);
    for line in all.iter().take(CHANGE_LINES) {
        lines.push(match line {
            Line::Same(text) => format!("      {}", visible(text)),
            Line::Gone(text) => style.paint(Tone::Bad, &format!("    - {}", visible(text))),
            Line::Come(text) => style.paint(Tone::Good, &format!("    + {}", visible(text))),
            Line::Skipped(count) => style.paint(Tone::Dim, &format!("      … {count} lines")),
        });
    }
    if all.len() > CHANGE_LINES {
        let more = all.len() - CHANGE_LINES;
        lines.push(style.paint(Tone::Dim, &format!("    … {more} lines more")));
    }
    lines
}

/// Shortens a text to `most` columns: a line that is wider than the terminal cannot change in place.
fn shortened(text: &str, most: usize) -> String {
    // Non-ASCII characters may take two columns.
    let columns = |c: char| if c.is_ascii() { 1 } else { 2 };
    let mut short = String::new();
    let mut left = most.saturating_sub(2);
    for c in text.chars() {
        let Some(rest) = left.checked_sub(columns(c)) else { return format!("{short}…") };
        left = rest;
        short.push(c);
    }
    short
}

/// Formats an agent's used tokens and cost.
pub(super) fn usage(body: &Value) -> Option<String> {
    let (used, size) = (body["used"].as_u64()?, body["size"].as_u64()?);
    let cost = &body["cost"];
    let cost = cost["amount"].as_f64().map_or(String::new(), |amount| {
        let currency = text_of(&cost["currency"]);
        format!(", {amount:.2} {currency}")
    });
    Some(format!("{used} of {size} tokens{cost}"))
}
