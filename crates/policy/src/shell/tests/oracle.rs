//! Real shells agree: a program gets the analysed words, from the rendered line and from the original.

use super::super::*;
use crate::random::Random;
use std::path::{Path, PathBuf};

/// A program that prints each word with a NUL after it.
const PRINTER: &str = "/usr/bin/printf";

const WORDS: [&str; 28] = [
    "'", "\"", "\\", "\n", " ", "\t", "$x", "$(id)", "`id`", "*", "?", "~", "!", "#", ";", "&", "|", "<",
    ">", "a", "b", "é", "日本", "“", "\u{a0}", "%", "{a,b}", "\\n",
];

/// Returns the output of `line` in `shell`, which starts in an empty directory and finds no program but the
/// printer.
// The shell is the point of the test; it is waited for, and only the programs above can be started.
#[expect(clippy::disallowed_methods)]
fn printed(shell: &str, line: &str, place: &Path) -> String {
    let mut command = std::process::Command::new(shell);
    command.args(["-c", line]).env_clear().env("PATH", place.join("bin")).env("LC_ALL", "C.UTF-8");
    let output = command.current_dir(place.join("cwd")).output().unwrap();
    assert!(output.stderr.is_empty(), "{line:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn place() -> tempfile::TempDir {
    let place = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(place.path().join("bin")).unwrap();
    std::fs::create_dir_all(place.path().join("cwd")).unwrap();
    std::os::unix::fs::symlink(PRINTER, place.path().join("bin/printf")).unwrap();
    place
}

/// Returns the expected output of a line of printers: of a pipeline only the last one is heard; after `||` nothing
/// runs, because all succeed.
fn expected(analysis: &Analysis) -> String {
    let mut text = String::new();
    let mut skipped = false;
    for (at, segment) in analysis.segments().iter().enumerate() {
        match at.checked_sub(1).map(|before| analysis.joins()[before]) {
            None | Some(Join::Then | Join::Newline | Join::And) => skipped = false,
            Some(Join::Or) => skipped = true,
            Some(Join::Pipe) => {}
        }
        if !skipped && analysis.joins().get(at) != Some(&Join::Pipe) {
            text.extend(segment.argv()[2..].iter().map(|word| format!("{word}\0")));
            // A format that needs a word gets an empty one.
            text.push_str(if segment.argv().len() == 2 { "\0" } else { "" });
        }
    }
    text
}

#[test]
fn a_program_whose_path_is_no_text_cannot_be_written() {
    let bytes = PathBuf::from(tenure_os::text::from_bytes(b"/a\xff"));
    assert!(matches!(render(&analyse("a").unwrap(), &[bytes]), Err(Unrenderable::NotText { .. })));
}

#[test]
fn the_rendered_line_gives_a_program_the_words_that_were_analysed() {
    let place = place();
    let mut random = Random::new(4);
    for _ in 0..300 {
        let mut line = String::new();
        for at in 0..=random.below(4) {
            line.push_str(if at == 0 { "" } else { random.pick(&[" && ", " || ", " | ", "; ", "\n"]) });
            line.push_str("printf '%s\\0'");
            for _ in 0..random.below(5) {
                line = format!("{line} {}", quote(&random.text(&WORDS, 8)));
            }
        }
        let analysis = analyse(&line).unwrap_or_else(|error| panic!("{line:?}: {error}"));
        let programs = vec![PathBuf::from(PRINTER); analysis.segments().len()];
        let rendered = render(&analysis, &programs).unwrap();
        assert_eq!(printed("/bin/sh", &rendered, place.path()), expected(&analysis), "{line:?}");
    }
}

#[test]
fn shells_read_an_accepted_line_as_it_was_analysed() {
    #[rustfmt::skip]
    const PIECES: [&str; 44] = [
        "'", "'", "\"", "\"", "\\", "\n", "\\\n", " ", " ", ";", "&", "&&", "|", "||", "<", ">", "(", ")", "{", "}", "{}",
        "*", "?", "[", "]", "~", "!", "#", "$", "`", "=", "%", "^", ",", "..", "a", "b", "é", "-", "x=~",
        ";printf '%s\\0' ", "&&printf '%s\\0' ", "|printf '%s\\0' ", "\nprintf '%s\\0' ",
    ];
    let place = place();
    let mut random = Random::new(5);
    let mut checked = 0;
    while checked < 300 {
        let line = format!("printf '%s\\0' x{}", random.text(&PIECES, 10));
        let Ok(analysis) = analyse(&line) else { continue };
        if !analysis.segments().iter().all(|it| it.argv().starts_with(&["printf".into(), "%s\\0".into()])) {
            continue;
        }
        for shell in ["/bin/sh", "/bin/bash"] {
            assert_eq!(printed(shell, &line, place.path()), expected(&analysis), "{shell}: {line:?}");
        }
        checked += 1;
    }
    assert_eq!(std::fs::read_dir(place.path().join("cwd")).unwrap().count(), 0, "a redirection was accepted");
}

/// Pieces of lines. However they are combined, they only print, and write to files in an empty directory.
const PIECES: [&str; 40] = [
    "say",
    "say",
    "say",
    " ",
    " ",
    " ",
    " ",
    "a",
    "b c",
    "'q r'",
    "\"d $x e\"",
    "$x",
    "${x:-y}",
    "$((1+2))",
    "$(say s; say t)",
    "A=1",
    "B=\"$x\"",
    ">o",
    "2>&1",
    "> $x",
    "<i",
    ";",
    "\n",
    "|",
    "&&",
    "||",
    "&",
    "#",
    "\\",
    "'",
    "\"",
    "`",
    "(",
    ")",
    "{",
    "}",
    "*",
    "$",
    "exit 3",
    "fail",
];

/// Returns the outcome of a line: its exit code, its output, and the files that it left.
// The shell is the point of the test; it is waited for, and only the programs above can be started.
#[expect(clippy::disallowed_methods)]
fn outcome(shell: &str, line: &str, bin: &Path) -> (Option<i32>, String, Vec<String>) {
    let cwd = tempfile::tempdir().unwrap();
    std::fs::write(cwd.path().join("i"), "input").unwrap();
    let mut command = std::process::Command::new(shell);
    command.args(["-c", line]).env_clear().env("PATH", bin).env("x", "X Y").current_dir(cwd.path());
    let output = command.stdin(std::process::Stdio::null()).output().unwrap();
    let mut files: Vec<String> = Vec::new();
    for entry in std::fs::read_dir(cwd.path()).unwrap().map(Result::unwrap) {
        files.push(format!("{:?}: {:?}", entry.file_name(), std::fs::read(entry.path()).unwrap()));
    }
    files.sort();
    (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned(), files)
}

#[test]
fn a_simple_command_does_the_same_behind_exec() {
    let place = tempfile::tempdir().unwrap();
    for (name, script) in [("say", "for i; do echo \"<$i>\"; done; echo A=$A B=$B"), ("fail", "exit 9")] {
        let program = place.path().join(name);
        std::fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    }
    let mut random = Random::new(17);
    let mut tried = 0;
    while tried < 250 {
        let line = random.text(&PIECES, 12);
        let Some(simple) = simple_command(&line).filter(|it| matches!(it.name.as_str(), "say" | "fail"))
        else {
            continue;
        };
        tried += 1;
        let (before, after) = line.split_at(simple.at);
        let replaced = format!("{before}exec {after}");
        for shell in ["/bin/bash", "/bin/sh"] {
            let expected = outcome(shell, &line, place.path());
            assert_eq!(outcome(shell, &replaced, place.path()), expected, "{shell}: {line:?}");
        }
    }
}
