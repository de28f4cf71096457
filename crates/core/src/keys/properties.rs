//! Properties of every key and every text: a program that reads xterm's bytes reads back the named key, and a text
//! that names no key is refused.

use super::*;
use proptest::prelude::*;

/// A key as a program reads it from its terminal.
#[derive(Debug, PartialEq)]
enum Read {
    /// A character, with Alt held or not.
    Char(char, bool),
    /// A control character, with Alt held or not.
    Control(u8, bool),
    /// `ESC [ 1 ; modifiers letter`, or `ESC O letter`.
    Letter(char, u8),
    /// `ESC [ number ; modifiers ~`.
    Number(u8, u8),
}

/// Reads all keys of some input, as xterm's documentation says; written without looking at the encoder.
fn read(bytes: &[u8]) -> Vec<Read> {
    let text = std::str::from_utf8(bytes).expect("UTF-8");
    let mut keys = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let (key, after) = first(rest);
        keys.push(key);
        rest = after;
    }
    keys
}

fn first(text: &str) -> (Read, &str) {
    if let Some(rest) = text.strip_prefix("\x1b[")
        && let Some(end) = rest.find(|c: char| c.is_ascii_alphabetic() || c == '~')
    {
        let (inner, last) = (&rest[..end], rest[end..].chars().next().expect("a last one"));
        let numbers: Vec<u8> = inner.split(';').filter_map(|number| number.parse().ok()).collect();
        let modifiers = numbers.get(1).copied().unwrap_or(1);
        let key =
            if last == '~' { Read::Number(numbers[0], modifiers) } else { Read::Letter(last, modifiers) };
        return (key, &rest[end + 1..]);
    }
    if let Some(rest) = text.strip_prefix("\x1bO")
        && let Some(last) = rest.chars().next().filter(char::is_ascii_alphabetic)
    {
        return (Read::Letter(last, 1), &rest[1..]);
    }
    // An escape before something else is Alt; alone, or twice at the end, it is a key.
    let (alt, rest) = match text.strip_prefix('\x1b') {
        Some(rest) if !rest.is_empty() => (true, rest),
        Some(_) | None => (false, text),
    };
    if alt && rest.starts_with("\x1b[") {
        let (key, after) = first(rest);
        return match key {
            Read::Letter(last, 1) => (Read::Letter(last, 3), after),
            other => panic!("Alt before {other:?}"),
        };
    }
    let c = rest.chars().next().expect("not empty");
    let key = if c.is_ascii_control() {
        Read::Control(u8::try_from(c).expect("ASCII"), alt)
    } else {
        Read::Char(c, alt)
    };
    (key, &rest[c.len_utf8()..])
}

/// Returns every set of modifiers, as it is written and as xterm counts it.
fn modifiers() -> impl Iterator<Item = (String, u8)> {
    (0..8).map(|set| {
        let written = [(4, "C-"), (2, "M-"), (1, "S-")];
        let held = written.iter().filter(|(bit, _)| set & bit != 0).map(|(_, text)| *text);
        (held.collect(), 1 + set)
    })
}

fn all_modes() -> impl Iterator<Item = Modes> {
    [(false, false), (true, false), (false, true), (true, true)]
        .into_iter()
        .map(|(application_cursor, application_keypad)| Modes { application_cursor, application_keypad })
}

/// Returns the key that a program must read.
fn expected(base: Base, modifiers: u8, modes: Modes) -> Read {
    let (shift, alt, ctrl) = ((modifiers - 1) & 1 != 0, (modifiers - 1) & 2 != 0, (modifiers - 1) & 4 != 0);
    match base {
        Base::Keypad(_, last) if modes.application_keypad => Read::Letter(last, 1),
        Base::Char(' ') if ctrl => Read::Control(0, alt),
        Base::Enter | Base::Keypad('\r', _) => Read::Control(b'\r', alt),
        Base::Char(c) | Base::Keypad(c, _) => Read::Char(c, alt),
        Base::Tab if shift => Read::Letter('Z', if alt { 3 } else { 1 }),
        Base::Tab => Read::Control(b'\t', alt),
        Base::Escape => Read::Control(0x1b, alt),
        Base::Backspace if ctrl => Read::Control(8, alt),
        Base::Backspace => Read::Control(0x7f, alt),
        Base::Cursor(last) | Base::Function(last) => Read::Letter(last, modifiers),
        Base::Numbered(number) => Read::Number(number, modifiers),
    }
}

#[test]
fn every_name_with_every_modifier_is_read_back_as_that_one_key() {
    for (name, base) in NAMES {
        for (written, number) in modifiers() {
            for modes in all_modes() {
                let text = format!("{written}{name}");
                let key = parse(&text).unwrap_or_else(|error| panic!("{error}"));
                let number = if name == "BTab" { 1 + ((number - 1) | 1) } else { number };
                let keys = read(&encode(&key, modes));
                assert_eq!(keys, [expected(base, number, modes)], "{text} {modes:?}");
            }
        }
    }
}

#[test]
fn no_two_keys_are_sent_alike() {
    let mut sent: Vec<(Vec<u8>, Base)> = Vec::new();
    for (name, base) in NAMES {
        // Keypad keys equal those of the main keyboard unless the program asked for application mode.
        let modes = Modes { application_cursor: false, application_keypad: true };
        let text = if name == "BTab" { "Tab" } else { name };
        let bytes = encode(&parse(text).expect("a key"), modes);
        if let Some((_, other)) = sent.iter().find(|(known, _)| *known == bytes) {
            assert_eq!(*other, base, "{name}");
        }
        sent.push((bytes, base));
    }
}

/// Returns true if a text is a name or a character, after modifiers only.
fn names_a_key(text: &str) -> bool {
    let ends: Vec<(usize, char)> = text.char_indices().collect();
    ends.iter().enumerate().any(|(at, (begin, _))| {
        let (held, base) = text.split_at(*begin);
        let is_base = at + 1 == ends.len() || names().any(|name| name.eq_ignore_ascii_case(base));
        is_base && held.chars().all(|c| "CcMmSs-^".contains(c))
    })
}

proptest! {
    #[test]
    fn a_text_is_one_key_or_refused(text in ".{0,40}") {
        if let Ok(key) = parse(&text) {
            prop_assert!(names_a_key(&text), "{:?}", text);
            for modes in all_modes() {
                let keys = read(&encode(&key, modes));
                prop_assert_eq!(keys.len(), 1, "{:?}: {:?}", text, keys);
            }
        }
    }

    #[test]
    fn a_character_with_modifiers_is_one_key_or_refused(
        held in "(C-|M-|S-|c-|m-|s-|\\^){0,5}", c in any::<char>()
    ) {
        let text = format!("{held}{c}");
        if let Ok(key) = parse(&text) {
            let keys = read(&encode(&key, Modes::default()));
            prop_assert_eq!(keys.len(), 1, "{:?}: {:?}", text, keys);
        }
    }

    #[test]
    fn a_misspelt_name_is_refused_in_a_short_text(at in 0..NAMES.len(), cut in 0..8_usize, c in any::<char>()) {
        let mut name: Vec<char> = NAMES[at].0.chars().collect();
        name.insert(cut.min(name.len()), c);
        let text: String = name.into_iter().collect();
        match parse(&text) {
            Ok(_) => prop_assert!(names_a_key(&text), "{:?}", text),
            Err(error) => prop_assert!(error.to_string().chars().count() < 300, "{}", error),
        }
    }

    #[test]
    fn bytes_come_back_from_their_hexadecimal(
        bytes in proptest::collection::vec(any::<u8>(), 1..64), capital: bool, prefix in "(0x|0X)?"
    ) {
        let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let digits = if capital { digits.to_uppercase() } else { digits };
        prop_assert_eq!(hex(&format!("{prefix}{digits}")).unwrap(), bytes);
    }

    #[test]
    fn what_is_not_hexadecimal_is_refused(text in "(0x|0X)?[0-9a-fA-Fg+ é]{0,9}") {
        let digits = text.strip_prefix("0x").or(text.strip_prefix("0X")).unwrap_or(&text);
        let is_hex = digits.chars().all(|c| c.is_ascii_hexdigit());
        let is_whole = digits.len() == 1 || (!digits.is_empty() && digits.len() % 2 == 0);
        prop_assert_eq!(hex(&text).is_ok(), is_hex && is_whole, "{:?}", text);
    }

    #[test]
    fn any_text_is_hexadecimal_or_refused_in_a_short_text(text in ".{0,200}") {
        if let Err(error) = hex(&text) {
            prop_assert!(error.to_string().chars().count() < 500, "{}", error);
        }
    }
}
