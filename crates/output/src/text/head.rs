//! The beginning of the text.

use super::cursor::TextCursor;
use super::slice::{Rest, Want, Why, slice};
use super::walk::Walk;
use crate::Error;
use std::path::Path;

/// The beginning of the text, and the start of the rest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// As many lines as the cap allows. If the first line alone is too long, its beginning, and a line that says
    /// where the rest begins.
    pub text: String,
    /// True if there is more.
    pub truncated: bool,
    /// The first line that is not shown at all, if there is more.
    pub next_line: Option<u64>,
    /// The first byte whose text is not shown, if there is more. `next_line` begins there, unless the text ends
    /// within a line.
    pub next_offset: Option<u64>,
    /// True if the text ends within a line.
    pub in_line: bool,
}

/// The text from a byte of the output on, and the start of the rest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FromByte {
    /// As many lines as the cap allows, or the beginning of a longer line.
    pub text: String,
    /// The first byte whose text is not shown, if there is more.
    pub next_offset: Option<u64>,
}

/// Returns the text from byte `offset` of the output in `dir` on: for a line that is longer than a page. Sequences
/// and characters that began before that byte are unknown; at the end of an earlier text there were none.
pub fn from_byte(dir: &Path, offset: u64, cap_chars: usize, over: bool) -> Result<FromByte, Error> {
    let want = Want { first: 0, lines: u64::MAX, cap_chars, over };
    let slice = slice(dir, Walk::new(dir, TextCursor::at(offset)), &want)?;
    Ok(FromByte { text: slice.text, next_offset: slice.rest.map(|rest| rest.offset) })
}

/// Returns the beginning of the text of the output in `dir`. Together with the pages from `next_line` on it is the
/// whole text, except for lines longer than the cap.
pub fn head(dir: &Path, cap_chars: usize, over: bool) -> Result<Head, Error> {
    let want = Want { first: 0, lines: u64::MAX, cap_chars, over };
    let slice = slice(dir, Walk::new(dir, TextCursor::default()), &want)?;
    let in_line = slice.rest.is_some_and(|rest| rest.why == Why::InLine);
    let (next_line, next_offset) = slice.rest.map(|Rest { line, offset, .. }| (line, offset)).unzip();
    Ok(Head { text: slice.text, truncated: next_line.is_some(), next_line, next_offset, in_line })
}
