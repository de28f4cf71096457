//! The bytes of a process that is to be started, in one piece: the working directory, the words of the command and the
//! entries of the environment, each ended by a NUL. The number of the command's words travels beside it.

type Words = Vec<Vec<u8>>;

/// Packs a working directory, a command and an environment, in this order.
pub fn pack<'a>(cwd: &'a [u8], argv: &'a [Vec<u8>], env: impl IntoIterator<Item = &'a Vec<u8>>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for word in [cwd].into_iter().chain(argv.iter().chain(env).map(Vec::as_slice)) {
        bytes.extend_from_slice(word);
        bytes.push(0);
    }
    bytes
}

/// Unpacks the working directory, the command of `argc` words and the environment; `None` if these are not in there.
pub fn unpack(bytes: &[u8], argc: usize) -> Option<(Vec<u8>, Words, Words)> {
    let mut words = bytes.strip_suffix(b"\0")?.split(|&b| b == 0).map(<[u8]>::to_vec);
    let cwd = words.next()?;
    let command: Words = words.by_ref().take(argc).collect();
    (command.len() == argc).then(|| (cwd, command, words.collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(texts: &[&str]) -> Words {
        texts.iter().map(|text| text.as_bytes().to_vec()).collect()
    }

    #[test]
    fn what_is_packed_is_unpacked() {
        for argv in [words(&[]), words(&["printf", ""])] {
            for env in [words(&[]), words(&["A=1", "B="])] {
                let bytes = pack(b"/srv", &argv, &env);
                assert_eq!(unpack(&bytes, argv.len()), Some((b"/srv".to_vec(), argv.clone(), env)));
            }
        }
        assert_eq!(pack(b"/", &words(&["ls"]), &words(&["A=1"])), b"/\0ls\0A=1\0");
    }

    #[test]
    fn bytes_that_are_cut_off_are_refused() {
        assert_eq!(unpack(b"", 0), None);
        assert_eq!(unpack(b"/\0ls", 1), None);
        assert_eq!(unpack(b"/\0ls\0", 2), None);
    }
}
