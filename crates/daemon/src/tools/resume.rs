//! Resumes an `exec` call after a restart of the daemon: the caller sends it again, and gets the run that was started.

use super::exec::{ExecRun, ended, running};
use crate::daemon::Daemon;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tenure_core::receipt::ToolReply;
use tenure_core::tools::ExecReply;
use tenure_os::clock;
use tenure_policy::exec_spec::ExecSpec;
use tenure_store::RunRow;
use tenure_supervisor::Refusal;
use tenure_supervisor::Requester;
use tenure_supervisor::foreground::Foreground;
use tokio::time::Instant;

impl Daemon {
    /// Waits for the end of a run for the rest of its call's window. The run ends if the caller disconnects meanwhile.
    pub(super) async fn resume_exec(
        self: &Arc<Self>,
        row: RunRow,
        spec: ExecSpec,
        who: &Requester,
    ) -> Result<ToolReply<ExecReply>, Refusal> {
        let run_id = row.ticket.run_id.clone();
        if row.hidden || !who.may_see(&row) {
            return Err(Refusal::no_such_run(format!("no run has the id {run_id}")));
        }
        let sight = self.supervisor.watch_run_end(&row, who).await;
        let elapsed = Duration::from_millis(clock::unix_ms().saturating_sub(row.ticket.created_at_ms));
        let deadline = Instant::now() + spec.window.saturating_sub(elapsed);
        let foreground = self.supervisor.runs.get(&run_id).map(|held| Foreground::of(&self.supervisor, held));
        let view = self.supervisor.view_at_end(row, Some(deadline)).await?;
        if let Some(foreground) = foreground {
            foreground.release();
        }
        let run = ExecRun {
            run_id,
            output: Path::new(&view.directory).join("output"),
            began_at_ms: view.note.as_ref().map_or(view.ticket.created_at_ms, |note| note.started_at_ms),
        };
        let receipt = sight.of(view.ending.is_some());
        let reply = match &view.ending {
            Some(ending) => ended(run, ending, spec.warnings).await?,
            None => running(run, spec.warnings).await?,
        };
        Ok(ToolReply { reply, receipt })
    }
}
