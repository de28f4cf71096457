//! Text of tasks that people read: one line, without what steers a terminal or hides, secrets shown as `***`, and no
//! longer than there is room.

use crate::redact;
use crate::session::is_unseen;

/// How many bytes of a text are looked at: what is shown is far less.
const LOOKED_AT: usize = 4096;
/// How many lines are looked at for the last that says something.
const LINES: usize = 50;
/// How many characters of a task's label are shown.
pub const LABEL_CHARS: usize = 120;
/// How long a label may be that is asked for.
pub const LABEL_BYTES: usize = 1024;

/// A label that is no label.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the label has {bytes} bytes: write one of at most {LABEL_BYTES}")]
pub struct LabelTooLong {
    bytes: usize,
}

/// Whether a text may be a label. What does not show in it is left out when it is shown.
pub fn check_label(text: &str) -> Result<(), LabelTooLong> {
    if text.len() <= LABEL_BYTES { Ok(()) } else { Err(LabelTooLong { bytes: text.len() }) }
}

/// The beginning of a text as one line of at most so many characters.
pub fn line(text: &str, most: usize) -> String {
    let begin = &text[..text.floor_char_boundary(LOOKED_AT)];
    let shown = redact::text(&visible(begin));
    cut(&shown, most, begin.len() < text.len())
}

/// The last line of a text that says something.
pub fn last_line(text: &str, most: usize) -> String {
    // A progress bar begins its line anew.
    let lines = text.trim_end().rsplit(['\n', '\r']).take(LINES);
    lines.map(|it| line(it, most)).find(|it| !it.is_empty()).unwrap_or_default()
}

/// What of a text shows, in one line.
fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        if c == '\u{1b}' {
            skip_sequence(&mut rest);
        } else if c.is_whitespace() || c.is_control() {
            if !shown.ends_with(' ') {
                shown.push(' ');
            }
        } else if !is_unseen(c) {
            shown.push(c);
        }
    }
    shown.trim().to_owned()
}

/// Passes over the rest of an escape sequence. One that does not end takes no more than its line.
fn skip_sequence(rest: &mut std::str::Chars<'_>) {
    match rest.next() {
        Some('[') => {
            rest.find(|c| ('\u{40}'..='\u{7e}').contains(c) || c.is_control());
        }
        Some(']' | 'P' | '^' | '_' | 'X') => {
            while let Some(c) = rest.next() {
                match c {
                    '\u{7}' | '\u{9c}' | '\n' | '\r' => return,
                    '\u{1b}' => {
                        rest.next();
                        return;
                    }
                    _ => {}
                }
            }
        }
        Some('\u{20}'..='\u{2f}') => {
            rest.next();
        }
        Some(_) | None => {}
    }
}

fn cut(text: &str, most: usize, was_longer: bool) -> String {
    if text.chars().count() <= most && !was_longer {
        return text.to_owned();
    }
    let mut shown: String = text.chars().take(most.saturating_sub(1)).collect();
    shown.truncate(shown.trim_end().len());
    shown.push('…');
    shown
}
