//! The table of agents.

use super::{Context, Table, Tone, escaped, lines, plain};
use crate::failure::Failure;
use serde::Serialize;
use std::time::Duration;
use tenure_core::duration::show;

/// An agent in `tenure agents`. Scripts depend on its JSON.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AgentListing {
    pub(crate) name: String,
    /// The backend that runs its turns.
    pub(crate) backend: &'static str,
    /// `built-in`, `overridden` (built-in, and changed in `config.toml`) or `own`.
    pub(crate) source: &'static str,
    pub(crate) command: String,
    /// The path of the command's program; `None` if it is not found.
    pub(crate) program: Option<String>,
    /// True if it can resume a conversation; `None` if only the running agent can tell.
    pub(crate) resumes: Option<bool>,
    /// `stdin`, `argument` or `protocol`.
    pub(crate) prompt: &'static str,
    pub(crate) model: Option<String>,
    /// Time limit of a turn; `None` is "no limit".
    pub(crate) timeout_ms: Option<u64>,
    /// Time without output after which a turn of a new conversation is ended; `None` is "no limit".
    pub(crate) no_output_fresh_ms: Option<u64>,
    /// The same in a resumed conversation.
    pub(crate) no_output_resumed_ms: Option<u64>,
    /// Fields of ACP adapters only.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub(crate) adapter: Option<AdapterListing>,
}

/// Fields of ACP adapters only.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AdapterListing {
    pub(crate) args: Vec<String>,
    /// The policy that answers its permission requests.
    pub(crate) permissions: &'static str,
    /// The mode to set in each new session.
    pub(crate) mode: Option<String>,
    /// The login method.
    pub(crate) auth: Option<String>,
    /// Time after which an idle adapter is stopped; `None` never stops it.
    pub(crate) idle_ms: Option<u64>,
    /// The installation hint.
    pub(crate) install: Option<String>,
}

/// Prints the agents as a table.
pub(crate) fn agents(list: &[AgentListing]) -> Result<(), Failure> {
    lines(&agents_lines(&Context::of_stdout(), list))
}

/// Formats that table.
pub(crate) fn agents_lines(context: &Context, list: &[AgentListing]) -> Vec<String> {
    let headings = ["AGENT", "BACKEND", "FROM", "TIMEOUT", "SILENCE", "IDLE", "PROGRAM"];
    let mut table = Table::new(context.style, &headings);
    for agent in list {
        let (program, tone) = match &agent.program {
            Some(path) => (escaped(path), Tone::Plain),
            None => (not_found(agent), Tone::Dim),
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

/// Reports a missing program, and how to install it.
fn not_found(agent: &AgentListing) -> String {
    let install = agent.adapter.as_ref().and_then(|adapter| adapter.install.as_deref());
    let how = install.map_or(String::new(), |install| format!("; {}", plain(install)));
    format!("{}: not found{how}", escaped(&agent.command))
}

fn silence(agent: &AgentListing) -> String {
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
