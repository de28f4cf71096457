//! Keys by name, and the bytes that a terminal sends for them (`send-keys`, `paste`, detach keys). The bytes are
//! xterm's; the screen knows the modes that are on. A modifier that these bytes cannot carry, as in Ctrl-Enter, is
//! dropped, as terminals do. Nothing here writes them anywhere.

mod names;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;

use names::NAMES;
use std::fmt;

/// A key with its modifiers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Key {
    base: Base,
    modifiers: Modifiers,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Base {
    Char(char),
    Enter,
    Tab,
    Escape,
    Backspace,
    /// Up, down, right, left, home or end, by the letter that ends its sequence.
    Cursor(char),
    /// F1 to F4, by the letter that ends its sequence.
    Function(char),
    /// Any other key, by the number in its sequence.
    Numbered(u8),
    /// A keypad key: its character, and the letter that ends its sequence in application mode.
    Keypad(char, char),
}

/// The modifiers that are modifiers down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
struct Modifiers {
    shift: bool,
    alt: bool,
    ctrl: bool,
}

/// The keyboard modes that the program in the terminal has switched on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Modes {
    /// Cursor keys are sent as application keys (DECCKM).
    pub application_cursor: bool,
    /// The keypad sends application keys (DECKPAM).
    pub application_keypad: bool,
}

/// A text that does not name a key with a code.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnknownKey {
    /// No key has this name.
    #[error("{text:?} is not a key{}", Hint(.near))]
    NoSuchKey {
        /// The text, cut if it is long.
        text: String,
        /// Similar names.
        near: Vec<&'static str>,
    },
    /// No terminal has a code for the key.
    #[error("{text:?} has no code that a terminal could send{}", shift_hint(*.shift))]
    NoCode {
        /// The key as written.
        text: String,
        /// True if the key has no code because of its shift.
        shift: bool,
    },
}

/// A text that is not a list of bytes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not hexadecimal: use 1b or 0x1b, or several bytes as in 1b5b41")]
pub struct BadHex {
    text: String,
}

struct Hint<'a>(&'a [&'static str]);

impl fmt::Display for Hint<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            [] => f.write_str(": name one as Enter, C-c, M-x, S-Tab, Up or F5; text is sent as literal text"),
            near => write!(f, ": did you mean {}?", near.join(" or ")),
        }
    }
}

fn shift_hint(shift: bool) -> &'static str {
    if shift { ": write the character that shift makes of it" } else { "" }
}

/// Parses a key: a single character, a name, either of them after `C-`, `M-` and `S-` in any order, or `^x`.
pub fn parse(text: &str) -> Result<Key, UnknownKey> {
    let mut modifiers = Modifiers::default();
    let mut rest = text;
    while let Some((modifier, after)) = modifier(rest) {
        match modifier {
            Modifier::Ctrl => modifiers.ctrl = true,
            Modifier::Alt => modifiers.alt = true,
            Modifier::Shift => modifiers.shift = true,
        }
        rest = after;
    }
    let no_such = || UnknownKey::NoSuchKey { text: text.chars().take(32).collect(), near: names::near(rest) };
    let base = match only_char(rest) {
        Some(c) => Base::Char(c),
        None => match names::find(rest) {
            Some(("BTab", base)) => {
                modifiers.shift = true;
                base
            }
            Some((_, base)) => base,
            None => return Err(no_such()),
        },
    };
    let key = Key { base, modifiers };
    match key.refused() {
        None => Ok(key),
        Some(shift) => Err(UnknownKey::NoCode { text: text.to_owned(), shift }),
    }
}

enum Modifier {
    Ctrl,
    Alt,
    Shift,
}

/// Splits a modifier off the text, if a key is left after it: `C--` is Ctrl and a dash, `^` is a caret.
fn modifier(text: &str) -> Option<(Modifier, &str)> {
    if let Some(rest) = text.strip_prefix('^') {
        return only_char(rest).map(|_| (Modifier::Ctrl, rest));
    }
    let (letter, rest) = text.split_once('-')?;
    let modifier = match letter {
        "C" | "c" => Modifier::Ctrl,
        "M" | "m" => Modifier::Alt,
        "S" | "s" => Modifier::Shift,
        _ => return None,
    };
    (!rest.is_empty()).then_some((modifier, rest))
}

fn only_char(text: &str) -> Option<char> {
    let mut chars = text.chars();
    chars.next().filter(|_| chars.next().is_none())
}

/// Returns the names of all keys, for help texts.
pub fn names() -> impl Iterator<Item = &'static str> {
    NAMES.iter().map(|(name, _)| *name)
}

/// Returns the bytes that the terminal sends for a key.
pub fn encode(key: &Key, modes: Modes) -> Vec<u8> {
    let Key { base, modifiers } = *key;
    let number = modifiers.number();
    match base {
        Base::Char(c) => modifiers.meta(&character(c, modifiers)),
        Base::Enter => modifiers.meta(b"\r"),
        Base::Tab if modifiers.shift => modifiers.meta(b"\x1b[Z"),
        Base::Tab => modifiers.meta(b"\t"),
        Base::Escape => modifiers.meta(b"\x1b"),
        Base::Backspace if modifiers.ctrl => modifiers.meta(b"\x08"),
        Base::Backspace => modifiers.meta(b"\x7f"),
        Base::Cursor(last) => match number {
            None if modes.application_cursor => format!("\x1bO{last}").into_bytes(),
            None => format!("\x1b[{last}").into_bytes(),
            Some(number) => format!("\x1b[1;{number}{last}").into_bytes(),
        },
        Base::Function(last) => match number {
            None => format!("\x1bO{last}").into_bytes(),
            Some(number) => format!("\x1b[1;{number}{last}").into_bytes(),
        },
        Base::Numbered(first) => match number {
            None => format!("\x1b[{first}~").into_bytes(),
            Some(number) => format!("\x1b[{first};{number}~").into_bytes(),
        },
        Base::Keypad(_, last) if modes.application_keypad => format!("\x1bO{last}").into_bytes(),
        Base::Keypad(c, _) => modifiers.meta(&[u8::try_from(c).unwrap_or(b'?')]),
    }
}

/// Parses bytes written as `1b`, `0x1b` or `1b5b41`.
pub fn hex(text: &str) -> Result<Vec<u8>, BadHex> {
    let bad = || BadHex { text: text.chars().take(32).collect() };
    let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
        return Err(bad());
    }
    match digits.len() {
        1 => u8::from_str_radix(digits, 16).map(|byte| vec![byte]).map_err(|_| bad()),
        n if n % 2 == 0 => (0..n)
            .step_by(2)
            .map(|at| u8::from_str_radix(&digits[at..at + 2], 16).map_err(|_| bad()))
            .collect(),
        _ => Err(bad()),
    }
}

/// Returns a text as a terminal pastes it: lines end with a carriage return, and no part of it is a key or can end
/// the paste.
pub fn paste(text: &str, bracketed: bool) -> Vec<u8> {
    const BRACKETS: [&str; 2] = ["\x1b[200~", "\x1b[201~"];
    let mut clean = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let bracket = BRACKETS.iter().find(|bracket| rest.starts_with(**bracket));
        let taken = if rest.starts_with("\r\n") { 2 } else { bracket.map_or(c.len_utf8(), |it| it.len()) };
        match c {
            '\r' | '\n' => clean.push('\r'),
            // Drops the rest of C0, DEL and C1: U+009B begins an escape sequence in one character.
            '\t' => clean.push('\t'),
            c if c.is_control() => {}
            c => clean.push(c),
        }
        rest = &rest[taken..];
    }
    let [open, close] = if bracketed { BRACKETS } else { [""; 2] };
    [open, &clean, close].concat().into_bytes()
}

impl Key {
    /// Returns `None` if the key has a code; else true if only its shift is to blame.
    fn refused(&self) -> Option<bool> {
        match self.base {
            Base::Char(c) if self.modifiers.ctrl => control(c).is_none().then_some(false),
            Base::Char(c) if self.modifiers.shift => shifted(c).is_none().then_some(true),
            Base::Char(_)
            | Base::Enter
            | Base::Tab
            | Base::Escape
            | Base::Backspace
            | Base::Cursor(_)
            | Base::Function(_)
            | Base::Numbered(_)
            | Base::Keypad(..) => None,
        }
    }
}

impl Modifiers {
    /// Returns xterm's number for the modifiers; `None` without any.
    fn number(self) -> Option<u8> {
        match u8::from(self.shift) + 2 * u8::from(self.alt) + 4 * u8::from(self.ctrl) {
            0 => None,
            sum => Some(1 + sum),
        }
    }

    /// Puts an escape before the bytes if Alt is modifiers.
    fn meta(self, bytes: &[u8]) -> Vec<u8> {
        if self.alt { [b"\x1b", bytes].concat() } else { bytes.to_vec() }
    }
}

fn character(c: char, modifiers: Modifiers) -> Vec<u8> {
    let made = match modifiers {
        Modifiers { ctrl: true, .. } => control(c).map(char::from),
        Modifiers { shift: true, .. } => shifted(c),
        Modifiers { .. } => None,
    };
    made.unwrap_or(c).to_string().into_bytes()
}

/// Returns the control character of a key, which is always below 0x80.
fn control(c: char) -> Option<u8> {
    match c {
        'a'..='z' | '@'..='_' => u8::try_from(c).ok().map(|b| b & 0x1f),
        ' ' | '2' => Some(0),
        '3'..='7' => u8::try_from(c).ok().map(|b| b - b'3' + 0x1b),
        '8' | '?' => Some(0x7f),
        '/' | '-' => Some(0x1f),
        _ => None,
    }
}

/// Returns the capital of a letter. Other shifted keys depend on the keyboard, so they have none.
fn shifted(c: char) -> Option<char> {
    if c.is_uppercase() || c == ' ' {
        return Some(c);
    }
    let mut upper = c.to_uppercase();
    upper.next().filter(|&it| it != c && upper.next().is_none())
}
