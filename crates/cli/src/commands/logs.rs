//! `tenure logs`: print a run's output, from its files.

mod format;
mod own_terminal;

use super::{dial, find};
use crate::args::{LogsArgs, StreamArg};
use crate::failure::Failure;
use crate::settings;
use format::{Format, GapReason};
use own_terminal::OwnTerminal;
use std::io::{self, Write};
use tenure_core::output::Stream;
use tenure_core::wire::{KeeperMessage, KeeperRequest};
use tenure_keeper::frames::Frames;
use tenure_keeper::rundir::RunDir;
use tenure_os::poll;
use tenure_os::signals;
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
        format: Format::new(args),
        out: Vec::new(),
        terminal: OwnTerminal::take(args).map_err(Failure::refused)?,
    };
    let result = if args.follow { follow(&dir, &mut printer) } else { printer.print() };
    let result = result.and_then(|()| printer.finish());
    let stopped = printer.terminal.and_then(OwnTerminal::restore);
    match result {
        _ if let Some(signal) = stopped => {
            signals::die_of(signal.into());
            Ok(128_u8.saturating_add(signal))
        }
        // A closed pipe is no error: the reader has enough.
        Err(LogsError::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => Ok(0),
        Err(LogsError::Output(error)) => Err(Failure::refused(error)),
        Err(LogsError::Failed(failure)) => Err(failure),
        Ok(()) => Ok(0),
    }
}

enum LogsError {
    Output(io::Error),
    Failed(Failure),
}

/// Prints the recorded output, then new output until the run has ended.
fn follow(dir: &RunDir, printer: &mut Printer) -> Result<(), LogsError> {
    if let Some(mut keeper) = dial(dir).map_err(LogsError::Failed)? {
        keeper.send(&KeeperRequest::Follow, &[]);
        printer.print()?;
        while printer.left > 0 && printer.wait_for_more(&mut keeper) {
            printer.print()?;
        }
    }
    printer.print()
}

struct Printer {
    reader: Reader,
    at: u64,
    stream: Option<Stream>,
    left: u64,
    buffer: Vec<u8>,
    format: Format,
    out: Vec<u8>,
    terminal: Option<OwnTerminal>,
}

impl Printer {
    /// Waits for more output; returns false if there will be none, or a signal asks this process to leave.
    fn wait_for_more(&mut self, keeper: &mut Frames) -> bool {
        loop {
            match keeper.next_frame::<KeeperMessage>() {
                Ok(Some((KeeperMessage::Ended { .. }, _))) | Err(_) => return false,
                Ok(Some(_)) => return true,
                Ok(None) if keeper.ended() => return false,
                Ok(None) => {}
            }
            let mut interests = vec![keeper.interest()];
            interests.extend(self.terminal.as_ref().map(OwnTerminal::interest));
            if poll::wait(&interests, None).is_err() || self.is_stopped() {
                return false;
            }
            keeper.flush();
            keeper.fill();
        }
    }

    fn is_stopped(&mut self) -> bool {
        self.terminal.as_mut().is_some_and(OwnTerminal::is_stopped)
    }

    /// Prints the output recorded so far.
    fn print(&mut self) -> Result<(), LogsError> {
        while self.left > 0 && !self.is_stopped() {
            let piece = self
                .reader
                .read(self.at, &mut self.buffer)
                .map_err(|e| LogsError::Failed(Failure::refused(e)))?;
            let mut end = piece.end();
            match piece {
                Piece::Bytes { from, len, stream, at_ms } => {
                    if self.stream.is_none_or(|only| only == stream) {
                        let len = len.min(usize::try_from(self.left).unwrap_or(usize::MAX));
                        let bytes = format::Bytes { from, stream, at_ms, bytes: &self.buffer[..len] };
                        let taken = self.format.bytes(&bytes, &mut self.out) as u64;
                        self.left -= taken;
                        end = if taken == len as u64 { end } else { from + taken };
                    }
                }
                Piece::Gap { from, to } => self.format.missing(from, to, GapReason::Dropped, &mut self.out),
                Piece::Lost { from, to, .. } => self.format.missing(from, to, GapReason::Lost, &mut self.out),
                Piece::End { .. } => break,
            }
            self.at = end;
            self.write()?;
        }
        io::stdout().lock().flush().map_err(LogsError::Output)
    }

    /// Prints buffered text that was waiting for more bytes.
    fn finish(&mut self) -> Result<(), LogsError> {
        self.format.finish(self.at, &mut self.out);
        self.write()?;
        io::stdout().lock().flush().map_err(LogsError::Output)
    }

    fn write(&mut self) -> Result<(), LogsError> {
        if let Some(terminal) = &mut self.terminal {
            terminal.track(&self.out);
        }
        let written = io::stdout().lock().write_all(&self.out);
        self.out.clear();
        written.map_err(LogsError::Output)
    }
}
