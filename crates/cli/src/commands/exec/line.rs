//! Builds a shell command line from arguments.

use tenure_core::visible::shell_line;

/// Joins arguments to a command line. A single argument is a command line already; several are quoted, so that each stays one
/// word of the shell.
pub(super) fn line(words: &[String]) -> String {
    match words {
        [line] => line.clone(),
        words => shell_line(words.iter().map(String::as_str)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(words: &[&str]) -> String {
        line(&words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn a_single_word_is_the_command_line() {
        assert_eq!(joined(&["echo  a | wc 'x y'"]), "echo  a | wc 'x y'");
    }

    #[test]
    fn several_words_are_quoted_so_that_each_stays_one() {
        assert_eq!(joined(&["ls", "-l", "/tmp/a.txt"]), "ls -l /tmp/a.txt");
        assert_eq!(joined(&["echo", "a b", "it's", "$HOME", ""]), r"echo 'a b' 'it'\''s' '$HOME' ''");
        assert_eq!(joined(&["A=b", "~", "*", "é", "a\nb"]), "'A=b' '~' '*' 'é' 'a\nb'");
    }
}
