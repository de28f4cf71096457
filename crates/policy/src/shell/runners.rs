//! Programs that execute what their arguments say. Allowing one of them by name would allow everything, so an entry for
//! them counts only with a pattern of its arguments, and "allow always" is refused for them. Programs that execute what
//! files say (`make`, `npm`, a hook of git) are not among them: files are what an agent works on.

/// A command that runs whatever its arguments say.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
#[error(
    "{program:?} runs what its arguments say; allow it with a pattern of its arguments, or allow what it runs"
)]
pub struct RunsOthers {
    /// The program's bare name.
    pub program: String,
}

/// Names are compared without case and without a version at their end (`python3.11`). Each table is sorted.
#[rustfmt::skip]
const SHELLS: [&str; 20] = [
    "ash", "bash", "busybox", "csh", "dash", "elvish", "fish", "ksh", "mksh", "nu", "posh", "powershell", "pwsh",
    "rbash", "sh", "tcsh", "toybox", "xonsh", "yash", "zsh",
];

#[rustfmt::skip]
const WRAPPERS: [&str; 66] = [
    "at", "batch", "bwrap", "capsh", "catchsegv", "chpst", "chroot", "chrt", "cpulimit", "crontab",
    "dbus-run-session", "doas", "docker", "env", "envdir", "expect", "fakeroot", "faketime", "firejail", "flock",
    "gdb", "ionice", "kubectl", "lldb", "ltrace", "nerdctl", "nice", "nohup", "nsenter", "numactl", "parallel", "perf",
    "pkexec", "podman", "prlimit", "proot", "rlwrap", "rsh", "run-parts", "runuser", "screen", "script", "setarch",
    "setpriv", "setsid", "setuidgid", "socat", "softlimit", "ssh", "start-stop-daemon", "stdbuf", "strace", "su",
    "sudo", "systemd-run", "taskset", "tenure", "time", "timeout", "tmux", "unbuffer", "unshare", "watch", "xargs",
    "xterm", "xvfb-run",
];

#[rustfmt::skip]
const INTERPRETERS: [&str; 56] = [
    "awk", "bpftrace", "bun", "bunx", "deno", "ed", "emacs", "erl", "escript", "ex", "gawk", "groovy", "guile", "iex",
    "irb", "java", "jjs", "jrunscript", "jshell", "julia", "lua", "luajit", "mawk", "nawk", "node", "nodejs", "npx",
    "nvim", "osascript", "perl", "php", "pipx", "pnpx", "pypy", "python", "r", "rscript", "ruby", "rview", "rvim",
    "sqlite", "tclsh", "ts-node", "tsx", "uv", "uvx", "vi", "view", "vim", "vim.basic", "vim.gtk", "vim.nox",
    "vim.tiny", "vimdiff", "wasmtime", "wish",
];

/// Programs that do so with these arguments: see [`has`].
const WITH: [(&str, &[&str]); 13] = [
    ("fd", &["-x", "-X", "--exec"]),
    ("fdfind", &["-x", "-X", "--exec"]),
    ("find", &["-exec", "-ok"]),
    ("gtar", TAR),
    ("less", &["+"]),
    ("make", &["--eval", "SHELL="]),
    ("man", &["-P", "-H", "--pager", "--html"]),
    ("rg", &["--pre", "--hostname-bin"]),
    ("rsync", &["-e", "--rsh", "--rsync-path"]),
    ("sort", &["--co"]),
    ("split", &["--f"]),
    ("tar", TAR),
    ("zip", &["-TT", "--unzip-command"]),
];

const TAR: &[&str] = &["-I", "-F", "--to-c", "--checkpoint-", "--use", "--info", "--new-v", "--rsh"];

/// Options of git itself that stand before its verb and take the next word.
const GIT_WITH_VALUE: [&str; 4] = ["--git-dir", "--namespace", "--work-tree", "-C"];
/// Options of git itself by which it runs anything.
const GIT_OPTIONS: [&str; 3] = ["--config-env", "--exec-path", "-c"];
/// Verbs of git that run anything with these arguments; with `""`, always.
const GIT_VERBS: [(&str, &[&str]); 12] = [
    ("archive", &["--exe"]),
    ("bisect", &["run"]),
    ("clone", &["-c", "-u", "--conf", "--upl", "--templ"]),
    ("difftool", &[""]),
    ("fetch", &["--upl"]),
    ("filter-branch", &[""]),
    ("grep", &["-O", "--open"]),
    ("ls-remote", &["--upl", "--exe"]),
    ("mergetool", &[""]),
    ("push", &["--rec", "--exe"]),
    ("rebase", &["-x", "--exe"]),
    ("submodule", &["foreach"]),
];

/// Whether `argv` runs what its arguments say. The first word may be a path.
pub fn runs_others(argv: &[String]) -> Result<(), RunsOthers> {
    let Some((program, arguments)) = argv.split_first() else { return Ok(()) };
    let name = program.rsplit('/').next().unwrap_or_default().to_ascii_lowercase();
    let bare = name.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | '-'));
    let among = |table: &[&str]| table.binary_search(&bare).is_ok();
    let always = among(&SHELLS) || among(&WRAPPERS) || among(&INTERPRETERS) || is_loader(&name);
    let runs = always
        || (bare == "git" && git(arguments))
        || (bare.ends_with("tar") && old_tar(arguments))
        || WITH.iter().any(|(program, with)| *program == bare && has(arguments, with));
    if runs { Err(RunsOthers { program: name }) } else { Ok(()) }
}

/// The dynamic linker runs the program that it is given.
fn is_loader(name: &str) -> bool {
    ["ld.so", "ld-linux", "ld-musl", "ld64.so"].iter().any(|loader| name.starts_with(loader))
}

/// Whether some argument begins like one of `these`: a long option may be shortened. A short one, of one letter, may be
/// anywhere among others (`-avze`).
fn has(arguments: &[String], these: &[&str]) -> bool {
    arguments.iter().any(|argument| {
        let short = argument.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
        these.iter().any(|this| match (this.strip_prefix('-'), short) {
            (Some(letter), Some(letters)) if letter.len() == 1 => letters.contains(letter),
            (None | Some(_), None | Some(_)) => argument.starts_with(this),
        })
    })
}

/// The first argument of tar may be options without a dash.
fn old_tar(arguments: &[String]) -> bool {
    arguments.first().is_some_and(|first| !first.starts_with('-') && first.contains(['I', 'F']))
}

fn git(arguments: &[String]) -> bool {
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        if GIT_OPTIONS.iter().any(|option| argument.starts_with(option)) {
            return true;
        }
        if GIT_WITH_VALUE.contains(&argument.as_str()) {
            rest.next();
        } else if !argument.starts_with('-') {
            let after = rest.as_slice();
            let verb = GIT_VERBS.iter().find(|(verb, _)| verb == argument);
            return verb.is_some_and(|(_, with)| has(after, with) || with.contains(&""));
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(line: &str) -> bool {
        runs_others(&line.split(' ').map(str::to_owned).collect::<Vec<_>>()).is_err()
    }

    #[test]
    fn the_tables_are_sorted() {
        for table in [&SHELLS[..], &WRAPPERS, &INTERPRETERS, &GIT_WITH_VALUE, &GIT_OPTIONS] {
            assert!(table.is_sorted_by(|a, b| a < b), "{table:?}");
        }
        assert!(WITH.is_sorted_by_key(|(program, _)| program));
        assert!(GIT_VERBS.is_sorted_by_key(|(verb, _)| verb));
    }

    #[test]
    #[rustfmt::skip]
    fn what_runs_others_is_known_by_any_path_and_version() {
        for line in [
            "env", "/usr/bin/env ls", "nice -n 5 x", "nohup x", "timeout 5 x", "xargs rm", "sudo x", "sh -c x",
            "/bin/bash -c x", "bash-5.2", "busybox sh", "python3 -c x", "/usr/bin/python3.11 x.py", "perl -e x",
            "lua5.4", "find . -exec rm {} +", "find . -okdir x", "git -c core.pager=x log", "git -C /x -c a=b log",
            "git --exec-path=/x log", "git rebase --exec=x", "git submodule --quiet foreach x", "tar -I x",
            "tar -xIzstd -f x", "tar xIf zstd x", "rsync -avze ssh a b", "git clone -c a=b x", "git rebase -ix make",
            "/lib64/ld-linux-x86-64.so.2 /bin/ls", "ld.so x", "Python3 x", "vim.basic x", "./sh", "R", "awk x",
        ] {
            assert!(runs(line), "{line}");
        }
    }

    #[test]
    #[rustfmt::skip]
    fn what_runs_nothing_but_itself_is_not_among_them() {
        for line in [
            "git status", "git switch -c branch", "git log -c", "git commit -C x", "git -C /x log", "git --no-pager log",
            "find . -name x", "ls", "cargo test", "base64 x", "tar -xf x", "sort x", "rsync -av a b", "tar xzf x", "sha256sum", "x", "",
        ] {
            assert!(!runs(line), "{line}");
        }
        assert!(runs_others(&[]).is_ok());
    }
}
