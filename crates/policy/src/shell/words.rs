//! First words that are not the name of a program.

use super::Why;

/// Reserved words of the shell, when they are not quoted. Sorted.
const RESERVED: [&str; 21] = [
    "!", "[[", "]]", "case", "coproc", "do", "done", "elif", "else", "esac", "fi", "for", "function", "if",
    "in", "select", "then", "time", "until", "while", "}",
];

/// Builtins of the shell, each with a remedy. Sorted. A builtin that is a program too (`echo`, `test`, `kill`) is
/// not here, because the program is executed.
const BUILTINS: [(&str, &str); 54] = [
    (".", SCRIPT),
    (":", LEAVE_OUT),
    ("alias", LEAVE_OUT),
    ("bg", TOOL),
    ("bind", LEAVE_OUT),
    ("break", LEAVE_OUT),
    ("builtin", PROGRAM),
    ("caller", LEAVE_OUT),
    ("cd", "pass the directory as the call's workdir"),
    ("chdir", "pass the directory as the call's workdir"),
    ("command", PROGRAM),
    ("compgen", LEAVE_OUT),
    ("complete", LEAVE_OUT),
    ("compopt", LEAVE_OUT),
    ("continue", LEAVE_OUT),
    ("declare", ENVIRONMENT),
    ("dirs", LEAVE_OUT),
    ("disown", TOOL),
    ("enable", LEAVE_OUT),
    ("eval", PROGRAM),
    ("exec", PROGRAM),
    ("exit", LEAVE_OUT),
    ("export", ENVIRONMENT),
    ("fc", LEAVE_OUT),
    ("fg", TOOL),
    ("getopts", LEAVE_OUT),
    ("hash", LEAVE_OUT),
    ("help", LEAVE_OUT),
    ("history", LEAVE_OUT),
    ("jobs", TOOL),
    ("let", LEAVE_OUT),
    ("local", ENVIRONMENT),
    ("logout", LEAVE_OUT),
    ("mapfile", LEAVE_OUT),
    ("popd", "pass the directory as the call's workdir"),
    ("pushd", "pass the directory as the call's workdir"),
    ("read", LEAVE_OUT),
    ("readarray", LEAVE_OUT),
    ("readonly", ENVIRONMENT),
    ("return", LEAVE_OUT),
    ("set", LEAVE_OUT),
    ("shift", LEAVE_OUT),
    ("shopt", LEAVE_OUT),
    ("source", SCRIPT),
    ("suspend", LEAVE_OUT),
    ("times", LEAVE_OUT),
    ("trap", LEAVE_OUT),
    ("type", "use which"),
    ("typeset", ENVIRONMENT),
    ("ulimit", "leave it out; limits are given with the call"),
    ("umask", LEAVE_OUT),
    ("unalias", LEAVE_OUT),
    ("unset", ENVIRONMENT),
    ("wait", TOOL),
];

const LEAVE_OUT: &str = "leave it out, or write a script and run that";
const SCRIPT: &str = "run the script as a program";
const PROGRAM: &str = "write the program itself";
const ENVIRONMENT: &str = "pass variables in the environment of the call";
const TOOL: &str = "leave it out; background commands are a matter of the tool";

/// Maximum length of a name in an error.
const LONGEST_SHOWN: usize = 64;

/// Returns the reason why `word` cannot be a command; `quoted` if any part of it was quoted.
pub(super) fn check_command(word: &str, quoted: bool) -> Result<(), Why> {
    if word.is_empty() {
        return Err(Why::EmptyCommand);
    }
    if !quoted && RESERVED.binary_search(&word).is_ok() {
        return Err(Why::Reserved(word.to_owned()));
    }
    if let Ok(at) = BUILTINS.binary_search_by_key(&word, |(name, _)| name) {
        return Err(Why::Builtin { name: word.to_owned(), instead: BUILTINS[at].1 });
    }
    if let Some(name) = assigned(word) {
        return Err(Why::Assignment(name.chars().take(LONGEST_SHOWN).collect()));
    }
    match word.chars().next().filter(|first| matches!(first, '%' | '=' | '!' | '-' | '+')) {
        Some(first) => Err(Why::OddCommand(first)),
        None => Ok(()),
    }
}

/// Returns the name in `NAME=value` or `NAME+=value`.
fn assigned(word: &str) -> Option<&str> {
    let (name, _) = word.split_once('=')?;
    let name = name.strip_suffix('+').unwrap_or(name);
    let is_name = |name: &str| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    (is_name(name) && name.starts_with(|c: char| !c.is_ascii_digit())).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_are_sorted() {
        assert!(RESERVED.is_sorted_by(|a, b| a < b));
        assert!(BUILTINS.is_sorted_by_key(|(name, _)| name));
    }

    #[test]
    fn an_assignment_is_known_by_its_name() {
        assert_eq!(assigned("FOO=1"), Some("FOO"));
        assert_eq!(assigned("_a1+=x=y"), Some("_a1"));
        for word in ["=ls", "1a=2", "a-b=c", "a", "./a=b"] {
            assert_eq!(assigned(word), None, "{word}");
        }
    }

    #[test]
    fn quoting_makes_a_reserved_word_a_name_but_no_builtin_a_program() {
        assert!(check_command("time", true).is_ok());
        assert!(matches!(check_command("time", false), Err(Why::Reserved(_))));
        assert!(matches!(check_command("cd", true), Err(Why::Builtin { .. })));
    }
}
