//! The text of bytes, wherever they are cut.

use crate::Cleaner;

fn clean(bytes: &[u8]) -> String {
    in_pieces(&[bytes])
}

fn in_pieces(pieces: &[&[u8]]) -> String {
    let mut cleaner = Cleaner::new();
    let mut out = String::new();
    pieces.iter().for_each(|piece| cleaner.push(piece, &mut out));
    cleaner.finish(&mut out);
    out
}

#[track_caller]
fn becomes(bytes: impl AsRef<[u8]>, text: &str) {
    assert_eq!(clean(bytes.as_ref()), text);
}

#[test]
fn text_stays_as_it_is() {
    becomes("", "");
    becomes("plain\n\ttext ~!\n", "plain\n\ttext ~!\n");
    becomes("é 中 🎉\n", "é 中 🎉\n");
}

#[test]
fn escape_sequences_go() {
    becomes("\x1b[1;31mred\x1b[0m", "red");
    becomes("a\x1b[38:2::1:2:3mb\x1b[?25lc\x1b[2 qd", "abcd");
    becomes("\x1b]0;title\x07a\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\b", "alinkb");
    becomes("a\x1bPq#0;2;0\nsixel\x1b\\b\x1b_Gi=1\x1b\\c\x1b^x\x1b\\d\x1bXy\x1b\\e", "abcde");
    becomes("\x1b7a\x1b8\x1bMb\x1b(Bc\x1b#8d", "abcd");
    becomes("a\x1b[3\x1b[1mb", "ab");
    becomes("\x1b[31", "");
}

#[test]
fn a_sequence_that_is_none_hides_nothing() {
    becomes("\x1b[1é2", "é2");
    becomes("\x1b[12\x18shown", "shown");
    becomes("\x1b]title without end\nnext\n", "\nnext\n");
    becomes("\x1bPnever ends\x1b[1mx", "x");
    let endless = [b"\x1bP".to_vec(), vec![b'a'; (1 << 20) + 1], b"after".to_vec()].concat();
    becomes(endless, "after");
    becomes("a\x1b[1\n2mb", "a\nb");
}

#[test]
fn other_control_characters_are_shown() {
    becomes("a\x00b\x07c\x08d\x0be\x0cf\x7f", "a\\x00b\\x07c\\x08d\\x0be\\x0cf\\x7f");
    becomes("\u{85}\u{9b}31m", "\\x85\\x9b31m");
}

#[test]
fn bytes_that_are_no_text_are_shown() {
    becomes(b"\xff\xfea", "\\xff\\xfea");
    becomes(b"\xc3(", "\\xc3(");
    becomes(b"\xe4\xb8", "\\xe4\\xb8");
    becomes(b"\xe4\xb8\n", "\\xe4\\xb8\n");
    becomes(b"\xf0\x9f\x1b[1mx", "\\xf0\\x9fx");
    // A surrogate, an overlong slash, and a number beyond the last character.
    becomes(b"\xed\xa0\x80\xc0\xaf\xf4\x90\x80\x80", "\\xed\\xa0\\x80\\xc0\\xaf\\xf4\\x90\\x80\\x80");
}

#[test]
fn what_only_steers_the_look_of_others_goes() {
    becomes("a\u{202e}b\u{200b}c\u{feff}d\u{ad}e\u{e0041}f", "abcdef");
}

#[test]
fn a_line_ends_once_however_it_ends() {
    becomes("a\r\nb\r\r\nc\n\rd\n", "a\nb\nc\nd\n");
    becomes("\r\n\r\n", "\n\n");
    becomes("a\r\x1b[K\nb", "a\nb");
}

#[test]
fn what_a_progress_bar_painted_over_is_a_line_of_its_own() {
    becomes("\r10%\r20%\r\x1b[K100%\ndone\n", "10%\n20%\n100%\ndone\n");
    becomes("10%\r", "10%");
    becomes("10%\r\r\r20%", "10%\n20%");
    becomes("a\r\u{200b}\n", "a\n");
}

#[test]
fn after_a_break_nothing_is_left_of_what_was_before() {
    let mut cleaner = Cleaner::new();
    let mut out = String::new();
    cleaner.push(b"a\r\x1b]title", &mut out);
    cleaner.finish(&mut out);
    cleaner.push(b"b\xe4", &mut out);
    cleaner.finish(&mut out);
    cleaner.push(b"\xb8c", &mut out);
    assert_eq!(out, "ab\\xe4\\xb8c");
}

/// Returns random bytes made of the interesting ones; the same for the same seed.
fn noise(seed: u64, len: usize) -> Vec<u8> {
    const WORDS: [&[u8]; 20] = [
        b"\x1b",
        b"[",
        b"]",
        b"P",
        b"\\",
        b"m",
        b"1;2",
        b"\r",
        b"\n",
        b"\x07",
        b"\x18",
        b"a",
        b"~ ",
        b"\xc3\xa9",
        b"\xf0\x9f\x8e\x89",
        b"\xe4\xb8",
        b"\xff",
        b"\xe2\x80\x8b",
        b"\xc2\x9b",
        b"\t\x00\x7f",
    ];
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut draw = |below: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state % below).unwrap()
    };
    let mut bytes = Vec::new();
    while bytes.len() < len {
        match draw(4) {
            0 => bytes.push(u8::try_from(draw(256)).unwrap()),
            _ => bytes.extend_from_slice(WORDS[draw(20)]),
        }
    }
    bytes
}

#[test]
fn any_cut_gives_the_same_text() {
    for seed in 0..400 {
        let bytes = noise(seed, 60);
        let whole = clean(&bytes);
        for cut in 0..=bytes.len() {
            assert_eq!(in_pieces(&[&bytes[..cut], &bytes[cut..]]), whole, "{bytes:x?} cut at {cut}");
        }
        assert_eq!(in_pieces(&bytes.chunks(1).collect::<Vec<_>>()), whole, "{bytes:x?}");
        assert_eq!(in_pieces(&bytes.chunks(3).collect::<Vec<_>>()), whole, "{bytes:x?}");
    }
}

#[test]
fn the_text_never_holds_what_a_terminal_would_obey() {
    for seed in 0..400 {
        let text = clean(&noise(seed, 500));
        assert!(!text.contains(|c: char| c.is_control() && c != '\n' && c != '\t'), "{text:?}");
    }
}

#[test]
fn the_text_is_at_most_four_times_as_long() {
    for seed in 0..100 {
        let bytes = noise(seed, 1000);
        assert!(clean(&bytes).len() <= 4 * bytes.len());
    }
}
