//! Shell of a command line: the user's, without profile or rc, so that a command means the same every time. Without a
//! shell of the user, bash comes before `sh`. A simple command becomes the root of its run: shells that do not replace
//! themselves get it with `exec`. A shell that stays is one more process in every tree, and dies of a Ctrl-C that the command
//! survives. The line is shown and authorized as it was written.

use crate::executable::resolve;
use crate::shell::{SimpleCommand, simple_command};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use tenure_core::spec::Argv;
use tenure_os::executable::may_execute;
use tenure_os::{environment, shell, text};
use tokio::task::block_in_place;

/// Programs that are also builtins of shells, with slightly different behaviour.
const ALSO_BUILTIN: [&str; 8] = ["[", "echo", "false", "kill", "printf", "pwd", "test", "true"];

/// Returns the words with which a shell executes a command line.
pub fn words(shell: &Path, line: &str) -> Vec<String> {
    let language = language(shell).unwrap_or(Language::Posix);
    let flags = flags(shell, language).iter().map(|&flag| flag.to_owned());
    std::iter::once(shell.to_string_lossy().into_owned()).chain(flags).chain([line.to_owned()]).collect()
}

/// Returns the words with which the system's own shell executes a line that is not written for the user's shell.
pub fn of_system(line: String) -> Vec<String> {
    if let Some(sh) = shell::posix() {
        return vec![sh.to_owned(), "-c".to_owned(), line];
    }
    words(&shell::default(), &line)
}

/// Adds `exec` to the line of a shell, so that no shell stays above a simple command.
pub fn replaced(argv: Argv, cwd: &[u8], env: &[Vec<u8>]) -> Argv {
    let (Some(shell), Some(line)) = (argv.words().first(), argv.words().last()) else { return argv };
    let shell = PathBuf::from(text::from_bytes(shell));
    let executed = std::str::from_utf8(line).ok().and_then(|line| replacing(&shell, line, cwd, env));
    executed.into_iter().fold(argv, Argv::executing)
}

/// Returns the line with which a shell replaces itself by its simple command. Returns `None` if the line is more than a simple
/// command, if it names no program, or if the shell replaces itself anyway.
pub fn replacing(shell: &Path, line: &str, cwd: &[u8], env: &[Vec<u8>]) -> Option<String> {
    if shell::posix().is_none() || language(shell) != Some(Language::Posix) {
        return None;
    }
    let simple = simple_command(line)?;
    if replaces_itself(shell) && !simple.redirects {
        return None;
    }
    let is_same = || exec_changes_nothing(shell, &simple, env) && is_program(&simple.name, cwd, env);
    if !block_in_place(is_same) {
        return None;
    }
    let (before, after) = line.split_at(simple.at);
    Some(format!("{before}exec {after}"))
}

/// Returns true if a shell executes the last command of its line without a new process.
fn replaces_itself(shell: &Path) -> bool {
    matches!(name(shell), "bash" | "zsh" | "ksh" | "mksh")
}

/// Returns true if `exec` does not change the meaning of a command: the name is that of a program only, and the program gets
/// the assignments.
fn exec_changes_nothing(shell: &Path, simple: &SimpleCommand, env: &[Vec<u8>]) -> bool {
    let function = format!("BASH_FUNC_{}%%", simple.name);
    // A file of BASH_ENV may define functions and traps.
    let is_changed = [function.as_str(), "BASH_ENV"].iter().any(|name| variable(env, name).is_some());
    let moves_path = simple.assigned.iter().any(|name| name == "PATH");
    let takes_assignments = || {
        let real = shell.canonicalize().unwrap_or_default();
        matches!(name(&real), "bash" | "dash")
    };
    !ALSO_BUILTIN.contains(&simple.name.as_str())
        && !is_changed
        && !moves_path
        && (simple.assigned.is_empty() || takes_assignments())
}

/// Returns true if a name is that of a program. For others the shell prints its usual error.
fn is_program(name: &str, cwd: &[u8], env: &[Vec<u8>]) -> bool {
    let (cwd, path) = (PathBuf::from(text::from_bytes(cwd)), variable(env, "PATH").unwrap_or_default());
    resolve(name, &cwd, OsStr::new(path)).is_ok()
}

/// Returns the user's shell, or the default if that is unknown to the system or has an unknown language. The environment is
/// the inherited one, before it is cleaned.
pub fn choose(env: &[Vec<u8>]) -> PathBuf {
    let own = variable(env, "SHELL").map(PathBuf::from).filter(|path| path.is_absolute());
    match own {
        Some(own) if shell::is_known(&own) && is_supported(&own) && is_executable(&own) => own,
        _ => shell::default(),
    }
}

/// Language of a shell.
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

/// Returns true if the language of a shell is supported. On systems with a POSIX shell, only POSIX shells are.
fn is_supported(shell: &Path) -> bool {
    let language = language(shell);
    language == Some(Language::Posix) || (language.is_some() && shell::posix().is_none())
}

/// Returns the options before the line.
fn flags(shell: &Path, language: Language) -> &'static [&'static str] {
    match (language, name(shell)) {
        // Without the registry's AutoRun command, and without removing the line's own quotes.
        (Language::Cmd, _) => &["/d", "/s", "/c"],
        (Language::PowerShell, _) => &["-NoLogo", "-NoProfile", "-NonInteractive", "-Command"],
        (Language::Posix, "bash") => &["--noprofile", "--norc", "-c"],
        (Language::Posix, "zsh") => &["-f", "-c"],
        (Language::Posix, "busybox") => &["sh", "-c"],
        (Language::Posix, _) => &["-c"],
    }
}

/// Returns the name of a shell without its directory.
fn name(shell: &Path) -> &str {
    let name = shell.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name.strip_suffix(".exe").unwrap_or(name)
}

fn is_executable(path: &Path) -> bool {
    path.is_file() && may_execute(path)
}

/// Returns a variable of an environment. Of several with one name, the last counts.
pub fn variable<'a>(env: &'a [Vec<u8>], name: &str) -> Option<&'a str> {
    let value = |entry: &'a Vec<u8>| {
        let (its, value) = entry.split_at_checked(name.len())?;
        environment::same_name(its, name.as_bytes()).then(|| value.strip_prefix(b"=")).flatten()
    };
    env.iter().rev().find_map(value).and_then(|value| std::str::from_utf8(value).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_goes_to_a_shell_without_its_files() {
        for (shell, flags) in [
            ("/bin/bash", &["--noprofile", "--norc", "-c"][..]),
            ("/bin/sh", &["-c"]),
            ("/bin/zsh", &["-f", "-c"]),
            ("/bin/cmd.exe", &["/d", "/s", "/c"]),
            ("/bin/pwsh.exe", &["-NoLogo", "-NoProfile", "-NonInteractive", "-Command"]),
        ] {
            assert_eq!(words(Path::new(shell), "echo  a"), [&[shell], flags, &["echo  a"]].concat());
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
    fn an_unusable_or_unknown_shell_is_not_used() {
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
    fn executed(shell: &str, line: &str, env: &[&str]) -> Option<String> {
        let env: Vec<Vec<u8>> =
            env.iter().chain(&["PATH=/usr/bin:/bin"]).map(|entry| entry.as_bytes().to_vec()).collect();
        replacing(Path::new(shell), line, b"/", &env)
    }

    #[cfg(unix)]
    #[test]
    fn a_shell_that_would_stay_is_told_to_replace_itself_by_a_program() {
        for (line, expected) in [
            ("sleep  600", "exec sleep  600"),
            ("/bin/sleep 'a b'", "exec /bin/sleep 'a b'"),
            ("sleep $A $(echo 1)", "exec sleep $A $(echo 1)"),
            ("sleep 1 > out", "exec sleep 1 > out"),
            ("A=1 sleep 1", "A=1 exec sleep 1"),
        ] {
            assert_eq!(executed("/bin/sh", line, &[]).as_deref(), Some(expected));
        }
        // Bash replaces itself for the first of them.
        assert_eq!(executed("/bin/bash", "sleep 600", &[]), None);
        assert_eq!(executed("/bin/bash", "sleep 1 > out", &[]).as_deref(), Some("exec sleep 1 > out"));
    }

    #[cfg(unix)]
    #[test]
    fn builtins_and_unknown_programs_are_left_to_the_shell() {
        for line in [
            "echo a",
            "cd /",
            "no-such-program",
            "/bin",
            "/etc/passwd",
            "sleep 1; sleep 2",
            "sleep 1 &",
            "A=1",
            "PATH=/x sleep 1",
            "exec sleep 1",
            "if sleep 1; then ls; fi",
            "trap 'x' EXIT",
        ] {
            assert_eq!(executed("/bin/sh", line, &[]), None, "{line}");
        }
        assert_eq!(executed("/bin/sh", "sleep 1", &["BASH_FUNC_sleep%%=() { :; }"]), None, "a function");
        assert_eq!(
            executed("/bin/bash", "sleep 1 > out", &["BASH_ENV=/x"]),
            None,
            "a file that is read first"
        );
        assert_eq!(executed("/bin/pwsh", "sleep 1", &[]), None, "another language");
    }
}
