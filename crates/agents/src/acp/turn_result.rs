//! Computes the end of an ACP turn from the agent's response, or from the reason for an early end. Adds the agent's last
//! message.

use crate::Agents;
use serde_json::Value;
use std::time::Duration;
use tenure_acp::history::Kind;
use tenure_acp::host::Answer;
use tenure_acp::turn::{TurnResult, turn_result};
use tenure_core::duration::show;
use tenure_core::ids::TurnId;
use tenure_core::session::{SessionKey, Stop};
use tenure_core::talk::Entry;
use tenure_core::task::Progress;
use tenure_os::clock;
use tenure_store::{FinalText, Outcome, Side, Turn, TurnEnd};

/// Maximum number of entries to search for the last message.
const SEARCHED_ENTRIES: usize = 200;
/// Number of entries to read at a time.
const PAGE: usize = 10;
/// Maximum size of the entries to read for the progress.
const PROGRESS_BYTES: u64 = 256 << 10;

/// The reason to end a turn before the agent does.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum EarlyEnd {
    Cancelled,
    TimedOut,
    /// The agent was silent for this long.
    Silent(Duration),
}

impl EarlyEnd {
    /// Returns the end of the turn for this reason. A cancel needs no explanation.
    pub(crate) fn end(self, name: &str) -> End {
        let why = match self {
            Self::Cancelled => return (Outcome::Cancelled, Stop::Cancelled, None),
            Self::TimedOut => "its turn reached its time limit".to_owned(),
            Self::Silent(limit) => format!(
                "{name} gave no output for {} and used no CPU, so its turn was ended: check that it is logged in and that its \
                 model answers; agents.{name}.acp.no-output-timeout in config.toml gives it more time",
                show(limit)
            ),
        };
        (Outcome::TimedOut, Stop::TimedOut, Some(why))
    }
}

/// The outcome of a turn, the reason why the agent stopped, and the error.
pub(crate) type End = (Outcome, Stop, Option<String>);

/// Returns the end of a turn for the agent's response.
pub(crate) fn end_of_response(answer: &Answer) -> End {
    match turn_result(answer.as_ref().map(AsRef::as_ref)) {
        TurnResult::Done => (Outcome::Done, Stop::EndTurn, None),
        TurnResult::Cut(stop, why) => (Outcome::Failed, stop, Some(format!("the agent stopped: {why}"))),
        TurnResult::Refused => {
            (Outcome::Failed, Stop::Refusal, Some("the agent refused the request".to_owned()))
        }
        TurnResult::Cancelled => (Outcome::Cancelled, Stop::Cancelled, None),
        TurnResult::Failed(why) => (Outcome::Failed, Stop::Error, Some(why)),
    }
}

/// Returns the end of a turn whose response came after an early end.
pub(crate) fn early_end(end: End, early: EarlyEnd, name: &str) -> End {
    let (outcome, stop, why) = early.end(name);
    // Some agents respond to a cancel with an error, others with a normal end.
    (outcome, stop, why.or(end.2))
}

impl Agents {
    /// Returns the end of a turn for the record, with the agent's last message.
    pub(crate) async fn turn_end(
        &self,
        turn: &Turn,
        (outcome, stop, error): (Outcome, Stop, Option<String>),
        resume: Option<String>,
    ) -> TurnEnd {
        let text = last_message(self, turn).await;
        TurnEnd { outcome, stop: Some(stop), at_ms: clock::unix_ms(), text, error, resume }
    }

    /// Returns the progress of a running turn: the last message or tool call, and the number of steps so far.
    pub async fn acp_progress(&self, key: &SessionKey, turn: &TurnId) -> Progress {
        let page = self
            .supervisor
            .registry
            .entries(key.clone(), Side::Before(u64::MAX), SEARCHED_ENTRIES, PROGRESS_BYTES)
            .await;
        let mut entries = page.map(|page| page.entries).unwrap_or_default();
        entries.retain(|entry| entry.turn.as_ref() == Some(turn));
        let words_in = |entry: &Entry| match entry.kind.as_str() {
            "agent" => text_of(entry),
            "tool" => body_of(entry)["title"].as_str().map(str::to_owned),
            _ => None,
        };
        let said = entries.iter().find_map(words_in).unwrap_or_default();
        let tools: Vec<Value> =
            entries.iter().filter(|it| it.kind == Kind::Tool.word()).map(body_of).collect();
        let plan = entries.iter().find(|it| it.kind == Kind::Plan.word()).map(body_of).unwrap_or_default();
        Progress { said, steps: steps(&tools, &plan) }
    }
}

/// Returns the end of a turn that the agent ended itself. It failed if the answer was lost.
pub(crate) async fn end_by_agent(agents: &Agents, turn: &Turn, end: End) -> End {
    if end.1 != Stop::EndTurn {
        return end;
    }
    let newest = Side::Before(u64::MAX);
    let page = agents
        .supervisor
        .registry
        .entries(turn.asked.session.clone(), newest, SEARCHED_ENTRIES, u64::MAX)
        .await;
    let entries = page.map(|page| page.entries).unwrap_or_default();
    let of_turn = entries.iter().take_while(|entry| entry.turn.as_ref() == Some(&turn.asked.id));
    match lost_answer(of_turn) {
        Some(why) => (Outcome::Failed, Stop::Error, Some(format!("its answer was lost: {why}"))),
        None => end,
    }
}

/// Returns the text after the agent's last action.
async fn last_message(agents: &Agents, turn: &Turn) -> Option<FinalText> {
    let mut pieces = Vec::new();
    let mut before = Some(Side::Before(u64::MAX));
    let mut left = SEARCHED_ENTRIES;
    while let Some(side) = before.filter(|_| left > 0) {
        let page = agents
            .supervisor
            .registry
            .entries(turn.asked.session.clone(), side, PAGE, u64::MAX)
            .await
            .ok()?;
        left = left.saturating_sub(PAGE);
        before = page.next;
        for entry in page.entries {
            match role_in(&entry, turn) {
                EntryRole::Text(text) => pieces.push(text),
                EntryRole::Neutral => {}
                EntryRole::Other if pieces.is_empty() => {}
                EntryRole::Other | EntryRole::Earlier => {
                    before = None;
                    break;
                }
            }
        }
    }
    pieces.reverse();
    (!pieces.is_empty()).then(|| FinalText::whole(pieces.concat()))
}

/// Returns the note about lost output, if the turn has no message of the agent.
fn lost_answer<'a>(entries: impl Iterator<Item = &'a Entry>) -> Option<String> {
    let mut lost = None;
    for entry in entries {
        if entry.kind == Kind::Agent.word() {
            return None;
        }
        if entry.kind == Kind::Note.word() && body_of(entry)["lost"] == true {
            lost = text_of(entry);
        }
    }
    lost
}

/// Counts the tool calls of an agent and the steps of its plan.
fn steps(tools: &[Value], plan: &Value) -> Option<String> {
    let is = |it: &&Value, status: &str| it["status"] == status;
    let with = |status: &str| tools.iter().filter(|it| is(it, status)).count();
    let (done, failed) = (with("completed"), with("failed"));
    let mut parts = Vec::new();
    if let Some(steps) = plan["entries"].as_array().filter(|steps| !steps.is_empty()) {
        let finished = steps.iter().filter(|it| is(it, "completed")).count();
        parts.push(format!("{finished} of {} steps of its plan are done", steps.len()));
    }
    if !tools.is_empty() {
        let (count, s) = (tools.len(), if tools.len() == 1 { "" } else { "s" });
        let failed = if failed > 0 { format!(", {failed} failed") } else { String::new() };
        parts.push(format!("{count} tool call{s}, {done} done{failed}"));
    }
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// The meaning of an entry for the last message of a turn.
enum EntryRole {
    /// Part of a message.
    Text(String),
    /// An entry that does not separate messages.
    Neutral,
    /// An action, which separates messages.
    Other,
    /// An entry of an earlier turn.
    Earlier,
}

fn role_in(entry: &Entry, turn: &Turn) -> EntryRole {
    let neutral = [Kind::Usage, Kind::Mode, Kind::Note].map(Kind::word);
    match text_of(entry) {
        _ if entry.turn.as_ref() != Some(&turn.asked.id) => EntryRole::Earlier,
        Some(text) if entry.kind == Kind::Agent.word() => EntryRole::Text(text),
        _ if neutral.contains(&entry.kind.as_str()) => EntryRole::Neutral,
        _ => EntryRole::Other,
    }
}

fn text_of(entry: &Entry) -> Option<String> {
    body_of(entry)["text"].as_str().map(str::to_owned)
}

fn body_of(entry: &Entry) -> Value {
    serde_json::from_str(&entry.body).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_steps_of_a_turn_contain_counts_but_no_words_of_the_agent() {
        let tool = |status: &str| json!({"title": "tick", "status": status});
        let plan = json!({"entries": [{"content": "tick", "status": "completed"}, {"content": "tick", "status": "pending"}]});
        assert_eq!(steps(&[], &Value::Null), None);
        assert_eq!(steps(&[tool("in_progress")], &Value::Null).as_deref(), Some("1 tool call, 0 done"));
        let tools = [tool("completed"), tool("completed"), tool("failed")];
        let expected = "1 of 2 steps of its plan are done; 3 tool calls, 2 done, 1 failed";
        assert_eq!(steps(&tools, &plan).as_deref(), Some(expected));
    }

    #[test]
    fn a_turn_whose_messages_are_all_lost_has_no_answer() {
        let entry = |kind: &str, body: Value| Entry {
            number: 1,
            turn: None,
            at_ms: 0,
            kind: kind.to_owned(),
            body: body.to_string(),
        };
        let lost = entry("note", json!({"text": "too long", "lost": true}));
        let note = entry("note", json!({"text": "other"}));
        let agent = entry("agent", json!({"text": "end"}));
        assert_eq!(lost_answer([&note, &lost].into_iter()).as_deref(), Some("too long"));
        assert_eq!(lost_answer([&agent, &lost].into_iter()), None);
        assert_eq!(lost_answer([&note].into_iter()), None);
    }
}
