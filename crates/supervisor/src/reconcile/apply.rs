//! Applies a verdict to a recorded run.

use crate::exec_notice;
use crate::lease;
use crate::link::Link;
use crate::register_existing;
use crate::run_handle::{RunHandle, Status, journal_in};
use crate::supervisor::Supervisor;
use crate::task;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tenure_core::ending::{Reason, Termination};
use tenure_core::lease::Hold;
use tenure_core::reconcile::Verdict;
use tenure_core::record::{Ending, KeeperNote};
use tenure_core::state::State;
use tenure_core::wire::{KeeperMessage, KeeperRequest, Role};
use tenure_keeper::orphaned::by_daemon::OrphanedRun;
use tenure_keeper::rundir::RunDir;
use tenure_os::{clock, pause};
use tenure_store::{Change, Count, RunRow};

/// The result of a verdict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The run's ending is recorded.
    Ended(Box<Ending>),
    /// This daemon holds the run.
    Held,
    /// Another instance settles the run.
    NotOurs,
    /// The run must be judged again.
    Unsettled,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Outcome::Ended(ending) => write!(f, "ended: {}", ending.termination.sentence()),
            Outcome::Held => f.write_str("held by this daemon"),
            Outcome::NotOurs => f.write_str("left to its owner"),
            Outcome::Unsettled => f.write_str("looked at again later"),
        }
    }
}

pub(super) async fn apply(
    supervisor: &Arc<Supervisor>,
    row: &RunRow,
    verdict: &Verdict,
    link: Option<Link>,
) -> Outcome {
    let hold = match verdict {
        _ if verdict.steals() => match steal(supervisor, row).await {
            Some(hold) => hold,
            None => return Outcome::NotOurs,
        },
        _ => row.hold.clone(),
    };
    match verdict {
        Verdict::Leave { .. } => Outcome::NotOurs,
        Verdict::RetryLater { .. } => Outcome::Unsettled,
        Verdict::Resume { .. } => resume(supervisor, row, hold, link).await,
        Verdict::EndByPolicy { .. } => {
            let outcome = resume(supervisor, row, hold, link).await;
            if let Some(held) = supervisor.runs.get(&row.ticket.run_id) {
                held.say(KeeperRequest::Abandon);
            }
            outcome
        }
        Verdict::TakeEnding { .. } => match RunDir::open(Path::new(&row.directory)).map(|dir| dir.ending()) {
            Ok(Ok(Some(ending))) => record_ending(supervisor, row, hold, ending, false).await,
            _ => Outcome::Unsettled,
        },
        Verdict::NeverStarted { .. } | Verdict::EndTree { .. } | Verdict::CloseAsLost { .. } => {
            close(supervisor, row, hold, verdict).await
        }
    }
}

/// Takes the run from its lost owner: first the owner's seat, so that the owner learns of it, then the run. Both are
/// committed before anything is done.
async fn steal(supervisor: &Supervisor, row: &RunRow) -> Option<Hold> {
    let owner = &row.hold.instance;
    let unseated = lease::unseat(supervisor, owner).await?;
    pause::point("daemon-before-steal");
    let stolen = supervisor
        .registry
        .steal(
            row.ticket.run_id.clone(),
            row.hold.clone(),
            unseated,
            supervisor.instance.clone(),
            clock::unix_ms(),
        )
        .await;
    pause::point("daemon-after-steal");
    match stolen {
        Ok(hold) => {
            supervisor.events.notify_followers();
            if hold.is_some() {
                exec_notice::move_to_background(supervisor, &row.ticket.run_id).await;
            }
            hold
        }
        Err(error) => {
            tracing::error!(run = %row.ticket.run_id, %error, "a lease could not be taken over");
            None
        }
    }
}

/// Resumes a run whose keeper answers: nothing was lost.
async fn resume(supervisor: &Arc<Supervisor>, row: &RunRow, hold: Hold, link: Option<Link>) -> Outcome {
    let Ok(dir) = RunDir::open(Path::new(&row.directory)) else { return Outcome::Unsettled };
    let mut link = match link {
        Some(link) => link,
        None => {
            match Link::connect(&dir, Role::Holder { epoch: hold.epoch }, Some(supervisor.as_holder())).await
            {
                Ok(link) => link,
                Err(error) => {
                    tracing::warn!(run = %dir.id(), %error, "a keeper does not accept us as its holder");
                    return Outcome::Unsettled;
                }
            }
        }
    };
    // The note is written before the command executes, so only the keeper knows whether it executes. The keeper
    // reports `exiting` once; we missed that, or dropped it while waiting for this response.
    let (state, cause) = match link.ask(&KeeperRequest::Status, &[]).await {
        Ok(KeeperMessage::Status { state, cause, .. }) => (state, cause),
        Ok(KeeperMessage::Ended { .. }) | Err(_) => return Outcome::Unsettled,
        Ok(_) => (State::Running, None),
    };
    let note = dir.note().ok().flatten().filter(|_| state > State::Starting);
    if !record_start(supervisor, row, &hold, note.as_ref()).await {
        return Outcome::Unsettled;
    }
    let leaving_since_ms = match (row.state, state) {
        (State::Exiting, _) => Some(row.updated_at_ms),
        (_, State::Exiting) => {
            if !record(supervisor, row, &hold, Change::Leaving { cause, detail: None }).await {
                return Outcome::Unsettled;
            }
            Some(clock::unix_ms())
        }
        (State::Starting | State::Running | State::Exited, _) => None,
    };
    let cause = row.cause.or(cause);
    let status = Status { note, leaving_since_ms, cause, ..Status::default() };
    let run = RunHandle::new(row.ticket.clone(), hold, PathBuf::from(&row.directory), status);
    supervisor.hold(run, link, supervisor.starts.admission.add_existing());
    Outcome::Held
}

/// Records the start of a command that executed while no daemon held the run; returns true if the row has it now.
async fn record_start(supervisor: &Supervisor, row: &RunRow, hold: &Hold, note: Option<&KeeperNote>) -> bool {
    let Some(note) = note.filter(|_| row.note.is_none()) else { return true };
    record(supervisor, row, hold, Change::Started(Box::new(note.clone()))).await
}

/// Records a change of a run before it is held; returns true if the registry answered.
async fn record(supervisor: &Supervisor, row: &RunRow, hold: &Hold, change: Change) -> bool {
    let run = row.ticket.run_id.clone();
    match supervisor.registry.record(run, hold.clone(), change, clock::unix_ms()).await {
        Ok(taken) => {
            if taken {
                supervisor.events.notify_followers();
            }
            true
        }
        Err(error) => {
            tracing::error!(run = %row.ticket.run_id, %error, "a change could not be recorded");
            false
        }
    }
}

/// Kills the processes of a run without a keeper, and closes the run.
async fn close(supervisor: &Arc<Supervisor>, row: &RunRow, hold: Hold, verdict: &Verdict) -> Outcome {
    let Some(how) = termination(verdict) else { return Outcome::Unsettled };
    let directory = row.directory.clone();
    let closed = match RunDir::open(Path::new(&directory)) {
        Ok(dir) => {
            // The process that made the directory died before the next step, or will find this ticket.
            if let Err(error) = dir.repair_ticket(&row.ticket) {
                tracing::warn!(run = %row.ticket.run_id, %error, "a run's ticket could not be written");
            }
            let ticket = row.ticket.clone();
            let close = move || {
                let run = OrphanedRun::read(dir, &ticket).map_err(std::io::Error::other)?;
                run.close(how).map_err(std::io::Error::other)
            };
            tokio::task::spawn_blocking(close).await.map_err(std::io::Error::other)
        }
        // There is no directory to write to. If it was removed, processes may be alive that cannot be listed.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let confirmed = row.note.is_none();
            let termination = Termination { confirmed, ..how };
            Ok(Ok(Ending::unseen(row.ticket.run_id.clone(), termination, clock::unix_ms())))
        }
        Err(error) => Err(error),
    };
    match closed {
        Ok(Ok(ending)) => record_ending(supervisor, row, hold, ending, true).await,
        Ok(Err(error)) | Err(error) => {
            tracing::warn!(run = %row.ticket.run_id, %error, "a run without a keeper could not be closed");
            Outcome::Unsettled
        }
    }
}

async fn record_ending(
    supervisor: &Arc<Supervisor>,
    row: &RunRow,
    hold: Hold,
    ending: Ending,
    orphan: bool,
) -> Outcome {
    if ending.termination.reason != Reason::SpawnError {
        let dir = RunDir::open(Path::new(&row.directory)).ok();
        let note = dir.and_then(|dir| dir.note().ok().flatten());
        if !record_start(supervisor, row, &hold, note.as_ref()).await {
            return Outcome::Unsettled;
        }
    }
    task::note_last_output(supervisor, &row.ticket, Path::new(&row.directory)).await;
    let journal = journal_in(Path::new(&row.directory));
    let changes = vec![Change::Noted(journal), Change::Ended(Box::new(ending.clone()))];
    let run = row.ticket.run_id.clone();
    match supervisor.registry.record_all(run.clone(), hold, changes, clock::unix_ms()).await {
        // Another ending is recorded, or another instance holds the lease.
        Ok(false) => match supervisor.registry.run(run).await {
            Ok(Some(RunRow { ending: Some(ending), .. })) => Outcome::Ended(Box::new(ending)),
            Ok(_) => Outcome::NotOurs,
            Err(_) => Outcome::Unsettled,
        },
        Ok(true) => {
            if orphan {
                // A crash here loses a count, never an ending.
                let _ = supervisor.registry.count(supervisor.instance.clone(), Count::Orphan).await;
            }
            supervisor.events.notify_followers();
            for heir in &ending.handed_over_to {
                // The heir's directory is beside the run's, in any state root.
                let directory = Path::new(&row.directory).with_file_name(heir.as_str());
                register_existing::register(supervisor, &directory).await;
            }
            Outcome::Ended(Box::new(ending))
        }
        Err(error) => {
            tracing::error!(run = %row.ticket.run_id, %error, "an ending could not be recorded");
            Outcome::Unsettled
        }
    }
}

/// Returns the termination of a run that this verdict closes.
fn termination(verdict: &Verdict) -> Option<Termination> {
    Some(match verdict.reason()? {
        Reason::SpawnError => Termination::never_started(verdict.detail()),
        reason => Termination::new(reason, None, Some(verdict.detail())),
    })
}
