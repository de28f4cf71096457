//! Every name and what it sends.

use super::*;

fn sent(word: &str) -> String {
    String::from_utf8(encode(&parse(word).unwrap(), Modes::default())).unwrap()
}

#[test]
fn names_send_what_xterm_sends() {
    let all = [
        ("Enter", "\r"),
        ("a", "a"),
        ("é", "é"),
        ("-", "-"),
        ("+", "+"),
        ("^", "^"),
        ("C-c", "\x03"),
        ("c-C", "\x03"),
        ("Ctrl+C", "\x03"),
        ("^C", "\x03"),
        ("^[", "\x1b"),
        ("C-Space", "\0"),
        ("C-@", "\0"),
        ("C-\\", "\x1c"),
        ("C--", "\x1f"),
        ("C-?", "\x7f"),
        ("M-x", "\x1bx"),
        ("M-Enter", "\x1b\r"),
        ("C-M-a", "\x1b\x01"),
        ("S-a", "A"),
        ("Tab", "\t"),
        ("S-Tab", "\x1b[Z"),
        ("BTab", "\x1b[Z"),
        ("Esc", "\x1b"),
        ("Escape", "\x1b"),
        ("BSpace", "\x7f"),
        ("C-Backspace", "\x08"),
        ("Space", " "),
        ("Up", "\x1b[A"),
        ("C-Right", "\x1b[1;5C"),
        ("S-M-Home", "\x1b[1;4H"),
        ("End", "\x1b[F"),
        ("PgUp", "\x1b[5~"),
        ("NPage", "\x1b[6~"),
        ("Delete", "\x1b[3~"),
        ("C-Delete", "\x1b[3;5~"),
        ("Insert", "\x1b[2~"),
        ("F1", "\x1bOP"),
        ("S-F4", "\x1b[1;2S"),
        ("F5", "\x1b[15~"),
        ("F6", "\x1b[17~"),
        ("F10", "\x1b[21~"),
        ("F11", "\x1b[23~"),
        ("F12", "\x1b[24~"),
        ("F14", "\x1b[26~"),
        ("F15", "\x1b[28~"),
        ("F17", "\x1b[31~"),
        ("F20", "\x1b[34~"),
    ];
    for (word, bytes) in all {
        assert_eq!(sent(word), bytes, "{word}");
    }
}

#[test]
fn an_application_gets_its_own_cursor_keys_unless_others_are_held() {
    let modes = Modes { application_cursor: true };
    let sent = |word| encode(&parse(word).unwrap(), modes);
    assert_eq!(sent("Up"), b"\x1bOA");
    assert_eq!(sent("Home"), b"\x1bOH");
    assert_eq!(sent("C-Up"), b"\x1b[1;5A");
    assert_eq!(sent("F5"), b"\x1b[15~");
}

#[test]
fn what_is_no_key_is_refused() {
    for word in ["", "hello", "C-", "F0", "F21", "C-hello", "X-a", "^^^"] {
        assert!(matches!(parse(word), Err(BadKey::Unknown { .. })), "{word:?}");
    }
    assert!(matches!(parse("C-é"), Err(BadKey::NoControl { with: 'é', .. })));
    assert!(matches!(parse("^1"), Err(BadKey::NoControl { .. })));
}

#[test]
fn a_pasted_line_ends_with_the_enter_key() {
    assert_eq!(paste(b"a\nb\r\nc\rd\n\n", false), b"a\rb\rc\rd\r\r");
    assert_eq!(paste(b"a\x1b[31m", false), b"a\x1b[31m");
}

#[test]
fn brackets_cannot_be_ended_from_within() {
    assert_eq!(paste(b"a\x1b[201~rm\n", true), b"\x1b[200~a[201~rm\r\x1b[201~");
    assert_eq!(paste(b"", true), b"\x1b[200~\x1b[201~");
}
