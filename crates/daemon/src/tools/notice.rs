//! The end of a command in the background is told to its owner, once, in the words of a person: unless the owner has
//! seen it, or it succeeded without a word and nobody asked to hear of that.

use super::{output_of, reading};
use crate::daemon::Daemon;
use crate::held::Held;
use crate::refusal::Refusal;
use crate::tasks::task_of_exec;
use std::sync::Arc;
use std::time::Duration;
use tenure_core::ending::Reason;
use tenure_core::ids::RunId;
use tenure_core::record::Ending;
use tenure_core::session::Backend;
use tenure_core::tools::{Notify, outcome};
use tenure_core::{defaults, duration};
use tenure_os::clock;
use tenure_output::text;
use tenure_store::{ExecRow, NewEvent, Notice, RunRow, Tracked, kind};
use tokio::time::timeout;

/// What is told.
#[derive(Debug, Clone)]
pub(crate) struct Noticed {
    /// Whom it concerns.
    pub(crate) session: Option<String>,
    /// What a person reads.
    pub(crate) text: String,
}

/// How long those who are about to see an end may take to be told of it.
const PATIENCE: Duration = Duration::from_secs(10);
/// How much of the last output is told.
const SNIPPET: usize = 180;

impl Daemon {
    /// Sees to it that the end of a run in the background is told.
    pub(crate) fn tell_end_of(self: &Arc<Self>, held: &Arc<Held>) {
        if held.status().ending.is_some() {
            self.tell_end(held.ticket.run_id.clone());
        }
    }

    /// Tells how a run ended that has ended, if that is owed to anybody.
    pub(crate) fn tell_end(self: &Arc<Self>, run: RunId) {
        let daemon = Arc::clone(self);
        tokio::spawn(async move {
            if let Err(error) = daemon.tell_if_owed(&run).await {
                tracing::error!(%run, %error, "that a run ended could not be told");
            }
        });
    }

    /// What somebody waited for when an earlier daemon left goes on in the background: its end is owed.
    pub(crate) async fn go_on_without_callers(&self) {
        match self.registry.waited_for(self.instance.clone()).await {
            Ok(runs) => {
                for run in runs {
                    self.go_on_without_caller(&run).await;
                }
            }
            Err(error) => tracing::error!(%error, "who was waited for cannot be read"),
        }
    }

    /// The same for one run: as if it had yielded.
    pub(crate) async fn go_on_without_caller(&self, run: &RunId) {
        if let Err(refusal) = self.yield_for_caller(run).await {
            let error = refusal.detail;
            tracing::error!(%run, error, "that a command goes on in the background is not recorded");
        }
    }

    async fn yield_for_caller(&self, run: &RunId) -> Result<(), Refusal> {
        let Some(exec) = self.registry.exec_run(run.clone()).await?.filter(|exec| !exec.background) else {
            return Ok(());
        };
        // A run of another face has such a row once somebody has read of it.
        let row = self.registry.run(run.clone()).await?;
        let is_exec = row.is_some_and(|row| row.ticket.backend_id == Backend::Exec.word());
        let task = is_exec.then(|| task_of_exec(exec.notify)).transpose()?;
        Ok(self.registry.go_background(run.clone(), task).await?)
    }

    /// Tells what an earlier daemon still owed.
    pub(crate) async fn tell_what_is_owed(self: &Arc<Self>) {
        match self.registry.owed(self.instance.clone()).await {
            Ok(runs) => runs.into_iter().for_each(|run| self.tell_end(run)),
            Err(error) => tracing::error!(%error, "what is owed cannot be read"),
        }
    }

    /// Tells how a run of the exec tool ended, if that is still owed.
    pub(crate) async fn tell_if_owed(self: &Arc<Self>, run: &RunId) -> Result<(), tenure_store::Failed> {
        // Nothing is asked of the registry for the many runs that are none of exec's.
        let Some(exec) = self.registry.exec_run(run.clone()).await? else { return Ok(()) };
        if exec.notice != Notice::Owed {
            return Ok(());
        }
        // Whoever is about to see it sees it first, unless it does not take its answer; and who polls soon need not be told.
        tokio::time::sleep(defaults::NOTICE_HOLD).await;
        let _gone = timeout(PATIENCE, self.witnesses.gone(&Tracked::Run(run.clone()))).await;
        let Some(row) = self.registry.run(run.clone()).await? else { return Ok(()) };
        let Some(ending) = &row.ending else { return Ok(()) };
        if is_quiet(&exec, ending) {
            self.registry.acknowledge(run.clone()).await?;
            return Ok(());
        }
        let text = sentence(&row, ending).await;
        let outcome = outcome(&ending.termination);
        let event = NewEvent {
            at_ms: clock::unix_ms(),
            kind: kind::EXEC_ENDED.to_owned(),
            instance: self.instance.clone(),
            run_id: Some(run.clone()),
            session: row.ticket.session_id.clone(),
            detail: serde_json::json!({
                "text": text, "status": outcome.status, "exitCode": outcome.exit_code,
                "exitSignal": outcome.exit_signal, "failureKind": outcome.failure_kind,
            }),
        };
        if self.registry.tell_owed(run.clone(), event).await? {
            self.something_happened();
            // Nobody may listen: the event is there for whoever comes.
            let _ = self.noticed.send(Noticed { session: row.ticket.session_id.clone(), text });
        }
        Ok(())
    }
}

/// Whether it succeeded without a word, and nobody asked to hear of that.
fn is_quiet(exec: &ExecRow, ending: &Ending) -> bool {
    let succeeded = ending.termination.reason == Reason::Exit && ending.termination.exit_code == Some(0);
    match exec.notify {
        Notify::Auto => succeeded && ending.output.bytes == 0,
        Notify::Always => false,
        Notify::Never => true,
    }
}

async fn sentence(row: &RunRow, ending: &Ending) -> String {
    let dir = output_of(row);
    // What cannot be read is left out.
    let last = reading(move || text::last(&dir, 400, true)).await.unwrap_or_default();
    let snippet: String = last.split_whitespace().collect::<Vec<_>>().join(" ");
    let skipped = snippet.chars().count().saturating_sub(SNIPPET);
    let snippet: String = snippet.chars().skip(skipped).collect();
    let began = row.note.as_ref().map_or(row.ticket.created_at_ms, |note| note.started_at_ms);
    let took = duration::show(Duration::from_millis(ending.ended_at_ms.saturating_sub(began)));
    let command = super::list::command_of(row);
    let command: String = command.chars().take(120).collect();
    let how = ending.termination.sentence();
    let said =
        if snippet.is_empty() { "It printed nothing.".to_owned() } else { format!("Last output: {snippet}") };
    format!("Run {} ({command}) has ended after {took}: {how}. {said}", row.ticket.run_id)
}
