//! Progress of running tasks as a short text: the last line of a command's output, or an agent's last words.

use crate::daemon::Daemon;
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tenure_core::ids::TaskId;
use tenure_core::session::{Backend, SessionKey};
use tenure_core::task::{Kind, Progress, Status, TaskRow, text};
use tenure_core::{defaults, task};
use tenure_os::clock;
use tenure_store::{TaskQuery, Tracked};
use tenure_supervisor::Phase;
use tenure_supervisor::RunHandle;
use tenure_supervisor::run_output::last_output;
use tenure_supervisor::sync::until;
use tokio::time::sleep;

/// Interval between two updates.
const UPDATE_INTERVAL: Duration = Duration::from_secs(2);
/// Number of tasks per page.
const BATCH: usize = 500;
/// Number of characters of output that are read.
const TAIL_CHARS: usize = 1_000;

impl Daemon {
    /// Records the progress of running tasks until the daemon exits.
    pub(crate) async fn watch_tasks(self: Arc<Self>) {
        let mut phase = self.supervisor.lifecycle.phase.subscribe();
        let mut printed: HashMap<TaskId, u64> = HashMap::new();
        loop {
            tokio::select! {
                () = sleep(UPDATE_INTERVAL) => {}
                () = until(&mut phase, |phase| *phase != Phase::Serving) => return,
            }
            if self.supervisor.runs.count() == 0 {
                printed.clear();
            } else {
                printed = self.update_tasks(printed).await;
            }
        }
    }

    /// Records the progress of every running task of this daemon. Returns the number of bytes that each has printed.
    async fn update_tasks(&self, before: HashMap<TaskId, u64>) -> HashMap<TaskId, u64> {
        let mut query = TaskQuery { statuses: vec![Status::Running], limit: BATCH, ..TaskQuery::default() };
        let mut printed = HashMap::new();
        loop {
            let page = match self.supervisor.registry.tasks(query.clone()).await {
                Ok(page) => page,
                Err(error) => {
                    tracing::warn!(%error, "cannot read the running tasks");
                    return before;
                }
            };
            for row in page.tasks {
                if let Some(held) = row.run.as_ref().and_then(|run| self.supervisor.runs.get(run)) {
                    let bytes = self.update_task(&row, &held, before.get(&row.id).copied()).await;
                    printed.insert(row.id, bytes);
                }
            }
            match page.next {
                Some(next) => query.after = Some(next),
                None => return printed,
            }
        }
    }

    async fn update_task(&self, row: &TaskRow, held: &RunHandle, before: Option<u64>) -> u64 {
        let dir = held.directory.join("output");
        let bytes = tenure_output::totals(&dir).map_or(0, |totals| totals.bytes);
        if bytes == before.unwrap_or(0) {
            return bytes;
        }
        let progress = match row.kind {
            Kind::Run => last_output(dir, TAIL_CHARS).await.into(),
            Kind::Cli | Kind::Subagent | Kind::Acp => match (&row.child, &row.turn) {
                (Some(session), Some(turn)) if held.ticket.backend_id == Backend::Acp.word() => {
                    self.agents.acp_progress(session, turn).await
                }
                _ => self.last_words(row, &dir).await,
            },
        };
        let summary = text::last_line(&progress.said, defaults::TASK_SUMMARY);
        let noted = row.progress_summary.as_deref().map(|noted| (noted, row.last_event_at_ms));
        if !summary.is_empty() && task::progress(noted, &summary, clock::unix_ms()) == task::Emit::Now {
            tenure_supervisor::task::note(&self.supervisor, Tracked::Task(row.id.clone()), progress).await;
        }
        bytes
    }

    /// Returns an agent's last words, or the last line of a command's output.
    async fn last_words(&self, row: &TaskRow, dir: &Path) -> Progress {
        match row.child.as_ref().and_then(SessionKey::agent) {
            Some(agent) => self.agents.cli_progress(&agent, dir).await,
            None => last_output(dir.to_owned(), TAIL_CHARS).await.into(),
        }
    }
}
