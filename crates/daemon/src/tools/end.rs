//! `process kill`, `clear` and `remove`. The reply comes when every process of the run is gone, or says that it still runs.

use super::process::FoundRun;
use std::time::Duration;
use tenure_core::problem::Code;
use tenure_core::receipt::ToolReply;
use tenure_core::tools::ProcessReply;
use tenure_store::RunRow;
use tenure_supervisor::Refusal;
use tenure_supervisor::reconcile;
use tokio::time::Instant;

/// Maximum wait for the end after the grace. Processes that ignore SIGTERM are killed within it.
const END_TIMEOUT: Duration = Duration::from_secs(20);

pub(super) async fn kill(found: FoundRun) -> Result<ToolReply<ProcessReply>, Refusal> {
    let run = found.row.ticket.run_id.clone();
    let sight = found.daemon.supervisor.watch_run_end(&found.row, &found.who).await;
    let was_over = found.row.ending.is_some();
    let row = end(&found).await?;
    let message = match &row.ending {
        Some(_) if was_over => format!("Run {run} had already ended."),
        Some(ending) => format!("Run {run} has ended: {}.", ending.termination.sentence()),
        None => format!("Run {run} is still ending: poll shows when it has ended."),
    };
    let listed = found.daemon.listed_alone(&row).await;
    let reply = ProcessReply { run: Some(listed), message, ..ProcessReply::default() };
    Ok(ToolReply { reply, receipt: sight.of(row.ending.is_some()) })
}

/// Ends a run and waits for its end. A run without a keeper is reconciled at once.
async fn end(found: &FoundRun) -> Result<RunRow, Refusal> {
    let FoundRun { daemon, row, who, .. } = found;
    if let Err(refusal) = daemon.supervisor.cancel_run(row, false, who).await {
        reconcile_now(found, refusal).await?;
    }
    wait_for_end(found).await
}

/// Reconciles a run whose keeper does not respond, unless another instance owns it.
async fn reconcile_now(found: &FoundRun, refusal: Refusal) -> Result<(), Refusal> {
    if found.row.hold.instance != found.daemon.supervisor.instance {
        return Err(refusal);
    }
    reconcile::reconcile_run(&found.daemon.supervisor, &found.row.ticket.run_id).await;
    Ok(())
}

/// Waits for the end of a cancelled run.
async fn wait_for_end(found: &FoundRun) -> Result<RunRow, Refusal> {
    let deadline = Instant::now() + found.row.ticket.options.limits.grace + END_TIMEOUT;
    found.daemon.supervisor.wait(&found.row.ticket.run_id, Some(deadline)).await
}

pub(super) async fn clear(found: FoundRun) -> Result<ProcessReply, Refusal> {
    let run = &found.row.ticket.run_id;
    if found.row.ending.is_none() {
        return Err(Refusal::wrong_state(format!(
            "run {run} has not ended: use remove to end and forget it"
        )));
    }
    found.daemon.supervisor.remove(&found.row, &found.who).await?;
    Ok(ProcessReply { message: format!("Run {run} is forgotten."), ..ProcessReply::default() })
}

/// Ends and forgets a run. It is hidden at once, before it has ended.
pub(super) async fn remove(found: FoundRun) -> Result<ProcessReply, Refusal> {
    let FoundRun { daemon, row, who, .. } = &found;
    let run = &row.ticket.run_id;
    if let Err(refusal) = daemon.supervisor.remove(row, who).await {
        reconcile_now(&found, refusal).await?;
        daemon.supervisor.remove(&daemon.supervisor.row(run).await?, who).await?;
    }
    let forgotten = format!("Run {run} is forgotten.");
    if row.ending.is_some() {
        return Ok(ProcessReply { message: forgotten, ..ProcessReply::default() });
    }
    let message = match wait_for_end(&found).await.map(|row| row.ending) {
        Ok(Some(ending)) => {
            format!("Run {run} has ended ({}) and is forgotten.", ending.termination.sentence())
        }
        Ok(None) => format!("Run {run} is still ending: it is forgotten when it has ended."),
        // Its record is gone already.
        Err(refusal) if refusal.code == Code::NoSuchRun => forgotten,
        Err(refusal) => return Err(refusal),
    };
    Ok(ProcessReply { message, ..ProcessReply::default() })
}
