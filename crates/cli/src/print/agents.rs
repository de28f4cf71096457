//! The agents that there are.

use super::{Context, Table, Tone, escaped, lines, plain};
use crate::failure::Failure;
use serde::Serialize;
use std::time::Duration;
use tenure_core::duration::show;

/// An agent as it is listed. Its JSON is a promise to scripts.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Listed {
    pub(crate) name: String,
    /// What carries out its turns.
    pub(crate) backend: &'static str,
    /// `built-in`, `overridden` (built-in, and changed in `config.toml`) or `own`.
    pub(crate) source: &'static str,
    pub(crate) command: String,
    /// The program that the command is here; `None` if there is none.
    pub(crate) program: Option<String>,
    /// Whether it can go on with a conversation; `None` if only the agent itself can say so.
    pub(crate) resumes: Option<bool>,
    /// `stdin`, `argument` or `protocol`.
    pub(crate) prompt: &'static str,
    pub(crate) model: Option<String>,
    /// How long a turn may take; `None` is "no limit".
    pub(crate) timeout_ms: Option<u64>,
    /// How long a turn of a new conversation may be silent.
    pub(crate) no_output_fresh_ms: Option<u64>,
    /// The same in one that goes on.
    pub(crate) no_output_resumed_ms: Option<u64>,
    /// What only an ACP adapter has.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub(crate) adapter: Option<ListedAdapter>,
}

/// What only an ACP adapter has.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ListedAdapter {
    pub(crate) args: Vec<String>,
    /// How it is answered when it asks before it does something.
    pub(crate) permissions: &'static str,
    /// The mode that is set after a session was opened.
    pub(crate) mode: Option<String>,
    /// The way to log in.
    pub(crate) auth: Option<String>,
    /// How long it is kept while it has nothing to do; `None` keeps it.
    pub(crate) idle_ms: Option<u64>,
    /// How people get it.
    pub(crate) install: Option<String>,
}

/// Prints the agents as a table.
pub(crate) fn agents(list: &[Listed]) -> Result<(), Failure> {
    lines(&agents_lines(&Context::of_stdout(), list))
}

/// The lines of that table.
pub(crate) fn agents_lines(context: &Context, list: &[Listed]) -> Vec<String> {
    let headings = ["AGENT", "BACKEND", "FROM", "TIMEOUT", "SILENCE", "IDLE", "PROGRAM"];
    let mut table = Table::new(context.face, &headings);
    for agent in list {
        let (program, tone) = match &agent.program {
            Some(path) => (escaped(path), Tone::Plain),
            None => (not_found(agent), Tone::Quiet),
        };
        table.row([
            (agent.name.clone(), Tone::Plain),
            (agent.backend.to_owned(), Tone::Plain),
            (agent.source.to_owned(), Tone::Plain),
            (length(agent.timeout_ms), Tone::Plain),
            (silence(agent), Tone::Plain),
            (agent.adapter.as_ref().map_or("-".to_owned(), |adapter| length(adapter.idle_ms)), Tone::Plain),
            (program, tone),
        ]);
    }
    table.lines()
}

/// That there is no such program, and how to get it.
fn not_found(agent: &Listed) -> String {
    let install = agent.adapter.as_ref().and_then(|adapter| adapter.install.as_deref());
    let how = install.map_or(String::new(), |install| format!("; {}", plain(install)));
    format!("{}: not found{how}", escaped(&agent.command))
}

fn silence(agent: &Listed) -> String {
    if agent.adapter.is_some() {
        return "-".to_owned();
    }
    let fresh = length(agent.no_output_fresh_ms);
    let resumed = length(agent.no_output_resumed_ms);
    if agent.resumes != Some(true) || fresh == resumed { fresh } else { format!("{fresh}, {resumed}") }
}

fn length(ms: Option<u64>) -> String {
    ms.map_or("off".to_owned(), |ms| show(Duration::from_millis(ms)))
}
