//! A run's terminal as it stands. A [`Screen`] is made from the run's output on disk, follows it, and can be dropped
//! and opened again at little cost: what was replayed is kept in a checkpoint. A [`Scanner`] costs a few bytes and
//! says whether output holds something that is worth a screen: a question that the program asks its terminal. A
//! [`ModeTracker`] says how to undo what output did to the terminal that it was copied to. Nothing here types to the
//! program.

mod answer;
mod checkpoint;
mod paint;
mod scanner;
mod terminal;
#[cfg(test)]
mod tests;
mod undo;
mod view;

pub use scanner::{Colour, Query, Scanner, Spotted};
pub use undo::ModeTracker;
pub use view::{Cursor, Modes, View};

use crate::{Error, Piece, Reader, Resized, sizes};
use answer::answer;
use checkpoint::Checkpoint;
use paint::{For, paint};
use std::path::{Path, PathBuf};
use tenure_core::spec::Size;
use terminal::Terminal;

/// Amount of replayed output that is worth a checkpoint: a small part of a second's work.
const STRIDE: u64 = 2 << 20;
/// Maximum number of bytes per read.
const READ_SIZE: usize = 64 << 10;
/// Maximum length of the rest of a sequence whose beginning is missing.
const MOST_REST: usize = 64;

/// A run's terminal, up to an offset of its output.
pub struct Screen {
    output: PathBuf,
    checkpoint: PathBuf,
    reader: Reader,
    terminal: Terminal,
    /// The offset of the output that it includes.
    at: u64,
    /// The offset of the last checkpoint.
    kept: u64,
    /// The sizes that are still to apply.
    sizes: Vec<Resized>,
    /// The number of recorded sizes at the last check; `None` before the first one.
    sizes_known: Option<usize>,
    /// True if the next bytes may begin within a sequence.
    after_gap: bool,
    replayed: u64,
}

impl Screen {
    /// Opens the screen of the run with this output, whose terminal began with this size. Only the checkpoint is
    /// read; [`Screen::advance`] replays the rest.
    pub fn open(output: &Path, size: Size, checkpoint: &Path) -> Result<Self, Error> {
        let found = match Checkpoint::read(checkpoint) {
            // A checkpoint beyond the end belongs to another run.
            Some(found) if found.offset <= crate::totals(output)?.bytes => Some(found),
            _ => None,
        };
        let at = found.as_ref().map_or(0, |found| found.offset);
        let terminal = match &found {
            Some(found) => Terminal::restored(found.size, &found.state),
            None => Terminal::new(size),
        };
        Ok(Self {
            output: output.to_owned(),
            checkpoint: checkpoint.to_owned(),
            reader: Reader::new(output),
            terminal,
            at,
            kept: at,
            sizes: Vec::new(),
            sizes_known: None,
            after_gap: false,
            replayed: 0,
        })
    }

    /// Replays the output that was added.
    pub fn advance(&mut self) -> Result<(), Error> {
        self.advance_answering(u64::MAX).map(drop)
    }

    /// Does the same, and returns the bytes to write to the program: the answers, in order, to every query whose
    /// last byte is at `from` or later, as of that byte.
    pub fn advance_answering(&mut self, from: u64) -> Result<Vec<u8>, Error> {
        let mut answers = Vec::new();
        let mut buffer = vec![0; READ_SIZE];
        let mut newest = None;
        let (began, mut goal) = (self.at, None);
        loop {
            if self.at - began > STRIDE && goal.is_none() {
                // A program may write faster than this reads: later output is left for the next call.
                goal = Some(crate::totals(&self.output)?.bytes);
            }
            if goal.is_some_and(|goal| self.at >= goal) {
                break;
            }
            let piece = self.reader.read(self.at, &mut buffer)?;
            // After the bytes were read, because the size that they were made for is recorded by now.
            self.learn_sizes();
            match piece {
                Piece::Bytes { len, .. } => {
                    self.take(&buffer[..len], from, &mut answers);
                    newest = self.checkpoint_due(buffer[len - 1]).or(newest);
                }
                Piece::Gap { to, .. } | Piece::Lost { to, .. } => {
                    self.terminal.gap();
                    self.at = to;
                    self.after_gap = true;
                }
                Piece::End { .. } => break,
            }
        }
        self.apply_sizes();
        if let Some(newest) = newest {
            newest.write(&self.checkpoint);
        }
        Ok(answers)
    }

    /// Returns the offset of the output that it includes.
    pub fn offset(&self) -> u64 {
        self.at
    }

    /// Returns the number of bytes that were replayed since it was opened.
    pub fn replayed(&self) -> u64 {
        self.replayed
    }

    /// Returns the visible content.
    pub fn view(&self) -> View {
        self.terminal.view()
    }

    /// Returns the modes that the program has set.
    pub fn modes(&self) -> Modes {
        self.terminal.modes()
    }

    /// Returns the bytes that bring the terminal of a person who attaches into this state.
    pub fn restore(&self) -> Vec<u8> {
        paint(&self.terminal, For::Person).into_bytes()
    }

    /// Resizes the screen from here on. Sizes that a keeper recorded apply by themselves.
    pub fn resize(&mut self, size: Size) {
        self.terminal.resize(size);
    }

    /// Takes bytes at the offset, each in the size that it was made for.
    fn take(&mut self, mut bytes: &[u8], from: u64, answers: &mut Vec<u8>) {
        if std::mem::take(&mut self.after_gap) {
            let rest = rest_of_sequence(bytes);
            self.at += rest as u64;
            bytes = &bytes[rest..];
        }
        while !bytes.is_empty() {
            self.apply_sizes();
            let until = self.sizes.first().map_or(u64::MAX, |next| next.at - self.at);
            let until = usize::try_from(until).unwrap_or(usize::MAX).min(bytes.len());
            let (read, spotted) = self.terminal.feed(&bytes[..until]);
            bytes = &bytes[read..];
            self.at += read as u64;
            self.replayed += read as u64;
            if let Some(Spotted::Query(query)) = spotted
                && self.at > from
            {
                answers.extend_from_slice(answer(query, &self.terminal).as_bytes());
            }
        }
    }

    /// Returns a checkpoint, if enough output came since the last one and it ends between two sequences and two
    /// characters.
    fn checkpoint_due(&mut self, last: u8) -> Option<Checkpoint> {
        if self.at - self.kept < STRIDE || !self.terminal.is_at_rest() || !last.is_ascii() {
            return None;
        }
        self.kept = self.at;
        Some(self.snapshot())
    }

    pub(crate) fn snapshot(&self) -> Checkpoint {
        let state = paint(&self.terminal, For::Emulator);
        Checkpoint { offset: self.at, size: self.terminal.size(), state }
    }

    /// Reads the recorded sizes. Those before the initial offset are in the checkpoint already.
    fn learn_sizes(&mut self) {
        let all = sizes(&self.output);
        let known = self.sizes_known.replace(all.len());
        let in_checkpoint = |one: &&Resized| known.is_none() && one.at < self.kept;
        self.sizes.extend(all.iter().skip(known.unwrap_or(0)).skip_while(in_checkpoint));
    }

    fn apply_sizes(&mut self) {
        let due = self.sizes.partition_point(|one| one.at <= self.at);
        for one in self.sizes.drain(..due) {
            self.terminal.resize(one.size);
        }
    }
}

/// Returns the length of the possible rest of a sequence after a gap: up to the first control character.
fn rest_of_sequence(bytes: &[u8]) -> usize {
    bytes.iter().take(MOST_REST).position(|&byte| byte < 0x20).unwrap_or(0)
}
