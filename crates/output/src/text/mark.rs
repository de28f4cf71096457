//! A place in the text, and how it moves on over a piece of the output.

use super::{grouped, line_ends};
use crate::Piece;
use crate::clean::Merger;
use serde::{Deserialize, Serialize};

/// A place in the text from which reading goes on as if it had never been interrupted. It stands after a byte of the
/// output, with what is known of the sequences, characters and the line that this byte is in the middle of; so
/// neither stream waits for the other. The default is the beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Mark {
    offset: u64,
    line: u64,
    merger: Merger,
    /// The last piece was lost, and that has been told: however long a loss goes on, it is told once.
    losing: bool,
}

impl Mark {
    /// A mark at a byte before which nothing is known.
    pub(super) fn at(offset: u64) -> Self {
        Self { offset, ..Self::default() }
    }

    /// The first byte of the output that the text up to here knows nothing of.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// How many lines have ended before: the number of the line that it stands in.
    pub fn line(&self) -> u64 {
        self.line
    }

    /// How many lines there are if the text ends here; one without an end is one.
    pub(super) fn lines(&self) -> u64 {
        self.line + u64::from(self.merger.is_in_line())
    }

    /// Moves over a piece, whose bytes are at the beginning of `buf`, and adds its text to `out`.
    pub(super) fn pass(&mut self, piece: &Piece, buf: &[u8], out: &mut String) {
        let before = out.len();
        match *piece {
            Piece::Bytes { len, stream, .. } => self.merger.push(stream, &buf[..len], out),
            Piece::Gap { from, to } => {
                self.merger.tell(&format!("[… {} bytes were dropped here …]", grouped(to - from)), out);
            }
            // How many is not known before the loss is over; that there is one must be told at once.
            Piece::Lost { .. } if !self.losing => {
                self.merger.tell("[… the disk was full: output was lost from here on …]", out);
            }
            Piece::Lost { .. } => {}
            Piece::End { .. } => return,
        }
        self.losing = matches!(piece, Piece::Lost { .. });
        self.offset = piece.end();
        self.line += line_ends(&out[before..]);
    }

    /// Nothing comes after this: adds what waited for more.
    pub(super) fn finish(&mut self, out: &mut String) {
        let before = out.len();
        self.merger.finish(out);
        self.line += line_ends(&out[before..]);
    }

    /// The same place, if so many of the lines before it had been others.
    pub(super) fn renumbered(self, was: u64, is: u64) -> Self {
        Self { line: self.line - was + is, ..self }
    }

    /// Whether reading on from both gives the same, but for the lines' numbers.
    pub(super) fn goes_on_like(&self, other: &Self) -> bool {
        *self == Self { line: self.line, ..*other }
    }
}
