//! The parser with the worst lines that the lexer accepts: it ends soon, without a deep stack.

use super::super::*;
use std::time::{Duration, Instant};

#[rustfmt::skip]
const PIECES: [&str; 59] = [
    "a ", "'a'", "\"a\"", "''", "\"\"", "'a' ", "\"a\" ", "\\a", "\\\\", "\\a ", "a\\ ", "\\\n", "a\\\n", "\n", "#\n", "#", "a#", "{} ",
    "x{} ", "} ", "] ", "a]", "a}", "! ", "= ", "== ", "!= ", "-a ", "- ", "1 ", "-1 ", "é", "日本 ", "a=b ", "% ", "^", ", ", "\t", " ",
    "'\n'", "\"\n\"", "'\"' ", "\"'\" ", "'\"'\"'\"", "\"\\\"\"", "\"\\\\\"", "~a", "a~ ", "a:b", "..", "a\\\n ", "\"a\\\n\"", "\\\"", "\\' ",
    "'a'\\''b'", "-f a -a ", "a -o ", "a = b -a ", "! -f x -a ",
];

const FRAMES: [(&str, &str); 6] =
    [("a ", ""), ("", ""), ("[ ", " ]"), ("a '", "'"), ("a \"", "\""), ("a", " | b && c")];

/// Parses many repetitions of `piece`, if the lexer accepts them.
fn ends((before, after): (&str, &str), piece: &str, length: usize) -> bool {
    let line =
        format!("{before}{}{after}", piece.repeat((length - before.len() - after.len()) / piece.len()));
    if lex::Lexer::new(&line).analysis().is_err() {
        return false;
    }
    let began = Instant::now();
    let _ = analyse(&line);
    let took = began.elapsed();
    assert!(took < Duration::from_secs(20), "{before:?} {piece:?} {after:?} took {took:?}");
    true
}

#[test]
fn whatever_is_repeated_the_parser_ends() {
    let pairs = FRAMES.iter().flat_map(|frame| PIECES.map(|piece| (*frame, piece)));
    let passed = pairs.filter(|(frame, piece)| ends(*frame, piece, 4096)).count();
    assert!(passed > 250, "only {passed} lines got to the parser: the test tests nothing");
}

#[test]
fn the_longest_lines_take_no_longer_than_their_length() {
    for (frame, piece) in [
        (FRAMES[0], "== "),
        (FRAMES[0], "\\a"),
        (FRAMES[0], "''"),
        (FRAMES[2], "! "),
        (FRAMES[2], "a -o "),
        (FRAMES[2], "{} "),
        (FRAMES[5], "a "),
    ] {
        ends(frame, piece, MAX_BYTES);
    }
    // The parser searches for an end after each of them, so a few are accepted, and thousands are not.
    assert!(analyse(&format!("a {}", "== b ".repeat(10))).is_ok());
    assert_eq!(why(&format!("a {}", "== b ".repeat(4000))), Why::TwoReadings);
}

#[test]
fn as_many_commands_as_there_may_be_are_read() {
    let command = format!("a {}", "'x' \"y\" ".repeat(100));
    for join in [" | ", " && ", "\n", "; ", " || "] {
        let line = vec![command.as_str(); MAX_SEGMENTS].join(join);
        assert_eq!(analyse(&line).unwrap().segments().len(), MAX_SEGMENTS, "{join:?}");
    }
}

fn why(line: &str) -> Why {
    analyse(line).unwrap_err().why
}
