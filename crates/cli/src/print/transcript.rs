//! Live transcript of an ACP session: texts as they arrive, tool calls, plans and permission requests. The daemon sends
//! an entry again when it changes, and only the new part is shown. On a terminal, unfinished tool calls are the last
//! lines and change in place. If standard output is no terminal, it gets only the answer, and standard error the rest.
//! This module formats; the caller prints.

mod page;
mod plan;
mod question;
mod refusal;
mod tool;

use super::{Style, Tone, plain};
use page::{Page, Section};
use plan::Plan;
use question::Question;
use refusal::LastAction;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use tenure_core::ids::TurnId;
use tenure_core::tools::sessions::EntryJson;
use tenure_core::visible::visible;
use tool::ToolCall;

/// Options of a transcript.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TranscriptOptions {
    pub(crate) style: Style,
    /// True if lines can change in place.
    pub(crate) live: bool,
    /// True if standard output gets only the answer, unchanged.
    pub(crate) split: bool,
    /// True if messages to the agent are shown, too.
    pub(crate) echo: bool,
}

/// The stream that a text is printed to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OutputStream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// The transcript so far.
pub(crate) struct Transcript {
    page: Page,
    /// Shown bytes of each text entry.
    shown: BTreeMap<u64, usize>,
    tools: BTreeMap<u64, ToolCall>,
    plan: Plan,
    questions: BTreeMap<u64, Question>,
    /// Permission requests whose decision is shown.
    decided: BTreeSet<u64>,
    usage: Option<String>,
    last_action: LastAction,
    last: u64,
    turn: Option<TurnId>,
}

impl Transcript {
    pub(crate) fn new(options: TranscriptOptions) -> Self {
        Self {
            page: Page::new(options),
            shown: BTreeMap::new(),
            tools: BTreeMap::new(),
            plan: Plan::default(),
            questions: BTreeMap::new(),
            decided: BTreeSet::new(),
            usage: None,
            last_action: LastAction::default(),
            last: 0,
            turn: None,
        }
    }

    /// Takes the text to print.
    pub(crate) fn take(&mut self) -> Vec<(OutputStream, String)> {
        std::mem::take(&mut self.page.out)
    }

    /// Returns the entry after which a new connection has to continue. Entries that were unfinished may have changed
    /// meanwhile, so it comes before the oldest of them.
    pub(crate) fn since(&self) -> Option<u64> {
        let tools = self.tools.iter().filter(|(_, tool)| !tool.is_over()).map(|(number, _)| *number);
        let open = tools.chain(self.questions.keys().copied()).chain(self.plan.number());
        let oldest = open.chain((self.last > 0).then_some(self.last)).min();
        oldest.map(|number| number.saturating_sub(1))
    }

    /// Returns the oldest open permission request.
    pub(crate) fn question(&self) -> Option<&Question> {
        self.questions.values().next()
    }

    /// Returns true if part of the agent's answer was shown.
    pub(crate) fn answered(&self) -> bool {
        self.page.answered
    }

    /// Describes the refused request, if the agent has done and said nothing since.
    pub(crate) fn refusal(&self) -> Option<String> {
        self.last_action.refusal()
    }

    /// Returns the used share of the agent's context, if the agent reports it.
    pub(crate) fn usage(&self) -> Option<&str> {
        self.usage.as_deref()
    }

    /// Adds an entry, or the new state of one.
    pub(crate) fn entry(&mut self, entry: &EntryJson) {
        if self.last < entry.number && self.turn != entry.turn_id {
            self.turn.clone_from(&entry.turn_id);
            self.page.part();
        }
        self.last = self.last.max(entry.number);
        self.last_action.entry(entry);
        let body = &entry.body;
        match entry.kind.as_str() {
            "user" if !self.page.options.echo => {}
            "user" => self.text(entry, Section::User),
            "agent" => self.text(entry, Section::Agent),
            "thought" => self.text(entry, Section::Thought),
            "tool" => self.tool(entry),
            "plan" => {
                let lines = self.plan.changed(entry.number, body, self.page.options.style);
                self.lines(&lines);
            }
            "permission" => self.permission(entry),
            "usage" => self.usage = tool::usage(body),
            "mode" => self.aside(entry, Tone::Dim, &format!("mode: {}", text_of(&body["mode"]))),
            "note" => self.note(entry),
            // A kind of a newer daemon.
            _ => {}
        }
    }

    /// Adds the whole answer, if no part of it was shown.
    pub(crate) fn answer(&mut self, text: &str) {
        self.page.text(Section::Agent, text);
    }

    /// Ends the transcript: ends open lines, and shows unfinished tool calls in their present state.
    pub(crate) fn settle(&mut self) {
        self.page.clear_changing();
        for tool in self.tools.values_mut().filter(|tool| !tool.is_over()) {
            self.page.lines(&tool.closing(self.page.options.style));
        }
        self.page.settle();
    }

    /// Adds a line of Tenure's own.
    pub(crate) fn say(&mut self, tone: Tone, text: &str) {
        let line = self.page.options.style.paint(tone, text);
        self.lines(&[line]);
    }

    /// Adds a prompt. The person types the answer behind it.
    pub(crate) fn ask(&mut self, text: &str) {
        self.page.ask(text);
    }

    /// Records that the person ended the prompt's line.
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

    /// Adds whole lines, above those that change in place.
    fn lines(&mut self, lines: &[String]) {
        if !lines.is_empty() {
            self.page.lines(lines);
            self.show_changing();
        }
    }

    fn tool(&mut self, entry: &EntryJson) {
        let is_new = !self.tools.contains_key(&entry.number);
        let tool = self.tools.entry(entry.number).or_default();
        if tool.update(&entry.body) {
            let lines = tool.closing(self.page.options.style);
            self.lines(&lines);
        } else if is_new || self.page.is_changing() {
            self.show_changing();
        }
    }

    /// Shows unfinished tool calls in their present state.
    fn show_changing(&mut self) {
        let TranscriptOptions { live, style, .. } = self.page.options;
        // Lines do not move while a person types an answer.
        if !live || !self.questions.is_empty() {
            return;
        }
        let under_way: Vec<&ToolCall> = self.tools.values().filter(|tool| !tool.is_over()).collect();
        let newest = under_way.len().saturating_sub(tool::MAX_CHANGING);
        let lines: Vec<String> = under_way[newest..].iter().map(|tool| tool.line(style)).collect();
        self.page.show_changing(&lines);
    }

    fn permission(&mut self, entry: &EntryJson) {
        let (body, style) = (&entry.body, self.page.options.style);
        let mut lines = Vec::new();
        if let Some(outcome) = body["outcome"].as_str() {
            self.questions.remove(&entry.number);
            if self.decided.insert(entry.number) {
                lines.push(question::decided(body, outcome, style));
            }
        } else if let Some(asked) = Question::of(body) {
            if !self.questions.contains_key(&entry.number) {
                // The change is shown before the decision.
                if asked.details.is_none() {
                    // An older daemon sends no details with the request.
                    let call = body["toolCallId"].as_str();
                    let tool = self.tools.values_mut().find(|tool| call.is_some_and(|id| tool.is(id)));
                    lines.extend(tool.map(|tool| tool.change(style)).unwrap_or_default());
                }
                lines.extend(asked.lines(style));
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
            Some("warning") => Tone::Warning,
            _ => Tone::Dim,
        };
        self.aside(entry, tone, &format!("{title}{}", text_of(&body["text"])));
    }

    /// Adds a line once, and again if the entry changes.
    fn aside(&mut self, entry: &EntryJson, tone: Tone, text: &str) {
        if self.shown.insert(entry.number, text.len()) != Some(text.len()) {
            self.page.aside(tone, text);
            self.show_changing();
        }
    }
}

/// Puts a foreign text on one line.
fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(String::new, |text| visible(text).into_owned())
}

/// Describes content that is no text.
fn content(value: &Value) -> String {
    let kind = text_of(&value["type"]);
    let what = ["uri", "name", "mimeType"].iter().find_map(|key| value[*key].as_str()).map(plain);
    what.map_or(kind.clone(), |what| format!("{kind}: {what}"))
}

#[cfg(test)]
mod tests;
