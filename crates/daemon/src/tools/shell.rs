//! Which shell a command line goes to: the user's, without profile or rc, so that a command means the same every time.
//! Where the user has none, bash comes before `sh`. The root of a run is its command where that is a simple one: many
//! shells replace themselves by the last command of their line, and the others, as Debian's `sh`, are told to. A shell
//! that stays dies of a Ctrl-C that the command has survived.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tenure_policy::executable::resolve;
use tenure_policy::shell::analyse;

/// What stands before a line that the shell is to replace itself by. One blank would be enough: nobody writes two.
const REPLACING: &str = "exec  ";

/// Programs that shells have themselves, and which do not do quite the same then.
const ALSO_BUILTIN: [&str; 8] = ["[", "echo", "false", "kill", "printf", "pwd", "test", "true"];

/// The words that execute a command line in a directory.
pub(crate) fn words(line: &str, cwd: &[u8], env: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let shell = choose(env);
    let mut words = vec![shell.as_os_str().as_encoded_bytes().to_vec()];
    words.extend(flags(&shell).iter().map(|flag| flag.as_bytes().to_vec()));
    let before = if !replaces_itself(&shell) && is_program(line, cwd, env) { REPLACING } else { "" };
    words.extend([b"-c".to_vec(), format!("{before}{line}").into_bytes()]);
    words
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
    let (cwd, path) = (Path::new(OsStr::from_bytes(cwd)), variable(env, "PATH").unwrap_or_default());
    !ALSO_BUILTIN.contains(&command.program()) && resolve(command.program(), cwd, OsStr::new(path)).is_ok()
}

/// The user's shell, unless it is none that takes a POSIX command line.
fn choose(env: &[Vec<u8>]) -> PathBuf {
    let own = variable(env, "SHELL").map(PathBuf::from).filter(|path| path.is_absolute());
    match own {
        Some(shell) if is_posix(&shell) && is_executable(&shell) => shell,
        _ => find(env, "bash").unwrap_or_else(|| PathBuf::from("/bin/sh")),
    }
}

fn is_posix(shell: &Path) -> bool {
    matches!(name(shell), "sh" | "bash" | "dash" | "zsh" | "ksh" | "mksh" | "ash" | "busybox" | "yash")
}

fn flags(shell: &Path) -> &'static [&'static str] {
    match name(shell) {
        "bash" => &["--noprofile", "--norc"],
        "zsh" => &["-f"],
        "busybox" => &["sh"],
        _ => &[],
    }
}

fn name(shell: &Path) -> &str {
    shell.file_name().and_then(|name| name.to_str()).unwrap_or_default()
}

fn find(env: &[Vec<u8>], program: &str) -> Option<PathBuf> {
    let path = variable(env, "PATH")?;
    let places = path.split(':').filter(|place| place.starts_with('/'));
    places.map(|place| Path::new(place).join(program)).find(|found| is_executable(found))
}

fn is_executable(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

/// A variable of an environment; the last one of a name stands.
pub(crate) fn variable<'a>(env: &'a [Vec<u8>], name: &str) -> Option<&'a str> {
    let value = |entry: &'a Vec<u8>| entry.strip_prefix(name.as_bytes())?.strip_prefix(b"=");
    env.iter().rev().find_map(value).and_then(|value| std::str::from_utf8(value).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(shell: &str) -> Vec<String> {
        said_of(shell, "echo  a")
    }

    fn said_of(shell: &str, line: &str) -> Vec<String> {
        let env = [format!("SHELL={shell}").into_bytes(), b"PATH=/usr/bin:/bin".to_vec()];
        words(line, b"/", &env).into_iter().map(|word| String::from_utf8(word).unwrap()).collect()
    }

    #[test]
    fn the_line_goes_to_the_users_shell_without_its_files() {
        assert_eq!(said("/bin/bash"), ["/bin/bash", "--noprofile", "--norc", "-c", "echo  a"]);
        assert_eq!(said("/bin/sh"), ["/bin/sh", "-c", "echo  a"]);
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
            assert!(said(shell)[0].ends_with("/bash"), "{shell}");
        }
    }

    #[test]
    fn without_bash_it_is_sh() {
        assert_eq!(words("true", b"/", &[b"PATH=/no/such".to_vec()])[0], b"/bin/sh");
    }

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
            assert_eq!(said_of("/bin/sh", line).last().map(String::as_str), Some(executed));
            assert_eq!(as_given(executed), line);
            assert_eq!(said_of("/bin/bash", line).last().map(String::as_str), Some(line));
        }
    }
}
