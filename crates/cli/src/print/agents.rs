//! The agents that there are.

use super::{Face, Table, Tone, plain};
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
    /// Whether it can go on with a conversation.
    pub(crate) resumes: bool,
    /// `stdin` or `argument`.
    pub(crate) prompt: &'static str,
    pub(crate) model: Option<String>,
    /// How long a turn may take; `None` is "no limit".
    pub(crate) timeout_ms: Option<u64>,
    /// How long a turn of a new conversation may be silent.
    pub(crate) no_output_fresh_ms: Option<u64>,
    /// The same in one that goes on.
    pub(crate) no_output_resumed_ms: Option<u64>,
}

/// The agents as a table.
pub(crate) fn agents(list: &[Listed]) -> Result<(), Failure> {
    let headings = ["AGENT", "FROM", "RESUMES", "PROMPT", "TIMEOUT", "SILENCE", "PROGRAM"];
    let mut table = Table::new(Face::of_stdout(), &headings);
    for agent in list {
        let (program, tone) = match &agent.program {
            Some(path) => (plain(path), Tone::Plain),
            None => (format!("{}: not found", plain(&agent.command)), Tone::Bad),
        };
        table.row([
            (agent.name.clone(), Tone::Plain),
            (agent.source.to_owned(), Tone::Plain),
            (if agent.resumes { "yes" } else { "no" }.to_owned(), Tone::Plain),
            (agent.prompt.to_owned(), Tone::Plain),
            (length(agent.timeout_ms), Tone::Plain),
            (silence(agent), Tone::Plain),
            (program, tone),
        ]);
    }
    table.print()
}

fn silence(agent: &Listed) -> String {
    let fresh = length(agent.no_output_fresh_ms);
    let resumed = length(agent.no_output_resumed_ms);
    if !agent.resumes || fresh == resumed { fresh } else { format!("{fresh}, {resumed}") }
}

fn length(ms: Option<u64>) -> String {
    ms.map_or("off".to_owned(), |ms| show(Duration::from_millis(ms)))
}
