//! A command line from the words of ours.

/// One word is a command line already; of several, each is to stay one word of the shell's.
pub(super) fn line(words: &[String]) -> String {
    match words {
        [line] => line.clone(),
        words => words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" "),
    }
}

/// A word as every POSIX shell reads it back. `=` would make an assignment of the first one.
pub(in crate::commands) fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./:,@%+".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(words: &[&str]) -> String {
        line(&words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn one_word_is_the_line_as_it_is() {
        assert_eq!(joined(&["echo  a | wc 'x y'"]), "echo  a | wc 'x y'");
    }

    #[test]
    fn each_of_several_words_stays_one() {
        assert_eq!(joined(&["ls", "-l", "/tmp/a.txt"]), "ls -l /tmp/a.txt");
        assert_eq!(joined(&["echo", "a b", "it's", "$HOME", ""]), r"echo 'a b' 'it'\''s' '$HOME' ''");
        assert_eq!(joined(&["A=b", "~", "*", "é", "a\nb"]), "'A=b' '~' '*' 'é' 'a\nb'");
    }
}
