//! What happens in a session of an ACP agent, as people read it while it happens: texts as they come, tool calls, plans,
//! what is asked. Every entry may be told again when more has become of it, and only what is new is shown. On a terminal
//! the tool calls that are under way are shown last and change in place; where the answer is piped elsewhere, it is alone
//! on standard output, and all else is beside it. Nothing is printed here.

mod page;
mod plan;
mod question;
mod refusal;
mod tool;

use super::{Face, Tone, plain};
use page::{Page, Section};
use plan::Plan;
use question::Question;
use refusal::LastDeed;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use tenure_core::ids::TurnId;
use tenure_core::tools::sessions::EntryJson;
use tenure_core::visible::visible;
use tool::Tool;

/// How it is shown.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Style {
    pub(crate) face: Face,
    /// Whether lines can change in place.
    pub(crate) live: bool,
    /// Whether the answer is alone on standard output, as it is.
    pub(crate) split: bool,
    /// Whether what was said to the agent is shown, too.
    pub(crate) echo: bool,
}

/// Where a text goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Onto {
    /// Standard output.
    Answer,
    /// Standard error.
    Beside,
}

/// What is shown so far.
pub(crate) struct Happened {
    page: Page,
    /// How many bytes of a text are shown.
    shown: BTreeMap<u64, usize>,
    tools: BTreeMap<u64, Tool>,
    plan: Plan,
    questions: BTreeMap<u64, Question>,
    /// Permissions of which is told how they were decided.
    decided: BTreeSet<u64>,
    usage: Option<String>,
    deed: LastDeed,
    last: u64,
    turn: Option<TurnId>,
}

impl Happened {
    pub(crate) fn new(style: Style) -> Self {
        Self {
            page: Page::new(style),
            shown: BTreeMap::new(),
            tools: BTreeMap::new(),
            plan: Plan::default(),
            questions: BTreeMap::new(),
            decided: BTreeSet::new(),
            usage: None,
            deed: LastDeed::default(),
            last: 0,
            turn: None,
        }
    }

    /// What is to be printed since this was asked last.
    pub(crate) fn take(&mut self) -> Vec<(Onto, String)> {
        std::mem::take(&mut self.page.out)
    }

    /// The entry after which whoever was cut off goes on: of everything that was under way then, more may have become.
    pub(crate) fn since(&self) -> Option<u64> {
        let tools = self.tools.iter().filter(|(_, tool)| !tool.is_over()).map(|(number, _)| *number);
        let open = tools.chain(self.questions.keys().copied()).chain(self.plan.number());
        let oldest = open.chain((self.last > 0).then_some(self.last)).min();
        oldest.map(|number| number.saturating_sub(1))
    }

    /// What somebody is asked, the oldest.
    pub(crate) fn question(&self) -> Option<&Question> {
        self.questions.values().next()
    }

    /// Whether something of the agent's answer was shown.
    pub(crate) fn answered(&self) -> bool {
        self.page.answered
    }

    /// What the agent was refused, if it has not done or said anything since.
    pub(crate) fn refusal(&self) -> Option<String> {
        self.deed.refusal()
    }

    /// How much of its memory the agent has used, if it says so.
    pub(crate) fn usage(&self) -> Option<&str> {
        self.usage.as_deref()
    }

    /// Something happened, or more has become of it.
    pub(crate) fn entry(&mut self, entry: &EntryJson) {
        if self.last < entry.number && self.turn != entry.turn_id {
            self.turn.clone_from(&entry.turn_id);
            self.page.part();
        }
        self.last = self.last.max(entry.number);
        self.deed.entry(entry);
        let body = &entry.body;
        match entry.kind.as_str() {
            "user" if !self.page.style.echo => {}
            "user" => self.text(entry, Section::User),
            "agent" => self.text(entry, Section::Agent),
            "thought" => self.text(entry, Section::Thought),
            "tool" => self.tool(entry),
            "plan" => {
                let lines = self.plan.changed(entry.number, body, self.page.style.face);
                self.lines(&lines);
            }
            "permission" => self.permission(entry),
            "usage" => self.usage = tool::usage(body),
            "mode" => self.aside(entry, Tone::Quiet, &format!("mode: {}", text_of(&body["mode"]))),
            "note" => self.note(entry),
            // A later daemon's.
            _ => {}
        }
    }

    /// What an agent said at last, where nothing of it was shown.
    pub(crate) fn answer(&mut self, text: &str) {
        self.page.text(Section::Agent, text);
    }

    /// Nothing more comes: what is begun is ended, and what is under way is shown as it is.
    pub(crate) fn settle(&mut self) {
        self.page.clear_changing();
        for tool in self.tools.values_mut().filter(|tool| !tool.is_over()) {
            self.page.lines(&tool.closing(self.page.style.face));
        }
        self.page.settle();
    }

    /// A line of one's own, beside what the agent does.
    pub(crate) fn say(&mut self, tone: Tone, text: &str) {
        let line = self.page.style.face.paint(tone, text);
        self.lines(&[line]);
    }

    /// A question to a person, who types the answer behind it.
    pub(crate) fn ask(&mut self, text: &str) {
        self.page.ask(text);
    }

    /// Somebody ended the line that the answer was typed on.
    pub(crate) fn typed(&mut self) {
        self.page.typed();
    }

    fn text(&mut self, entry: &EntryJson, section: Section) {
        let text = match entry.body["text"].as_str() {
            Some(text) => text.to_owned(),
            None => format!("[{}]", content(&entry.body["content"])),
        };
        let shown = self.shown.entry(entry.number).or_default();
        let from = std::mem::replace(shown, text.len().max(*shown));
        if let Some(new) = text.get(from..).filter(|new| !new.is_empty()) {
            self.page.text(section, new);
        }
    }

    /// Whole lines, above those that change.
    fn lines(&mut self, lines: &[String]) {
        if !lines.is_empty() {
            self.page.lines(lines);
            self.show_changing();
        }
    }

    fn tool(&mut self, entry: &EntryJson) {
        let is_new = !self.tools.contains_key(&entry.number);
        let tool = self.tools.entry(entry.number).or_default();
        if tool.told(&entry.body) {
            let lines = tool.closing(self.page.style.face);
            self.lines(&lines);
        } else if is_new || self.page.is_changing() {
            self.show_changing();
        }
    }

    /// Shows the tool calls that are under way, as they are now.
    fn show_changing(&mut self) {
        let Style { live, face, .. } = self.page.style;
        // Nothing moves while somebody types an answer.
        if !live || !self.questions.is_empty() {
            return;
        }
        let under_way: Vec<&Tool> = self.tools.values().filter(|tool| !tool.is_over()).collect();
        let newest = under_way.len().saturating_sub(tool::CHANGING_MOST);
        let lines: Vec<String> = under_way[newest..].iter().map(|tool| tool.line(face)).collect();
        self.page.show_changing(&lines);
    }

    fn permission(&mut self, entry: &EntryJson) {
        let (body, face) = (&entry.body, self.page.style.face);
        let mut lines = Vec::new();
        if let Some(outcome) = body["outcome"].as_str() {
            self.questions.remove(&entry.number);
            if self.decided.insert(entry.number) {
                lines.push(question::decided(body, outcome, face));
            }
        } else if let Some(asked) = Question::of(body) {
            if !self.questions.contains_key(&entry.number) {
                // Who decides sees what would change.
                if asked.details.is_none() {
                    // An older daemon does not send this with the question.
                    let call = body["toolCallId"].as_str();
                    let tool = self.tools.values_mut().find(|tool| call.is_some_and(|id| tool.is(id)));
                    lines.extend(tool.map(|tool| tool.change(face)).unwrap_or_default());
                }
                lines.extend(asked.lines(face));
            }
            self.questions.insert(entry.number, asked);
        }
        self.lines(&lines);
    }

    fn note(&mut self, entry: &EntryJson) {
        let body = &entry.body;
        let title = body["title"].as_str().map_or(String::new(), |title| format!("{}: ", plain(title)));
        let tone = match body["severity"].as_str() {
            Some("error") => Tone::Bad,
            Some("warning") => Tone::Odd,
            _ => Tone::Quiet,
        };
        self.aside(entry, tone, &format!("{title}{}", text_of(&body["text"])));
    }

    /// A line that comes once, unless it becomes another.
    fn aside(&mut self, entry: &EntryJson, tone: Tone, text: &str) {
        if self.shown.insert(entry.number, text.len()) != Some(text.len()) {
            self.page.aside(tone, text);
            self.show_changing();
        }
    }
}

/// What a text of somebody else's is on one line.
fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(String::new, |text| visible(text).into_owned())
}

/// What something is that is no text.
fn content(value: &Value) -> String {
    let kind = text_of(&value["type"]);
    let what = ["uri", "name", "mimeType"].iter().find_map(|key| value[*key].as_str()).map(plain);
    what.map_or(kind.clone(), |what| format!("{kind}: {what}"))
}

#[cfg(test)]
mod tests;
