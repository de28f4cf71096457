//! The keyboard of a run: what is typed, after whatever others typed.

use super::{PATIENCE, dial, ended, unexpected};
use crate::failure::Failure;
use tenure_core::wire::{KeeperMessage, KeeperRequest};
use tenure_keeper::frames::Frames;
use tenure_keeper::rundir::RunDir;

/// What is sent at once: well below what a keeper lets wait.
const CHUNK: usize = 64 << 10;

/// Types these bytes to a live run, and waits until the command has them.
pub(super) fn type_to(dir: &RunDir, bytes: &[u8]) -> Result<(), Failure> {
    let mut keeper = dial(dir)?.ok_or_else(|| ended(dir))?;
    if !keeper.understands(&KeeperRequest::Type) {
        let why = "its keeper was started by an older Tenure and takes no keys";
        return Err(Failure::refused(format!("{why}: `tenure write {}` writes to its input", dir.id())));
    }
    bytes.chunks(CHUNK).try_for_each(|chunk| put(&mut keeper, chunk))
}

fn put(keeper: &mut Frames, bytes: &[u8]) -> Result<(), Failure> {
    keeper.send(&KeeperRequest::Type, bytes);
    let mut end = None;
    loop {
        let (tell, _) = keeper
            .receive::<KeeperMessage>(PATIENCE)
            .map_err(|error| Failure::refused(format!("the command does not read its input: {error}")))?;
        match tell {
            KeeperMessage::Typed { to } => end = Some(to),
            KeeperMessage::KeysTaken { to } if end.is_some_and(|end| to >= end) => return Ok(()),
            KeeperMessage::KeysTaken { .. } => {}
            KeeperMessage::StdinClosed => return Err(Failure::refused("the command takes no more input")),
            KeeperMessage::StdinRefused { why } | KeeperMessage::Refused { why } => {
                return Err(Failure::refused(why));
            }
            other => return Err(unexpected(&other)),
        }
    }
}
