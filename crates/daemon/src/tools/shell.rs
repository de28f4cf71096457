//! Which shell a command line goes to: the user's, without profile or rc, so that a command means the same every time.
//! Where the user has none, bash comes before `sh`: it replaces itself by the only command of its line, so that the
//! run's root is the command. Debian's `sh` stays, and dies of a Ctrl-C that the command has survived.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The words that execute a command line.
pub(crate) fn words(line: &str, env: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let shell = choose(env);
    let mut words = vec![shell.as_os_str().as_encoded_bytes().to_vec()];
    words.extend(flags(&shell).iter().map(|flag| flag.as_bytes().to_vec()));
    words.extend([b"-c".to_vec(), line.as_bytes().to_vec()]);
    words
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
        let env = [format!("SHELL={shell}").into_bytes(), b"PATH=/usr/bin:/bin".to_vec()];
        words("echo  a", &env).into_iter().map(|word| String::from_utf8(word).unwrap()).collect()
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
        assert_eq!(words("true", &[b"PATH=/no/such".to_vec()])[0], b"/bin/sh");
    }
}
