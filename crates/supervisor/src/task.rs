//! Tasks of runs: new ones, the last output of each, and the sweep of old ones.

use crate::refusal::Refusal;
use crate::run_output::last_output;
use crate::supervisor::Supervisor;
use std::path::Path;
use tenure_core::defaults;
use tenure_core::ids::TaskId;
use tenure_core::record::Ticket;
use tenure_core::session::Backend;
use tenure_core::task::{NotifyPolicy, Progress};
use tenure_core::tools::Notify;
use tenure_os::{clock, random};
use tenure_store::{NewTask, Sweep, Tracked};

/// Number of tasks that one sweep looks at.
const BATCH: usize = 1_000;
/// Length of the output that is read for a task's progress, in characters.
const CHARS: usize = 1_000;

/// Makes a task of something that runs in the background.
pub fn new_task(policy: NotifyPolicy, tells_quiet_success: bool) -> Result<NewTask, Refusal> {
    let id = TaskId::from_random(random::bytes().map_err(Refusal::internal)?);
    Ok(NewTask { id, policy, tells_quiet_success, owner: None, origin: None, label: None })
}

/// Makes the task of a background command.
pub fn task_of_exec(notify: Notify) -> Result<NewTask, Refusal> {
    match notify {
        Notify::Auto => new_task(NotifyPolicy::DoneOnly, false),
        Notify::Always => new_task(NotifyPolicy::DoneOnly, true),
        Notify::Never => new_task(NotifyPolicy::Silent, false),
    }
}

/// The sweep of tasks that is due now.
pub fn sweep(supervisor: &Supervisor) -> Sweep {
    let grace_ms = u64::try_from(defaults::TASK_LOST_GRACE.as_millis()).unwrap_or(u64::MAX);
    // Read before the clocks are compared, as housekeeping does.
    let now_ms = clock::unix_ms();
    let removes = supervisor.lifecycle.may_remove_by_age(defaults::KEEP_LOST_TASKS_FOR);
    Sweep { now_ms, grace_ms, limit: BATCH, removes }
}

/// Marks tasks without a process as lost, and removes tasks past their retention.
pub(crate) async fn tidy_tasks(supervisor: &Supervisor) {
    loop {
        match supervisor.registry.sweep_tasks(sweep(supervisor)).await {
            Ok(swept) => {
                let most = [swept.lost.len(), swept.stamped.len(), swept.removed.len()];
                if most.into_iter().any(|it| it > 0) {
                    supervisor.events.notify_followers();
                }
                if most.into_iter().all(|it| it < BATCH) {
                    return;
                }
            }
            Err(error) => return tracing::error!(%error, "tasks cannot be listed"),
        }
    }
}

/// Records the last output of a run, which is announced with its end.
pub async fn note_last_output(supervisor: &Supervisor, ticket: &Ticket, directory: &Path) {
    if ticket.backend_id == Backend::Acp.word() {
        // An adapter's output is not for people.
        return;
    }
    let last = last_output(directory.join("output"), CHARS).await;
    if last.trim().is_empty() {
        return;
    }
    note(supervisor, Tracked::Run(ticket.run_id.clone()), last.into()).await;
}

/// Records a task's progress.
pub async fn note(supervisor: &Supervisor, which: Tracked, progress: Progress) {
    if let Err(error) = supervisor.registry.note_progress(which, progress, clock::unix_ms()).await {
        tracing::warn!(%error, "a task's progress could not be recorded");
    }
}
