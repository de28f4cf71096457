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
    let run = &row.ticket.run_id;
    if let Err(refusal) = daemon.cancel_run(row, false, who).await {
        if row.hold.instance != daemon.instance {
            return Err(refusal);
        }
        daemon.reconcile_run(run).await;
    }
    daemon.wait(run, Some(Instant::now() + row.ticket.limits.grace + PATIENCE)).await
}

pub(super) async fn clear(call: Call) -> Result<ProcessReply, Refusal> {
    let run = &call.row.ticket.run_id;
    if call.row.ending.is_none() {
        return Err(Refusal::wrong_state(format!("run {run} has not ended: remove ends and forgets it")));
    }
    call.daemon.remove(&call.row, &call.who).await?;
    Ok(ProcessReply { message: format!("Run {run} is forgotten."), ..ProcessReply::default() })
}

pub(super) async fn remove(call: Call) -> Result<ProcessReply, Refusal> {
    let run = &call.row.ticket.run_id;
    let row = if call.row.ending.is_none() { end(&call).await? } else { call.row.clone() };
    call.daemon.remove(&row, &call.who).await?;
    let message = match (&call.row.ending, &row.ending) {
        (Some(_), _) => format!("Run {run} is forgotten."),
        (None, Some(ending)) => {
            format!("Run {run} has ended ({}) and is forgotten.", ending.termination.sentence())
        }
        (None, None) => format!("Run {run} is being ended, and is forgotten when it has."),
    };
    Ok(ProcessReply { message, ..ProcessReply::default() })
}
