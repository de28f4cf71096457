//! `tenure resize`: change the size of a run's terminal.

use super::{ask, dial, ended_error, find, unexpected};
use crate::args::ResizeArgs;
use crate::failure::Failure;
use crate::settings;
use tenure_core::wire::{KeeperMessage, KeeperRequest};

pub(crate) fn run(args: &ResizeArgs) -> Result<u8, Failure> {
    let state = settings::state_root()?;
    let dir = find(&state, &args.id)?;
    let mut keeper = dial(&dir)?.ok_or_else(|| ended_error(&dir))?;
    match ask(&mut keeper, &KeeperRequest::Resize(args.size), &[])? {
        KeeperMessage::Done => Ok(0),
        other => Err(unexpected(&other)),
    }
}
