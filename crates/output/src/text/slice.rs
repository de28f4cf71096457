//! Lines of the text from some line on, up to a number of lines and of characters.

use super::collected::{Collected, after_chars, after_lines};
use super::walk::Walk;
use super::{grouped, line_ends};
use crate::Error;
use std::fmt::Write;
use std::path::Path;

/// What is wanted.
pub(super) struct Want {
    /// The first line.
    pub(super) first: u64,
    /// How many lines at most.
    pub(super) lines: u64,
    /// How many characters at most.
    pub(super) cap_chars: usize,
    /// Nothing will be added to the output any more.
    pub(super) over: bool,
}

/// What there is of it.
pub(super) struct Slice {
    pub(super) text: String,
    pub(super) lines: u64,
    /// What comes after; `None` if that is nothing.
    pub(super) rest: Option<Rest>,
}

/// What comes after a slice.
#[derive(Clone, Copy)]
pub(super) struct Rest {
    /// The first line of which nothing was shown.
    pub(super) line: u64,
    /// The first byte whose text was not shown.
    pub(super) offset: u64,
    pub(super) why: Why,
}

/// Why a slice ends.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Why {
    /// There were as many lines as were wanted.
    Lines,
    /// One line more would have been too many characters.
    Cap,
    /// Its only line has too many characters, and is not all there.
    InLine,
}

/// Takes the slice from where the walk stands: before the first line that is wanted, in another line or at the
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
        // Until there is text that is not shown, nobody knows whether there is a rest.
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

/// Where the text ends that is shown, and why there.
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
