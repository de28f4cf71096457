//! `tenure tree`: the live processes of a run, or of all.

use super::{ask, dial, ended, find, listed, refresh, unexpected};
use crate::args::TreeArgs;
use crate::failure::Failure;
use crate::{print, settings};
use serde_json::{Value, json};
use tenure_core::run_json::RunView;
use tenure_core::state::State;
use tenure_core::wire::{KeeperMessage, KeeperRequest, ProcessView};
use tenure_keeper::rundir::RunDir;
use tenure_keeper::state_root::StateRoot;

/// A run and what lives of it.
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
        (false, trees) => print::forest(trees)?,
    }
    Ok(0)
}

fn one(dir: &RunDir) -> Result<Tree, Failure> {
    let mut view = dir.view().map_err(Failure::refused)?;
    let processes = processes(dir)?.ok_or_else(|| ended(dir))?;
    refresh(dir, &mut view);
    Ok((view, processes))
}

fn all(state: &StateRoot) -> Result<Vec<Tree>, Failure> {
    let mut trees = Vec::new();
    for (dir, view) in listed(state, |view| view.state != State::Exited)? {
        match processes(&dir) {
            Ok(Some(processes)) => trees.push((view, processes)),
            // It ended meanwhile, or is lost.
            Ok(None) => {}
            Err(failure) => failure.report(),
        }
    }
    Ok(trees)
}

/// What lives of a run; `None` if it has no keeper any more.
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
