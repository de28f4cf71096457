//! `tenure logs`: a run's output, from the files.

use super::{FOR_EVER, dial, find};
use crate::args::{LogsArgs, StreamArg};
use crate::failure::Failure;
use crate::settings;
use std::io::{self, Write};
use tenure_core::output::Stream;
use tenure_core::wire::{Ask, Tell};
use tenure_keeper::frames::Frames;
use tenure_keeper::rundir::RunDir;
use tenure_os::complaint::complain;
use tenure_output::{Piece, Reader};

pub(crate) fn run(args: &LogsArgs) -> Result<u8, Failure> {
    let state = settings::state_root()?;
    let dir = find(&state, &args.id)?;
    let stream = args.stream.map(|stream| match stream {
        StreamArg::Stdout => Stream::Stdout,
        StreamArg::Stderr => Stream::Stderr,
    });
    let start = match args.tail {
        Some(lines) => tenure_output::tail_offset(&dir.output(), lines, stream).map_err(Failure::refused)?,
        None => args.offset.unwrap_or(0),
    };
    let mut printer = Printer {
        reader: Reader::new(&dir.output()),
        at: start,
        stream,
        left: args.limit.unwrap_or(u64::MAX),
        buffer: vec![0; 64 << 10],
    };
    let result = if args.follow { follow(&dir, &mut printer) } else { printer.print() };
    match result {
        // A reader that is gone has read enough.
        Err(Stopped::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => Ok(0),
        Err(Stopped::Output(error)) => Err(Failure::refused(error)),
        Err(Stopped::Failed(failure)) => Err(failure),
        Ok(()) => Ok(0),
    }
}

enum Stopped {
    Output(io::Error),
    Failed(Failure),
}

/// Prints what is there, then what comes, until the run has ended.
fn follow(dir: &RunDir, printer: &mut Printer) -> Result<(), Stopped> {
    if let Some(mut keeper) = dial(dir).map_err(Stopped::Failed)? {
        keeper.send(&Ask::Follow, &[]);
        printer.print()?;
        while printer.left > 0 && hint(&mut keeper) {
            printer.print()?;
        }
    }
    printer.print()
}

/// Waits for growth; `false` once there will be none.
fn hint(keeper: &mut Frames) -> bool {
    match keeper.receive::<Tell>(FOR_EVER) {
        Ok((Tell::Ended { .. }, _)) | Err(_) => false,
        Ok(_) => true,
    }
}

struct Printer {
    reader: Reader,
    at: u64,
    stream: Option<Stream>,
    left: u64,
    buffer: Vec<u8>,
}

impl Printer {
    /// Prints all that is there now.
    fn print(&mut self) -> Result<(), Stopped> {
        let mut out = io::stdout().lock();
        while self.left > 0 {
            let piece = self
                .reader
                .read(self.at, &mut self.buffer)
                .map_err(|e| Stopped::Failed(Failure::refused(e)))?;
            self.at = piece.end();
            match piece {
                Piece::Bytes { len, stream, .. } => {
                    if self.stream.is_none_or(|only| only == stream) {
                        let len = len.min(usize::try_from(self.left).unwrap_or(usize::MAX));
                        out.write_all(&self.buffer[..len]).map_err(Stopped::Output)?;
                        self.left -= len as u64;
                    }
                }
                Piece::Gap { from, to } => {
                    complain(format_args!("bytes {from} to {to} were dropped to keep newer ones"));
                }
                Piece::Lost { from, to, .. } => {
                    complain(format_args!("bytes {from} to {to} were lost: the disk was full"));
                }
                Piece::End { .. } => break,
            }
        }
        out.flush().map_err(Stopped::Output)
    }
}
