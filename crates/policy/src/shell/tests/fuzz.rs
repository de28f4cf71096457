//! Random lines: `analyse` always ends, and an accepted line reads back from its own rendering.

use super::super::*;
use crate::random::Random;
use std::path::PathBuf;

const SNIPPETS: [&str; 24] = [
    "git status; rm -rf /",
    "git log --format='%h %s' | head -n 5",
    "a && b || c | d",
    "echo \"it's $(id)\" `x`",
    "cat <(x) > y 2>&1",
    "{ a; } && (b)",
    "FOO=1 a ~/x *.c a{b,c}",
    "for x in a b; do echo $x; done",
    "if [ -f x ]; then y; fi",
    "case a in b) c;; esac",
    "cat <<'E'\nx\nE\n",
    "echo a \\\n  b # c\n",
    "f() { a; }; f",
    "echo $'x\\n' \"a\\\"b\"",
    "!! && %1 && =ls",
    "time ! a |& b &",
    "echo “x” é 日本\u{a0}y",
    "find . -name '*.rs' -exec wc -l {} +",
    "[[ a == b* ]] && echo ${x:-y}",
    "echo $((1 + 2)) <<< z",
    "a\r\nb\0c",
    "printf '%s\\0' 'a'\\''b' \"c\\\\d\"",
    "x='a b' y=\"c\" z",
    "coproc a; select b in c; do d; done",
];

const PIECES: [&str; 48] = [
    "'", "\"", "\\", "\n", "\\\n", " ", "\t", ";", "&", "&&", "|", "||", "<", ">", "(", ")", "{", "}", "{}",
    "*", "?", "[", "]", "~", "!", "#", "$", "$(", "${", "`", "=", "+=", "%", "^", ",", "..", "a", "b", "cd",
    "if", "é", "日", "“", "\r", "\0", "\u{202e}", "''", "-",
];

/// Checks that an accepted line is the same after it was rendered and analysed again.
fn reads_back(line: &str) -> bool {
    let Ok(analysis) = analyse(line) else { return false };
    assert_eq!(analysis.joins().len() + 1, analysis.segments().len(), "{line:?}");
    let programs = vec![PathBuf::from("/p q/it's"); analysis.segments().len()];
    let rendered = render(&analysis, &programs).unwrap();
    let again = match analyse(&rendered) {
        Ok(again) => again,
        // Quotes make a line longer.
        Err(error) if error.why == Why::TooLong => return true,
        Err(error) => panic!("{line:?} became {rendered:?}: {error}"),
    };
    assert_eq!(again.joins(), analysis.joins(), "{line:?}");
    for (one, other) in again.segments().iter().zip(analysis.segments()) {
        assert_eq!(one.argv()[1..], other.argv()[1..], "{line:?}");
        assert_eq!(one.program(), "/p q/it's", "{line:?}");
    }
    true
}

#[test]
fn random_bytes_never_break_it() {
    let mut random = Random::new(1);
    for _ in 0..20_000 {
        let bytes: Vec<u8> =
            (0..random.below(40)).map(|_| u8::try_from(random.below(256)).unwrap()).collect();
        reads_back(&String::from_utf8_lossy(&bytes));
    }
}

#[test]
fn random_pieces_of_shell_never_break_it() {
    let mut random = Random::new(2);
    let accepted = (0..40_000).filter(|_| reads_back(&random.text(&PIECES, 12))).count();
    assert!(accepted > 500, "only {accepted} lines were accepted: the test tests nothing");
}

#[test]
fn mutated_snippets_never_break_it() {
    let mut random = Random::new(3);
    let mut accepted = 0;
    for _ in 0..40_000 {
        let mut line: Vec<char> = random.pick(&SNIPPETS).chars().collect();
        for _ in 0..random.below(6) {
            let at = random.below(line.len() + 1);
            match random.below(3) {
                0 if at < line.len() => drop(line.remove(at)),
                1 if at < line.len() => {
                    let from = random.below(at + 1);
                    let piece: Vec<char> = line[from..at].to_vec();
                    line.splice(at..at, piece);
                }
                _ => drop(line.splice(at..at, random.pick(&PIECES).chars())),
            }
        }
        accepted += usize::from(reads_back(&line.into_iter().collect::<String>()));
    }
    assert!(accepted > 500, "only {accepted} lines were accepted: the test tests nothing");
}
