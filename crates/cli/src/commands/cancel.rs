//! `tenure cancel`: end runs, their whole trees.

use super::wait::salvaged_soon;
use super::{ask, dial, find, unexpected};
use crate::args::CancelArgs;
use crate::failure::Failure;
use crate::settings;
use tenure_core::wire::{Ask, Tell};
use tenure_keeper::rundir::RunDir;
use tenure_keeper::state_root::StateRoot;

pub(crate) fn run(args: &CancelArgs) -> Result<u8, Failure> {
    let state = settings::state_root()?;
    let runs = args.ids.iter().map(|id| find(&state, id)).collect::<Result<Vec<_>, _>>()?;
    for dir in runs {
        cancel(&state, &dir, args.now)?;
    }
    Ok(0)
}

/// Asks a run's keeper to end it. One that has ended by itself is as cancelled as it can be.
pub(super) fn cancel(state: &StateRoot, dir: &RunDir, now: bool) -> Result<(), Failure> {
    let Some(mut keeper) = dial(dir)? else {
        let ended = dir.ending().map_err(Failure::refused)?.is_some() || salvaged_soon(state, dir)?;
        let lost = || Failure::refused(format!("run {} is lost: its keeper and nursery are gone", dir.id()));
        return if ended { Ok(()) } else { Err(lost()) };
    };
    match ask(&mut keeper, &Ask::Cancel { now }, &[])? {
        // It may end before it answers.
        Tell::Done | Tell::Ended { .. } => Ok(()),
        other => Err(unexpected(&other)),
    }
}
