//! Which shell a command line goes to: the user's, without profile or rc, so that a command means the same every time.
//! Where the user has none, bash comes before `sh`. The root of a run is its command where that is a simple one: many
//! shells replace themselves by the last command of their line, and the others, as Debian's `sh`, are told to. A shell
//! that stays dies of a Ctrl-C that the command has survived.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use tenure_os::executable::may_execute;
use tenure_os::{environment, shell, text};
use tenure_policy::executable::resolve;
use tenure_policy::shell::analyse;

/// What stands before a line that the shell is to replace itself by. One blank would be enough: nobody writes two.
const REPLACING: &str = "exec  ";

/// Programs that shells have themselves, and which do not do quite the same then.
const ALSO_BUILTIN: [&str; 8] = ["[", "echo", "false", "kill", "printf", "pwd", "test", "true"];

/// The words with which a shell executes a command line in a directory.
pub(crate) fn words(shell: &Path, line: &str, cwd: &[u8], env: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let language = language(shell).unwrap_or(Language::Posix);
    let mut words = vec![text::bytes(shell)];
    words.extend(flags(shell, language).iter().map(|flag| flag.as_bytes().to_vec()));
    let replaces = language != Language::Posix || replaces_itself(shell);
    let before = if !replaces && is_program(line, cwd, env) { REPLACING } else { "" };
    words.push(format!("{before}{line}").into_bytes());
    words
}

/// The words with which the system's own shell executes a line: what is written for no user's in particular.
pub(crate) fn of_system(line: String) -> Vec<String> {
    if let Some(sh) = shell::posix() {
        return vec![sh.to_owned(), "-c".to_owned(), line];
    }
    let shell = shell::default();
    let language = language(&shell).unwrap_or(Language::Posix);
    let words = flags(&shell, language).iter().map(|&flag| flag.to_owned());
    std::iter::once(shell.to_string_lossy().into_owned()).chain(words).chain([line]).collect()
}

/// A line as it was given, of the one that a shell was given.
pub(crate) fn as_given(line: &str) -> &str {
    line.strip_prefix(REPLACING).unwrap_or(line)
}

/// Whether a shell executes the last command of its line without a process for it.
fn replaces_itself(shell: &Path) -> bool {
    matches!(name(shell), "bash" | "zsh" | "ksh" | "mksh")
}

/// Whether a line is one program and literal words for it, so that it means the same after `exec`.
fn is_program(line: &str, cwd: &[u8], env: &[Vec<u8>]) -> bool {
    let Ok(analysis) = analyse(line) else { return false };
    let [command] = analysis.segments() else { return false };
    let (cwd, path) = (PathBuf::from(text::from_bytes(cwd)), variable(env, "PATH").unwrap_or_default());
    !ALSO_BUILTIN.contains(&command.program()) && resolve(command.program(), &cwd, OsStr::new(path)).is_ok()
}

/// The user's shell, unless it is none of this system's, or none whose language is known here. The environment is the one
/// that is handed down, before it is cleaned.
pub(crate) fn choose(env: &[Vec<u8>]) -> PathBuf {
    let own = variable(env, "SHELL").map(PathBuf::from).filter(|path| path.is_absolute());
    match own {
        Some(own) if shell::is_known(&own) && is_understood(&own) && is_executable(&own) => own,
        _ => shell::default(),
    }
}

/// What a shell reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Language {
    Posix,
    Cmd,
    PowerShell,
}

fn language(shell: &Path) -> Option<Language> {
    match name(shell) {
        "sh" | "bash" | "dash" | "zsh" | "ksh" | "mksh" | "ash" | "busybox" | "yash" => Some(Language::Posix),
        "cmd" => Some(Language::Cmd),
        "powershell" | "pwsh" => Some(Language::PowerShell),
        _ => None,
    }
}

/// Where every system's shell reads POSIX lines, the user's has to as well.
fn is_understood(shell: &Path) -> bool {
    let language = language(shell);
    language == Some(Language::Posix) || (language.is_some() && shell::posix().is_none())
}

/// What stands before the line.
fn flags(shell: &Path, language: Language) -> &'static [&'static str] {
    match (language, name(shell)) {
        // Neither what the registry names is run first, nor are quotes taken off that are the line's own.
        (Language::Cmd, _) => &["/d", "/s", "/c"],
        (Language::PowerShell, _) => &["-NoLogo", "-NoProfile", "-NonInteractive", "-Command"],
        (Language::Posix, "bash") => &["--noprofile", "--norc", "-c"],
        (Language::Posix, "zsh") => &["-f", "-c"],
        (Language::Posix, "busybox") => &["sh", "-c"],
        (Language::Posix, _) => &["-c"],
    }
}

/// What a shell is called, wherever it is.
fn name(shell: &Path) -> &str {
    let name = shell.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name.strip_suffix(".exe").unwrap_or(name)
}

fn is_executable(path: &Path) -> bool {
    path.is_file() && may_execute(path)
}

/// A variable of an environment; the last one of a name stands.
pub(crate) fn variable<'a>(env: &'a [Vec<u8>], name: &str) -> Option<&'a str> {
    let value = |entry: &'a Vec<u8>| {
        let (its, value) = entry.split_at_checked(name.len())?;
        environment::same_name(its, name.as_bytes()).then(|| value.strip_prefix(b"=")).flatten()
    };
    env.iter().rev().find_map(value).and_then(|value| std::str::from_utf8(value).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said_of(shell: &Path, line: &str) -> Vec<String> {
        let said = words(shell, line, b"/", &[b"PATH=/usr/bin:/bin".to_vec()]);
        said.into_iter().map(|word| String::from_utf8(word).unwrap()).collect()
    }

    #[test]
    fn the_line_goes_to_a_shell_without_its_files() {
        for (shell, flags) in [
            ("/bin/bash", &["--noprofile", "--norc", "-c"][..]),
            ("/bin/sh", &["-c"]),
            ("/bin/zsh", &["-f", "-c"]),
            ("/bin/cmd.exe", &["/d", "/s", "/c"]),
            ("/bin/pwsh.exe", &["-NoLogo", "-NoProfile", "-NonInteractive", "-Command"]),
        ] {
            assert_eq!(said_of(Path::new(shell), "echo  a"), [&[shell], flags, &["echo  a"]].concat());
        }
    }

    #[test]
    fn the_users_shell_is_used() {
        let own = shell::default();
        assert_eq!(choose(&[[b"SHELL=", &*text::bytes(&own)].concat()]), own);
        if shell::posix().is_some() {
            assert_eq!(choose(&[b"SHELL=/bin/sh".to_vec()]), Path::new("/bin/sh"));
        }
    }

    #[test]
    fn a_shell_that_is_none_or_has_another_language_is_not_used() {
        for shell in [
            "/usr/sbin/nologin",
            "/bin/false",
            "",
            "bash",
            "/no/such/bash",
            "/usr/bin/python3",
            "/usr/bin/fish",
        ] {
            assert_eq!(choose(&[format!("SHELL={shell}").into_bytes()]), shell::default(), "{shell}");
        }
    }

    #[test]
    fn a_path_of_the_callers_finds_no_shell() {
        let env = [b"PATH=/tmp/evil".to_vec(), b"SHELL=/tmp/evil/bash".to_vec()];
        assert_eq!(choose(&env), shell::default());
    }

    #[cfg(unix)]
    #[test]
    fn a_shell_that_would_stay_is_told_to_replace_itself_by_a_program() {
        for (line, executed) in [
            ("sleep  600", "exec  sleep  600"),
            ("/bin/sleep 'a b'", "exec  /bin/sleep 'a b'"),
            // What the shell does itself, or what is more than a program and its words, is left alone.
            ("echo a\\nb", "echo a\\nb"),
            ("cd /", "cd /"),
            ("no-such-program", "no-such-program"),
            ("/bin", "/bin"),
            ("sleep 1; sleep 2", "sleep 1; sleep 2"),
            ("sleep 1 &", "sleep 1 &"),
            ("A=1 sleep 1", "A=1 sleep 1"),
            ("sleep $A", "sleep $A"),
            ("sleep 1 > out", "sleep 1 > out"),
            ("exec sleep 1", "exec sleep 1"),
            ("if sleep 1; then ls; fi", "if sleep 1; then ls; fi"),
        ] {
            assert_eq!(said_of(Path::new("/bin/sh"), line).last().map(String::as_str), Some(executed));
            assert_eq!(as_given(executed), line);
            assert_eq!(said_of(Path::new("/bin/bash"), line).last().map(String::as_str), Some(line));
        }
    }
}
