//! Programs that execute their arguments. Allowing one of them by name would allow everything, so an entry for them
//! counts only with a pattern of its arguments, and "allow always" is refused for them. Programs that execute the
//! content of files (`make`, `npm`, a hook of git) are not among them: agents work on files.
//!
//! The tables have the well-known cases; they prove nothing. An operator who allows a program without a pattern
//! trusts it with every argument and, by its bare name, trusts whatever the PATH finds first.

/// A command that executes its arguments.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
#[error(
    "{program:?} runs what its arguments say; allow it with a pattern of its arguments, or allow what it runs"
)]
pub struct RunsOthers {
    /// The program's bare name.
    pub program: String,
}

/// Shells. Names are compared without case, and also without a version at their end (`python3.11`). Each table is
/// sorted.
#[rustfmt::skip]
const SHELLS: [&str; 29] = [
    "ash", "bash", "busybox", "csh", "dash", "elvish", "es", "execlineb", "fish", "git-shell", "ksh", "loksh",
    "mksh", "murex", "nu", "oksh", "osh", "posh", "powershell", "pwsh", "rbash", "rc", "sh", "tcsh", "toybox",
    "xonsh", "yash", "ysh", "zsh",
];

#[rustfmt::skip]
const WRAPPERS: [&str; 204] = [
    "aa-exec", "abduco", "alacritty", "ansible", "ansible-console", "ansible-playbook", "ansible-pull", "apptainer",
    "asdf", "at", "autossh", "batch", "buildah", "busctl", "bwrap", "byobu", "caffeinate", "capsh", "catatonit",
    "catchsegv", "celery", "cgexec", "choom", "chpst", "chronic", "chroot", "chrt", "clush", "concurrently",
    "cpulimit", "crictl", "crontab", "crun", "ctr", "daemonize", "dbclient", "dbus-launch", "dbus-run-session",
    "dbus-send", "dex", "direnv", "distrobox", "django-admin", "doas", "docker", "docker-compose", "dsh", "dtach",
    "dumb-init", "entr", "env", "envdir", "expect", "fab", "fakechroot", "fakeroot", "faketime", "firejail", "flask",
    "flatpak", "flock", "foot", "foreman", "fzf", "gdb", "gdbus", "gio", "gnome-terminal", "gosu", "gpg-agent",
    "gpg-connect-agent", "gtk-launch", "gunicorn", "heaptrack", "hyperfine", "i386", "ifne", "inv", "invoke",
    "ionice", "kitty", "konsole", "kubectl", "lckdo", "ldd", "linux32", "linux64", "lldb", "locust", "logsave", "lsh",
    "ltrace", "lxc", "lxc-attach", "lxc-execute", "machinectl", "mise", "mispipe", "mosh", "multipass", "nerdctl",
    "newgrp", "nice", "nix", "nix-shell", "nodemon", "nohup", "nsenter", "numactl", "oc", "parallel", "pdsh", "pee",
    "perf", "pkexec", "podman", "prlimit", "proot", "proxychains", "pssh", "pydoc", "qemu-aarch64", "qemu-arm",
    "qemu-i386", "qemu-x86_64", "reflex", "rlwrap", "rr", "rsh", "run-one", "run-parts", "runc", "runcon", "runsv",
    "runuser", "rxvt", "s6-applyuidgid", "s6-setuidgid", "sandbox-exec", "screen", "script", "scriptlive", "setarch",
    "setlock", "setpriv", "setsid", "setuidgid", "sg", "singularity", "slogin", "snap", "socat", "softlimit", "ssh",
    "ssh-agent", "sshpass", "start-stop-daemon", "startx", "stdbuf", "strace", "su", "su-exec", "sudo", "supervisord",
    "systemd-cat", "systemd-inhibit", "systemd-nspawn", "systemd-run", "taskset", "tenure", "terminator", "tilix",
    "time", "timeout", "tini", "tmux", "toolbox", "torify", "torsocks", "trial", "tsocks", "uname26", "unbuffer",
    "unshare", "urxvt", "uvicorn", "vagrant", "valgrind", "vidir", "vipe", "watch", "watchexec", "watchman",
    "wezterm", "wine", "wine64", "x86_64", "xargs", "xdg-open", "xinit", "xterm", "xvfb-run", "zellij", "zrun",
];

#[rustfmt::skip]
const INTERPRETERS: [&str; 139] = [
    "awk", "bb", "bpftrace", "bpython", "bun", "bunx", "clisp", "clj", "clojure", "crystal", "dart", "dc", "deno",
    "dotnet", "duckdb", "ecl", "ed", "elinks", "elixir", "emacs", "emacsclient", "erb", "erl", "escript", "esno",
    "evim", "ex", "exim", "frawk", "ftp", "gawk", "gforth", "ghc", "ghci", "gnuplot", "goawk", "groovy", "guile",
    "gview", "gvim", "hx", "iex", "ipython", "irb", "java", "jed", "jjs", "joe", "jrunscript", "jshell", "julia",
    "jupyter", "kak", "kotlin", "lftp", "links", "lua", "luajit", "lynx", "m4", "mail", "mailx", "mariadb", "mawk",
    "maxima", "mc", "mcedit", "micro", "micropython", "mongo", "mongosh", "mono", "more", "most", "mutt", "mysql",
    "mysqlsh", "nano", "nawk", "ncftp", "nim", "node", "nodejs", "npx", "nvi", "nvim", "ocaml", "octave",
    "original-awk", "osascript", "perl", "perl6", "pg", "php", "pico", "pipx", "pnpx", "pry", "psql", "py", "pypy",
    "python", "r", "racket", "raku", "rdmd", "rscript", "ruby", "runghc", "runhaskell", "rview", "rvim", "sage",
    "sbcl", "scala", "sed", "sqlite", "ssed", "swift", "swipl", "tclsh", "telnet", "ts-node", "tsx", "utop", "uv",
    "uvx", "vi", "view", "vim", "vim.basic", "vim.gtk", "vim.nox", "vim.tiny", "vimdiff", "vimtutor", "w3m",
    "wasmtime", "wish",
];

/// Programs that execute these arguments: see [`has`].
#[rustfmt::skip]
const WITH: [(&str, &[&str]); 83] = [
    ("ack", &["--pager"]),
    ("ag", &["--pager"]),
    ("apt", &["-o", "-c", "--option", "--config-file"]),
    ("apt-get", &["-o", "-c", "--option", "--config-file"]),
    ("bat", &["--pager"]),
    ("bsdtar", &["--use-compress-program"]),
    ("bundle", &["exec"]),
    ("c++", &["-B", "-fplugin", "-specs", "-wrapper"]),
    ("cabal", &["exec"]),
    ("cargo", &["--config"]),
    ("cc", &["-B", "-fplugin", "-specs", "-wrapper"]),
    ("clang", &["-B", "-fplugin", "-Xclang"]),
    ("cmake", &["-E", "-P"]),
    ("conda", &["run"]),
    ("cpio", &["--rsh-command"]),
    ("ctest", &["-S", "--build-and-test"]),
    ("curl", &["--engine"]),
    ("delta", &["--pager"]),
    ("diff3", &["--diff-program"]),
    ("dpkg", &["--pre-invoke", "--post-invoke"]),
    ("fd", &["-x", "-X", "--exec", "--exec-batch"]),
    ("fdfind", &["-x", "-X", "--exec", "--exec-batch"]),
    ("find", &["-exec", "-ok"]),
    ("g++", &["-B", "-fplugin", "-specs", "-wrapper"]),
    ("gcc", &["-B", "-fplugin", "-specs", "-wrapper"]),
    ("gem", &["exec"]),
    ("gh", &["alias", "extension"]),
    ("gmake", &["-E", "--eval"]),
    ("go", &["-exec", "-toolexec", "--exec", "--toolexec"]),
    ("groff", &["-U"]),
    ("gtar", TAR),
    ("hatch", &["run"]),
    ("helm", &["--post-renderer"]),
    ("hg", &["--config", "--ssh"]),
    ("install", &["--strip-program"]),
    ("ip", &["exec"]),
    ("iptables", &["--modprobe"]),
    ("just", &["--shell", "--command"]),
    ("latex", &["-shell-escape", "--shell-escape"]),
    ("less", &["+"]),
    ("make", &["-E", "--eval"]),
    ("man", &["-P", "-H", "-C", "--pager", "--html", "--config-file"]),
    ("mix", &["run"]),
    ("nc", &["-e", "-c"]),
    ("ncat", &["-e", "-c", "--exec", "--sh-exec", "--lua-exec"]),
    ("netcat", &["-e", "-c"]),
    ("nmap", &["--script"]),
    ("npm", &["exec", "x", "explore", "config", "c", "--script-shell"]),
    ("op", &["run"]),
    ("openssl", &["-engine", "-provider"]),
    ("pandoc", &["-F", "-L", "--filter", "--lua-filter", "--pdf-engine"]),
    ("pdflatex", &["-shell-escape", "--shell-escape"]),
    ("pdm", &["run"]),
    ("pipenv", &["run"]),
    ("pnpm", &["exec", "dlx", "--script-shell"]),
    ("poetry", &["run"]),
    ("pyenv", &["exec"]),
    ("rails", &["runner"]),
    ("rake", &["-e", "-E"]),
    ("rbenv", &["exec"]),
    ("rclone", &["--sftp-ssh"]),
    ("rg", &["--pre", "--hostname-bin"]),
    ("rpm", &["-E", "--eval", "--pipe"]),
    ("rsync", &["-e", "--rsh", "--rsync-path"]),
    ("rustc", &["-C", "--codegen"]),
    ("rustup", &["run"]),
    ("scp", &["-S", "-o", "-F", "-D"]),
    ("sdiff", &["--diff-program"]),
    ("sftp", &["-S", "-o", "-F", "-D"]),
    ("sort", &["--compress-program"]),
    ("split", &["--filter"]),
    ("ssh-add", &["-s"]),
    ("ssh-copy-id", &["-o", "-F"]),
    ("ssh-keygen", &["-D"]),
    ("stack", &["exec"]),
    ("svn", &["--diff-cmd", "--diff3-cmd", "--editor-cmd", "--config-option"]),
    ("tar", TAR),
    ("tcpdump", &["-z"]),
    ("tex", &["-shell-escape", "--shell-escape"]),
    ("tshark", &["-X"]),
    ("wget", &["-e", "--use-askpass", "--execute"]),
    ("yarn", &["exec", "dlx", "node"]),
    ("zip", &["-TT", "--unzip-command"]),
];

const TAR: &[&str] = &[
    "-I",
    "-F",
    // Each line of such a file may be an option.
    "-T",
    "--files-from",
    "--to-command",
    "--checkpoint-action",
    "--use-compress-program",
    "--info-script",
    "--new-volume-script",
    "--rsh-command",
    "--rmt-command",
];

/// Options of git itself that precede its verb and take the next word.
const GIT_WITH_VALUE: [&str; 4] = ["--git-dir", "--namespace", "--work-tree", "-C"];
/// Options of git itself by which it executes anything.
const GIT_OPTIONS: [&str; 3] = ["--config-env", "--exec-path", "-c"];
/// Verbs of git that execute anything with these arguments; with `""`, always. The next verb executes what `config`
/// sets.
#[rustfmt::skip]
const GIT_VERBS: [(&str, &[&str]); 33] = [
    ("archive", &["--exec"]),
    ("bisect", &["run"]),
    ("citool", &[""]),
    ("clone", &["-c", "-u", "--config", "--upload-pack", "--template"]),
    ("config", &[""]),
    ("cvsserver", &[""]),
    ("daemon", &[""]),
    ("difftool", &[""]),
    ("fetch", &["--upload-pack"]),
    ("fetch-pack", &["--upload-pack", "--exec"]),
    ("filter-branch", &[""]),
    ("for-each-repo", &[""]),
    ("grep", &["-O", "--open-files-in-pager"]),
    ("gui", &[""]),
    ("help", &[""]),
    ("hook", &[""]),
    ("init", &["--template"]),
    ("instaweb", &[""]),
    ("ls-remote", &["--upload-pack", "--exec"]),
    ("maintenance", &[""]),
    ("merge-index", &[""]),
    ("mergetool", &[""]),
    ("p4", &[""]),
    ("pull", &["--upload-pack"]),
    ("push", &["--receive-pack", "--exec"]),
    ("rebase", &["-x", "--exec"]),
    ("remote-ext", &[""]),
    ("send-email", &[""]),
    ("send-pack", &["--receive-pack", "--exec"]),
    ("shell", &[""]),
    ("submodule", &["foreach"]),
    ("svn", &[""]),
    ("web--browse", &[""]),
];

/// Fails if `argv` executes its arguments. The first word may be a path.
pub fn runs_others(argv: &[String]) -> Result<(), RunsOthers> {
    let Some((program, arguments)) = argv.split_first() else { return Ok(()) };
    let name = name_of(program);
    let bare = without_version(&name);
    let names = [bare, &name, gnu_name(bare)];
    let among = |table: &[&str]| names.iter().any(|it| table.binary_search(it).is_ok());
    let always = among(&SHELLS) || among(&WRAPPERS) || among(&INTERPRETERS) || is_loader(&name);
    let runs = always
        || (bare == "git" && git(arguments))
        || (bare.ends_with("tar") && old_tar(arguments))
        || (bare.ends_with("make") && sets_a_variable(arguments))
        || WITH.iter().any(|(program, with)| names.contains(program) && has(arguments, with));
    if runs { Err(RunsOthers { program: name }) } else { Ok(()) }
}

/// Returns the bare name of a program, in lower case.
pub(super) fn name_of(program: &str) -> String {
    program.rsplit('/').next().unwrap_or_default().to_ascii_lowercase()
}

/// Returns `python` for `python3.11`.
pub(super) fn without_version(name: &str) -> &str {
    name.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | '-'))
}

/// Returns `sed` for `gsed`, the name of the GNU program where the system has its own `sed`.
pub(super) fn gnu_name(bare: &str) -> &str {
    bare.strip_prefix('g').unwrap_or(bare)
}

/// Returns true for a dynamic linker, which executes the program in its arguments.
fn is_loader(name: &str) -> bool {
    ["ld.so", "ld-linux", "ld-musl", "ld64.so"].iter().any(|loader| name.starts_with(loader))
}

/// Returns true if some argument is one of `these`: a word, or an option.
pub(super) fn has(arguments: &[String], these: &[&str]) -> bool {
    arguments.iter().any(|argument| these.iter().any(|this| is(argument, this)))
}

/// Returns true if an argument is the option `this`. A long option may be shortened as far as it is unambiguous;
/// with a final `-` or `.`, `this` is a prefix. An option of one letter may be anywhere among others (`-avze`). A
/// `+` or `@` is the beginning of a word. Other options, with one dash and a long name, may have their value in the
/// same word.
fn is(argument: &str, this: &str) -> bool {
    if let Some(long) = this.strip_prefix("--") {
        let name = argument.strip_prefix("--").and_then(|rest| rest.split('=').next());
        let begins = |name: &str| long.ends_with(['-', '.']) && name.starts_with(long);
        return name.is_some_and(|name| !name.is_empty() && (long.starts_with(name) || begins(name)));
    }
    match this.strip_prefix('-') {
        Some(letter) if letter.len() == 1 => {
            argument.strip_prefix('-').is_some_and(|rest| !rest.starts_with('-') && rest.contains(letter))
        }
        Some(_) => argument.starts_with(this),
        None => argument == this || (matches!(this, "+" | "@") && argument.starts_with(this)),
    }
}

/// Returns true if make gets a variable, which the rules that use it execute.
fn sets_a_variable(arguments: &[String]) -> bool {
    arguments.iter().any(|argument| !argument.starts_with('-') && argument.contains('='))
}

/// Returns true for options without a dash in tar's first argument.
fn old_tar(arguments: &[String]) -> bool {
    arguments.first().is_some_and(|first| !first.starts_with('-') && first.contains(['I', 'F', 'T']))
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
            "tar cf x --us=y z", "tar xf x --rs y", "tar xf x --inf=y", "tar xf x --new-=y", "tar xf x --rmt=y", "sed -n 1p x",
            "git push --rec=x", "git fetch --u x", "git config alias.x !y", "make CC=x", "make -E x", "npm exec x", "m4 x",
            "linux32 x", "wget --use-ask=x y", "sort --comp=x", "install --strip-p=x a b", "cargo --config x test", "dc",
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
            "find . -name x", "ls", "cargo test", "base64 x", "tar -xf x", "sort x", "rsync -av a b", "tar xzf x", "sha256sum", "x", "", "make -j4 test", "npm install", "npm run build",
            "cargo build --release", "tar --create -f x y", "git fetch --all", "sort --check x", "wget x", "ip addr", "go test",
        ] {
            assert!(!runs(line), "{line}");
        }
        assert!(runs_others(&[]).is_ok());
    }
}
