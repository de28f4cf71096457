//! The end of a run by `process`: its whole tree is gone when the answer comes, or the answer says what is not.

use super::process::FoundRun;
use std::time::Duration;
use tenure_core::problem::Code;
use tenure_core::receipt::ToolReply;
use tenure_core::tools::ProcessReply;
use tenure_store::RunRow;
use tenure_supervisor::Refusal;
use tenure_supervisor::reconcile;
use tokio::time::Instant;

/// How long an end is waited for beyond the grace: a tree that ignores everything is killed after that.
const PATIENCE: Duration = Duration::from_secs(20);

pub(super) async fn kill(found: FoundRun) -> Result<ToolReply<ProcessReply>, Refusal> {
    let run = found.row.ticket.run_id.clone();
    let sight = found.daemon.supervisor.watch_run_end(&found.row, &found.who).await;
    let was_over = found.row.ending.is_some();
    let row = end(&found).await?;
    let message = match &row.ending {
        Some(_) if was_over => format!("Run {run} had ended before."),
        Some(ending) => format!("Run {run} has ended: {}.", ending.termination.sentence()),
        None => format!("Run {run} is being ended; poll shows when it has."),
    };
    let listed = found.daemon.listed_alone(&row).await;
    let reply = ProcessReply { run: Some(listed), message, ..ProcessReply::default() };
    Ok(ToolReply { reply, receipt: sight.of(row.ending.is_some()) })
}

/// Ends a run, and waits for that. One without a keeper is looked after at once.
async fn end(found: &FoundRun) -> Result<RunRow, Refusal> {
    let FoundRun { daemon, row, who, .. } = found;
    if let Err(refusal) = daemon.supervisor.cancel_run(row, false, who).await {
        look_after(found, refusal).await?;
    }
    see_end(found).await
}

/// Looks after a run whose keeper could not be asked. One of another instance is left to that.
async fn look_after(found: &FoundRun, refusal: Refusal) -> Result<(), Refusal> {
    if found.row.hold.instance != found.daemon.supervisor.instance {
        return Err(refusal);
    }
    reconcile::reconcile_run(&found.daemon.supervisor, &found.row.ticket.run_id).await;
    Ok(())
}

/// Waits for the end of a run that was asked to.
async fn see_end(found: &FoundRun) -> Result<RunRow, Refusal> {
    let deadline = Instant::now() + found.row.ticket.options.limits.grace + PATIENCE;
    found.daemon.supervisor.wait(&found.row.ticket.run_id, Some(deadline)).await
}

pub(super) async fn clear(found: FoundRun) -> Result<ProcessReply, Refusal> {
    let run = &found.row.ticket.run_id;
    if found.row.ending.is_none() {
        return Err(Refusal::wrong_state(format!("run {run} has not ended: remove ends and forgets it")));
    }
    found.daemon.supervisor.remove(&found.row, &found.who).await?;
    Ok(ProcessReply { message: format!("Run {run} is forgotten."), ..ProcessReply::default() })
}

/// It is hidden at once, and its end is waited for then.
pub(super) async fn remove(found: FoundRun) -> Result<ProcessReply, Refusal> {
    let FoundRun { daemon, row, who, .. } = &found;
    let run = &row.ticket.run_id;
    if let Err(refusal) = daemon.supervisor.remove(row, who).await {
        look_after(&found, refusal).await?;
        daemon.supervisor.remove(&daemon.supervisor.row(run).await?, who).await?;
    }
    let forgotten = format!("Run {run} is forgotten.");
    if row.ending.is_some() {
        return Ok(ProcessReply { message: forgotten, ..ProcessReply::default() });
    }
    let message = match see_end(&found).await.map(|row| row.ending) {
        Ok(Some(ending)) => {
            format!("Run {run} has ended ({}) and is forgotten.", ending.termination.sentence())
        }
        Ok(None) => format!("Run {run} is being ended, and is forgotten when it has."),
        // Its record is gone already.
        Err(refusal) if refusal.code == Code::NoSuchRun => forgotten,
        Err(refusal) => return Err(refusal),
    };
    Ok(ProcessReply { message, ..ProcessReply::default() })
}
