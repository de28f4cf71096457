//! Texts of tasks for people: one line, without terminal controls and invisible characters, with secrets shown as
//! `***`, and cut to length.

use crate::redact;
use crate::session::is_unseen;

/// Maximum number of bytes of a text that are read: far less is shown.
const MAX_READ_BYTES: usize = 4096;
/// Maximum number of lines that are searched for the last one with text.
const LINES: usize = 50;
/// Maximum number of characters of a shown label.
pub const LABEL_CHARS: usize = 120;

/// Returns the beginning of a text as one line of at most so many characters.
pub fn line(text: &str, most: usize) -> String {
    let begin = &text[..text.floor_char_boundary(MAX_READ_BYTES)];
    let shown = redact::text(&visible(begin));
    cut(&shown, most, begin.len() < text.len())
}

/// Returns the last line of a text that is not empty.
pub fn last_line(text: &str, most: usize) -> String {
    // A progress bar rewrites its line after a carriage return.
    let lines = text.trim_end().rsplit(['\n', '\r']).take(LINES);
    lines.map(|it| line(it, most)).find(|it| !it.is_empty()).unwrap_or_default()
}

/// Returns the visible characters of a text, in one line.
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

/// Skips the rest of an escape sequence. An unterminated one takes no more than its line.
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
