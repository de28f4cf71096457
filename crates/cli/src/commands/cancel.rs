//! `tenure cancel`: end runs, their whole trees.

use super::{ask, dial, find, unexpected};
use crate::args::CancelArgs;
use crate::failure::Failure;
use crate::settings;
use tenure_core::wire::{Ask, Tell};

pub(crate) fn run(args: &CancelArgs) -> Result<u8, Failure> {
    let state = settings::state_root()?;
    let runs = args.ids.iter().map(|id| find(&state, id)).collect::<Result<Vec<_>, _>>()?;
    for dir in runs {
        // A run that has ended by itself is as cancelled as it can be.
        let Some(mut keeper) = dial(&dir)? else { continue };
        match ask(&mut keeper, &Ask::Cancel { now: args.now }, &[])? {
            Tell::Done => {}
            other => return Err(unexpected(&other)),
        }
    }
    Ok(0)
}
