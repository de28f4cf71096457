//! The end of a run by `process`: its whole tree is gone when the answer comes, or the answer says what is not.

use super::process::Call;
use crate::refusal::Refusal;
use std::time::Duration;
use tenure_core::tools::ProcessReply;
use tenure_mcp::Answered;
use tenure_store::RunRow;
use tokio::time::Instant;

/// How long an end is waited for beyond the grace: a tree that ignores everything is killed after that.
const PATIENCE: Duration = Duration::from_secs(20);

pub(super) async fn kill(call: Call) -> Result<Answered<ProcessReply>, Refusal> {
    let run = call.row.ticket.run_id.clone();
    let sight = call.daemon.about_to_see(&call.row, &call.who).await;
    let was_over = call.row.ending.is_some();
    let row = end(&call).await?;
    let message = match &row.ending {
        Some(_) if was_over => format!("Run {run} had ended before."),
        Some(ending) => format!("Run {run} has ended: {}.", ending.termination.sentence()),
        None => format!("Run {run} is being ended; poll shows when it has."),
    };
    let listed = call.daemon.listed_alone(&row).await;
    let reply = ProcessReply { run: Some(listed), message, ..ProcessReply::default() };
    Ok(Answered { reply, written: sight.of(row.ending.is_some()) })
}

/// Ends a run, and waits for that. One without a keeper is looked after at once.
async fn end(call: &Call) -> Result<RunRow, Refusal> {
    let Call { daemon, row, who, .. } = call;
    if let Err(refusal) = daemon.cancel_run(row, false, who).await {
        look_after(call, refusal).await?;
    }
    see_end(call).await
}

/// Looks after a run whose keeper could not be asked. One of another instance is left to that.
async fn look_after(call: &Call, refusal: Refusal) -> Result<(), Refusal> {
    if call.row.hold.instance != call.daemon.instance {
        return Err(refusal);
    }
    call.daemon.reconcile_run(&call.row.ticket.run_id).await;
    Ok(())
}

/// Waits for the end of a run that was asked to.
async fn see_end(call: &Call) -> Result<RunRow, Refusal> {
    let deadline = Instant::now() + call.row.ticket.limits.grace + PATIENCE;
    call.daemon.wait(&call.row.ticket.run_id, Some(deadline)).await
}

pub(super) async fn clear(call: Call) -> Result<ProcessReply, Refusal> {
    let run = &call.row.ticket.run_id;
    if call.row.ending.is_none() {
        return Err(Refusal::wrong_state(format!("run {run} has not ended: remove ends and forgets it")));
    }
    call.daemon.remove(&call.row, &call.who).await?;
    Ok(ProcessReply { message: format!("Run {run} is forgotten."), ..ProcessReply::default() })
}

/// It is hidden at once, and its end is waited for then.
pub(super) async fn remove(call: Call) -> Result<ProcessReply, Refusal> {
    let Call { daemon, row, who, .. } = &call;
    let run = &row.ticket.run_id;
    if let Err(refusal) = daemon.remove(row, who).await {
        look_after(&call, refusal).await?;
        daemon.remove(&daemon.row(run).await?, who).await?;
    }
    let forgotten = format!("Run {run} is forgotten.");
    if row.ending.is_some() {
        return Ok(ProcessReply { message: forgotten, ..ProcessReply::default() });
    }
    let message = match see_end(&call).await.map(|row| row.ending) {
        Ok(Some(ending)) => {
            format!("Run {run} has ended ({}) and is forgotten.", ending.termination.sentence())
        }
        Ok(None) => format!("Run {run} is being ended, and is forgotten when it has."),
        // Its record is gone already.
        Err(refusal) if refusal.code == "no-such-run" => forgotten,
        Err(refusal) => return Err(refusal),
    };
    Ok(ProcessReply { message, ..ProcessReply::default() })
}
