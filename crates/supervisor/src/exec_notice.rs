//! The event that announces the end of a background command, in a sentence for people. The notifier decides whether
//! and when to send it: it is a notice of the command's task.

use crate::refusal::Refusal;
use crate::run_output::{command_of, output_of, reading};
use crate::supervisor::Supervisor;
use crate::task::task_of_exec;
use std::time::Duration;
use tenure_core::duration;
use tenure_core::ids::RunId;
use tenure_core::record::Ending;
use tenure_core::session::Backend;
use tenure_core::tools::outcome;
use tenure_os::clock;
use tenure_output::text;
use tenure_store::{Failed, NewEvent, RunRow, kind};

/// Length of the last output in the sentence.
const SNIPPET_CHARS: usize = 180;

/// Moves the commands of an earlier daemon to the background, if their callers were waiting: their ends are
/// announced.
pub async fn move_all_to_background(supervisor: &Supervisor) {
    match supervisor.registry.waited_for(supervisor.instance.clone()).await {
        Ok(runs) => {
            for run in runs {
                move_to_background(supervisor, &run).await;
            }
        }
        Err(error) => tracing::error!(%error, "the commands with waiting callers cannot be read"),
    }
}

/// Moves one run to the background, as if it had yielded.
pub async fn move_to_background(supervisor: &Supervisor, run: &RunId) {
    if let Err(refusal) = record_background(supervisor, run).await {
        let error = refusal.detail;
        tracing::error!(%run, error, "a command's move to the background could not be recorded");
    }
}

async fn record_background(supervisor: &Supervisor, run: &RunId) -> Result<(), Refusal> {
    let Some(exec) = supervisor.registry.exec_run(run.clone()).await?.filter(|exec| !exec.background) else {
        return Ok(());
    };
    // A run of another backend has such a row once a client has read from it.
    let row = supervisor.registry.run(run.clone()).await?;
    if row.is_some_and(|row| row.ticket.backend_id == Backend::Exec.word()) {
        supervisor.registry.go_background(run.clone(), task_of_exec(exec.notify)?).await?;
    }
    Ok(())
}

/// Returns the event for the end of this run; `None` if the run was removed, because then nobody is notified.
pub async fn exec_ended(supervisor: &Supervisor, run: &RunId) -> Result<Option<NewEvent>, Failed> {
    let Some(row) = supervisor.registry.run(run.clone()).await?.filter(|row| !row.hidden) else {
        return Ok(None);
    };
    let Some(ending) = &row.ending else { return Ok(None) };
    let text = sentence(&row, ending).await;
    let outcome = outcome(&ending.termination);
    Ok(Some(NewEvent {
        at_ms: clock::unix_ms(),
        kind: kind::EXEC_ENDED.to_owned(),
        instance: supervisor.instance.clone(),
        run_id: Some(run.clone()),
        session: row.ticket.options.session_id.clone(),
        detail: serde_json::json!({
            "text": text, "status": outcome.status, "exitCode": outcome.exit_code,
            "exitSignal": outcome.exit_signal, "failureKind": outcome.failure_kind,
        }),
    }))
}

async fn sentence(row: &RunRow, ending: &Ending) -> String {
    let dir = output_of(row);
    // Output that cannot be read is left out.
    let last = reading(move || text::last(&dir, 400, true)).await.unwrap_or_default();
    let snippet: String = last.split_whitespace().collect::<Vec<_>>().join(" ");
    let skipped = snippet.chars().count().saturating_sub(SNIPPET_CHARS);
    let snippet: String = snippet.chars().skip(skipped).collect();
    let began = row.note.as_ref().map_or(row.ticket.created_at_ms, |note| note.started_at_ms);
    let took = duration::show(Duration::from_millis(ending.ended_at_ms.saturating_sub(began)));
    let command = command_of(row);
    let command: String = command.chars().take(120).collect();
    let how = ending.termination.sentence();
    let said =
        if snippet.is_empty() { "It printed nothing.".to_owned() } else { format!("Last output: {snippet}") };
    format!("Run {} ({command}) has ended after {took}: {how}. {said}", row.ticket.run_id)
}
