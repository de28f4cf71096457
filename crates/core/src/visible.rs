//! Makes foreign text safe to show to people: nothing in it can hide, move or imitate something else. Invisible
//! characters and those that a terminal would obey become escapes and are never dropped.

use std::borrow::Cow;
use std::fmt::Write;

/// Ranges of Unicode's category Cf ("format"), as of version 17, and the rest of the block of tags, in order. These
/// characters reorder or join their neighbours, or carry text that only a machine sees.
const FORMAT: [(char, char); 19] = [
    ('\u{ad}', '\u{ad}'),
    ('\u{600}', '\u{605}'),
    ('\u{61c}', '\u{61c}'),
    ('\u{6dd}', '\u{6dd}'),
    ('\u{70f}', '\u{70f}'),
    ('\u{890}', '\u{891}'),
    ('\u{8e2}', '\u{8e2}'),
    ('\u{180e}', '\u{180e}'),
    ('\u{200b}', '\u{200f}'),
    ('\u{202a}', '\u{202e}'),
    ('\u{2060}', '\u{206f}'),
    ('\u{feff}', '\u{feff}'),
    ('\u{fff9}', '\u{fffb}'),
    ('\u{110bd}', '\u{110bd}'),
    ('\u{110cd}', '\u{110cd}'),
    ('\u{13430}', '\u{1343f}'),
    ('\u{1bca0}', '\u{1bca3}'),
    ('\u{1d173}', '\u{1d17a}'),
    // Tags, and the variation selectors beside them, which have been used to hide text in text.
    ('\u{e0000}', '\u{e0fff}'),
];

/// Invisible characters and unusual blanks that are not in [`FORMAT`]: blanks and line breaks of other kinds, fillers,
/// joiners, variation selectors.
const BLANK: [(char, char); 16] = [
    ('\u{a0}', '\u{a0}'),
    ('\u{34f}', '\u{34f}'),
    ('\u{115f}', '\u{1160}'),
    ('\u{1680}', '\u{1680}'),
    ('\u{17b4}', '\u{17b5}'),
    ('\u{180b}', '\u{180f}'),
    ('\u{2000}', '\u{200a}'),
    ('\u{2028}', '\u{2029}'),
    ('\u{202f}', '\u{202f}'),
    ('\u{205f}', '\u{205f}'),
    ('\u{2800}', '\u{2800}'),
    ('\u{3000}', '\u{3000}'),
    ('\u{3164}', '\u{3164}'),
    ('\u{fe00}', '\u{fe0f}'),
    ('\u{ffa0}', '\u{ffa0}'),
    ('\u{fff0}', '\u{fff8}'),
];

/// Returns true for Unicode's format characters and tags.
pub fn is_format(c: char) -> bool {
    is_in(&FORMAT, c)
}

/// Returns true if a character must be escaped to be seen.
fn is_hidden(c: char) -> bool {
    c.is_control() || is_in(&FORMAT, c) || is_in(&BLANK, c)
}

fn is_in(ranges: &[(char, char)], c: char) -> bool {
    // Nearly all characters end here.
    c >= ranges[0].0 && {
        let at = ranges.partition_point(|&(_, last)| last < c);
        ranges.get(at).is_some_and(|&(first, _)| first <= c)
    }
}

/// Escapes a text onto one line. Every control character, format character and odd blank becomes an escape: `\n`, `\t`,
/// `\r`, `\x1b`, `\u{202e}`. A backslash that would look like the beginning of an escape is doubled, so two texts never
/// look the same.
pub fn visible(text: &str) -> Cow<'_, str> {
    escaped(text, true)
}

/// Escapes a text in which backslashes are escaped already, such as JSON.
pub fn visible_json(text: &str) -> Cow<'_, str> {
    escaped(text, false)
}

fn escaped(text: &str, doubles: bool) -> Cow<'_, str> {
    let begins_escape = |next: char| matches!(next, 'n' | 't' | 'r' | 'x' | 'u' | '\\') || is_hidden(next);
    let mut chars = text.char_indices().peekable();
    let mut shown: Option<String> = None;
    while let Some((at, c)) = chars.next() {
        let is_doubled = doubles && c == '\\' && chars.peek().is_some_and(|&(_, next)| begins_escape(next));
        if !is_doubled && !is_hidden(c) {
            if let Some(shown) = &mut shown {
                shown.push(c);
            }
            continue;
        }
        let shown = shown.get_or_insert_with(|| text[..at].to_owned());
        let _ = match c {
            '\\' => write!(shown, "\\\\"),
            '\n' => write!(shown, "\\n"),
            '\t' => write!(shown, "\\t"),
            '\r' => write!(shown, "\\r"),
            c if c.is_ascii() => write!(shown, "\\x{:02x}", u32::from(c)),
            c => write!(shown, "\\u{{{:x}}}", u32::from(c)),
        };
    }
    shown.map_or(Cow::Borrowed(text), Cow::Owned)
}

/// Escapes each line of a text by itself; a text that ends with a newline has an empty last line.
pub fn visible_lines(text: &str) -> impl Iterator<Item = Cow<'_, str>> {
    text.split('\n').map(visible)
}

/// Escapes hidden characters in the strings of JSON; its meaning stays the same. Line breaks between its tokens stay.
pub fn plain_json(json: &str) -> Cow<'_, str> {
    let hides = |c: char| c != '\n' && is_hidden(c);
    if !json.chars().any(hides) {
        return Cow::Borrowed(json);
    }
    let mut plain = String::with_capacity(json.len());
    for c in json.chars() {
        if hides(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                let _ = write!(plain, "\\u{unit:04x}");
            }
        } else {
            plain.push(c);
        }
    }
    Cow::Owned(plain)
}

/// Joins words to a shell command line and quotes them where needed: pasted back, it gives the same words.
pub fn shell_line<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    let mut line = String::new();
    for (at, word) in words.into_iter().enumerate() {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "_@%+:,./-".contains(c);
        // An option may have a value; elsewhere a `=` would make it an assignment.
        let mut rest = word.chars().filter(|&c| !(c == '=' && word.starts_with('-')));
        let blank = if at == 0 { "" } else { " " };
        let _ = if !word.is_empty() && rest.all(is_plain) {
            write!(line, "{blank}{word}")
        } else {
            write!(line, "{blank}'{}'", word.replace('\'', r"'\''"))
        };
    }
    line
}

/// Finds a control character that no shell command line needs: any but newline and tab.
pub fn odd_control(text: &str) -> Option<char> {
    text.chars().find(|&c| c.is_control() && c != '\n' && c != '\t')
}

/// Cuts a text to about this many bytes: its beginning and its end stay, with the full length between them. Text that
/// is hidden behind a long padding still shows.
pub fn cut(text: &str, most: usize) -> Cow<'_, str> {
    if text.len() <= most {
        return Cow::Borrowed(text);
    }
    let head = text.floor_char_boundary(most / 2);
    let tail = text.ceil_char_boundary(text.len() - most / 2);
    Cow::Owned(format!("{}… ({} bytes) …{}", &text[..head], text.len(), &text[tail..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Decodes the escapes of [`visible`].
    fn read(shown: &str) -> String {
        let mut text = String::new();
        let mut rest = shown;
        while let Some(c) = rest.chars().next() {
            rest = &rest[c.len_utf8()..];
            let next = rest.chars().next();
            let (meant, used) = match (c, next) {
                ('\\', Some('\\')) => ('\\', 1),
                ('\\', Some('n')) => ('\n', 1),
                ('\\', Some('t')) => ('\t', 1),
                ('\\', Some('r')) => ('\r', 1),
                ('\\', Some('x')) => (char::from(u8::from_str_radix(&rest[1..3], 16).unwrap()), 3),
                ('\\', Some('u')) => {
                    let end = rest.find('}').unwrap();
                    let number = u32::from_str_radix(&rest[2..end], 16).unwrap();
                    (char::from_u32(number).unwrap(), end + 1)
                }
                _ => (c, 0),
            };
            text.push(meant);
            rest = &rest[used..];
        }
        text
    }

    #[test]
    fn the_ranges_are_in_order() {
        for ranges in [&FORMAT[..], &BLANK[..]] {
            assert!(ranges.iter().all(|(first, last)| first <= last));
            assert!(ranges.windows(2).all(|pair| pair[0].1 < pair[1].0));
        }
    }

    #[test]
    fn format_characters_are_known_and_what_people_read_is_not_one() {
        for c in ['a', 'é', 'ß', '中', 'ا', '🎉', '\u{ac}', '\u{ae}', '\u{2028}', '\u{fffd}'] {
            assert!(!is_format(c), "{c:?}");
        }
        for c in ['\u{ad}', '\u{200b}', '\u{202e}', '\u{2066}', '\u{feff}', '\u{e0041}', '\u{e0100}'] {
            assert!(is_format(c), "{c:?}");
        }
    }

    #[test]
    fn what_hides_is_shown_and_what_shows_stays() {
        for (text, shown) in [
            ("ls -la", "ls -la"),
            ("grep -E '\\.rs$' a\\ b", "grep -E '\\.rs$' a\\ b"),
            ("é 中 🎉", "é 中 🎉"),
            ("ls\u{1b}]0; touch x\u{7}", "ls\\x1b]0; touch x\\x07"),
            ("a\nb\tc\rd\u{7f}", "a\\nb\\tc\\rd\\x7f"),
            ("\u{9b}2J", "\\u{9b}2J"),
            (
                "a\u{202e}b\u{200b}c\u{2028}d\u{a0}e\u{fe0f}f\u{e0041}",
                "a\\u{202e}b\\u{200b}c\\u{2028}d\\u{a0}e\\u{fe0f}f\\u{e0041}",
            ),
            ("printf '\\n\\x1b\\\\'", "printf '\\\\n\\\\x1b\\\\\\'"),
        ] {
            assert_eq!(visible(text), shown);
            assert_eq!(read(shown), text);
        }
        assert!(matches!(visible("plain"), Cow::Borrowed(_)));
    }

    #[test]
    fn two_texts_never_look_the_same() {
        let alphabet = ['\\', '\n', 'n', 'x', 'u', '{', '1', '\u{1b}', '\u{202e}', '\u{9b}'];
        let mut texts = vec![String::new()];
        for _ in 0..4 {
            let longer = texts.iter().flat_map(|text| alphabet.iter().map(move |c| format!("{text}{c}")));
            texts = longer.collect();
            for text in &texts {
                let shown = visible(text);
                assert!(!shown.chars().any(is_hidden));
                assert_eq!(&read(&shown), text, "{shown}");
            }
        }
    }

    #[test]
    fn json_keeps_its_own_escapes() {
        assert_eq!(visible_json("{\"a\":\"\\u001b\\n\u{202e}\"}"), "{\"a\":\"\\u001b\\n\\u{202e}\"}");
    }

    #[test]
    fn json_is_plain_and_means_the_same() {
        let value = serde_json::json!({"a": "\u{202e}\u{e0041}\u{9b}\u{7f}\u{1b}é\\n"});
        for json in [serde_json::to_string(&value).unwrap(), serde_json::to_string_pretty(&value).unwrap()] {
            let plain = plain_json(&json);
            assert!(!plain.chars().any(|c| c != '\n' && is_hidden(c)), "{plain}");
            assert_eq!(serde_json::from_str::<serde_json::Value>(&plain).unwrap(), value);
        }
    }

    #[test]
    fn words_are_quoted_so_that_a_shell_reads_the_same_words() {
        let words = ["sh", "-c", "rm -rf \"$HOME\"; echo 'x'", "", "a;b", "--to=x", "A=b", "~", "#"];
        let line = r#"sh -c 'rm -rf "$HOME"; echo '\''x'\''' '' 'a;b' --to=x 'A=b' '~' '#'"#;
        assert_eq!(shell_line(words), line);
    }

    #[test]
    fn control_characters_other_than_newline_and_tab_are_odd() {
        assert_eq!(odd_control("a\n\tb é 中"), None);
        for c in ['\r', '\u{1b}', '\u{7}', '\u{7f}', '\u{9b}', '\u{85}', '\0'] {
            assert_eq!(odd_control(&format!("ls{c}")), Some(c));
        }
    }

    #[test]
    fn a_long_text_shows_its_beginning_its_end_and_its_length() {
        assert_eq!(cut("short", 5), "short");
        let padded = format!("ls {};rm -rf x", " ".repeat(10_000));
        let shown = cut(&padded, 40);
        assert!(shown.starts_with("ls ") && shown.ends_with(";rm -rf x"), "{shown}");
        assert!(shown.contains("… (10012 bytes) …"), "{shown}");
        assert!(cut(&"é".repeat(100), 33).contains("(200 bytes)"));
    }
}
