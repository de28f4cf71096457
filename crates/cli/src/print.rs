//! What people read, and the one line of JSON that scripts do.

mod approvals;
mod face;
mod forest;
mod processes;
mod runs;
mod screen;
mod table;
mod units;

pub(crate) use approvals::{allowed, approvals};
pub(crate) use face::{Face, Tone};
pub(crate) use forest::forest;
pub(crate) use processes::processes;
pub(crate) use runs::{exact, run, runs, state};
pub(crate) use screen::screen;
pub(crate) use table::Table;
pub(crate) use units::{ago, bytes};

use crate::failure::Failure;
use serde::Serialize;
use std::io::Write;
use std::time::Duration;
use tenure_core::duration::show;
use tenure_core::record::{Ending, Ticket};
use tenure_output::Cleaner;

/// Prints one line.
pub(crate) fn line(text: &str) -> Result<(), Failure> {
    self::text(&format!("{text}\n"))
}

/// Prints a text as it is; a reader that is gone has read enough.
pub(crate) fn text(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(Failure::refused(format!("cannot write to standard output: {error}")))
        }
        _ => Ok(()),
    }
}

/// Prints JSON on one line.
pub(crate) fn json(value: &impl Serialize) -> Result<(), Failure> {
    line(&serde_json::to_string(value).map_err(Failure::refused)?)
}

/// How much of an id people are shown.
pub(crate) fn short(id: &str) -> &str {
    &id[..12.min(id.len())]
}

/// A text on one line, without anything that a terminal would obey.
pub(crate) fn plain(text: &str) -> String {
    let mut cleaner = Cleaner::new();
    let mut clean = String::new();
    cleaner.push(text.as_bytes(), &mut clean);
    clean.replace(['\n', '\t'], " ")
}

/// How a run ended, in one line.
pub(crate) fn closing(ticket: &Ticket, ending: &Ending) -> String {
    let took = ending.ended_at_ms.saturating_sub(ticket.created_at_ms);
    let sentence = ending.termination.sentence();
    format!("run {} after {}: {sentence}", short(ticket.run_id.as_str()), show(Duration::from_millis(took)))
}
