//! Records runs again that the registry has lost, because it was deleted or replaced by an older backup. Every run has
//! a directory with its ticket, so only the registry's own facts (tasks, sessions' history) are lost.

use crate::register_existing;
use crate::register_existing::{Registration, START_GRACE};
use crate::supervisor::Supervisor;
use std::path::Path;
use std::sync::Arc;
use tenure_core::ids::RunId;
use tenure_keeper::rundir::RunDir;
use tokio::task::{JoinSet, block_in_place};

/// Maximum number of runs recorded at once: their commits become one.
const MAX_CONCURRENT: usize = 64;

/// Records every run of ours that has a directory and no row. If nothing is lost, this costs one directory listing
/// and one query.
pub async fn record_lost_runs(supervisor: &Arc<Supervisor>) {
    let listed = match block_in_place(|| supervisor.state.runs()) {
        Ok(listed) => listed,
        Err(error) => return tracing::error!(%error, "the runs' directories cannot be listed"),
    };
    let unknown = match supervisor.registry.unknown(listed).await {
        Ok(unknown) => unknown,
        Err(error) => {
            return tracing::error!(%error, "the recorded runs cannot be compared with the files");
        }
    };
    let mut groups: [Vec<RunId>; 4] = Default::default();
    block_in_place(|| {
        for run in unknown {
            let Ok(dir) = supervisor.state.run(&run) else { continue };
            groups[group_of(&dir)].push(run);
        }
    });
    let mut recorded = 0;
    for group in groups {
        recorded += record_all(supervisor, group).await;
    }
    if recorded > 0 {
        tracing::warn!(recorded, "runs that the registry did not know were recorded again");
    }
}

/// Records these runs again. Runs that conflict with each other are retried.
async fn record_all(supervisor: &Arc<Supervisor>, mut runs: Vec<RunId>) -> usize {
    let mut recorded = 0;
    loop {
        let mut recording = JoinSet::new();
        let mut done = Vec::new();
        for run in std::mem::take(&mut runs) {
            while recording.len() >= MAX_CONCURRENT {
                done.extend(recording.join_next().await);
            }
            let supervisor = Arc::clone(supervisor);
            recording.spawn(async move { (record_one(&supervisor, &run).await, run) });
        }
        while let Some(next) = recording.join_next().await {
            done.push(next);
        }
        let before = recorded;
        for (adopted, run) in done.into_iter().flatten() {
            match adopted {
                Registration::Done => recorded += 1,
                Registration::Failed => runs.push(run),
                Registration::Missing => {}
            }
        }
        if runs.is_empty() || recorded == before {
            return recorded;
        }
    }
}

/// Records one run again.
async fn record_one(supervisor: &Arc<Supervisor>, run: &RunId) -> Registration {
    let path = supervisor.state.run_path(run);
    let Ok(dir) = RunDir::open(&path) else { return Registration::Missing };
    if supervisor.runs.get(run).is_some() {
        return Registration::Missing;
    }
    let is_ours = dir.ticket().is_ok_and(|ticket| ticket.owner_instance_id == supervisor.instance);
    if !is_ours {
        return Registration::Missing;
    }
    if is_unstarted(&dir) && !supervisor.state.is_marked(run) && is_old(&path) {
        tracing::info!(%run, "a run that was never started, and that no registry knows, is removed");
        if let Err(error) = std::fs::remove_dir_all(&path) {
            tracing::warn!(%run, %error, "its directory could not be removed");
        }
        return Registration::Missing;
    }
    register_existing::register_lost(supervisor, &path).await
}

/// Returns the order of a run: live runs come first, because there may be thousands of ended ones. A scope has one
/// live run at a time, and ended runs count until their end is recorded; so ended runs with a scope come before live
/// ones with a scope.
fn group_of(dir: &RunDir) -> usize {
    let has_ended = !matches!(dir.ending(), Ok(None));
    let has_scope = dir.ticket().is_ok_and(|ticket| ticket.options.scope.is_some());
    match (has_ended, has_scope) {
        (false, false) => 0,
        (true, true) => 1,
        (false, true) => 2,
        (true, false) => 3,
    }
}

/// Returns true if the gate of a run never opened: the run has no keeper, no note and no ending.
fn is_unstarted(dir: &RunDir) -> bool {
    // The lock comes first: a keeper that exits in between has written a note or an ending.
    matches!(dir.has_keeper(), Ok(false))
        && matches!(dir.note(), Ok(None))
        && matches!(dir.ending(), Ok(None))
}

/// Returns true if the directory is too old for a start that is still under way.
fn is_old(path: &Path) -> bool {
    let modified = std::fs::metadata(path).and_then(|meta| meta.modified());
    modified.is_ok_and(|at| at.elapsed().is_ok_and(|age| age > START_GRACE))
}
