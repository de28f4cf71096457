//! Arguments by which a program reaches further than an entry for its name covers: they name a file that it writes,
//! or the place of its settings, rules or project. Such a command needs an entry with a pattern of arguments.
//! Unlike the commands of [`super::runs_others`], it may be allowed permanently, because its words say what it
//! does.
//!
//! A program's own purpose does not count: an entry for `cp` or `tee` allows it to write. Nor does the content of
//! files in the working directory (`make`, `npm run`, a hook of git): agents work on files.

use super::runners::{gnu_name, has, name_of, without_version};

/// A command that reaches further than its program's name suggests.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
#[error(
    "{program:?} writes, or reads what to do, where its arguments say; allow it with a pattern of its arguments"
)]
pub struct Reaches {
    /// The program's bare name.
    pub program: String,
}

/// Fails if `argv` reaches further than its program's name suggests. The first word may be a path.
pub fn reaches(argv: &[String]) -> Result<(), Reaches> {
    let Some((program, arguments)) = argv.split_first() else { return Ok(()) };
    let name = name_of(program);
    let bare = without_version(&name);
    let is_in = |table: &[&str]| [bare, name.as_str()].iter().any(|it| table.binary_search(it).is_ok());
    let does = (bare == "git" && git(arguments))
        || (bare == "go" && go(arguments))
        || (matches!(bare, "uniq" | "xxd") && words(arguments).count() > 1)
        || (matches!(bare, "mvn") && words(arguments).any(|word| word.contains(':')))
        || (matches!(bare, "rake" | "just" | "scons") && words(arguments).any(|word| word.contains('=')))
        || (is_in(&PROJECT) && (words(arguments).any(is_elsewhere) || values(arguments).any(is_elsewhere)))
        || (bare == "npm" && npm(arguments))
        || INSTALLERS.iter().any(|(program, verbs)| *program == bare && installs(arguments, verbs))
        || options(&name, bare).any(|these| has(arguments, these));
    if does { Err(Reaches { program: name }) } else { Ok(()) }
}

/// Returns the words and options that an entry without a pattern does not cover, for the person who adds it.
pub fn not_covered(program: &str) -> Vec<&'static str> {
    let name = name_of(program);
    let bare = without_version(&name);
    let mut all: Vec<&str> = options(&name, bare).flatten().copied().collect();
    if bare == "git" {
        all.extend(["-C", "--git-dir", "--work-tree", "--output", "aliases"]);
    }
    all
}

fn options<'a>(name: &'a str, bare: &'a str) -> impl Iterator<Item = &'static [&'static str]> + 'a {
    let names = [bare, name, gnu_name(bare)];
    REACH.iter().filter(move |(program, _)| names.contains(program)).map(|(_, these)| *these)
}

/// Returns the arguments that are not options: after `--`, all of them.
fn words(arguments: &[String]) -> impl Iterator<Item = &str> {
    let end = arguments.iter().position(|argument| argument == "--").unwrap_or(arguments.len());
    let is_word =
        move |(at, argument): &(usize, &str)| *at > end || !argument.starts_with('-') || *argument == "-";
    arguments.iter().map(String::as_str).enumerate().filter(is_word).map(|(_, word)| word)
}

/// Returns the values that options have in the same word.
fn values(arguments: &[String]) -> impl Iterator<Item = &str> {
    arguments
        .iter()
        .filter(|argument| argument.starts_with('-'))
        .filter_map(|argument| Some(argument.split_once('=')?.1))
}

/// Returns true if a word is a path that leads out of the working directory, or a URL.
fn is_elsewhere(word: &str) -> bool {
    word.starts_with(['/', '~']) || word.contains("://") || word.split('/').any(|part| part == "..")
}

/// Returns true if one of `verbs` is followed by something to install.
fn installs(arguments: &[String], verbs: &[&str]) -> bool {
    let at = arguments.iter().position(|argument| verbs.contains(&argument.as_str()));
    at.is_some_and(|at| words(&arguments[at + 1..]).next().is_some())
}

/// Checks npm's arguments. npm accepts one dash, or three, for two, and a prefix of a verb for the verb.
fn npm(arguments: &[String]) -> bool {
    let name =
        |argument: &String| argument.split('=').next().unwrap_or_default().trim_start_matches('-').to_owned();
    let dashed = arguments.iter().filter(|argument| argument.starts_with('-')).map(name);
    let long: Vec<String> = dashed.filter(|name| name.len() > 2).map(|name| format!("--{name}")).collect();
    if options("npm", "npm").any(|these| has(&long, these)) || has(&long, &["--script-shell"]) {
        return true;
    }
    // A word after an option may be its value, and the verb comes after it.
    let mut after_option = false;
    for argument in arguments {
        if argument.starts_with('-') {
            after_option = true;
            continue;
        }
        let begins = |verb: &&str| verb.starts_with(argument.as_str());
        if argument.len() > 1 && !NPM_SHORT.contains(&argument.as_str()) && NPM_REACH.iter().any(begins) {
            return true;
        }
        if !std::mem::take(&mut after_option) {
            return false;
        }
    }
    false
}

/// Verbs of npm that execute or write to their arguments.
const NPM_REACH: [&str; 10] =
    ["config", "create", "edit", "exec", "explore", "init", "innit", "link", "publish", "set-script"];
/// Prefixes of other verbs that are also prefixes of these.
const NPM_SHORT: [&str; 4] = ["ex", "in", "pu", "se"];

/// Checks go's arguments. Its flags have one dash or two, and their value after a `=` or in the next word.
fn go(arguments: &[String]) -> bool {
    let name = |argument: &String| {
        let flag = argument.strip_prefix('-').map(|rest| rest.strip_prefix('-').unwrap_or(rest));
        flag.map_or(argument.as_str(), |flag| flag.split('=').next().unwrap_or(flag)).to_owned()
    };
    let is_verb = |at: usize| words(arguments).next() == Some(&arguments[at]);
    arguments.iter().enumerate().any(|(at, argument)| {
        let name = name(argument);
        if argument.starts_with('-') {
            GO_FLAGS.contains(&name.as_str()) || name.starts_with("test.")
        } else {
            is_verb(at) && GO_VERBS.contains(&name.as_str())
        }
    })
}

fn git(arguments: &[String]) -> bool {
    let mut rest = arguments.iter();
    let verb = loop {
        match rest.next() {
            None => return false,
            Some(option) if GIT_PLAIN.contains(&option.as_str()) => {}
            Some(option) if option.starts_with('-') => return true,
            Some(verb) => break verb,
        }
    };
    // Any other verb may be a configured alias, or a program of that name.
    if GIT_KNOWN.binary_search(&verb.as_str()).is_err() {
        return true;
    }
    let after = rest.as_slice();
    let remote = matches!(verb.as_str(), "fetch" | "ls-remote" | "pull" | "push");
    // A path as the remote has its own hooks, and `ext::` is a command.
    let strange = |word: &str| !matches!(word, "origin" | "upstream");
    has(after, &["--output", "--output-directory", "--help", "--ext-diff"])
        || (remote && (words(after).next().is_some_and(strange) || has(after, &GIT_REMOTE_VALUES)))
        || (GIT_ELSEWHERE.contains(&verb.as_str())
            && words(after).any(|word| is_path_elsewhere(word) || word.contains("::")))
        || GIT_REACH.iter().any(|(its, these)| its == verb && (has(after, these) || these.contains(&"")))
}

/// Returns true if a word is a path that leads out of the working directory. A URL of another host is not.
fn is_path_elsewhere(word: &str) -> bool {
    word.starts_with("file:") || (is_elsewhere(word) && !word.contains("://"))
}

/// Git's own options that change neither the repository nor the programs that it runs.
const GIT_PLAIN: [&str; 13] = [
    "--glob-pathspecs",
    "--icase-pathspecs",
    "--literal-pathspecs",
    "--no-advice",
    "--no-lazy-fetch",
    "--no-optional-locks",
    "--no-pager",
    "--no-replace-objects",
    "--noglob-pathspecs",
    "--paginate",
    "--version",
    "-P",
    "-v",
];

/// Git's own verbs, which no alias can replace. Sorted.
#[rustfmt::skip]
const GIT_KNOWN: [&str; 80] = [
    "add", "am", "annotate", "apply", "archive", "bisect", "blame", "branch", "bundle", "cat-file", "check-attr",
    "check-ignore", "check-mailmap", "check-ref-format", "checkout", "cherry", "cherry-pick", "clean", "clone", "commit",
    "commit-tree", "config", "count-objects", "describe", "diff", "diff-files", "diff-index", "diff-tree", "fetch",
    "for-each-ref", "format-patch", "fsck", "gc", "grep", "hash-object", "init", "log", "ls-files", "ls-remote", "ls-tree",
    "merge", "merge-base", "merge-tree", "mv", "name-rev", "notes", "prune", "pull", "push", "range-diff", "rebase", "reflog",
    "remote", "repack", "replace", "rerere", "reset", "restore", "rev-list", "rev-parse", "revert", "rm", "shortlog", "show",
    "show-branch", "show-ref", "sparse-checkout", "stash", "status", "submodule", "switch", "symbolic-ref", "tag",
    "update-index", "update-ref", "verify-commit", "verify-tag", "version", "whatchanged", "worktree",
];

/// Options of verbs that connect to a remote: one names the remote, the others take the word that would be read as
/// the remote.
#[rustfmt::skip]
const GIT_REMOTE_VALUES: [&str; 14] = [
    "--repo", "-o", "--push-option", "--server-option", "-X", "--strategy-option", "-s", "--strategy", "--refmap",
    "--negotiation-tip", "--shallow-exclude", "--shallow-since", "--sort", "--multiple",
];

/// Verbs that write to a path, or run code from one.
const GIT_ELSEWHERE: [&str; 5] = ["archive", "clone", "init", "submodule", "worktree"];

/// Verbs that reach further with these arguments; `""` means always.
const GIT_REACH: [(&str, &[&str]); 14] = [
    ("am", &["--directory"]),
    ("apply", &["--directory", "--unsafe-paths", "--build-fake-ancestor"]),
    ("archive", &["-o", "--remote"]),
    ("bisect", &["visualize", "view"]),
    ("bundle", &[""]),
    ("checkout", &["--ignore-other-worktrees"]),
    ("clone", &["--separate-git-dir", "--reference", "--reference-if-able", "--bundle-uri"]),
    ("config", &[""]),
    ("format-patch", &["-o"]),
    ("gc", &["--expire-to"]),
    ("init", &["--separate-git-dir"]),
    ("remote", &["add", "set-url", "rename", "update"]),
    ("repack", &["--expire-to", "--filter-to"]),
    ("submodule", &["add", "set-url", "--reference"]),
];

const GO_VERBS: [&str; 8] = ["bug", "env", "get", "install", "run", "telemetry", "tool", "work"];
#[rustfmt::skip]
const GO_FLAGS: [&str; 24] = [
    "C", "asmflags", "blockprofile", "compiler", "coverprofile", "cpuprofile", "exec", "fuzzcachedir", "gccgoflags", "gcflags",
    "ldflags", "memprofile", "modfile", "mutexprofile", "o", "outputdir", "overlay", "pgo", "pkgdir", "toolexec", "trace",
    "vettool", "w", "workfile",
];

/// Programs that execute a project's files, so that another project means other code. Sorted.
#[rustfmt::skip]
const PROJECT: [&str; 44] = [
    "ant", "bazel", "bundle", "cabal", "cargo", "cmake", "composer", "ctest", "eslint", "flake8", "gmake", "go",
    "gradle", "jest", "just", "make", "meson", "mix", "mocha", "mvn", "mypy", "ninja", "nox", "npm", "phpunit", "pip",
    "pnpm", "pre-commit", "prettier", "py.test", "pylint", "pytest", "rake", "rebar3", "rollup", "rspec", "scons",
    "stack", "task", "tox", "tsc", "vite", "webpack", "yarn",
];

/// Programs that execute what they install, and the verbs that install the package in the next word.
#[rustfmt::skip]
const INSTALLERS: [(&str, &[&str]); 5] = [
    ("apt", &["install", "reinstall"]),
    ("apt-get", &["install", "reinstall"]),
    ("npm", &["install", "i", "in", "ins", "inst", "insta", "instal", "isnt", "isnta", "isntal", "isntall", "add", "update", "up",
        "install-test", "it", "rebuild", "rb"]),
    ("pnpm", &["install", "i", "update", "up"]),
    ("yarn", &["install"]),
];

/// Options and words by which a program reaches further, compared as in [`super::runners`].
#[rustfmt::skip]
const REACH: [(&str, &[&str]); 99] = [
    ("aa-logprof", &["-d", "-f"]),
    ("ack", &["--ackrc", "--pager"]),
    ("ant", &["-f", "-D", "-lib", "-logfile", "-logger", "-listener", "-inputhandler", "-propertyfile", "-main", "-find"]),
    ("ar", &["--plugin"]),
    ("aria2c", &[
        "-o", "-d", "-i", "-l", "--out", "--dir", "--input-file", "--log", "--conf-path", "--save-session",
        "--save-cookies", "--on-download-complete", "--on-download-error", "--on-download-pause",
        "--on-download-start", "--on-download-stop", "--on-bt-download-complete", "--rpc-save-upload-metadata",
    ]),
    ("aws", &["configure", "--endpoint-url", "--ca-bundle"]),
    ("bazel", &[
        "run", "--bazelrc", "--output_base", "--output_user_root", "--override_repository", "--override_module",
        "--run_under", "--action_env", "--host_javabase", "--install_base", "--symlink_prefix",
        "--experimental_convenience_symlinks",
    ]),
    ("black", &["--config"]),
    ("bundle", &["config", "plugin", "add", "gem", "open", "init", "--gemfile", "--path"]),
    ("c++", &["-o", "-iplugindir", "@"]),
    ("cabal", &[
        "run", "repl", "install", "script", "-w", "--with-compiler", "--with-hc-pkg", "--project-file",
        "--project-dir", "--store-dir", "--builddir", "--ghc-options", "--config-file", "--installdir",
    ]),
    ("cargo", &[
        "install", "rustc", "rustdoc", "config", "new", "init", "publish", "login", "owner", "yank", "-Z", "-C",
        "--manifest-path", "--target-dir", "--artifact-dir", "--out-dir", "--lockfile-path", "--open", "--root", "+",
        "--config-file", "--tool-config-file", "--logfile",
    ]),
    ("cc", &["-o", "-iplugindir", "@"]),
    ("clang", &["-o", "@", "-fpass-plugin", "-load", "-mllvm"]),
    ("cmake", &[
        "-C", "-D", "-S", "-B", "-H", "-G", "-T", "-A", "--build", "--install", "--open", "--preset", "--toolchain",
        "--workflow", "--graphviz", "--trace-redirect", "--profiling-output", "--install-prefix", "--prefix",
    ]),
    ("composer", &["exec", "global", "require", "config", "create-project", "run-script", "init", "self-update", "-d", "--working-dir"]),
    ("conda", &["install", "create", "update", "config", "env", "develop", "build", "-p", "--prefix", "-f", "--file"]),
    ("ctags", &["-o", "-f", "-L", "--options", "--options-maybe", "--optlib-dir", "--output"]),
    ("ctest", &["-D", "-T", "-M", "-O", "--test-dir", "--output-log", "--output-junit", "--build-run-dir", "--build-exe-dir"]),
    ("curl", &[
        "-K", "-o", "-O", "-D", "-c", "-T", "-w", "-E", "--config", "--output", "--output-dir", "--remote-name",
        "--remote-name-all", "--remote-header-name", "--dump-header", "--cookie-jar", "--trace", "--trace-ascii",
        "--stderr", "--etag-save", "--hsts", "--alt-svc", "--libcurl", "--upload-file", "--write-out",
        "--unix-socket", "--abstract-unix-socket", "--ssl-sessions", "--cert", "--key", "--engine", "--netrc-file",
        "--create-dirs", "--expand-",
    ]),
    ("dmesg", &["-C", "-c"]),
    ("eslint", &[
        "-c", "-o", "-f", "--config", "--rulesdir", "--plugin", "--parser", "--parser-options",
        "--resolve-plugins-relative-to", "--output-file", "--format", "--cache-location", "--cache-file",
        "--ignore-path",
    ]),
    ("file", &["-C", "--compile"]),
    ("find", &["-fprint", "-fls", "-delete"]),
    ("flake", &["--config", "--append-config", "--output-file", "--tee", "--require-plugins"]),
    ("g++", &["-o", "-iplugindir", "@"]),
    ("gcc", &["-o", "-iplugindir", "@"]),
    ("gem", &["install", "fetch", "unpack", "build", "push", "exec", "owner", "cert", "open", "--config-file", "--install-dir", "--bindir"]),
    ("gh", &["config", "codespace", "browse"]),
    ("gmake", &["-f", "-C", "-I", "--file", "--makefile", "--directory", "--include-dir"]),
    ("gpg", &[
        "-o", "--output", "--homedir", "--options", "--photo-viewer", "--agent-program", "--dirmngr-program",
        "--keyboxd-program", "--exec-path", "--load-extension", "--status-file", "--logger-file", "--attribute-file",
        "--import", "--trust-model", "--pinentry-program",
    ]),
    ("gradle", &[
        "-b", "-c", "-p", "-I", "-g", "-D", "-P", "--build-file", "--settings-file", "--project-dir", "--init-script",
        "--include-build", "--gradle-user-home", "--project-cache-dir", "--system-prop", "--project-prop",
    ]),
    ("gtar", &["-g", "--listed-incremental", "--index-file", "--volno-file"]),
    ("helm", &[
        "plugin", "--post-renderer-args", "--kubeconfig", "--repository-config", "--repository-cache",
        "--registry-config", "--output-dir", "--destination",
    ]),
    ("hg", &["serve", "bisect", "debuginstall", "-R", "-y", "--repository", "--cwd", "--debugger", "--profile", "--remotecmd", "--output", "--tool"]),
    ("http", &["-o", "-d", "--output", "--download", "--session", "--session-read-only"]),
    ("https", &["-o", "-d", "--output", "--download", "--session", "--session-read-only"]),
    ("iconv", &["-o", "--output"]),
    ("info", &["-o", "--output", "--restore"]),
    ("ip", &["-b", "-batch"]),
    ("jest", &[
        "-c", "--config", "--rootDir", "--roots", "--runner", "--testRunner", "--testEnvironment", "--resolver",
        "--transform", "--reporters", "--preset", "--globalSetup", "--globalTeardown", "--setupFiles",
        "--setupFilesAfterEnv", "--testResultsProcessor", "--snapshotSerializers", "--coverageDirectory",
        "--cacheDirectory", "--outputFile", "--projects", "--filter",
    ]),
    ("journalctl", &["--cursor-file", "--root", "--image", "--vacuum-size", "--vacuum-time", "--vacuum-files", "--rotate"]),
    ("jq", &["-L"]),
    ("just", &[
        "-f", "-d", "-c", "--justfile", "--working-directory", "--set", "--dotenv-path", "--dotenv-filename",
        "--init", "--edit", "--choose", "--chooser", "--shell-arg", "--shell-command", "--cygpath", "--tempdir",
        "--global-justfile",
    ]),
    ("less", &["-o", "-O", "-k", "-T", "--log-file", "--lesskey-file", "--lesskey-src", "--lesskey-content", "--tag-file"]),
    ("make", &["-f", "-C", "-I", "--file", "--makefile", "--directory", "--include-dir"]),
    ("meson", &["-C", "--native-file", "--cross-file", "--wrap-mode", "introspect"]),
    ("mix", &["cmd", "eval", "do", "archive.install", "escript.install", "local.hex", "local.rebar", "profile.eprof"]),
    ("mocha", &[
        "-r", "-O", "--require", "--config", "--package", "--reporter", "--ui", "--import", "--loader",
        "--experimental-loader", "--file", "--spec", "--opts", "--extension", "--reporter-option",
    ]),
    ("mvn", &[
        "-f", "-s", "-t", "-l", "-D", "-b", "--file", "--settings", "--global-settings", "--toolchains", "--log-file",
        "--define", "--builder", "-gs", "-gt",
    ]),
    ("mypy", &[
        "--config-file", "--python-executable", "--cache-dir", "--plugin", "--shadow-file", "--html-report",
        "--xml-report", "--txt-report", "--junit-xml", "--install-types",
    ]),
    ("ninja", &["-f", "-C", "-t"]),
    ("nm", &["--plugin"]),
    ("nox", &["-f", "--noxfile", "--envdir", "--default-venv-backend", "--download-python"]),
    ("npm", &[
        "init", "create", "innit", "edit", "bugs", "docs", "repo", "home", "help", "publish", "pack", "link", "ln",
        "set", "set-script", "-C", "-g", "-c", "--prefix", "--globalconfig", "--userconfig", "--global", "--cache",
        "--call", "--package", "--node-options", "--shell", "--editor", "--viewer", "--browser", "--init-module",
        "--location", "--git", "--logs-dir", "--local-prefix", "--pack-destination",
    ]),
    ("nuget", &["-ConfigFile", "-OutputDirectory", "-Source"]),
    ("objdump", &["--plugin"]),
    ("openssl", &[
        "-out", "-config", "-keyout", "-writerand", "-rand", "-CAcreateserial", "-provider-path", "-propquery",
        "-sess_out", "-keylogfile",
    ]),
    ("phpunit", &[
        "-c", "-d", "--configuration", "--bootstrap", "--include-path", "--printer", "--extension", "--extensions",
        "--log-junit", "--log-teamcity", "--testdox-html", "--testdox-text", "--coverage-html", "--coverage-clover",
        "--coverage-php", "--coverage-text", "--cache-directory", "--cache-result-file", "--loader",
    ]),
    ("pip", &[
        "install", "download", "wheel", "lock", "-i", "--log-file", "--local-log", "--keyring-provider",
        "config", "--python", "--log", "--cache-dir", "--root", "--prefix", "--target", "--src", "--build", "--proxy",
        "--cert", "--client-cert", "--index-url", "--extra-index-url", "--find-links", "--trusted-host", "--report",
    ]),
    ("pnpm", &[
        "add", "create", "init", "link", "ln", "patch", "publish", "pack", "env", "setup", "config", "set", "-C",
        "-g", "-c", "--dir", "--prefix", "--global", "--shell-emulator", "--config.", "--global-dir", "--store-dir",
        "--virtual-store-dir", "--modules-dir", "--pnpmfile", "--global-pnpmfile", "--use-node-version",
    ]),
    ("pre-commit", &["try-repo", "init-templatedir", "install", "-c", "--config", "-t"]),
    ("prettier", &["--config", "--plugin", "--plugin-search-dir", "--cache-location"]),
    ("py.test", &[
        "-p", "-c", "-o", "--config-file", "--rootdir", "--confcutdir", "--override-ini", "--basetemp", "--junitxml",
        "--log-file", "--pyargs", "--debug", "--pdbcls",
    ]),
    ("pylint", &["--rcfile", "--load-plugins", "--init-hook", "--output"]),
    ("pytest", &[
        "-p", "-c", "-o", "--config-file", "--rootdir", "--confcutdir", "--override-ini", "--basetemp", "--junitxml",
        "--junit-xml", "--log-file", "--pyargs", "--debug", "--resultlog", "--cov-config", "--cov-report", "--pdbcls",
        "--trace-config", "--import-mode", "--pastebin", "--html",
    ]),
    ("rake", &[
        "-f", "-I", "-r", "-R", "-C", "-G", "--rakefile", "--libdir", "--require", "--rakelibdir", "--directory",
        "--system", "--execute", "--execute-print",
    ]),
    ("ranlib", &["--plugin"]),
    ("rollup", &["-c", "-o", "-d", "-p", "--config", "--file", "--dir", "--plugin", "--configPlugin"]),
    ("rpm", &[
        "-i", "-U", "-F", "-e", "--install", "--upgrade", "--freshen", "--erase", "--root", "--dbpath", "--define",
        "--load", "--rcfile", "--macros", "--import", "--initdb", "--rebuilddb",
    ]),
    ("rspec", &["-r", "-I", "-O", "-o", "-f", "--require", "--options", "--out", "--default-path", "--format", "--bisect"]),
    ("rsync", &[
        "-M", "-T", "--log-file", "--temp-dir", "--backup-dir", "--partial-dir", "--remote-option", "--daemon",
        "--config", "--write-batch", "--only-write-batch", "--read-batch", "--password-file", "--early-input",
    ]),
    ("ruff", &["--config", "--output-file", "--cache-dir"]),
    ("rustc", &["-o", "-L", "-Z", "--out-dir", "--emit", "--sysroot", "--extern", "--print", "@"]),
    ("rustup", &["run", "toolchain", "override", "set", "self", "component", "target", "default", "--path", "--install"]),
    ("scons", &[
        "-f", "-C", "-D", "-Y", "-I", "--file", "--sconstruct", "--makefile", "--directory", "--include-dir",
        "--site-dir", "--repository", "--srcdir",
    ]),
    ("sdiff", &["-o", "--output"]),
    ("shuf", &["-o", "--output"]),
    ("sort", &["-o", "-T", "--output", "--temporary-directory"]),
    ("ss", &["-D", "-K", "--diag", "--kill"]),
    ("ssh-keygen", &["-w", "-f"]),
    ("stack", &[
        "run", "runghc", "runhaskell", "script", "ghci", "install", "setup", "upload", "--stack-yaml", "--stack-root",
        "--with-gcc", "--with-hpack", "--local-bin-path", "--work-dir", "--ghc-options", "--extra-lib-dirs",
    ]),
    ("svn", &["--config-dir"]),
    ("tar", &["-g", "--listed-incremental", "--index-file", "--volno-file"]),
    ("task", &["-t", "-d", "-g", "--taskfile", "--dir", "--global", "--init"]),
    ("tcpdump", &["-w", "-Z", "-F"]),
    ("terraform", &["-chdir", "-plugin-dir", "-out", "-state", "-state-out", "-backup", "-lock-file", "console"]),
    ("tox", &["-c", "-x", "--conf", "--workdir", "--override", "--runner", "--toxworkdir", "--result-json", "--root", "--discover", "--force-dep"]),
    ("tree", &["-o"]),
    ("tsc", &[
        "-p", "-b", "--project", "--build", "--outDir", "--outFile", "--declarationDir", "--tsBuildInfoFile",
        "--plugins", "--generateTrace", "--generateCpuProfile", "--init", "@",
    ]),
    ("tshark", &["-w", "-F", "-G"]),
    ("vite", &["-c", "--config", "--outDir", "--configLoader"]),
    ("webpack", &["-c", "-o", "-r", "--config", "--output-path", "--require", "--env", "--node-env", "--plugin", "--entry"]),
    ("wget", &[
        "-O", "-o", "-a", "-P", "-i", "-B", "--output-document", "--output-file", "--append-output",
        "--directory-prefix", "--input-file", "--config", "--save-cookies", "--hsts-file", "--warc-file",
        "--warc-tempdir", "--warc-dedup", "--rejected-log", "--post-file", "--body-file", "--input-metalink",
        "--unlink",
    ]),
    ("xmllint", &["-o", "--output", "--shell"]),
    ("xsltproc", &["-o", "--output", "--writesubtree"]),
    ("yarn", &[
        "add", "create", "init", "link", "set", "plugin", "policies", "config", "publish", "pack", "global", "import",
        "up", "upgrade", "--cwd", "--modules-folder", "--cache-folder", "--global-folder", "--prefix", "--use-yarnrc",
        "--link-folder", "--rc",
    ]),
    ("yq", &["-i", "-s", "--inplace", "--in-place", "--split-exp", "--split-exp-file"]),
    ("zip", &["-O", "-b", "--output-file", "--temp-path"]),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn reach(line: &str) -> bool {
        reaches(&line.split(' ').map(str::to_owned).collect::<Vec<_>>()).is_err()
    }

    #[test]
    fn the_tables_are_sorted() {
        assert!(REACH.is_sorted_by(|(a, _), (b, _)| a < b));
        assert!(PROJECT.is_sorted_by(|a, b| a < b));
        assert!(GIT_KNOWN.is_sorted_by(|a, b| a < b));
        assert!(GIT_REACH.is_sorted_by(|(a, _), (b, _)| a < b));
        assert!(REACH.iter().all(|(_, these)| these.iter().all(|this| !this.is_empty())));
    }

    #[test]
    #[rustfmt::skip]
    fn what_writes_or_looks_where_its_arguments_say_needs_a_pattern() {
        for line in [
            "git --git-dir=/evil x", "git --git-dir /evil status", "git -C evil status", "git -Cevil status", "git --work-tree=/ status",
            "git --bare status", "git --attr-source=x status", "git --namespace=x log", "git x", "git evil-alias", "git lfs pull",
            "git diff --output=/f", "git diff --outp=/f", "git log --output /f", "git show --output=f", "git diff --ext-diff",
            "git archive -o f HEAD", "git archive --output=f HEAD", "git archive --remote=ext::x HEAD", "git format-patch -o /d HEAD",
            "git bundle create f HEAD", "git push evil", "git push ./evil main", "git push /evil main", "git fetch ext::sh", "git pull evil",
            "git remote add x ext::sh", "git remote set-url origin /evil", "git clone /evil x", "git clone x /somewhere", "git clone x ../y",
            "git clone ext::sh x", "git init /somewhere", "git worktree add /x", "git status --help", "git help", "git --help", "git -h",
            "git read-tree --index-output=f HEAD", "git credential fill", "git submodule add x", "git fast-import", "git apply --unsafe-paths x",
            "git --list-cmds=main", "git config alias.x y", "git bisect view",
            "find . -fprintf f %p", "find . -fprint f", "find . -fprint0 f", "find . -fls f", "find . -delete",
            "sort -o f x", "sort -of x", "sort -uo f x", "sort --output=f x", "sort --out f x", "uniq a b", "shuf -o f x", "tree -o f", "xxd a b",
            "curl -K f", "curl -Kf", "curl -sSLo f x", "curl -O x", "curl --config f", "curl --conf f", "curl -D f x", "curl -c f x",
            "curl --trace f x", "curl --unix-socket s x", "curl -w %output{f} x", "curl --stderr f x", "curl --libcurl f x", "curl -T f x",
            "make -f evil", "make -fevil", "make -C evil", "make --directory=evil", "make --file evil", "make -I evil", "make -kC evil", "make /x",
            "gmake -f x", "npm --prefix evil run x", "npm --prefix=evil test", "npm -C evil test", "npm install evil", "npm i ./evil", "npm i --save-dev x",
            "npm init x", "npm install -g x", "npm --userconfig=x ci", "pnpm -C x test", "pnpm add x", "yarn add x", "yarn --cwd x test", "yarn set version x",
            "pip install evil", "pip3 install .", "pip install -e x", "pip3.11 install ./x", "pip download x", "pip --python x list", "pip list --log f",
            "cargo install x", "cargo test --manifest-path x", "cargo build --target-dir x", "cargo -C x test", "cargo +x test", "cargo rustc -- -C linker=x",
            "go build -o f", "go test -C d", "go test -exec=x", "go build -ldflags=-extld=x", "go vet -vettool=x", "go run x", "go install x", "go test --cpuprofile f",
            "go test /evil", "go env -w X=y", "pytest -p evil", "pytest -c f", "pytest /evil", "pytest ../evil", "pytest --rootdir=x", "cmake -P x", "cmake --build d",
            "cmake /evil", "wget -O f x", "wget -P d x", "wget --config=f x", "mvn -f x", "mvn a.b:c:1:run", "gradle -I x", "gradle -Dx=y", "ninja -C x", "ninja -f x",
            "rake -f x", "rake A=b", "just -f x", "just a=b", "eslint -c x .", "eslint --rulesdir x .", "jest --config x", "mocha -r x", "tsc -p x", "tox -c x",
            "git push --repo=/evil", "git push --rep /evil", "git push -o origin /evil", "git fetch --server-option origin /evil", "git fetch -oorigin /evil",
            "git pull -X origin evil", "git fetch --shallow-since origin evil", "git fetch --multiple origin evil", "git clone -- x -d/../../y", "git clone -- /evil x",
            "git apply --build-fake-ancestor=/f p", "git repack --expire-to=/d", "git repack --filter=blob:none --filter-to=/d", "git gc --expire-to=/d",
            "uniq -- -a -b", "sdiff -o f a b", "ctags --options=evil .", "curl --expand-output /f x", "curl --expand-config=f", "curl --no-progress-meter --outp=/f x",
            "pip install --requirement=r.txt", "pip install -rr.txt", "pip install -e.", "pip install --editable=./evil", "pip download -d/x y", "pip --log-file=/f list",
            "pip --local-log /f list", "npm -prefix evil test", "npm -prefix=evil test", "npm ---prefix=evil test", "npm -script-shell=/evil test", "npm --script-sh=/evil test",
            "npm c set script-shell /evil", "npm conf set x y", "npm exe evil", "npm expl x", "npm --loglevel silent exe evil", "npm ini evil", "npm edi x",
            "npm test --logs-dir=/x", "pnpm --config.script-shell=/evil test", "pytest --junitxml=/f", "pytest --cov-report=html:/f", "cargo test -- --logfile=/f",
            "jest --outputFile=/f", "eslint --any=/f", "make --jobserver-auth=fifo:x --foo=/f", "cargo nextest run --config-file x", "tar -cf x -T list", "tar cTf list x",
            "tar -cf x --files-from=list", "tar -cf x --files-f list", "gsort -o f x", "gfind . -exec x", "gsed x", "genv x", "gxargs x", "gtar -I x",
            "rsync --log-file=f a b", "tcpdump -w f", "openssl rand -out f 1", "yq -i . f", "gcc @f", "rustc -o f x.rs", "terraform -chdir=x plan", "hg -R x log",
        ] {
            assert!(reach(line) || super::super::runs_others(&line.split(' ').map(str::to_owned).collect::<Vec<_>>()).is_err(), "{line}");
        }
    }

    #[test]
    #[rustfmt::skip]
    fn everyday_commands_need_none() {
        for line in [
            "git status", "git status --short --branch", "git log --oneline -n 5", "git --no-pager log -p", "git diff HEAD~1", "git diff --stat -- src",
            "git commit -m x", "git add -A", "git push", "git push -u origin main", "git push origin HEAD", "git pull --rebase origin main",
            "git fetch --all --prune", "git checkout -b x", "git switch -c x", "git stash", "git branch -a", "git rev-parse HEAD", "git show HEAD:a/b",
            "git remote -v", "git tag -l", "git blame src/x.rs", "git grep std::fmt", "git clone https://example.org/x.git", "git worktree list", "git --version", "git",
            "find . -name *.rs -type f", "find src -newer x -print", "sort x", "sort -u -k2 x", "sort -rn", "uniq -c", "uniq x", "curl https://example.org",
            "curl -sSfL https://example.org", "curl -X POST -d x https://example.org", "curl -H a:b x", "curl -I x", "make", "make -j4 test", "make -k check", "make -n",
            "npm install", "npm ci", "npm test", "npm run build", "npm run build --silent", "npm ls", "npm outdated", "pnpm install", "pnpm test", "yarn", "yarn install", "yarn test",
            "pip list", "pip show x", "pip freeze", "cargo test", "cargo build --release", "cargo test -p x -- --nocapture", "cargo clippy --all-targets", "cargo fmt --all",
            "go test ./...", "go build ./...", "go vet ./...", "go test -run X -count=1 -v ./x", "go mod tidy", "pytest", "pytest -q tests/unit -k x", "pytest -x -vv",
            "mvn test", "gradle build", "ninja", "wget https://example.org/x", "ls", "cat x", "grep -rn x .", "wc -l", "rg x", "head -n 5 x", "eslint .", "eslint --fix src", "jest x", "tsc --noEmit",
            "git push --set-upstream origin main", "git push --force-with-lease origin main", "git push --tags", "git fetch --depth=1", "git fetch -p origin", "git pull --ff-only",
            "git pull --squash", "git repack -ad", "git apply x.patch", "git gc --auto", "git log --oneline -5", "git log -- src", "make test", "find . -name '*.rs'", "sort file",
            "ls -la", "npm i", "npm t", "npm run lint --silent", "npm --silent test", "npm view x", "npm pkg get name", "npm explain x", "npm --version", "npm -v", "npm --loglevel silent ci",
            "npm search x", "npm se x", "npm run-script build", "cargo test --features=a/b", "pytest --maxfail=1", "pip list --format=json", "pip uninstall x", "curl -s --max-time 5 x",
            "grep -o x y", "gzip x", "tar -xf x", "rsync -av a b", "x", "",
        ] {
            assert!(!reach(line), "{line}");
        }
        assert!(reaches(&[]).is_ok());
    }

    #[test]
    fn whoever_adds_an_entry_is_told_what_it_does_not_cover() {
        assert!(not_covered("/usr/bin/sort").contains(&"--output"));
        assert!(not_covered("git").contains(&"--git-dir"));
        assert!(not_covered("pip3").contains(&"--python"));
        assert!(not_covered("ls").is_empty());
    }
}
