//! The table of `process list`.

use super::runs::shortened;
use super::{Context, Table, Tone, ago, escaped, plain, short};
use crate::failure::Failure;
use tenure_core::ending::Reason;
use tenure_core::tools::{Listed, Status, Waiting};

/// Prints runs as a table.
pub(crate) fn processes(runs: &[Listed]) -> Result<(), Failure> {
    let headings = ["RUN", "STATUS", ">AGE", ">PID", "SESSION", "ENDING", "COMMAND"];
    let context = Context::of_stdout();
    let mut table = Table::new(context.style, &headings);
    for run in runs {
        let or_none = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
        let (status, tone) = status(run);
        table.row([
            (short(run.run_id.as_str()).to_owned(), Tone::Plain),
            (status.to_owned(), tone),
            (ago(context.since(run.created_at_ms)), Tone::Plain),
            (or_none(run.pid.map(|pid| pid.to_string())), Tone::Plain),
            (or_none(run.session_key.as_deref().map(|key| shortened(&plain(key)))), Tone::Plain),
            (or_none(ending(run)), if run.failure_kind.is_some() { Tone::Bad } else { Tone::Dim }),
            (escaped(&run.command), Tone::Plain),
        ]);
    }
    table.print()
}

fn status(run: &Listed) -> (&'static str, Tone) {
    match run.status {
        Status::Running if run.waiting_for_input == Waiting::Yes => ("waiting", Tone::Warning),
        Status::Running => ("running", Tone::Good),
        Status::Completed => ("completed", Tone::Dim),
        Status::Failed => ("failed", Tone::Bad),
        Status::ApprovalPending => ("pending", Tone::Warning),
    }
}

/// Formats the ending in a word or two.
fn ending(run: &Listed) -> Option<String> {
    match (run.exit_reason?, run.exit_code, &run.exit_signal) {
        (Reason::Exit, Some(code), _) => Some(format!("exit {code}")),
        (Reason::Signal, _, Some(signal)) => Some(signal.clone()),
        (reason, _, _) => Some(reason.to_string()),
    }
}
