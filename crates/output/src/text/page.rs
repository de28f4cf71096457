//! Pages of lines.

use super::index::LineIndex;
use super::slice::{Want, Why, slice};
use super::walk::Walk;
use crate::Error;
use std::path::Path;

/// Number of lines in a page by default.
const LINES: u64 = 200;
/// Maximum number of tries. While the output is dropped as fast as it is read, no page is right; then the last one
/// is returned.
const TRIES: u32 = 8;

/// The requested lines. Neither `offset` nor `limit`: the last 200. `limit` alone: the last so many. `offset`
/// alone: all from there on.
#[derive(Debug, Clone, Copy)]
pub struct Ask {
    /// The first line.
    pub offset: Option<u64>,
    /// The number of lines.
    pub limit: Option<u64>,
    /// Maximum number of characters. A page ends before the line that would exceed it.
    pub cap_chars: usize,
    /// True if nothing will be added to the output any more.
    pub over: bool,
}

/// Some lines of the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// The lines. If the first line alone is longer than the cap, its beginning, and a line that says where the
    /// rest begins.
    pub text: String,
    /// The number of the first line.
    pub first_line: u64,
    /// The number of these lines; zero, if the first one does not exist.
    pub lines: u64,
    /// The number of all lines.
    pub total_lines: u64,
    /// The first line after these that is not shown at all, if there is one.
    pub next_line: Option<u64>,
    /// The first byte whose text comes after the shown part. `next_line` begins there, unless the text ends within
    /// a line.
    pub next_offset: Option<u64>,
    /// True if the cap ended the page.
    pub truncated: bool,
    /// The size of the output, including dropped and lost bytes.
    pub total_bytes: u64,
}

/// Returns lines of the text of the output in `dir`. The index belongs to the same output and makes the next call
/// faster.
///
/// Consecutive pages are the whole text, except for lines longer than the cap. If more of the output is dropped
/// between two calls, the lines after the gap have moved up.
pub fn page(dir: &Path, index: &mut LineIndex, ask: &Ask) -> Result<Page, Error> {
    for _ in 1..TRIES {
        index.update(dir)?;
        let page = take(dir, index, ask)?;
        if index.holds(dir)? {
            return Ok(page);
        }
    }
    index.update(dir)?;
    take(dir, index, ask)
}

/// Takes the page from the output that the index knows.
fn take(dir: &Path, index: &LineIndex, ask: &Ask) -> Result<Page, Error> {
    let total_lines = index.lines(ask.over);
    let total_bytes = index.end().offset();
    let first = match (ask.offset, ask.limit) {
        (Some(offset), _) => offset,
        (None, limit) => total_lines.saturating_sub(limit.unwrap_or(LINES)),
    };
    let lines = match (ask.offset, ask.limit) {
        (None, None) => LINES,
        (_, limit) => limit.unwrap_or(u64::MAX),
    };
    let mut page = Page {
        text: String::new(),
        first_line: first,
        lines: 0,
        total_lines,
        next_line: None,
        next_offset: None,
        truncated: false,
        total_bytes,
    };
    if first >= total_lines {
        return Ok(page);
    }
    let walk = Walk::new(dir, index.before(first)).until(total_bytes);
    let want = Want { first, lines, cap_chars: ask.cap_chars, over: ask.over };
    let slice = slice(dir, walk, &want)?;
    let rest = slice.rest;
    page.text = slice.text;
    page.lines = slice.lines;
    page.next_line = rest.map(|rest| rest.line).filter(|line| *line < total_lines);
    page.next_offset = rest.map(|rest| rest.offset);
    page.truncated = rest.is_some_and(|rest| rest.why != Why::Lines);
    Ok(page)
}
