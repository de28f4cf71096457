//! Types keys to a run, after the keys of other clients.

use super::{KEEPER_REPLY_LIMIT, dial, ended_error, unexpected};
use crate::failure::Failure;
use tenure_core::wire::{KeeperMessage, KeeperRequest};
use tenure_keeper::frames::Frames;
use tenure_keeper::rundir::RunDir;

/// Maximum number of bytes per message: well below the keeper's queue.
const CHUNK: usize = 64 << 10;

/// Types bytes to a live run, and waits until the command has accepted them.
pub(super) fn type_to(dir: &RunDir, bytes: &[u8]) -> Result<(), Failure> {
    let mut keeper = dial(dir)?.ok_or_else(|| ended_error(dir))?;
    if !keeper.understands(&KeeperRequest::Type) {
        let why = "the keeper is of an older version and accepts no keys";
        return Err(Failure::refused(format!(
            "{why}: `tenure write {}` writes to the run's stdin",
            dir.id()
        )));
    }
    bytes.chunks(CHUNK).try_for_each(|chunk| put(&mut keeper, chunk))
}

fn put(keeper: &mut Frames, bytes: &[u8]) -> Result<(), Failure> {
    keeper.send(&KeeperRequest::Type, bytes);
    let mut end = None;
    loop {
        let (message, _) = keeper
            .receive::<KeeperMessage>(KEEPER_REPLY_LIMIT)
            .map_err(|error| Failure::refused(format!("the command does not read its input: {error}")))?;
        match message {
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
