//! An agent's plan as a checklist: the whole plan first, then only the changed steps.

use super::text_of;
use crate::print::{Style, Tone};
use serde_json::Value;

/// The plan as last shown.
#[derive(Debug, Default)]
pub(super) struct Plan {
    number: Option<u64>,
    steps: Vec<(String, String)>,
}

impl Plan {
    /// Returns the number of the plan's entry.
    pub(super) fn number(&self) -> Option<u64> {
        self.number
    }

    /// Stores the new plan, and formats the changed steps.
    pub(super) fn changed(&mut self, number: u64, body: &Value, style: Style) -> Vec<String> {
        let step = |entry: &Value| (text_of(&entry["content"]), text_of(&entry["status"]));
        let steps: Vec<_> = body["entries"].as_array().into_iter().flatten().map(step).collect();
        let is_first = self.steps.is_empty() && !steps.is_empty();
        let new = steps.iter().filter(|step| !self.steps.contains(step));
        let mut lines: Vec<String> = new.map(|(content, status)| line(content, status, style)).collect();
        if is_first {
            lines.insert(0, style.paint(Tone::Title, "plan"));
        }
        (self.number, self.steps) = (Some(number), steps);
        lines
    }
}

fn line(content: &str, status: &str, style: Style) -> String {
    let (mark, tone) = match status {
        "completed" => ("[x]", Tone::Dim),
        "in_progress" => ("[>]", Tone::Warning),
        _ => ("[ ]", Tone::Plain),
    };
    style.paint(tone, &format!("  {mark} {content}"))
}
