//! Names against the bytes that xterm sends.

use super::*;

const NORMAL: Modes = Modes { application_cursor: false, application_keypad: false };
const APPLICATION: Modes = Modes { application_cursor: true, application_keypad: true };

fn bytes(text: &str, modes: Modes) -> String {
    let key = parse(text).unwrap_or_else(|error| panic!("{error}"));
    String::from_utf8(encode(&key, modes)).unwrap()
}

#[test]
fn keys_are_sent_as_xterm_sends_them() {
    for (names, expected) in [
        ("Enter return", "\r"),
        ("Tab", "\t"),
        ("BTab S-Tab", "\x1b[Z"),
        ("Escape esc", "\x1b"),
        ("Space", " "),
        ("BSpace Backspace", "\x7f"),
        ("C-BSpace", "\x08"),
        ("Delete DC del", "\x1b[3~"),
        ("Insert IC", "\x1b[2~"),
        ("Home", "\x1b[H"),
        ("End", "\x1b[F"),
        ("PageUp PgUp PPage", "\x1b[5~"),
        ("PageDown PgDn NPage", "\x1b[6~"),
        ("Up", "\x1b[A"),
        ("Down", "\x1b[B"),
        ("Right", "\x1b[C"),
        ("Left", "\x1b[D"),
        ("F1", "\x1bOP"),
        ("F4", "\x1bOS"),
        ("F5", "\x1b[15~"),
        ("F12", "\x1b[24~"),
        ("KP5", "5"),
        ("KPEnter", "\r"),
        ("a", "a"),
        ("é", "é"),
        ("- ", "-"),
        ("^", "^"),
    ] {
        for name in names.split_ascii_whitespace() {
            assert_eq!(bytes(name, NORMAL), expected, "{name}");
        }
    }
}

#[test]
fn modifiers_come_in_any_order_and_in_carets() {
    for (names, expected) in [
        ("C-c c-c ^c ^C C-S-c", "\x03"),
        ("C-Space C-@ ^@", "\0"),
        ("C-? ^?", "\x7f"),
        ("C-[ ^[", "\x1b"),
        ("C-- C-_", "\x1f"),
        ("C-\\", "\x1c"),
        ("M-x", "\x1bx"),
        ("M-Enter", "\x1b\r"),
        ("S-a", "A"),
        ("M-C-a C-M-a M-^a", "\x1b\x01"),
        ("C-Up", "\x1b[1;5A"),
        ("S-Left", "\x1b[1;2D"),
        ("M-Home", "\x1b[1;3H"),
        ("C-S-M-End M-S-C-End", "\x1b[1;8F"),
        ("S-F1", "\x1b[1;2P"),
        ("C-F5", "\x1b[15;5~"),
        ("S-Delete", "\x1b[3;2~"),
        ("M-BSpace", "\x1b\x7f"),
    ] {
        for name in names.split_ascii_whitespace() {
            assert_eq!(bytes(name, NORMAL), expected, "{name}");
        }
    }
}

#[test]
fn application_mode_changes_cursor_keys_without_modifiers_and_the_keypad() {
    for (name, expected) in [
        ("Up", "\x1bOA"),
        ("Home", "\x1bOH"),
        ("C-Up", "\x1b[1;5A"),
        ("PageUp", "\x1b[5~"),
        ("KP5", "\x1bOu"),
        ("KPEnter", "\x1bOM"),
        ("a", "a"),
    ] {
        assert_eq!(bytes(name, APPLICATION), expected, "{name}");
    }
}

#[test]
fn every_name_is_a_key_in_both_modes() {
    for name in names() {
        for modes in [NORMAL, APPLICATION] {
            assert!(!bytes(name, modes).is_empty(), "{name}");
            assert!(!bytes(&format!("C-M-S-{name}"), modes).is_empty(), "{name}");
        }
    }
}

#[test]
fn an_unknown_key_is_refused_with_those_like_it() {
    for (text, near) in [("Entr", "Enter"), ("C-Hom", "Home"), ("PageDwn", "PageDown"), ("F13", "F1")] {
        match parse(text) {
            Err(UnknownKey::NoSuchKey { near: found, .. }) => {
                assert!(found.contains(&near), "{text}: {found:?}");
            }
            other => panic!("{text}: {other:?}"),
        }
    }
    assert_eq!(parse("Entr").unwrap_err().to_string(), "\"Entr\" is not a key: did you mean Enter?");
    for text in ["", "hello world", "C-", "X-a", "^ab", "\u{1f600}\u{1f600}"] {
        let error = parse(text).unwrap_err();
        assert!(matches!(error, UnknownKey::NoSuchKey { .. }), "{text}: {error}");
    }
}

#[test]
fn a_key_without_a_code_is_refused_rather_than_sent_as_another() {
    for text in ["C-é", "C-!", "C-1", "S-1", "S-;"] {
        assert!(matches!(parse(text), Err(UnknownKey::NoCode { .. })), "{text}");
    }
}

#[test]
fn bytes_are_read_from_hexadecimal() {
    for (text, expected) in
        [("1b", vec![0x1b]), ("0x1B", vec![0x1b]), ("7", vec![7]), ("1b5b41", vec![27, 91, 65])]
    {
        assert_eq!(hex(text).unwrap(), expected, "{text}");
    }
    for text in ["", "0x", "g1", "1b5", "+1", "é", "0x0x"] {
        assert!(hex(text).is_err(), "{text}");
    }
}

#[test]
fn a_paste_cannot_be_ended_or_turned_into_keys_by_its_text() {
    let pasted = |text| String::from_utf8(paste(text, true)).unwrap();
    assert_eq!(pasted("a\tb\nc\r\nd\re"), "\x1b[200~a\tb\rc\rd\re\x1b[201~");
    assert_eq!(pasted("a\x1b[201~rm -rf\n"), "\x1b[200~arm -rf\r\x1b[201~");
    for evil in ["\x1b\x1b[201~[201~", "\x1b[20\x1b[201~1~", "\u{9b}201~", "\x03\x04\x7f\0", "\x1b[200~"] {
        let text = pasted(evil);
        let inner = text.strip_prefix("\x1b[200~").and_then(|it| it.strip_suffix("\x1b[201~")).unwrap();
        assert!(!inner.contains(|c: char| c.is_control()), "{inner:?}");
    }
    assert_eq!(paste("é漢\n", false), "é漢\r".as_bytes());
}
