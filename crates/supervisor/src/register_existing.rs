//! Taking runs into the registry that were started without it: by a caller without a daemon, or by a keeper that handed
//! over what escaped. What becomes of them then is `reconcile`'s to say.

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
use tenure_keeper::rundir::{RunDir, Unread};
use tenure_store::{Hold, NewRun, NewTask, Tracked};

/// How long a run may be marked before there is a directory of it.
pub(crate) const ABOUT_TO: Duration = Duration::from_mins(1);

/// What came of taking a run into the registry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Adopted {
    /// It is there.
    Yes,
    /// There is no such run, or not yet.
    Missing,
    /// It could not be read or written.
    NotNow,
}

/// Takes a run into the registry that was started without it. It is its ticket's owner's; whether we may act on
/// it is the lease's to say.
pub(crate) fn adopt_unregistered<'a>(
    supervisor: &'a Arc<Supervisor>,
    directory: &'a Path,
) -> Pin<Box<dyn Future<Output = Adopted> + Send + 'a>> {
    // Boxed: an adopted run may have ended and handed over in turn.
    Box::pin(adopt(supervisor, directory, None))
}

/// Adopts a run that the registry has lost.
pub(crate) async fn adopt_lost(supervisor: &Arc<Supervisor>, directory: &Path) -> Adopted {
    adopt(supervisor, directory, Some("a registry that was lost or restored since")).await
}

async fn adopt(supervisor: &Arc<Supervisor>, directory: &Path, lost_by: Option<&str>) -> Adopted {
    let Ok(dir) = RunDir::open(directory) else { return Adopted::Missing };
    let run = dir.id();
    let ticket = match dir.ticket() {
        Ok(ticket) => ticket,
        Err(Unread::Missing { .. }) => return Adopted::Missing,
        Err(error) => {
            tracing::warn!(%run, %error, "a run without a readable ticket is left alone");
            return Adopted::NotNow;
        }
    };
    // A copy of another installation's directory is not a run of ours.
    if ticket.is_foreign(&supervisor.instance, &supervisor.leases.registry_id) {
        return Adopted::Missing;
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
                return Adopted::NotNow;
            }
        },
        // A caller without a daemon was told nothing of tasks, and lost ones are not told twice.
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
            supervisor.state.registered(run);
            reconcile::reconcile_run(supervisor, run).await;
            Adopted::Yes
        }
        Err(error) => {
            tracing::error!(%run, %error, "a run could not be taken into the registry");
            Adopted::NotNow
        }
    }
}

/// The task of what escaped from a run on purpose: it goes on in the background, so its end is told as that run's is,
/// or would be.
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
    let kept_at = match Link::dial(dir, Role::Viewer, None).await {
        Ok(mut link) => match link.ask(&KeeperRequest::Status, &[]).await {
            Ok(KeeperMessage::Status { epoch, .. }) => epoch,
            Ok(_) | Err(_) => None,
        },
        Err(_) => None,
    };
    // If the keeper does not tell its epoch, the epoch is raised later, when the run is taken on and the keeper is
    // ahead.
    let above = kept_at.unwrap_or(first.epoch);
    if let Err(error) = supervisor.registry.raise_epoch(dir.id().clone(), first, above).await {
        tracing::warn!(run = %dir.id(), %error, "a run's epoch could not be raised");
    }
}

/// Takes in the runs that were started while nobody registered them. What cannot be taken in now stays marked.
pub async fn adopt_marked(supervisor: &Arc<Supervisor>) {
    for (run, marked_for) in supervisor.state.unregistered() {
        let adopted = match supervisor.registry.run(run.clone()).await {
            Ok(Some(_)) => Adopted::Yes,
            _ => adopt_unregistered(supervisor, &supervisor.state.run_path(&run)).await,
        };
        let forget = match adopted {
            Adopted::Yes => true,
            // Whoever marked it is about to make it, or died before.
            Adopted::Missing => marked_for > ABOUT_TO,
            Adopted::NotNow => false,
        };
        if forget {
            supervisor.state.registered(&run);
        }
    }
}
