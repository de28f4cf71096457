//! `tenure tree`: show the live processes of one run, or of all.

use super::{ask, dial, ended_error, find, list_runs, refresh, unexpected};
use crate::args::TreeArgs;
use crate::failure::Failure;
use crate::{print, settings};
use serde_json::{Value, json};
use tenure_core::run_json::RunView;
use tenure_core::state::State;
use tenure_core::wire::{KeeperMessage, KeeperRequest, ProcessView};
use tenure_keeper::rundir::RunDir;
use tenure_keeper::state_root::StateRoot;

/// A run and its live processes.
type Tree = (RunView, Vec<ProcessView>);

pub(crate) fn run(args: &TreeArgs) -> Result<u8, Failure> {
    let state = settings::state_root()?;
    let trees = match &args.id {
        Some(id) => vec![one(&find(&state, id)?)?],
        None => all(&state)?,
    };
    match (args.json, &trees[..]) {
        (true, [tree]) if args.id.is_some() => print::json(&as_json(tree))?,
        (true, trees) => print::json(&trees.iter().map(as_json).collect::<Vec<_>>())?,
        (false, trees) => print::process_trees(trees)?,
    }
    Ok(0)
}

fn one(dir: &RunDir) -> Result<Tree, Failure> {
    let mut view = dir.view().map_err(Failure::refused)?;
    let processes = processes(dir)?.ok_or_else(|| ended_error(dir))?;
    refresh(dir, &mut view);
    Ok((view, processes))
}

fn all(state: &StateRoot) -> Result<Vec<Tree>, Failure> {
    let mut trees = Vec::new();
    for (dir, view) in list_runs(state, |view| view.state != State::Exited)? {
        match processes(&dir) {
            Ok(Some(processes)) => trees.push((view, processes)),
            // The run has ended meanwhile, or is lost.
            Ok(None) => {}
            Err(failure) => failure.report(),
        }
    }
    Ok(trees)
}

/// Returns a run's live processes; `None` if its keeper is gone.
fn processes(dir: &RunDir) -> Result<Option<Vec<ProcessView>>, Failure> {
    let Some(mut keeper) = dial(dir)? else { return Ok(None) };
    match ask(&mut keeper, &KeeperRequest::Tree, &[])? {
        KeeperMessage::Tree { processes } => Ok(Some(processes)),
        KeeperMessage::Ended { .. } => Ok(None),
        other => Err(unexpected(&other)),
    }
}

fn as_json((view, processes): &Tree) -> Value {
    json!({ "runId": view.ticket.run_id, "processes": processes })
}
