use super::*;
use proptest::prelude::*;

fn wide(text: &str) -> Vec<u16> {
    text.encode_utf16().collect()
}

fn line(words: &[&str]) -> String {
    let arguments: Vec<_> = words[1..].iter().map(|word| wide(word)).collect();
    String::from_utf16(&join(&wide(words[0]), &arguments).expect("a line")).expect("text")
}

/// Splits a line by the rules that Microsoft documents ("Parsing C command-line arguments").
fn split(line: &[u16]) -> Vec<Vec<u16>> {
    let mut rest = line.iter().copied().peekable();
    let mut program = Vec::new();
    let mut quoted = false;
    for unit in rest.by_ref() {
        match unit {
            QUOTE => quoted = !quoted,
            SPACE if !quoted => break,
            _ => program.push(unit),
        }
    }
    let mut words = vec![program];
    let blank = |unit: &u16| *unit == SPACE || *unit == 9;
    loop {
        while rest.next_if(blank).is_some() {}
        if rest.peek().is_none() {
            return words;
        }
        words.push(word(&mut rest, blank));
    }
}

fn word(rest: &mut std::iter::Peekable<impl Iterator<Item = u16>>, blank: impl Fn(&u16) -> bool) -> Vec<u16> {
    let (mut word, mut quoted) = (Vec::new(), false);
    loop {
        let mut backslashes = 0;
        while rest.next_if_eq(&BACKSLASH).is_some() {
            backslashes += 1;
        }
        if rest.peek() != Some(&QUOTE) {
            word.extend(std::iter::repeat_n(BACKSLASH, backslashes));
            match rest.next_if(|unit| quoted || !blank(unit)) {
                Some(unit) => word.push(unit),
                None => return word,
            }
            continue;
        }
        rest.next();
        word.extend(std::iter::repeat_n(BACKSLASH, backslashes / 2));
        if backslashes % 2 == 1 || quoted && rest.next_if_eq(&QUOTE).is_some() {
            word.push(QUOTE);
        } else {
            quoted = !quoted;
        }
    }
}

#[test]
fn a_line_for_the_command_interpreter_goes_to_it_as_it_was_written() {
    let cmd = r"C:\Windows\System32\CMD.EXE";
    assert_eq!(
        line(&[cmd, "/d", "/s", "/c", r#"echo "a b" & dir C:\"#]),
        r#""C:\Windows\System32\CMD.EXE" /d /s /c "echo "a b" & dir C:\""#
    );
    // Any other form is quoted as for every other program.
    assert_eq!(line(&["cmd", "/c", r#"a "b""#]), r#""cmd" /c "a \"b\"""#);
    assert_eq!(line(&["mycmd", "/d", "/s", "/c", "a b"]), r#""mycmd" /d /s /c "a b""#);
}

#[test]
fn plain_words_stay_as_they_are_and_the_program_is_always_quoted() {
    assert_eq!(line(&["C:\\a b\\x.exe", "-n", "C:\\dir\\", "a=b"]), r#""C:\a b\x.exe" -n C:\dir\ a=b"#);
}

#[test]
fn empty_words_blanks_and_quotes_are_quoted() {
    assert_eq!(line(&["x", "", "a b", "tab\tbed"]), "\"x\" \"\" \"a b\" \"tab\tbed\"");
    assert_eq!(line(&["x", r#"say "hi""#]), r#""x" "say \"hi\"""#);
}

#[test]
fn backslashes_are_doubled_only_where_a_quote_follows() {
    assert_eq!(line(&["x", r"C:\a b\"]), r#""x" "C:\a b\\""#);
    assert_eq!(line(&["x", r#"a\\"b"#]), r#""x" "a\\\\\"b""#);
}

#[test]
fn what_cannot_be_passed_on_is_refused() {
    assert_eq!(join(&wide("x"), &[wide("a\0b")]), Err(Refused::Nul));
    assert_eq!(join(&wide("x\0"), &[]), Err(Refused::Nul));
    assert_eq!(join(&wide("x\" y"), &[]), Err(Refused::QuotedProgram));
    assert_eq!(join(&wide("x"), &[vec![SPACE; 40_000]]), Err(Refused::TooLong(40_006)));
    assert!(join(&wide("x"), &[vec![u16::from(b'a'); LONGEST - 5]]).is_ok());
    assert!(join(&wide("x"), &[vec![u16::from(b'a'); LONGEST - 4]]).is_err());
}

#[test]
fn a_batch_file_is_known_under_every_spelling_that_windows_takes() {
    for name in
        ["a.bat", "C:\\x\\A.CMD", "a.bat.", "a.bat . .", "a.cmd ", "d/a.Bat", "a.bat::$DATA", "a.cmd:s"]
    {
        assert_eq!(join(&wide(name), &[]), Err(Refused::Batch), "{name}");
    }
    for name in ["a.exe", "bat", "a.bat.exe", "C:\\a.bat\\x.exe", "C:x.exe"] {
        assert!(join(&wide(name), &[]).is_ok(), "{name}");
    }
}

/// Generates words with many quotes, backslashes and blanks.
pub(crate) fn words() -> impl Strategy<Value = Vec<Vec<u16>>> {
    let unit = prop_oneof![
        3 => Just(QUOTE),
        3 => Just(BACKSLASH),
        2 => Just(SPACE),
        1 => 9_u16..=13,
        2 => Just(u16::from(b'a')),
        1 => 1_u16..=u16::MAX,
    ];
    prop::collection::vec(prop::collection::vec(unit, 0..12), 0..8)
}

proptest! {
    #[test]
    fn words_come_out_as_they_went_in(arguments in words()) {
        let program = wide("C:\\Program Files\\x.exe");
        let line = join(&program, &arguments).expect("a line");
        let mut expected = vec![program];
        expected.extend(arguments);
        prop_assert_eq!(split(&line), expected);
    }
}
