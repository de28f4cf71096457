//! Text that is being collected, of which the beginning may be let go, and which still knows where in the output it
//! came from.

use super::line_ends;
use super::mark::Mark;
use super::walk::Walk;
use crate::{Error, Piece};
use std::collections::VecDeque;
use std::path::Path;

/// So much text is added at a time, if there is as much, and more if much is held: whoever looks at all of it each
/// time does not look for ever.
const PORTION: usize = if cfg!(test) { 100 } else { 32 << 10 };
/// There is a mark at least every so many bytes of text.
const BETWEEN_MARKS: usize = if cfg!(test) { 20 } else { 4 << 10 };

/// See the module.
pub(super) struct Collected {
    text: String,
    /// How much was let go.
    gone: usize,
    /// Marks by how much text came before each, the first at or before the beginning of what is held.
    marks: VecDeque<(usize, Mark)>,
}

impl Collected {
    pub(super) fn new(from: Mark) -> Self {
        Self { text: String::new(), gone: 0, marks: VecDeque::from([(0, from)]) }
    }

    /// What is held.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Whether something was let go.
    pub(super) fn is_cut(&self) -> bool {
        self.gone > 0
    }

    /// Adds what comes next; false if that is the end.
    pub(super) fn add(&mut self, walk: &mut Walk) -> Result<bool, Error> {
        let enough = self.text.len() + PORTION.max(self.text.len() / 2);
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

    /// Adds what waited for more.
    pub(super) fn finish(&mut self, walk: &mut Walk) {
        walk.finish(&mut self.text);
    }

    /// Lets go of the first `len` bytes that are held.
    pub(super) fn let_go(&mut self, len: usize) {
        self.text.drain(..len);
        self.gone += len;
        while self.marks.get(1).is_some_and(|(at, _)| *at <= self.gone) {
            self.marks.pop_front();
        }
    }

    /// Lets go of `lines` lines, or of all if there are not as many; returns how many are still to go.
    pub(super) fn let_go_lines(&mut self, lines: u64) -> u64 {
        let held = line_ends(&self.text);
        let len = if held < lines { self.text.len() } else { after_lines(&self.text, lines) };
        self.let_go(len);
        lines.saturating_sub(held)
    }

    /// Where in the output the text begins that is held from `at` on.
    pub(super) fn offset(&self, dir: &Path, at: usize) -> Result<u64, Error> {
        let at = self.gone + at;
        let next = self.marks.partition_point(|(before, _)| *before <= at);
        let (before, mark) = self.marks[next.saturating_sub(1)];
        Walk::new(dir, mark).offset_after(at - before)
    }

    /// What is held, without what comes after its first `len` bytes.
    pub(super) fn into_text(mut self, len: usize) -> String {
        self.text.truncate(len);
        self.text
    }
}

/// Where the text begins after its first `lines` lines, which it has.
pub(super) fn after_lines(text: &str, lines: u64) -> usize {
    let Some(last) = lines.checked_sub(1) else { return 0 };
    let nth = usize::try_from(last).unwrap_or(usize::MAX);
    text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').nth(nth).map_or(text.len(), |(at, _)| at + 1)
}

/// Where the text ends after its first `chars` characters, if it is longer.
pub(super) fn after_chars(text: &str, chars: usize) -> Option<usize> {
    // No text has more characters than bytes.
    if text.len() <= chars {
        return None;
    }
    text.char_indices().nth(chars).map(|(at, _)| at)
}

/// Where the last `chars` characters of the text begin, if it is longer.
pub(super) fn before_chars(text: &str, chars: usize) -> Option<usize> {
    let Some(last) = chars.checked_sub(1) else { return (!text.is_empty()).then_some(text.len()) };
    text.char_indices().nth_back(last).map(|(at, _)| at).filter(|at| *at > 0)
}
