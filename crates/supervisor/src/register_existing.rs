//! Records existing runs in the registry: runs of a caller without a daemon, and heirs that a keeper handed escapees
//! to. `reconcile` then decides what to do with them.

use crate::link::Link;
use crate::reconcile;
use crate::refusal::Refusal;
use crate::supervisor::Supervisor;
use crate::task::new_task;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tenure_core::ids::RunId;
use tenure_core::record::Ticket;
use tenure_core::task::TaskRow;
use tenure_core::wire::{KeeperMessage, KeeperRequest, Role};
use tenure_keeper::rundir::{RecordError, RunDir};
use tenure_store::{Hold, NewRun, NewTask, Tracked};

/// Maximum time between the mark of a run and its directory.
pub(crate) const START_GRACE: Duration = Duration::from_mins(1);

/// The result of registering a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Registration {
    /// The run is in the registry.
    Done,
    /// The run does not exist, or not yet.
    Missing,
    /// The run could not be read or recorded.
    Failed,
}

/// Records a run that was started without the registry. It belongs to its ticket's owner; the lease decides whether
/// we may act on it.
pub(crate) fn register<'a>(
    supervisor: &'a Arc<Supervisor>,
    directory: &'a Path,
) -> Pin<Box<dyn Future<Output = Registration> + Send + 'a>> {
    // Boxed: a registered run may have ended and handed over in turn.
    Box::pin(register_run(supervisor, directory, None))
}

/// Records a run that the registry has lost.
pub(crate) async fn register_lost(supervisor: &Arc<Supervisor>, directory: &Path) -> Registration {
    register_run(supervisor, directory, Some("a registry that was lost or restored since")).await
}

async fn register_run(supervisor: &Arc<Supervisor>, directory: &Path, lost_by: Option<&str>) -> Registration {
    let Ok(dir) = RunDir::open(directory) else { return Registration::Missing };
    let run = dir.id();
    let ticket = match dir.ticket() {
        Ok(ticket) => ticket,
        Err(RecordError::Missing { .. }) => return Registration::Missing,
        Err(error) => {
            tracing::warn!(%run, %error, "a run without a readable ticket is left alone");
            return Registration::Failed;
        }
    };
    // A copy of another installation's directory is not our run.
    if ticket.is_foreign(&supervisor.instance, &supervisor.leases.registry_id) {
        return Registration::Missing;
    }
    // From now on the run belongs to this registry, and to no copy of it.
    let registry_id = ticket.registry_id.clone().or_else(|| Some(supervisor.leases.registry_id.clone()));
    let ticket = Ticket { registry_id, ..ticket };
    let first = Hold { instance: ticket.owner_instance_id.clone(), epoch: ticket.lease_epoch };
    let asked_by = match &ticket.escaped_from {
        _ if lost_by.is_some() => lost_by.unwrap_or_default().to_owned(),
        Some(origin) => format!("run {origin}, out of which it escaped"),
        None => "a caller without a daemon".to_owned(),
    };
    let task = match &ticket.escaped_from {
        Some(origin) if lost_by.is_none() => match task_of_escaped(supervisor, origin).await {
            Ok(task) => Some(task),
            Err(error) => {
                tracing::error!(%run, error = error.detail, "the task of a run could not be made");
                return Registration::Failed;
            }
        },
        // A caller without a daemon never heard of tasks, and lost tasks are not announced twice.
        Some(_) | None => None,
    };
    let directory = dir.path().to_string_lossy().into_owned();
    let known = match supervisor.registry.run(run.clone()).await {
        Ok(Some(_)) => Ok(()),
        Ok(None) => {
            let new = NewRun {
                ticket,
                directory,
                asked_by,
                exec: None,
                session_parent: None,
                is_started: true,
                task,
            };
            supervisor.registry.create(new).await
        }
        Err(error) => Err(error),
    };
    match known {
        Ok(()) => {
            if lost_by.is_some() {
                raise_above_keeper(supervisor, &dir, first).await;
            }
            supervisor.events.notify_followers();
            supervisor.state.remove_mark(run);
            reconcile::reconcile_run(supervisor, run).await;
            Registration::Done
        }
        Err(error) => {
            tracing::error!(%run, %error, "a run could not be recorded in the registry");
            Registration::Failed
        }
    }
}

/// Makes the task of an heir. It runs in the background, so its end is announced like the end of the run that it
/// escaped from.
async fn task_of_escaped(supervisor: &Supervisor, origin: &RunId) -> Result<NewTask, Refusal> {
    let origin = supervisor.registry.task(Tracked::Run(origin.clone())).await?;
    let new = new_task(origin.as_ref().map(|task| task.policy).unwrap_or_default(), true)?;
    Ok(match origin {
        Some(TaskRow { owner, origin, .. }) => NewTask { owner, origin, ..new },
        None => new,
    })
}

/// Raises the epoch of a run that was recorded again above its keeper's, which fences the holder in the lost
/// record.
async fn raise_above_keeper(supervisor: &Supervisor, dir: &RunDir, first: Hold) {
    if !matches!(dir.ending(), Ok(None)) {
        return;
    }
    let kept_at = match Link::connect(dir, Role::Viewer, None).await {
        Ok(mut link) => match link.ask(&KeeperRequest::Status, &[]).await {
            Ok(KeeperMessage::Status { epoch, .. }) => epoch,
            Ok(_) | Err(_) => None,
        },
        Err(_) => None,
    };
    // If the keeper does not report its epoch, the epoch is raised later, when the run is resumed and the keeper is
    // ahead.
    let above = kept_at.unwrap_or(first.epoch);
    if let Err(error) = supervisor.registry.raise_epoch(dir.id().clone(), first, above).await {
        tracing::warn!(run = %dir.id(), %error, "a run's epoch could not be raised");
    }
}

/// Records the runs that were started without a daemon. A run that cannot be recorded now stays marked.
pub async fn register_marked(supervisor: &Arc<Supervisor>) {
    for (run, marked_for) in supervisor.state.unregistered() {
        let registration = match supervisor.registry.run(run.clone()).await {
            Ok(Some(_)) => Registration::Done,
            _ => register(supervisor, &supervisor.state.run_path(&run)).await,
        };
        let forget = match registration {
            Registration::Done => true,
            // Its starter is about to make the directory, or died before that.
            Registration::Missing => marked_for > START_GRACE,
            Registration::Failed => false,
        };
        if forget {
            supervisor.state.remove_mark(&run);
        }
    }
}
