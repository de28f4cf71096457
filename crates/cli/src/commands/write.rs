//! `tenure write`: write to a run's stdin.

use super::{KEEPER_REPLY_LIMIT, ask, dial, ended_error, find, unexpected};
use crate::args::WriteArgs;
use crate::failure::Failure;
use crate::settings;
use std::io::Read;
use tenure_core::wire::{KeeperMessage, KeeperRequest};
use tenure_keeper::frames::Frames;
use tenure_os::text;

/// Maximum number of bytes per message: well below the keeper's queue.
const CHUNK: usize = 64 << 10;

pub(crate) fn run(args: &WriteArgs) -> Result<u8, Failure> {
    let state = settings::state_root()?;
    let dir = find(&state, &args.id)?;
    let mut keeper = dial(&dir)?.ok_or_else(|| ended_error(&dir))?;
    let mut offset = match ask(&mut keeper, &KeeperRequest::Status, &[])? {
        KeeperMessage::Status { stdin_offset, .. } => stdin_offset,
        other => return Err(unexpected(&other)),
    };
    let mut source: Box<dyn Read> = match &args.data {
        Some(data) => Box::new(std::io::Cursor::new(text::bytes(data))),
        None => Box::new(std::io::stdin().lock()),
    };
    let mut chunk = vec![0; CHUNK];
    loop {
        let n = source.read(&mut chunk).map_err(Failure::refused)?;
        if n == 0 {
            break;
        }
        offset = put(&mut keeper, offset, &chunk[..n], false)?;
    }
    if args.eof {
        put(&mut keeper, offset, &[], true)?;
    }
    Ok(0)
}

/// Writes a chunk, and waits until the command has accepted it.
fn put(keeper: &mut Frames, offset: u64, bytes: &[u8], eof: bool) -> Result<u64, Failure> {
    let end = offset + bytes.len() as u64;
    let mut message = ask(keeper, &KeeperRequest::Stdin { offset, eof }, bytes)?;
    loop {
        match message {
            KeeperMessage::StdinTaken { to } if to >= end => return Ok(end),
            KeeperMessage::StdinTaken { .. } => {}
            KeeperMessage::StdinClosed => return Err(Failure::refused("the command takes no more input")),
            other => return Err(unexpected(&other)),
        }
        message = keeper
            .receive(KEEPER_REPLY_LIMIT)
            .map_err(|error| Failure::refused(format!("the command does not read its input: {error}")))?
            .0;
    }
}
