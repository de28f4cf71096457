//! A position in the text, and its advance over a piece of the output.

use super::{grouped, line_ends};
use crate::Piece;
use crate::clean::Merger;
use serde::{Deserialize, Serialize};

/// A position in the text from which reading continues as if it had never been interrupted. It is after a byte of
/// the output, with the state of the sequences, characters and the line at that byte, so neither stream waits for
/// the other. The default is the beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TextCursor {
    offset: u64,
    line: u64,
    merger: Merger,
    /// True if the last piece was lost and that has been told: a loss is told once, however long it lasts.
    losing: bool,
}

impl TextCursor {
    /// Makes a mark at a byte, with nothing known before it.
    pub(super) fn at(offset: u64) -> Self {
        Self { offset, ..Self::default() }
    }

    /// Returns the first byte of the output that is not part of the text up to here.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns the number of the line that it is in: the number of lines that ended before.
    pub fn line(&self) -> u64 {
        self.line
    }

    /// Returns the number of lines if the text ends here; an unterminated line counts.
    pub(super) fn lines(&self) -> u64 {
        self.line + u64::from(self.merger.is_in_line())
    }

    /// Advances over a piece, whose bytes are at the beginning of `buf`, and appends its text to `out`.
    pub(super) fn pass(&mut self, piece: &Piece, buf: &[u8], out: &mut String) {
        let before = out.len();
        match *piece {
            Piece::Bytes { len, stream, .. } => self.merger.push(stream, &buf[..len], out),
            Piece::Gap { from, to } => {
                self.merger.tell(&format!("[… {} bytes were dropped here …]", grouped(to - from)), out);
            }
            // The size of a loss is unknown until it is over, but it must be told at once.
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

    /// Ends the text: appends what waited for more input.
    pub(super) fn finish(&mut self, out: &mut String) {
        let before = out.len();
        self.merger.finish(out);
        self.line += line_ends(&out[before..]);
    }

    /// Returns the same position with other line numbers.
    pub(super) fn renumbered(self, was: u64, is: u64) -> Self {
        Self { line: self.line - was + is, ..self }
    }

    /// Returns true if reading on from both gives the same, except for the lines' numbers.
    pub(super) fn goes_on_like(&self, other: &Self) -> bool {
        *self == Self { line: self.line, ..*other }
    }
}
