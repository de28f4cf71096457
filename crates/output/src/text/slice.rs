//! Lines of the text from some line on, limited by a number of lines and of characters.

use super::collected::{Collected, after_chars, after_lines};
use super::walk::Walk;
use super::{grouped, line_ends};
use crate::Error;
use std::fmt::Write;
use std::path::Path;

/// The limits of a slice.
pub(super) struct Want {
    /// The first line.
    pub(super) first: u64,
    /// Maximum number of lines.
    pub(super) lines: u64,
    /// Maximum number of characters.
    pub(super) cap_chars: usize,
    /// True if nothing will be added to the output any more.
    pub(super) over: bool,
}

/// A slice of the text.
pub(super) struct Slice {
    pub(super) text: String,
    pub(super) lines: u64,
    /// The rest after it; `None` if there is none.
    pub(super) rest: Option<Rest>,
}

/// The rest after a slice.
#[derive(Clone, Copy)]
pub(super) struct Rest {
    /// The first line that was not shown at all.
    pub(super) line: u64,
    /// The first byte whose text was not shown.
    pub(super) offset: u64,
    pub(super) why: Why,
}

/// The reason why a slice ends.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Why {
    /// The slice has the requested number of lines.
    Lines,
    /// Another line would exceed the number of characters.
    Cap,
    /// The only line of the slice has too many characters, and is cut.
    InLine,
}

/// Takes the slice from the walk's position: before the first requested line, within another line or at the
/// beginning of the text.
pub(super) fn slice(dir: &Path, mut walk: Walk, want: &Want) -> Result<Slice, Error> {
    let mut held = Collected::new(walk.mark());
    let mut before = want.first.saturating_sub(walk.mark().line());
    loop {
        let more = held.add(&mut walk)?;
        if !more && want.over {
            held.finish(&mut walk);
        }
        before = held.let_go_lines(before);
        // The existence of a rest is known only when there is text that is not shown.
        if !more || end(held.text(), want).0 < held.text().len() {
            break;
        }
    }
    let (len, why) = end(held.text(), want);
    let shown = &held.text()[..len];
    let lines = line_ends(shown) + u64::from(!shown.is_empty() && !shown.ends_with('\n'));
    let rest = if len < held.text().len() {
        Some(Rest { line: want.first + lines, offset: held.offset(dir, len)?, why })
    } else {
        None
    };
    let mut text = held.into_text(len);
    if let Some(Rest { offset, why: Why::InLine, .. }) = rest {
        let _ = write!(text, "\n[… this line goes on at byte {} …]\n", grouped(offset));
    }
    Ok(Slice { text, lines, rest })
}

/// Returns the end of the shown text, and the reason.
fn end(text: &str, want: &Want) -> (usize, Why) {
    let wanted = if line_ends(text) >= want.lines { after_lines(text, want.lines) } else { text.len() };
    let Some(most) = after_chars(&text[..wanted], want.cap_chars) else { return (wanted, Why::Lines) };
    // The end of a line that fits is not too much.
    let fits = if text[most..].starts_with('\n') { most + 1 } else { most };
    match text[..fits].rfind('\n') {
        Some(at) if at + 1 == wanted => (wanted, Why::Lines),
        Some(at) => (at + 1, Why::Cap),
        None => (most, Why::InLine),
    }
}
