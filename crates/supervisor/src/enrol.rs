//! Records runs again that the registry has lost, because it was deleted or replaced by an older backup. Every run has
//! a directory with its ticket, so only the registry's own facts (tasks, sessions' history) are lost.

use crate::register_existing;
use crate::register_existing::{ABOUT_TO, Adopted};
use crate::supervisor::Supervisor;
use std::path::Path;
use std::sync::Arc;
use tenure_core::ids::RunId;
use tenure_keeper::rundir::RunDir;
use tokio::task::{JoinSet, block_in_place};

/// Maximum number of runs recorded at once: their commits become one.
const AT_ONCE: usize = 64;

/// Records every run of ours that has a directory and no row. If nothing is lost, this costs one directory listing
/// and one query.
pub async fn enrol_unknown(supervisor: &Arc<Supervisor>) {
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
            groups[enrolment_group(&dir)].push(run);
        }
    });
    let mut enrolled = 0;
    for group in groups {
        enrolled += enrol_all(supervisor, group).await;
    }
    if enrolled > 0 {
        tracing::warn!(enrolled, "runs that the registry did not know were recorded again");
    }
}

/// Records these runs again. Retries those that were in each other's way.
async fn enrol_all(supervisor: &Arc<Supervisor>, mut runs: Vec<RunId>) -> usize {
    let mut enrolled = 0;
    loop {
        let mut enrolling = JoinSet::new();
        let mut done = Vec::new();
        for run in std::mem::take(&mut runs) {
            while enrolling.len() >= AT_ONCE {
                done.extend(enrolling.join_next().await);
            }
            let supervisor = Arc::clone(supervisor);
            enrolling.spawn(async move { (enrol_again(&supervisor, &run).await, run) });
        }
        while let Some(next) = enrolling.join_next().await {
            done.push(next);
        }
        let before = enrolled;
        for (adopted, run) in done.into_iter().flatten() {
            match adopted {
                Adopted::Yes => enrolled += 1,
                Adopted::NotNow => runs.push(run),
                Adopted::Missing => {}
            }
        }
        if runs.is_empty() || enrolled == before {
            return enrolled;
        }
    }
}

/// Records one run again.
async fn enrol_again(supervisor: &Arc<Supervisor>, run: &RunId) -> Adopted {
    let path = supervisor.state.run_path(run);
    let Ok(dir) = RunDir::open(&path) else { return Adopted::Missing };
    if supervisor.runs.get(run).is_some() {
        return Adopted::Missing;
    }
    let is_ours = dir.ticket().is_ok_and(|ticket| ticket.owner_instance_id == supervisor.instance);
    if !is_ours {
        return Adopted::Missing;
    }
    if is_unstarted(&dir) && !supervisor.state.is_marked(run) && is_old(&path) {
        tracing::info!(%run, "a run that was never started, and that no registry knows, is removed");
        if let Err(error) = std::fs::remove_dir_all(&path) {
            tracing::warn!(%run, %error, "its directory could not be removed");
        }
        return Adopted::Missing;
    }
    register_existing::adopt_lost(supervisor, &path).await
}

/// The order of a run: live runs come first, because thousands may have ended. A run has its scope to itself until its
/// end is recorded, so ended runs with a scope come before live runs with a scope.
fn enrolment_group(dir: &RunDir) -> usize {
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
    matches!(dir.kept(), Ok(false)) && matches!(dir.note(), Ok(None)) && matches!(dir.ending(), Ok(None))
}

/// Returns true if the directory is too old for a start that is still under way.
fn is_old(path: &Path) -> bool {
    let modified = std::fs::metadata(path).and_then(|meta| meta.modified());
    modified.is_ok_and(|at| at.elapsed().is_ok_and(|age| age > ABOUT_TO))
}
