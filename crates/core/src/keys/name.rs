//! The names of keys, as people and other programs write them: `Enter`, `C-c`, `ctrl+c`, `^C`, `M-x`, `S-Tab`, `F5`, `a`.

use super::{BadKey, Held, Key, What, control};

/// The key that a word names.
pub fn parse(word: &str) -> Result<Key, BadKey> {
    let unknown = || BadKey::Unknown { word: word.to_owned() };
    let (held, rest) = held(word);
    let (what, shift) = match rest.strip_prefix('^').filter(|rest| !rest.is_empty()) {
        Some(rest) if held == Held::default() => {
            let what = single(rest).ok_or_else(unknown)?;
            return with_control(Key { what: What::Char(what), held: Held { ctrl: true, ..held } }, word);
        }
        _ => match single(rest) {
            Some(c) => (What::Char(c), false),
            None => named(rest).ok_or_else(unknown)?,
        },
    };
    with_control(Key { what, held: Held { shift: held.shift || shift, ..held } }, word)
}

fn with_control(key: Key, word: &str) -> Result<Key, BadKey> {
    match key.what {
        What::Char(with) if key.held.ctrl && control(with).is_none() => {
            Err(BadKey::NoControl { word: word.to_owned(), with })
        }
        _ => Ok(key),
    }
}

/// Takes off what is held down: `C-`, `ctrl-`, `ctrl+` and their like.
fn held(word: &str) -> (Held, &str) {
    let (mut held, mut rest) = (Held::default(), word);
    while let Some(at) = rest.find(['-', '+']).filter(|&at| at > 0 && at + 1 < rest.len()) {
        match rest[..at].to_ascii_lowercase().as_str() {
            "c" | "ctrl" | "control" => held.ctrl = true,
            "m" | "a" | "alt" | "meta" => held.alt = true,
            "s" | "shift" => held.shift = true,
            _ => break,
        }
        rest = &rest[at + 1..];
    }
    (held, rest)
}

fn single(text: &str) -> Option<char> {
    let mut chars = text.chars();
    let one = chars.next()?;
    chars.next().is_none().then_some(one)
}

/// The key with a name, and whether the name holds shift down.
fn named(name: &str) -> Option<(What, bool)> {
    let name = name.to_ascii_lowercase();
    let what = match name.as_str() {
        "enter" | "return" | "cr" => What::Enter,
        "tab" => What::Tab,
        "btab" | "backtab" => return Some((What::Tab, true)),
        "escape" | "esc" => What::Escape,
        "space" => What::Char(' '),
        "backspace" | "bspace" | "bs" => What::Backspace,
        "up" => What::Cursor(b'A'),
        "down" => What::Cursor(b'B'),
        "right" => What::Cursor(b'C'),
        "left" => What::Cursor(b'D'),
        "home" => What::Cursor(b'H'),
        "end" => What::Cursor(b'F'),
        "insert" | "ins" | "ic" => What::Numbered(2),
        "delete" | "del" | "dc" => What::Numbered(3),
        "pageup" | "pgup" | "ppage" => What::Numbered(5),
        "pagedown" | "pgdn" | "npage" => What::Numbered(6),
        _ => function(name.strip_prefix('f')?.parse().ok()?)?,
    };
    Some((what, false))
}

/// F1 to F20; the numbers that they send have holes.
fn function(number: u8) -> Option<What> {
    Some(match number {
        1..=4 => What::Function(b'P' + number - 1),
        5 => What::Numbered(15),
        6..=10 => What::Numbered(number + 11),
        11..=14 => What::Numbered(number + 12),
        15 | 16 => What::Numbered(number + 13),
        17..=20 => What::Numbered(number + 14),
        _ => return None,
    })
}
