//! Keys by name, and the bytes that a terminal sends for them (xterm's, which programs expect everywhere).

mod name;
#[cfg(test)]
mod tests;

pub use name::parse;

/// A key, perhaps with others held down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key {
    /// Which.
    pub what: What,
    /// What is held down with it.
    pub held: Held,
}

/// Which key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// One that types a character.
    Char(char),
    /// Enter.
    Enter,
    /// Tab.
    Tab,
    /// Backspace.
    Backspace,
    /// Escape.
    Escape,
    /// One that moves the cursor, named by the last byte of what it sends: `A` to `D`, `H`, `F`.
    Cursor(u8),
    /// One that is sent as a number: insert, delete, the page keys, F5 and later.
    Numbered(u8),
    /// F1 to F4, named by the last byte of what they send: `P` to `S`.
    Function(u8),
}

/// Keys that are held down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Held {
    /// Shift.
    pub shift: bool,
    /// Alt, also called meta.
    pub alt: bool,
    /// Control.
    pub ctrl: bool,
}

/// What the program asked of its terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Modes {
    /// Cursor keys are sent as an application's (DECCKM).
    pub application_cursor: bool,
}

/// A word that is no key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadKey {
    /// No key has this name.
    #[error(
        "{word:?} is no key: write a name (Enter, Up, F5), a character, or C-, M- or S- before one; text goes with --literal"
    )]
    Unknown {
        /// The word.
        word: String,
    },
    /// No terminal sends anything for control with this character.
    #[error("{word:?}: no terminal sends anything for control with {with:?}")]
    NoControl {
        /// The word.
        word: String,
        /// The character.
        with: char,
    },
    /// No detach sequence of this form.
    #[error("no keys are named: write them one after the other, as in `C-p C-q`")]
    Empty,
}

/// What a terminal sends for the key.
pub fn encode(key: &Key, modes: Modes) -> Vec<u8> {
    let Key { what, held } = *key;
    let number = 1 + u8::from(held.shift) + 2 * u8::from(held.alt) + 4 * u8::from(held.ctrl);
    let plain = number == 1;
    match what {
        What::Char(c) => after_alt(held, &typed(c, held)),
        What::Enter => after_alt(held, b"\r"),
        What::Tab if held.shift => after_alt(held, b"\x1b[Z"),
        What::Tab => after_alt(held, b"\t"),
        What::Backspace => after_alt(held, if held.ctrl { b"\x08" } else { b"\x7f" }),
        What::Escape => after_alt(held, b"\x1b"),
        What::Cursor(last) if plain && modes.application_cursor => vec![0x1b, b'O', last],
        What::Cursor(last) if plain => vec![0x1b, b'[', last],
        What::Function(last) if plain => vec![0x1b, b'O', last],
        What::Cursor(last) | What::Function(last) => {
            format!("\x1b[1;{number}{}", char::from(last)).into_bytes()
        }
        What::Numbered(which) if plain => format!("\x1b[{which}~").into_bytes(),
        What::Numbered(which) => format!("\x1b[{which};{number}~").into_bytes(),
    }
}

/// What a terminal sends when text is pasted: a line's end is the enter key's. Where the program asked for brackets,
/// it can tell the text from typing; an escape character inside could end them early, so there is none.
pub fn paste(text: &[u8], bracketed: bool) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len() + 12);
    if bracketed {
        bytes.extend_from_slice(b"\x1b[200~");
    }
    let mut before = 0;
    for &byte in text {
        match byte {
            b'\n' if before == b'\r' => {}
            b'\n' => bytes.push(b'\r'),
            0x1b if bracketed => {}
            _ => bytes.push(byte),
        }
        before = byte;
    }
    if bracketed {
        bytes.extend_from_slice(b"\x1b[201~");
    }
    bytes
}

fn after_alt(held: Held, bytes: &[u8]) -> Vec<u8> {
    if held.alt { [b"\x1b", bytes].concat() } else { bytes.to_vec() }
}

fn typed(c: char, held: Held) -> Vec<u8> {
    match control(c).filter(|_| held.ctrl) {
        Some(byte) => vec![byte],
        None if held.shift => c.to_uppercase().collect::<String>().into_bytes(),
        None => c.to_string().into_bytes(),
    }
}

/// What control makes of a character.
fn control(c: char) -> Option<u8> {
    let byte = u8::try_from(c).ok()?;
    match byte {
        b'@'..=b'_' | b'a'..=b'z' => Some(byte & 0x1f),
        b' ' | b'2' => Some(0),
        b'3'..=b'7' => Some(byte - b'3' + 0x1b),
        b'/' | b'-' => Some(0x1f),
        b'8' | b'?' => Some(0x7f),
        _ => None,
    }
}
