//! The state machine for the bytes of a stream. It tracks the position within an escape sequence or a character,
//! and knows nothing of the line that the text is added to.

use super::line::Line;
use serde::{Deserialize, Serialize};
use tenure_core::visible::is_format;

/// Maximum length of a string sequence: a longer one is taken for an accident, and the rest is shown.
const LONGEST_STRING: u32 = 1 << 20;

const ESC: u8 = 0x1b;
const CANCEL: u8 = 0x18;
const SUBSTITUTE: u8 = 0x1a;
const BELL: u8 = 0x07;

/// The state of the decoder, see the module.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Decoder {
    state: State,
    /// The beginning of an incomplete character, then zeros: no byte of such a beginning is zero.
    partial: [u8; 3],
}

/// The position within an escape sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum State {
    #[default]
    Ground,
    /// After ESC, and perhaps intermediate bytes.
    Escape,
    /// In a control sequence, after `ESC [`.
    Control,
    /// In a string that a line end also ends: a title, a link.
    Command { len: u32 },
    /// In a string of data.
    Data { len: u32 },
    /// In either kind of string, after an ESC: a backslash ends it.
    StringEnd,
}

impl Decoder {
    /// Appends the text of these bytes to `out`, as far as it is known without those that follow.
    pub(crate) fn push(&mut self, bytes: &[u8], line: &mut Line, out: &mut String) {
        let mut rest = bytes;
        while let Some(&byte) = rest.first() {
            let taken = if self.is_between() { shortcut(rest, line, out) } else { 0 };
            if taken == 0 {
                self.byte(byte, line, out);
            }
            rest = &rest[taken.max(1)..];
        }
    }

    /// Ends the stream, or a part of it: an unfinished sequence or character is shown as it is, and forgotten.
    pub(crate) fn finish(&mut self, line: &mut Line, out: &mut String) {
        let begun = self.take_partial();
        begun.bytes().iter().for_each(|&byte| code(byte, line, out));
        *self = Self::default();
    }

    /// Returns true if no sequence and no character is unfinished.
    fn is_between(&self) -> bool {
        self.state == State::Ground && self.partial[0] == 0
    }

    fn byte(&mut self, byte: u8, line: &mut Line, out: &mut String) {
        self.state = match (self.state, byte) {
            (State::Ground, ESC) if self.partial[0] == 0 => State::Escape,
            (State::Ground, _) => {
                self.ground(byte, line, out);
                return;
            }
            (State::Command { .. } | State::Data { .. }, ESC) => State::StringEnd,
            (State::StringEnd, b'\\') | (State::Command { .. }, BELL) => State::Ground,
            // A string that another sequence interrupts is over.
            (State::StringEnd, _) => {
                self.state = State::Escape;
                self.byte(byte, line, out);
                return;
            }
            (State::Escape | State::Control, ESC) => State::Escape,
            (_, CANCEL | SUBSTITUTE) => State::Ground,
            (State::Command { .. }, b'\n') => {
                self.ground(byte, line, out);
                State::Ground
            }
            (State::Command { len } | State::Data { len }, _) if len >= LONGEST_STRING => State::Ground,
            (State::Command { len }, _) => State::Command { len: len + 1 },
            (State::Data { len }, _) => State::Data { len: len + 1 },
            (State::Escape | State::Control, _) => self.in_sequence(byte, line, out),
        };
    }

    /// Takes a byte of a sequence that is not a string; returns the next state.
    fn in_sequence(&mut self, byte: u8, line: &mut Line, out: &mut String) -> State {
        match (self.state, byte) {
            // Terminals obey control characters in the middle of a sequence.
            (state, 0..=0x1f) => {
                self.ground(byte, line, out);
                state
            }
            (State::Escape, b'[') | (State::Control, 0x30..=0x3f) => State::Control,
            (State::Escape, b']') => State::Command { len: 0 },
            (State::Escape, b'P' | b'X' | b'^' | b'_') => State::Data { len: 0 },
            (state, 0x20..=0x2f | 0x7f) => state,
            // The final byte of the sequence.
            (_, 0x30..=0x7e) => State::Ground,
            // No sequence has such a byte, so this was none.
            (_, 0x80..) => {
                self.ground(byte, line, out);
                State::Ground
            }
        }
    }

    /// Takes a byte outside of sequences: a character, or a part of one.
    fn ground(&mut self, byte: u8, line: &mut Line, out: &mut String) {
        let Begun { mut four, len } = self.take_partial();
        four[len] = byte;
        let bytes = &four[..=len];
        match std::str::from_utf8(bytes) {
            Ok(text) => text.chars().for_each(|c| character(c, line, out)),
            Err(error) => match error.error_len() {
                // Without a length, the character may still become complete.
                None if len < self.partial.len() => self.partial[..=len].copy_from_slice(bytes),
                bad => {
                    let bad = bad.unwrap_or(bytes.len());
                    bytes[..bad].iter().for_each(|&byte| code(byte, line, out));
                    bytes[bad..].iter().for_each(|&byte| self.byte(byte, line, out));
                }
            },
        }
    }

    fn take_partial(&mut self) -> Begun {
        let [a, b, c] = std::mem::take(&mut self.partial);
        let len = [a, b, c].iter().position(|&byte| byte == 0).unwrap_or(3);
        Begun { four: [a, b, c, 0], len }
    }
}

/// The beginning of a character, with room for one byte more.
struct Begun {
    four: [u8; 4],
    len: usize,
}

impl Begun {
    fn bytes(&self) -> &[u8] {
        &self.four[..self.len]
    }
}

/// Appends the ordinary text or the one character at the beginning of these bytes, or skips a control sequence;
/// most output consists of these. Returns the number of bytes taken: zero, if the case is not so simple.
fn shortcut(bytes: &[u8], line: &mut Line, out: &mut String) -> usize {
    if let [ESC, b'[', rest @ ..] = bytes {
        let inside = rest.iter().take_while(|byte| matches!(byte, 0x20..=0x3f)).count();
        return if matches!(rest.get(inside), Some(0x40..=0x7e)) { inside + 3 } else { 0 };
    }
    if bytes[0] < 0x80 {
        let len = plain_prefix(bytes);
        if len > 0
            && let Ok(plain) = std::str::from_utf8(&bytes[..len])
        {
            line.add(plain, out);
        }
        return len;
    }
    let width = match bytes[0] {
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        _ => return 0,
    };
    match bytes.get(..width).map(std::str::from_utf8) {
        Some(Ok(text)) => {
            text.chars().for_each(|c| character(c, line, out));
            width
        }
        _ => 0,
    }
}

/// Returns the number of leading bytes that are ordinary characters, line ends or tabs.
fn plain_prefix(bytes: &[u8]) -> usize {
    let is_plain = |&byte: &u8| matches!(byte, b' '..=b'~' | b'\n' | b'\t');
    // Without a branch, a block is a single step for the CPU.
    let (blocks, _) = bytes.as_chunks::<32>();
    let whole = blocks.iter().take_while(|block| block.iter().fold(true, |all, byte| all & is_plain(byte)));
    let len = whole.count() * 32;
    len + bytes[len..].iter().take_while(|byte| is_plain(byte)).count()
}

fn character(c: char, line: &mut Line, out: &mut String) {
    match c {
        '\n' => line.end(out),
        '\r' => line.turn_back(),
        // The C1 control characters are those of one byte too, as terminals see them.
        _ if c.is_control() && c != '\t' => code(u8::try_from(u32::from(c)).unwrap_or(b'?'), line, out),
        _ if is_format(c) => {}
        _ => {
            line.before_visible(out);
            out.push(c);
        }
    }
}

/// Shows a byte by its number.
fn code(byte: u8, line: &mut Line, out: &mut String) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    line.before_visible(out);
    out.push_str("\\x");
    out.push(char::from(DIGITS[usize::from(byte >> 4)]));
    out.push(char::from(DIGITS[usize::from(byte & 15)]));
}
