//! What people read.

use crate::failure::Failure;
use serde_json::Value;
use std::io::Write;
use std::time::Duration;
use tenure_core::duration::show;
use tenure_core::record::{Ending, Ticket};
use tenure_core::run_json::{LeaseState, RunView};
use tenure_core::wire::ProcessView;
use tenure_os::clock;

/// Prints one line; a reader that is gone has read enough.
pub(crate) fn line(text: &str) -> Result<(), Failure> {
    match writeln!(std::io::stdout().lock(), "{text}") {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(Failure::refused(format!("cannot write to standard output: {error}")))
        }
        _ => Ok(()),
    }
}

/// Prints JSON on one line.
pub(crate) fn json(value: &Value) -> Result<(), Failure> {
    line(&value.to_string())
}

/// How much of an id people are shown.
pub(crate) fn short(id: &str) -> &str {
    &id[..12.min(id.len())]
}

/// How a run ended, in one line.
pub(crate) fn closing(ticket: &Ticket, ending: &Ending) -> String {
    let took = ending.ended_at_ms.saturating_sub(ticket.created_at_ms);
    let sentence = ending.termination.sentence();
    format!("run {} after {}: {sentence}", short(ticket.run_id.as_str()), show(Duration::from_millis(took)))
}

/// The runs as a table.
pub(crate) fn table(views: &[RunView]) -> Result<(), Failure> {
    let mut rows = vec![["RUN", "STATE", "AGE", "PID", "ENDING", "COMMAND"].map(str::to_owned)];
    for view in views {
        let age = Duration::from_millis(clock::unix_ms().saturating_sub(view.ticket.created_at_ms));
        let pid = view.note.as_ref().map_or("-".to_owned(), |note| note.root.pid.to_string());
        let ending =
            view.ending.as_ref().map_or("-".to_owned(), |ending| ending.termination.reason.to_string());
        let name = plain(&view.ticket.label.clone().unwrap_or_else(|| view.ticket.command.join(" ")));
        rows.push([
            short(view.ticket.run_id.as_str()).to_owned(),
            state(view),
            show(age),
            pid,
            ending,
            name.chars().take(60).collect(),
        ]);
    }
    columns(&rows)
}

/// The processes of a run as a table.
pub(crate) fn processes(processes: &[ProcessView]) -> Result<(), Failure> {
    let mut rows = vec![["PID", "PPID", "SID", "CPU", "MEMORY", "COMMAND"].map(str::to_owned)];
    for process in processes {
        rows.push([
            process.note.pid.to_string(),
            process.ppid.to_string(),
            process.sid.to_string(),
            show(Duration::from_millis(process.cpu_ms)),
            format!("{} KiB", process.rss_bytes >> 10),
            plain(&process.command).chars().take(80).collect(),
        ]);
    }
    columns(&rows)
}

/// One run, field by field.
pub(crate) fn run(view: &RunView) -> Result<(), Failure> {
    let ticket = &view.ticket;
    let mut rows: Vec<[String; 2]> = Vec::new();
    let mut row = |name: &str, value: String| rows.push([name.to_owned(), value]);
    row("run", ticket.run_id.to_string());
    if let Some(label) = &ticket.label {
        row("label", plain(label));
    }
    row("command", plain(&ticket.command.join(" ")));
    row("directory", plain(&ticket.cwd));
    row("state", state(view));
    if let Some(note) = &view.note {
        row("pid", note.root.pid.to_string());
        row("keeper", note.keeper.pid.to_string());
        row("boundary", boundary(&note.boundary));
    }
    row("output", format!("{} bytes, {} of them gone", view.output.bytes, view.output.dropped_bytes));
    if let Some(ending) = &view.ending {
        row("ending", ending.termination.sentence());
    }
    columns(&rows)
}

/// Where it is in its life, for people: a run without keeper and ending is lost to them.
fn state(view: &RunView) -> String {
    if view.lease_state() == LeaseState::Lost && view.ending.is_none() {
        "lost".to_owned()
    } else {
        view.state.to_string()
    }
}

fn boundary(boundary: &tenure_core::record::Boundary) -> String {
    use tenure_core::record::Boundary;
    match boundary {
        Boundary::Cgroup { path } => format!("keeper and cgroup {path}"),
        Boundary::Subreaper { why: Some(why) } => format!("keeper (no cgroup: {why})"),
        Boundary::Subreaper { why: None } => "keeper".to_owned(),
    }
}

/// A text without control characters, for a terminal.
fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// Prints rows with their columns aligned.
fn columns<const N: usize>(rows: &[[String; N]]) -> Result<(), Failure> {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..N).map(width).collect();
    for row in rows {
        let cells: Vec<String> =
            row.iter().zip(&widths).map(|(cell, &width)| format!("{cell:width$}")).collect();
        line(cells.join("  ").trim_end())?;
    }
    Ok(())
}
