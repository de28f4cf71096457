//! Output as text for agents and pagers. Escape sequences go; control characters other than line end and tab, and
//! bytes that are no UTF-8, are shown as `\xNN`; characters that only steer how others look go. A carriage return
//! before a line end is part of it, and one that begins a line anew ends the line: what a progress bar painted over
//! is a line of its own.
//!
//! It is a machine that takes one byte at a time, so the result does not depend on how the bytes were cut.
//! `anstream`'s `StripBytes` was not enough: it drops control characters instead of showing them, and lets a string
//! sequence that never ends swallow all that follows.

mod invisible;

use invisible::is_invisible;

/// A string sequence that is longer than this is taken for an accident, and what follows is shown.
const LONGEST_STRING: u32 = 1 << 20;

const ESC: u8 = 0x1b;
const CANCEL: u8 = 0x18;
const SUBSTITUTE: u8 = 0x1a;
const BELL: u8 = 0x07;

/// Makes text of one stream's bytes.
#[derive(Debug, Default)]
pub struct Cleaner {
    state: State,
    /// The beginning of a character whose rest is to come.
    partial: [u8; 4],
    partial_len: usize,
    /// Whether there is something in the line.
    line_begun: bool,
    /// A carriage return came, and nothing since.
    returned: bool,
}

/// Where in an escape sequence we are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum State {
    #[default]
    Ground,
    /// After ESC, and perhaps intermediate bytes.
    Escape,
    /// In a control sequence, after `ESC [`.
    Control,
    /// In a string that a line end ends too: a title, a link.
    Command { len: u32 },
    /// In a string of data.
    Data { len: u32 },
    /// In either, after an ESC: a backslash ends it.
    StringEnd,
}

impl Cleaner {
    /// A cleaner at the beginning of a stream.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds to `out` what these bytes are as text, as far as can be told without those that follow.
    pub fn push(&mut self, bytes: &[u8], out: &mut String) {
        let mut rest = bytes;
        while let Some(&byte) = rest.first() {
            let plain = self.plain_prefix(rest);
            if plain > 0 {
                let text = rest[..plain].iter().map(|&b| char::from(b));
                self.before_visible(out);
                out.extend(text);
                rest = &rest[plain..];
            } else {
                self.byte(byte, out);
                rest = &rest[1..];
            }
        }
    }

    /// The stream ends here, or goes on elsewhere: what was begun is shown as it is, and forgotten.
    pub fn finish(&mut self, out: &mut String) {
        let partial = self.partial;
        for &byte in &partial[..self.partial_len] {
            self.code(byte, out);
        }
        *self = Self::default();
    }

    /// How many of these bytes are ordinary characters; most output is made of them.
    fn plain_prefix(&self, bytes: &[u8]) -> usize {
        if self.state != State::Ground || self.partial_len > 0 {
            return 0;
        }
        bytes.iter().position(|b| !matches!(b, b' '..=b'~')).unwrap_or(bytes.len())
    }

    fn byte(&mut self, byte: u8, out: &mut String) {
        self.state = match (self.state, byte) {
            (State::Ground, ESC) if self.partial_len == 0 => State::Escape,
            (State::Ground, _) => {
                self.ground(byte, out);
                return;
            }
            (State::Command { .. } | State::Data { .. }, ESC) => State::StringEnd,
            (State::StringEnd, b'\\') | (State::Command { .. }, BELL) => State::Ground,
            // A string that another sequence interrupts is over.
            (State::StringEnd, _) => {
                self.state = State::Escape;
                self.byte(byte, out);
                return;
            }
            (State::Escape | State::Control, ESC) => State::Escape,
            (_, CANCEL | SUBSTITUTE) => State::Ground,
            (State::Command { .. }, b'\n') => {
                self.ground(byte, out);
                State::Ground
            }
            (State::Command { len } | State::Data { len }, _) if len >= LONGEST_STRING => State::Ground,
            (State::Command { len }, _) => State::Command { len: len + 1 },
            (State::Data { len }, _) => State::Data { len: len + 1 },
            (State::Escape | State::Control, _) => self.in_sequence(byte, out),
        };
    }

    /// A byte of a sequence that is not a string; returns where that leads.
    fn in_sequence(&mut self, byte: u8, out: &mut String) -> State {
        match (self.state, byte) {
            // Terminals obey control characters in the middle of a sequence.
            (state, 0..=0x1f) => {
                self.ground(byte, out);
                state
            }
            (State::Escape, b'[') | (State::Control, 0x30..=0x3f) => State::Control,
            (State::Escape, b']') => State::Command { len: 0 },
            (State::Escape, b'P' | b'X' | b'^' | b'_') => State::Data { len: 0 },
            (state, 0x20..=0x2f | 0x7f) => state,
            // The last byte of the sequence.
            (_, 0x30..=0x7e) => State::Ground,
            // No sequence has such a byte: what was begun was none.
            (_, 0x80..) => {
                self.ground(byte, out);
                State::Ground
            }
        }
    }

    /// A byte outside of sequences: a character, or a part of one.
    fn ground(&mut self, byte: u8, out: &mut String) {
        self.partial[self.partial_len] = byte;
        self.partial_len += 1;
        let bytes = self.partial;
        match std::str::from_utf8(&bytes[..self.partial_len]) {
            Ok(text) => {
                self.partial_len = 0;
                text.chars().for_each(|c| self.character(c, out));
            }
            Err(error) => {
                // Without a length, the character may still become whole.
                let Some(bad) = error.error_len() else { return };
                let len = std::mem::take(&mut self.partial_len);
                bytes[..bad].iter().for_each(|&byte| self.code(byte, out));
                bytes[bad..len].iter().for_each(|&byte| self.byte(byte, out));
            }
        }
    }

    fn character(&mut self, c: char, out: &mut String) {
        match c {
            '\n' => {
                out.push('\n');
                (self.line_begun, self.returned) = (false, false);
            }
            '\r' => self.returned = self.line_begun,
            '\t' => {
                self.before_visible(out);
                out.push('\t');
            }
            // The C1 control characters are those of one byte, too, as terminals see them.
            _ if c.is_control() => self.code(u8::try_from(u32::from(c)).unwrap_or(b'?'), out),
            _ if is_invisible(c) => {}
            _ => {
                self.before_visible(out);
                out.push(c);
            }
        }
    }

    /// Shows a byte by its number.
    fn code(&mut self, byte: u8, out: &mut String) {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        self.before_visible(out);
        out.push_str("\\x");
        out.push(char::from(DIGITS[usize::from(byte >> 4)]));
        out.push(char::from(DIGITS[usize::from(byte & 15)]));
    }

    /// Something is about to be added to the line: what a carriage return left behind is a line of its own.
    fn before_visible(&mut self, out: &mut String) {
        if std::mem::take(&mut self.returned) {
            out.push('\n');
        }
        self.line_begun = true;
    }
}
