//! Collected text whose beginning may be dropped, and which still knows its position in the output.

use super::cursor::TextCursor;
use super::line_ends;
use super::walk::Walk;
use crate::{Error, Piece};
use std::collections::VecDeque;
use std::path::Path;

/// Minimum amount of text to add at a time, and more if much is held, so that looking at all of it each time does
/// not become slow.
const CHUNK_SIZE: usize = if cfg!(test) { 100 } else { 32 << 10 };
/// Maximum distance of two marks, in bytes of text.
const BETWEEN_MARKS: usize = if cfg!(test) { 20 } else { 4 << 10 };

/// The text, see the module.
pub(super) struct Collected {
    text: String,
    /// The number of bytes that were dropped.
    gone: usize,
    /// Marks, each with the amount of text before it; the first is at or before the beginning of the held text.
    marks: VecDeque<(usize, TextCursor)>,
}

impl Collected {
    pub(super) fn new(from: TextCursor) -> Self {
        Self { text: String::new(), gone: 0, marks: VecDeque::from([(0, from)]) }
    }

    /// Returns the held text.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Returns true if text was dropped.
    pub(super) fn is_cut(&self) -> bool {
        self.gone > 0
    }

    /// Adds the next text; false if that is the end.
    pub(super) fn add(&mut self, walk: &mut Walk) -> Result<bool, Error> {
        let enough = self.text.len() + CHUNK_SIZE.max(self.text.len() / 2);
        while self.text.len() < enough {
            let all = self.gone + self.text.len();
            if self.marks.back().is_none_or(|(at, _)| all - at >= BETWEEN_MARKS) {
                self.marks.push_back((all, walk.mark()));
            }
            if let Piece::End { .. } = walk.piece(&mut self.text)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Adds the text that waited for more input.
    pub(super) fn finish(&mut self, walk: &mut Walk) {
        walk.finish(&mut self.text);
    }

    /// Drops the first `len` bytes of the held text.
    pub(super) fn let_go(&mut self, len: usize) {
        self.text.drain(..len);
        self.gone += len;
        while self.marks.get(1).is_some_and(|(at, _)| *at <= self.gone) {
            self.marks.pop_front();
        }
    }

    /// Drops `lines` lines, or all if there are fewer; returns the number still to drop.
    pub(super) fn let_go_lines(&mut self, lines: u64) -> u64 {
        let held = line_ends(&self.text);
        let len = if held < lines { self.text.len() } else { after_lines(&self.text, lines) };
        self.let_go(len);
        lines.saturating_sub(held)
    }

    /// Returns the offset in the output where the text held from `at` on begins.
    pub(super) fn offset(&self, dir: &Path, at: usize) -> Result<u64, Error> {
        let at = self.gone + at;
        let next = self.marks.partition_point(|(before, _)| *before <= at);
        let (before, mark) = self.marks[next.saturating_sub(1)];
        Walk::new(dir, mark).offset_after(at - before)
    }

    /// Returns the first `len` bytes of the held text.
    pub(super) fn into_text(mut self, len: usize) -> String {
        self.text.truncate(len);
        self.text
    }
}

/// Returns the position after the first `lines` lines of the text, which must exist.
pub(super) fn after_lines(text: &str, lines: u64) -> usize {
    let Some(last) = lines.checked_sub(1) else { return 0 };
    let nth = usize::try_from(last).unwrap_or(usize::MAX);
    text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').nth(nth).map_or(text.len(), |(at, _)| at + 1)
}

/// Returns the position after the first `chars` characters of the text, if it is longer.
pub(super) fn after_chars(text: &str, chars: usize) -> Option<usize> {
    // No text has more characters than bytes.
    if text.len() <= chars {
        return None;
    }
    text.char_indices().nth(chars).map(|(at, _)| at)
}

/// Returns the position of the last `chars` characters of the text, if it is longer.
pub(super) fn before_chars(text: &str, chars: usize) -> Option<usize> {
    let Some(last) = chars.checked_sub(1) else { return (!text.is_empty()).then_some(text.len()) };
    text.char_indices().nth_back(last).map(|(at, _)| at).filter(|at| *at > 0)
}
