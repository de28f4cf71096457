//! Output for people, and the single line of JSON for scripts.

pub(crate) mod agents;
mod approval_text;
mod approvals;
mod context;
pub(crate) mod process_tree;
mod processes;
mod record;
pub(crate) mod runs;
mod screen;
pub(crate) mod sessions;
mod style;
mod table;
mod tasks;
mod transcript;
pub(crate) mod turns;
mod units;

pub(crate) use agents::{AdapterListing, AgentListing, agents};
pub(crate) use approvals::{allowed, approval, approvals};
pub(crate) use context::Context;
pub(crate) use process_tree::process_trees;
pub(crate) use processes::processes;
pub(crate) use runs::{run, runs, state};
pub(crate) use screen::screen;
pub(crate) use sessions::{session, sessions};
pub(crate) use style::{Style, Tone};
pub(crate) use table::Table;
pub(crate) use tasks::{findings, maintenance, task, task_line, task_lines, tasks, tasks_lines};
pub(crate) use transcript::{OutputStream, Transcript, TranscriptOptions};
pub(crate) use turns::{notices, turns};
pub(crate) use units::{ago, bytes};

use crate::failure::Failure;
use serde::Serialize;
use std::io::{IsTerminal, Write};
use std::time::Duration;
use tenure_core::duration::show;
use tenure_core::record::{Ending, Ticket};
use tenure_core::visible::{plain_json, visible};
use tenure_output::Cleaner;

/// Prints one line.
pub(crate) fn line(text: &str) -> Result<(), Failure> {
    self::text(&format!("{text}\n"))
}

/// Prints a text unchanged. A closed pipe is no error: its reader has read enough.
pub(crate) fn text(text: &str) -> Result<(), Failure> {
    text_if_read(text).map(|_| ())
}

/// Prints a text unchanged. Returns false if standard output is a closed pipe, so that the caller can stop.
pub(crate) fn text_if_read(text: &str) -> Result<bool, Failure> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(Failure::refused(format!("cannot write to standard output: {error}"))),
    }
}

/// Prints these lines.
pub(crate) fn lines(texts: &[String]) -> Result<(), Failure> {
    texts.iter().try_for_each(|text| line(text))
}

/// Prints JSON on one line, with control and invisible characters escaped.
pub(crate) fn json(value: &impl Serialize) -> Result<(), Failure> {
    line(&plain_json(&serde_json::to_string(value).map_err(Failure::refused)?))
}

/// Returns the beginning of an id, for people.
pub(crate) fn short(id: &str) -> &str {
    &id[..12.min(id.len())]
}

/// Puts foreign text on one line, without control characters.
pub(crate) fn plain(text: &str) -> String {
    let mut cleaner = Cleaner::new();
    let mut clean = String::new();
    cleaner.push(text.as_bytes(), &mut clean);
    clean.replace(['\n', '\t'], " ")
}

/// Puts a foreign command, name or path on one line. Control and invisible characters are escaped, never dropped, so
/// that no text can imitate another.
pub(crate) fn escaped(text: &str) -> String {
    visible(text).into_owned()
}

/// Splits a text into lines, without control sequences.
pub(crate) fn plain_lines(text: &str) -> Vec<String> {
    let mut cleaner = Cleaner::new();
    let mut clean = String::new();
    cleaner.push(text.as_bytes(), &mut clean);
    cleaner.finish(&mut clean);
    clean.lines().map(str::to_owned).collect()
}

/// Prints an agent's text: without control sequences on a terminal, unchanged elsewhere.
pub(crate) fn agent_text(text: &str) -> Result<(), Failure> {
    if std::io::stdout().is_terminal() {
        return plain_lines(text).iter().try_for_each(|text| line(text));
    }
    if text.is_empty() || text.ends_with('\n') { self::text(text) } else { line(text) }
}

/// Formats a run's ending in one line.
pub(crate) fn ending_line(ticket: &Ticket, ending: &Ending) -> String {
    let took = ending.ended_at_ms.saturating_sub(ticket.created_at_ms);
    let sentence = ending.termination.sentence();
    format!("run {} after {}: {sentence}", short(ticket.run_id.as_str()), show(Duration::from_millis(took)))
}
