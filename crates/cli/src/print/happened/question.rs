//! What an agent asks before it does something, and what was answered.

use super::text_of;
use crate::print::{Face, Tone, plain};
use serde_json::Value;
use tenure_core::api::PermissionJson;

/// How much of an id is enough to answer by.
const ID_CHARS: usize = 12;

/// A question that somebody can answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Question {
    /// By which it is answered.
    pub(crate) id: String,
    pub(crate) title: String,
    pub(crate) options: Vec<PermissionJson>,
}

impl Question {
    /// The question of a permission; `None` if nobody is asked.
    pub(super) fn of(body: &Value) -> Option<Self> {
        let options = body["options"].as_array().cloned().unwrap_or_default();
        Some(Self {
            id: body["question"].as_str()?.to_owned(),
            title: text_of(&body["tool"]),
            options: options.into_iter().filter_map(|option| serde_json::from_value(option).ok()).collect(),
        })
    }

    /// The option that a typed answer means: its number, its id, or yes and no.
    pub(crate) fn meant(&self, typed: &str) -> Option<&PermissionJson> {
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

    /// What it asks, what can be answered, and how.
    pub(super) fn lines(&self, face: Face) -> Vec<String> {
        let mut lines = vec![face.paint(Tone::Odd, &format!("? may it do this: {}", self.title))];
        for (at, option) in self.options.iter().enumerate() {
            let id = face.paint(Tone::Quiet, &format!("({})", plain(&option.id)));
            lines.push(format!("    {}. {} {id}", at + 1, plain(&option.name)));
        }
        let id: String = plain(&self.id).chars().take(ID_CHARS).collect();
        let how = format!("    `tenure approvals choose {id} OPTION` answers from elsewhere");
        lines.push(face.paint(Tone::Quiet, &how));
        lines
    }

    /// What is written before the place where the answer is typed.
    pub(crate) fn prompt(&self) -> String {
        format!("    y, n or 1 to {}: ", self.options.len())
    }
}

/// How a question was decided, and by whom.
pub(super) fn decided(body: &Value, outcome: &str, face: Face) -> String {
    let option = body["options"].as_array().into_iter().flatten().find(|option| option["id"] == outcome);
    let (name, tone) = match option {
        Some(option) => {
            let is_allowed = option["kind"].as_str().is_some_and(|kind| kind.starts_with("allow"));
            (text_of(&option["name"]), if is_allowed { Tone::Good } else { Tone::Bad })
        }
        None => (plain(outcome), Tone::Odd),
    };
    let by = body["by"].as_str().map_or(String::new(), |by| format!(" (by {})", plain(by)));
    format!("{} {}{by}", face.paint(tone, &format!("? {name}:")), text_of(&body["tool"]))
}
