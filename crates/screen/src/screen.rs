//! The screen of one run, made from its output and sizes on disk.

use crate::Error;
use crate::answer::answer;
use crate::checkpoint::Checkpoint;
use crate::paint::{For, paint};
use crate::scanner::Spotted;
use crate::terminal::Terminal;
use crate::view::{Modes, View};
use std::path::{Path, PathBuf};
use tenure_core::spec::Size;
use tenure_output::{Piece, Reader, Resized, sizes};

/// How much is replayed before it is worth a checkpoint: a small part of a second's work.
const STRIDE: u64 = 2 << 20;
/// How much is read at once.
const AT_ONCE: usize = 64 << 10;
/// The rest of a sequence whose beginning is missing is rarely longer.
const MOST_REST: usize = 64;

/// A run's terminal as it stands.
pub struct Screen {
    output: PathBuf,
    checkpoint: PathBuf,
    reader: Reader,
    terminal: Terminal,
    /// How far the output is in it.
    at: u64,
    /// The offset of the last checkpoint.
    kept: u64,
    /// The sizes that are to come.
    sizes: Vec<Resized>,
    /// How many were recorded when that was last looked at; `None` before the first time.
    sizes_known: Option<usize>,
    /// Whether what comes next may begin in the middle of a sequence.
    after_gap: bool,
    replayed: u64,
}

impl Screen {
    /// The screen of the run with this output, whose terminal began with this size. Nothing is replayed yet that a
    /// checkpoint holds, or that [`Screen::advance`] is to bring.
    pub fn open(output: &Path, size: Size, checkpoint: &Path) -> Result<Self, Error> {
        let found = match Checkpoint::read(checkpoint) {
            // One from beyond the end is another run's.
            Some(found) if found.offset <= tenure_output::totals(output)?.bytes => Some(found),
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

    /// Takes in what was added to the output.
    pub fn advance(&mut self) -> Result<(), Error> {
        self.advance_answering(u64::MAX).map(drop)
    }

    /// The same, and what is to be typed to the program: the answers, in order, to every question whose last byte
    /// stands at `from` or later, as of that byte.
    pub fn advance_answering(&mut self, from: u64) -> Result<Vec<u8>, Error> {
        let mut answers = Vec::new();
        let mut buffer = vec![0; AT_ONCE];
        let mut newest = None;
        let (began, mut goal) = (self.at, None);
        loop {
            if self.at - began > STRIDE && goal.is_none() {
                // A program may write faster than this reads: what comes later is for the next time.
                goal = Some(tenure_output::totals(&self.output)?.bytes);
            }
            if goal.is_some_and(|goal| self.at >= goal) {
                break;
            }
            let piece = self.reader.read(self.at, &mut buffer)?;
            // After the bytes: whatever size they were made for is on record by now.
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

    /// How far the output is in it.
    pub fn offset(&self) -> u64 {
        self.at
    }

    /// How many bytes were replayed since it was opened.
    pub fn replayed(&self) -> u64 {
        self.replayed
    }

    /// What it shows.
    pub fn view(&self) -> View {
        self.terminal.view()
    }

    /// What the program asked of its terminal.
    pub fn modes(&self) -> Modes {
        self.terminal.modes()
    }

    /// The bytes that bring the terminal of somebody who attaches into this state.
    pub fn restore(&self) -> Vec<u8> {
        paint(&self.terminal, For::Person).into_bytes()
    }

    /// Gives it another size from here on. Sizes that a keeper recorded come by themselves.
    pub fn resize(&mut self, size: Size) {
        self.terminal.resize(size);
    }

    /// Takes bytes in that stand at the offset, each in the size that it was made for.
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

    /// A checkpoint, if enough came since the last, and the output stands between two sequences and two characters.
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

    /// Looks for sizes that were recorded. Those before the offset that was begun at are in the checkpoint already.
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

/// The length of what may be the rest of a sequence, after a gap: up to the first control character.
fn rest_of_sequence(bytes: &[u8]) -> usize {
    bytes.iter().take(MOST_REST).position(|&byte| byte < 0x20).unwrap_or(0)
}
