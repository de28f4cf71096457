//! The beginning of the text.

use super::mark::Mark;
use super::slice::{Rest, Want, Why, slice};
use super::walk::Walk;
use crate::Error;
use std::path::Path;

/// The beginning of the text, and where the rest begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// As many lines as the cap allows. If already the first is too long, its beginning, and a line that says where
    /// it goes on.
    pub text: String,
    /// Whether there is more.
    pub truncated: bool,
    /// The first line of which nothing is shown, if there is more.
    pub next_line: Option<u64>,
    /// The first byte whose text is not shown, if there is more. That is where `next_line` begins, unless the text
    /// ends inside a line.
    pub next_offset: Option<u64>,
    /// Whether the text ends inside a line.
    pub in_line: bool,
}

/// The text from a byte of the output on, and the byte where the rest begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FromByte {
    /// As many lines as the cap allows, or the beginning of a line that is longer.
    pub text: String,
    /// The first byte whose text is not shown, if there is more.
    pub next_offset: Option<u64>,
}

/// The text from byte `offset` of the output in `dir` on: for a line that is longer than a page. What was begun before
/// that byte is not known; where another text ended, nothing was.
pub fn from_byte(dir: &Path, offset: u64, cap_chars: usize, over: bool) -> Result<FromByte, Error> {
    let want = Want { first: 0, lines: u64::MAX, cap_chars, over };
    let slice = slice(dir, Walk::new(dir, Mark::at(offset)), &want)?;
    Ok(FromByte { text: slice.text, next_offset: slice.rest.map(|rest| rest.offset) })
}

/// The beginning of the text of the output in `dir`. This and the pages from `next_line` on are the whole, but for a
/// line that is longer than the cap.
pub fn head(dir: &Path, cap_chars: usize, over: bool) -> Result<Head, Error> {
    let want = Want { first: 0, lines: u64::MAX, cap_chars, over };
    let slice = slice(dir, Walk::new(dir, Mark::default()), &want)?;
    let in_line = slice.rest.is_some_and(|rest| rest.why == Why::InLine);
    let (next_line, next_offset) = slice.rest.map(|Rest { line, offset, .. }| (line, offset)).unzip();
    Ok(Head { text: slice.text, truncated: next_line.is_some(), next_line, next_offset, in_line })
}
