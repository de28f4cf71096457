//! An agent's permission requests and their decisions.

use super::text_of;
use crate::print::approval_text::{self, LIST_LIMIT, NO_LIMIT};
use crate::print::{Style, Tone, plain};
use serde_json::Value;
use tenure_core::api::{PermissionJson, ToolDetails};
use tenure_core::visible::visible;

/// Length of an id's beginning in the command to answer.
const ID_CHARS: usize = 12;

/// A permission request that a person can answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Question {
    /// The id to answer it by.
    pub(crate) id: String,
    pub(crate) title: String,
    /// The actual command, files and changes, whatever the title says.
    pub(super) details: Option<ToolDetails>,
    pub(crate) options: Vec<PermissionJson>,
}

impl Question {
    /// Reads the body of a permission entry; `None` if no person has to decide.
    pub(super) fn of(body: &Value) -> Option<Self> {
        let options = body["options"].as_array().cloned().unwrap_or_default();
        Some(Self {
            id: body["question"].as_str()?.to_owned(),
            title: body["tool"].as_str().unwrap_or_default().to_owned(),
            details: serde_json::from_value(body["details"].clone()).ok(),
            options: options.into_iter().filter_map(|option| serde_json::from_value(option).ok()).collect(),
        })
    }

    /// Returns the option for a typed answer: its number, its id, or yes or no.
    pub(crate) fn parse_answer(&self, typed: &str) -> Option<&PermissionJson> {
        let typed = typed.trim();
        let of_kind = |kinds: [&str; 2]| {
            kinds.iter().find_map(|kind| self.options.iter().find(|option| option.kind == *kind))
        };
        match typed.to_lowercase().as_str() {
            "y" | "yes" => of_kind(["allow_once", "allow_always"]),
            "n" | "no" => of_kind(["reject_once", "reject_always"]),
            _ => {
                let number = typed.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
                let by_id = || self.options.iter().find(|option| option.id == typed);
                number.and_then(|at| self.options.get(at)).or_else(by_id)
            }
        }
    }

    /// Formats the request, its options, and the command to answer.
    pub(super) fn lines(&self, style: Style) -> Vec<String> {
        let title = visible(&self.title);
        let mut lines = vec![style.paint(Tone::Warning, &format!("? permission requested: {title}"))];
        let details = self.details.as_ref();
        let shown = |limit| {
            details.map(|it| approval_text::details_lines(it, &self.title, style, limit)).unwrap_or_default()
        };
        lines.extend(shown(LIST_LIMIT).iter().map(|line| format!("    {line}")));
        for (at, option) in self.options.iter().enumerate() {
            let kind = visible(&option.kind).replace('_', " ");
            let id = style.paint(Tone::Dim, &format!("({}, {kind})", visible(&option.id)));
            lines.push(format!("    {}. {} {id}", at + 1, visible(&option.name)));
        }
        let id: String = plain(&self.id).chars().take(ID_CHARS).collect();
        if shown(LIST_LIMIT) != shown(NO_LIMIT) || lines.iter().any(|line| line.contains(" bytes) …")) {
            lines.push(format!("    cut: `tenure approvals show {id}` prints all of it"));
        }
        let how = format!("    from another terminal: `tenure approvals choose {id} OPTION`");
        lines.push(style.paint(Tone::Dim, &how));
        lines
    }

    /// Formats the prompt for the typed answer.
    pub(crate) fn prompt(&self) -> String {
        format!("    y, n or 1 to {}: ", self.options.len())
    }
}

/// Formats a decision, and who made it.
pub(super) fn decided(body: &Value, outcome: &str, style: Style) -> String {
    let option = body["options"].as_array().into_iter().flatten().find(|option| option["id"] == outcome);
    let (name, tone) = match option {
        Some(option) => {
            let is_allowed = option["kind"].as_str().is_some_and(|kind| kind.starts_with("allow"));
            let kind = text_of(&option["kind"]).replace('_', " ");
            let name = format!("{} ({kind})", text_of(&option["name"]));
            (name, if is_allowed { Tone::Good } else { Tone::Bad })
        }
        None => (visible(outcome).into_owned(), Tone::Warning),
    };
    let by = body["by"].as_str().map_or(String::new(), |by| format!(" (by {})", plain(by)));
    format!("{} {}{by}", style.paint(tone, &format!("? {name}:")), text_of(&body["tool"]))
}
