//! Parses macOS's record of a process's arguments and environment (`KERN_PROCARGS2`): a number, the path of the
//! executable, zeroes up to a word's boundary, that many words, and the environment, each with a closing zero. A
//! program that sets its title writes it over the words and fills up with zeroes, so there may be more zeroes than
//! words.

/// The words and the environment of a process.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Arguments<'a> {
    pub(crate) words: Vec<&'a [u8]>,
    /// The environment. The system's own additions come last. Empty if the system protects the process.
    pub(crate) environment: Vec<&'a [u8]>,
}

/// Parses the record; `None` if it is malformed.
pub(crate) fn parse(bytes: &[u8]) -> Option<Arguments<'_>> {
    let (count, rest) = bytes.split_first_chunk()?;
    let count = usize::try_from(i32::from_ne_bytes(*count)).ok()?;
    let path_end = rest.iter().position(|&byte| byte == 0)?;
    let start =
        path_end + rest[path_end..].iter().position(|&byte| byte != 0).unwrap_or(rest.len() - path_end);
    let mut entries =
        rest[start..].split_inclusive(|&byte| byte == 0).map_while(|entry| entry.strip_suffix(&[0]));
    let words: Vec<&[u8]> = entries.by_ref().take(count).collect();
    let environment = entries.filter(|entry| !entry.is_empty()).collect();
    (words.len() == count).then_some(Arguments { words, environment })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(count: i32, rest: &[u8]) -> Vec<u8> {
        [&count.to_ne_bytes(), rest].concat()
    }

    #[test]
    fn words_and_environment_are_told_apart_by_the_count() {
        let bytes = told(3, b"/bin/sh\0\0\0\0sh\0-c\0\0A=1\0B=2 3\0\0of-the-system=1\0");
        let found = parse(&bytes).unwrap();
        assert_eq!(found.words, [&b"sh"[..], b"-c", b""], "an empty word counts");
        assert_eq!(found.environment, [&b"A=1"[..], b"B=2 3", b"of-the-system=1"]);
    }

    #[test]
    fn a_title_over_the_words_hides_no_environment() {
        let bytes = told(3, b"/bin/node\0\0npm\0\0\0\0\0\0\0\0A=1\0B=2\0");
        let found = parse(&bytes).unwrap();
        assert_eq!(found.words[0], b"npm");
        assert_eq!(found.environment, [&b"A=1"[..], b"B=2"]);
    }

    #[test]
    fn a_protected_process_shows_no_environment() {
        let bytes = told(1, b"/bin/sleep\0\0sleep\0");
        assert_eq!(parse(&bytes).unwrap(), Arguments { words: vec![b"sleep"], environment: vec![] });
    }

    #[test]
    fn what_is_cut_off_is_nothing() {
        for bytes in
            [&b""[..], b"\x01\0", &told(1, b"/bin/sh"), &told(2, b"/bin/sh\0\0sh\0"), &told(-1, b"a\0b\0")]
        {
            assert_eq!(parse(bytes), None, "{bytes:?}");
        }
        assert_eq!(parse(&told(2, b"/bin/sh\0sh\0cut o")), None);
    }
}
