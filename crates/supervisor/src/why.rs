//! The history of a run, in order: the registry's events and the keeper's journal.

use crate::refusal::Refusal;
use crate::supervisor::Supervisor;
use serde::Deserialize;
use serde_json::Value;
use std::fmt::Write;
use std::path::Path;
use tenure_core::api::StoryLine;
use tenure_core::ending::{Exit, ProcessNote, Reason};
use tenure_core::journal::{JournalEntry, JournalEvent, Proof, Target};
use tenure_core::record::{self, Boundary};
use tenure_core::session::SessionKey;
use tenure_core::signal;
use tenure_keeper::rundir::RunDir;
use tenure_store::{EventRow, RunRow, kind};

/// Maximum number of lines of a history.
const MAX_LINES: usize = 2000;

/// Returns a run's history, the oldest line first.
pub async fn story(supervisor: &Supervisor, row: &RunRow) -> Result<Vec<StoryLine>, Refusal> {
    let events = supervisor.registry.events(0, Some(row.ticket.run_id.clone()), MAX_LINES).await?;
    // Without a directory or a journal, the history is the registry's part.
    let journal = RunDir::open(Path::new(&row.directory)).and_then(|dir| dir.journal()).unwrap_or_default();
    let is_in_journal = |row: &EventRow| {
        !journal.is_empty() && [kind::RUN_SIGNALLED, kind::RUN_ESCAPED].contains(&row.event.kind.as_str())
    };
    let mut lines: Vec<StoryLine> =
        events.into_iter().filter(|row| !is_in_journal(row)).map(event_line).collect();
    lines.extend(journal.into_iter().map(journal_line));
    lines.sort_by_key(|line| (line.at_ms, order_within_ms(line)));
    Ok(lines)
}

/// Returns a session's history from the registry.
pub async fn session_story(supervisor: &Supervisor, key: SessionKey) -> Result<Vec<StoryLine>, Refusal> {
    let events = supervisor.registry.session_events(key, MAX_LINES).await?;
    Ok(events.into_iter().map(event_line).collect())
}

/// Returns the order of lines within one millisecond: first the request, then the keeper's actions, then their
/// records, and the end last.
fn order_within_ms(line: &StoryLine) -> u8 {
    match (line.source.as_str(), line.what.as_str()) {
        (_, "run-created" | "cancel-asked") => 0,
        ("keeper", _) => 1,
        (_, "run-ended") => 3,
        _ => 2,
    }
}

/// Describes an entry of the keeper's journal for people.
fn journal_line(entry: JournalEntry) -> StoryLine {
    let (what, text) = match entry.what {
        JournalEvent::Started { pid, exe, boundary } => {
            let around = match boundary {
                Boundary::Cgroup { path } => format!("keeper and cgroup {path}"),
                Boundary::Subreaper { why: Some(why) } => format!("keeper alone: {why}"),
                Boundary::Subreaper { why: None } => "keeper alone".to_owned(),
                Boundary::Group => "keeper, session and group".to_owned(),
                Boundary::Job { name } => format!("job {name}"),
            };
            (
                "started",
                format!("pid {pid}, {}; held by {around}", exe.unwrap_or_else(|| "unknown".to_owned())),
            )
        }
        JournalEvent::FirstOutput => {
            ("first-output", "the command wrote something for the first time".to_owned())
        }
        JournalEvent::Exiting { cause: Some(cause), detail, .. } => {
            let detail = detail.map_or(String::new(), |detail| format!(": {detail}"));
            ("exiting", format!("stopping the run ({}{detail})", Reason::from(cause)))
        }
        JournalEvent::Exiting { exit: Some(Exit::Code(code)), .. } => {
            ("exiting", format!("the command exited with {code}"))
        }
        JournalEvent::Exiting { exit: Some(Exit::Signal(number)), .. } => {
            ("exiting", format!("{} ended the command", signal::name(number)))
        }
        JournalEvent::Exiting { .. } => ("exiting", "the command has ended".to_owned()),
        JournalEvent::Signalled { signal, target, proof } => {
            ("signalled", format!("{signal} to {}, because {}", target_text(&target), proof_text(proof)))
        }
        JournalEvent::Leftovers { count, processes } => {
            let named = if processes.is_empty() { String::new() } else { format!(": {}", names(&processes)) };
            let more = if count as usize > processes.len() && !processes.is_empty() { ", …" } else { "" };
            let noun = if count == 1 { "process" } else { "processes" };
            ("leftovers", format!("{count} {noun} of its session outlived the command{named}{more}"))
        }
        JournalEvent::Escapees { processes } => {
            ("escapees", format!("left the session: {}", names(&processes)))
        }
        JournalEvent::GivenUp => ("given-up", "the stop was given up".to_owned()),
        JournalEvent::Survivors { processes } => ("survivors", format!("still alive: {}", names(&processes))),
        JournalEvent::HolderLost => ("holder-lost", "the daemon's connection ended".to_owned()),
        JournalEvent::HolderBack { epoch } => ("holder-back", format!("a daemon holds it at epoch {epoch}")),
        JournalEvent::HolderReleased => ("holder-released", "the daemon left on purpose".to_owned()),
        JournalEvent::EpochRefused { epoch, current } => (
            "epoch-refused",
            format!("refused a daemon of epoch {epoch}: one of epoch {current} holds the run"),
        ),
        JournalEvent::HolderAsked { epoch } => {
            ("holder-asked", format!("another daemon asked for the run at epoch {epoch}"))
        }
        JournalEvent::HolderRefused { epoch } => {
            ("holder-refused", format!("refused a daemon of another installation at epoch {epoch}"))
        }
        JournalEvent::MoreNotWritten => ("more", "later entries were not recorded".to_owned()),
    };
    StoryLine { at_ms: entry.at_ms, source: "keeper".to_owned(), what: what.to_owned(), text }
}

fn target_text(target: &Target) -> String {
    match target {
        Target::Group { pgid } => format!("the group {pgid}"),
        Target::Cgroup { path } => format!("every process in {path}"),
        Target::Job { name } => format!("every process in job {name}"),
        Target::Process { pid, start_time } => format!("pid {pid} (started {start_time})"),
    }
}

fn proof_text(proof: Proof) -> &'static str {
    match proof {
        Proof::UnreapedRoot => "its unreaped root pins the group's number",
        Proof::RunCgroup => "the cgroup was made for the run",
        Proof::RunJob => "the job was made for the run",
        Proof::Child => "it descends from the root by living parents",
        Proof::Adopted => "it came back to the keeper as an orphan of the run",
        Proof::InSession => "it is in the session of the root",
        Proof::InCgroup => "it is in the run's cgroup",
        Proof::InJob => "it is in the run's job",
        Proof::LeaseMark => "it carries the run's lease in its environment",
    }
}

fn names(processes: &[ProcessNote]) -> String {
    processes.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// Describes an event for people, by its kind and its fields.
fn event_line(row: EventRow) -> StoryLine {
    let text = match &row.event.detail {
        detail if row.event.kind == kind::RUN_SIGNALLED => signal_text(detail),
        detail if row.event.kind == kind::RUN_ESCAPED => escape_text(detail),
        Value::Object(fields) => {
            let mut text = String::new();
            for (name, value) in fields.iter().filter(|(name, value)| !is_noise(name, value)) {
                let shown = match value {
                    Value::String(text) => text.clone(),
                    Value::Array(words) if words.iter().all(Value::is_string) => {
                        let words: Vec<String> =
                            words.iter().filter_map(Value::as_str).map(str::to_owned).collect();
                        match fields.get("backend").and_then(Value::as_str) {
                            Some(backend) if name == "command" => record::command_line(backend, &words),
                            _ => words.join(" "),
                        }
                    }
                    other => other.to_string(),
                };
                let separator = if text.is_empty() { "" } else { "; " };
                // Writing to a String cannot fail.
                let _ = write!(text, "{separator}{}: {shown}", spaced(name));
            }
            text
        }
        other => other.to_string(),
    };
    StoryLine { at_ms: row.event.at_ms, source: "registry".to_owned(), what: row.event.kind, text }
}

/// Describes a `run-signalled` event for people. The keeper's line beside it explains the proof.
fn signal_text(detail: &Value) -> String {
    let target = Target::deserialize(&detail["target"]).ok();
    match (detail["signalName"].as_str(), target, detail["proof"].as_str()) {
        (Some(signal), Some(target), Some(proof)) => {
            format!("{signal} to {} ({proof})", target_text(&target))
        }
        _ => detail["detail"].as_str().unwrap_or("more signals were sent").to_owned(),
    }
}

/// Describes a `run-escaped` event for people.
fn escape_text(detail: &Value) -> String {
    let which = detail["which"].as_str().unwrap_or("process");
    match (ProcessNote::deserialize(detail), detail["more"].as_u64()) {
        (Ok(process), _) => format!("{which} {process}"),
        (Err(_), more) => format!("{} more, each a {which}", more.unwrap_or_default()),
    }
}

/// Returns true for values without information: null, false, empty lists, zero leftovers, and times, which begin the line
/// anyway.
fn is_noise(name: &str, value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => name != "confirmed",
        Value::Array(items) => items.is_empty(),
        Value::Number(number) => {
            name.ends_with("AtMs") || (name == "leftovers" && number.as_u64() == Some(0))
        }
        Value::Bool(true) | Value::String(_) | Value::Object(_) => false,
    }
}

/// Splits `exitCode` into `exit code`.
fn spaced(name: &str) -> String {
    let mut words = String::new();
    for c in name.chars() {
        if c.is_uppercase() {
            words.push(' ');
        }
        words.extend(c.to_lowercase());
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn journal_events_are_described_in_words() {
        let target = json!({ "kind": "group", "pgid": 7 });
        let signal =
            json!({ "signal": 15, "signalName": "SIGTERM", "target": target, "proof": "unreaped-root" });
        assert_eq!(signal_text(&signal), "SIGTERM to the group 7 (unreaped-root)");
        assert_eq!(signal_text(&json!({ "more": true, "detail": "there are more" })), "there are more");
        let escaped = json!({ "which": "escapee", "pid": 9, "exe": "/bin/sleep", "entry": 3 });
        assert_eq!(escape_text(&escaped), "escapee /bin/sleep (9)");
        assert_eq!(escape_text(&json!({ "which": "leftover", "more": 12 })), "12 more, each a leftover");
    }
}
