//! What came since the last time.

use super::collected::{Collected, before_chars};
use super::grouped;
use super::mark::Mark;
use super::walk::Walk;
use crate::Error;
use crate::reader::end;
use std::path::Path;

/// What came since a mark.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unread {
    /// The new text; of too much, the end, after a line that says so.
    pub text: String,
    /// Where to go on.
    pub to: Mark,
    /// What is not shown.
    pub cut: Option<Cut>,
}

/// New text that is not shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut {
    /// Its first byte in the output.
    pub from_offset: u64,
    /// The line that it begins in, by the lines' numbers when the mark was made.
    pub from_line: u64,
    /// How many bytes of the output it has.
    pub bytes: u64,
}

/// What came in the output in `dir` since the mark. Whatever waits for more, a sequence, a character or what a
/// carriage return means, waits in the mark and not in the text, unless the output is over. However the output was
/// cut by marks, the texts together are the same.
///
/// Above the cap, that many of the newest characters are shown, from the beginning of a line if one begins in the
/// first half of them. The line that says so comes on top of the cap.
pub fn unread(dir: &Path, from: Mark, cap_chars: usize, over: bool) -> Result<Unread, Error> {
    // What comes while we read is for the next time, or we might never end.
    let mut walk = Walk::new(dir, from).until(end(dir)?);
    let mut held = Collected::new(from);
    // No character is longer than 4 bytes; one more says whether the first is the first of a line.
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

/// Where to begin, if not before `at`: where a line does, unless that leaves less than half.
fn line_start(text: &str, at: usize) -> usize {
    if text[..at].ends_with('\n') {
        return at;
    }
    let next = text[at..].find('\n').map(|end| at + end + 1);
    next.filter(|next| (text.len() - next) * 2 >= text.len() - at).unwrap_or(at)
}
