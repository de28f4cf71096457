//! The text that came since the last read.

use super::collected::{Collected, before_chars};
use super::cursor::TextCursor;
use super::grouped;
use super::walk::Walk;
use crate::Error;
use crate::reader::end;
use std::path::Path;

/// The text since a mark.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unread {
    /// The new text; if it is too long, its end, after a line that says so.
    pub text: String,
    /// The mark for the next read.
    pub to: TextCursor,
    /// The part that is not shown.
    pub cut: Option<Cut>,
}

/// New text that is not shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut {
    /// The first byte of that text in the output.
    pub from_offset: u64,
    /// The line that it begins in, by the lines' numbers when the mark was made.
    pub from_line: u64,
    /// The number of its bytes in the output.
    pub bytes: u64,
}

/// Returns the text of the output in `dir` since the mark. Unless the output is over, everything incomplete, be it
/// a sequence, a character or a carriage return, waits in the mark and not in the text. However marks cut the
/// output, the texts together are the same.
///
/// Beyond the cap, that many of the newest characters are shown, from the beginning of a line if one begins in the
/// first half of them. The line that says so comes on top of the cap.
pub fn unread(dir: &Path, from: TextCursor, cap_chars: usize, over: bool) -> Result<Unread, Error> {
    // Output that comes meanwhile is left for the next time, or this might never end.
    let mut walk = Walk::new(dir, from).until(end(dir)?);
    let mut held = Collected::new(from);
    // No character is longer than 4 bytes; one more tells if the first is the first of a line.
    let enough = cap_chars.saturating_add(1).saturating_mul(4);
    while held.add(&mut walk)? {
        if held.text().len() / 2 > enough {
            held.let_go(held.text().floor_char_boundary(held.text().len() - enough));
        }
    }
    if over {
        held.finish(&mut walk);
    }
    let to = walk.mark();
    let begin = match before_chars(held.text(), cap_chars) {
        Some(at) => line_start(held.text(), at),
        None => 0,
    };
    if begin == 0 && !held.is_cut() {
        let len = held.text().len();
        return Ok(Unread { text: held.into_text(len), to, cut: None });
    }
    let bytes = held.offset(dir, begin)? - from.offset();
    let cut = Cut { from_offset: from.offset(), from_line: from.line(), bytes };
    let text = format!(
        "[… {} bytes before this are not shown: process log, offset {}]\n{}",
        grouped(bytes),
        cut.from_line,
        &held.text()[begin..]
    );
    Ok(Unread { text, to, cut: Some(cut) })
}

/// Returns the first position at or after `at` where a line begins, unless that leaves less than half.
fn line_start(text: &str, at: usize) -> usize {
    if text[..at].ends_with('\n') {
        return at;
    }
    let next = text[at..].find('\n').map(|end| at + end + 1);
    next.filter(|next| (text.len() - next) * 2 >= text.len() - at).unwrap_or(at)
}
