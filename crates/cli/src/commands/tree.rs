//! `tenure tree`: the live processes of a run.

use super::{ask, dial, ended, find, unexpected};
use crate::args::ShowArgs;
use crate::failure::Failure;
use crate::{print, settings};
use tenure_core::wire::{Ask, Tell};

pub(crate) fn run(args: &ShowArgs) -> Result<u8, Failure> {
    let state = settings::state_root()?;
    let dir = find(&state, &args.id)?;
    let mut keeper = dial(&dir)?.ok_or_else(|| ended(&dir))?;
    match ask(&mut keeper, &Ask::Tree, &[])? {
        Tell::Tree { processes } if args.json => print::json(&serde_json::json!({
            "runId": dir.id(), "processes": processes,
        })),
        Tell::Tree { processes } => print::processes(&processes),
        other => return Err(unexpected(&other)),
    }?;
    Ok(0)
}
