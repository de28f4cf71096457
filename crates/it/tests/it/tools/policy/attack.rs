//! Hostile lines, for real. The PATH has only programs of the test: the listed ones record their arguments, every other
//! one leaves a canary. A line may be refused, or run listed programs; no canary may ever exist.

use super::fixture::{PolicyFixture, write_program};
use serde_json::json;
use std::collections::BTreeSet;
use std::path::Path;
use tenure_it::install::Install;
use tenure_it::{is_whole_range, sample};

/// Programs that are listed, with the pattern of their arguments.
const LISTED: [(&str, Option<&str>); 5] =
    [("git", Some("status( .*)?")), ("ls", None), ("cat", None), ("echo", Some(".*")), ("find", None)];

/// Unlisted programs, all of which an attacker would like to run.
#[rustfmt::skip]
const OTHERS: [&str; 64] = [
    "ash", "awk", "bash", "busybox", "chroot", "command", "cp", "curl", "dash", "dd", "doas", "ed", "env", "eval", "ex",
    "exec", "flock", "gawk", "gdb", "ionice", "less", "ln", "lua", "make", "man", "mv", "nc", "nice", "node", "nohup",
    "npm", "npx", "parallel", "perl", "php", "printf", "python", "python3", "rm", "rsync", "ruby", "script", "sed",
    "setsid", "sh", "sort", "ssh", "stdbuf", "su", "sudo", "tar", "tee", "test", "time", "timeout", "touch", "vi", "vim",
    "watch", "wget", "xargs", "zip", "zsh", "[",
];

/// The payloads of the lines. `C` is the canary's path.
const PAYLOADS: [&str; 2] = ["touch C", "/bin/sh -c '/usr/bin/touch C'"];

/// Syntax that could end a command or begin another. `P` is the payload.
#[rustfmt::skip]
const FRAMES: [&str; 92] = [
    "ls;P", "ls ; P", "ls&&P", "ls||P", "ls|P", "ls&P", "ls\nP", "ls\r\nP", "ls\rP", "ls\u{b}P", "ls\u{c}P", "ls\u{85}P",
    "ls\u{a0};P", "ls\u{2028}P", "ls\u{2029}P", "ls；P", "ls｜P", "ls＆＆P", "ls\u{37e}P", "ls\u{200b};P", "ls |& P",
    "ls ;; P", "ls ;& P", "ls & & P", "ls \\\n;P", "ls \\\n&& P", "ls &\\\n& P", "ls |\\\n| P", "ls $(P)", "ls \"$(P)\"",
    "ls `P`", "ls \"`P`\"", "ls $(`P`)", "ls ${x:-$(P)}", "ls ${x:=`P`}", "ls $((`P`))", "ls $[`P`]", "ls <(P)",
    "ls >(P)", "cat <<< $(P)", "cat <<E\n$(P)\nE", "cat <<'E'\nE\nP", "cat <<-E\n\tE\nP", "ls $'\\n'P", "ls $\"$(P)\"",
    "ls$IFS;P", "ls${IFS};${IFS}P", "{ P; }", "(P)", "! P", "((P))", "[[ $(P) ]]", "if P; then ls; fi", "ls; if P; then :; fi",
    "while P; do break; done", "for x in $(P); do ls; done", "case $(P) in *) ls;; esac", "f() { P; }; f", "ls() { P; }; ls",
    "function ls { P; }; ls", "alias ls='P'\nls", "eval 'P'", "exec P", "command P", "builtin eval 'P'", "time P",
    "coproc P", "trap 'P' EXIT", "trap P 0; ls", ". /dev/stdin <<< 'P'", "source <(echo 'P')", "A=1 P", "A=$(P) ls",
    "A=`P`", "PATH=/usr/bin P", "LD_PRELOAD=x P", "ENV=x P", "IFS=s;ls P", "set -- P; ls", "ls # \nP", "ls '#'\nP", "ls \"#\"; P",
    "#\nP", "ls \\; ; P", "ls ';' && P", "ls '&&' || P", "echo '' | P", "echo a\\\nb; P", "\"ls\";P", "l\\s;P", "'ls' 'a\nb'\nP",
    "ls ''\nP",
];

/// Options and arguments by which a program runs others.
#[rustfmt::skip]
const LINES: [&str; 150] = [
    "git -c core.pager='P' status", "git -ccore.pager=x status", "git --exec-path=D status", "git --exec-path D status",
    "git --git-dir=x status", "git -C D status", "git statusx", "git status\nP", "git 'status' ; P", "git 'status x;P'x; P",
    "git push", "git", "git -p status", "git --paginate status", "git stat", "git 'status\nx'", "git \"status\"\"\" && P",
    "git config alias.status '!P'", "git st\\\natus; P", "GIT_PAGER='P' git status", "GIT_SSH_COMMAND='P' git status",
    "git status $(P)", "git status `P`", "git status > C", "git status >> C", "git status | tee C", "git status 2> C",
    "./git status", "../bin/touch C", "/usr/bin/git status", "D/touch C", "~/touch C", "git/../touch C",
    "find . -exec touch C ';'", "find . -exec touch C +", "find . -execdir touch C ';'", "find . -ok touch C ';'",
    "find . -okdir touch C ';'", "find . -e'xec' touch C ';'", "find . -\\exec touch C \\;", "find . '-exec' touch C ';'",
    "find . \"-ex\"ec touch C ';'", "ls | xargs touch", "ls | xargs -I{} sh -c 'touch {}'", "awk 'BEGIN{system(\"touch C\")}'",
    "sed '1e touch C' D/ls", "sed -n 's/.*/touch C/e' D/ls", "sed 'w C' D/ls", "tar cf /dev/null . --to-command='touch C'",
    "tar cf /dev/null D --checkpoint=1 --checkpoint-action=exec='touch C'", "tar cf /dev/null -I 'touch C' .",
    "ssh -o ProxyCommand='touch C' x", "env -S 'touch C'", "env touch C", "env -i touch C", "python3 -c 'x'",
    "perl -e 'system(\"touch C\")'", "vim -c '!touch C'", "vi +'!touch C'", "ex -c '!touch C'", "man -P 'touch C' ls",
    "less '+!touch C' D/ls", "LESSOPEN='|touch C' less D/ls", "rsync -e 'touch C' a b:c", "make -f D/ls", "make SHELL='touch C'",
    "npm run x", "npx x", "node -e x", "ruby -e x", "php -r x", "lua -e x", "gdb -ex '!touch C'", "nice touch C",
    "nohup touch C", "timeout 1 touch C", "setsid touch C", "stdbuf -o0 touch C", "flock C touch C", "watch touch C",
    "script -c 'touch C' /dev/null", "sort --compress-program='touch C' D/ls", "zip -TT 'touch C' x", "busybox touch C",
    "sudo touch C", "doas touch C", "su -c 'touch C'", "chroot / touch C", "ionice touch C", "parallel touch ::: C",
    "printf x > C", "echo x > C", "echo x >C", "echo x>C", "echo x >| C", "echo x &> C", "echo x >& C", "echo x <> C", "cat <> C",
    "echo x 1>C", "echo x {fd}>C", "> C", ">C", "< C > C", "cat < D/ls > C", "tee C < D/ls", "cp D/ls C", "ln -s x C", "dd of=C",
    "!touch", "!!", "!-1", "ls !$", "ls !touch", "^ls^touch", "fc -s", "%1", "=touch C", "ls =touch", "+touch", "-touch",
    "ls\0;touch C", "t\\ouch C", "to''uch C", "\"touch\" C", "$'touch' C", "$'\\x74ouch' C", "t?uch C", "tou* C", "[t]ouch C",
    "{touch,C}", "{t,}ouch C", "touc{h,h} C", "${0} C", "$0 -c 'touch C'", "$SHELL -c 'touch C'", "${PATH:0:1}", "$_ C",
    "$@touch C", "t${x}ouch C", "touch$IFS C", "t$()ouch C", "ⅼs; touch C", "ls\u{202e}hcuot", "touсh C", "ｔｏｕｃｈ C",
    "command -p touch C", "exec -a ls touch C", "[ -x C ]", "test x",
];

/// Possible arguments of an accepted command: each of them is only a word.
#[rustfmt::skip]
const HARMLESS: [&str; 14] = [
    "echo 'P'", "echo \"; touch C\"", "echo '$(touch C)' '`touch C`'", "echo a\\;touch\\ C", "echo \\$\\(touch C\\)", "ls '&&' touch C",
    "cat 'a|b' '>' C", "echo '' \"\" a''b", "ls 'a\nb; touch C'", "git status '; touch C'", "git status --porcelain -- '>C'",
    "echo a # ; touch C", "echo 'it'\\''s' && ls '*' | cat -n", "find . -name '*;touch C'",
];

struct AttackFixture {
    fixture: PolicyFixture,
    /// The directory of the other programs and of a canary.
    dir: std::path::PathBuf,
}

impl AttackFixture {
    fn new() -> Self {
        let install = Install::new();
        let dir = install.dir().join("range");
        std::fs::create_dir(&dir).expect("mkdir");
        let path = format!("{}:{}", install.dir().join("bin").display(), dir.display());
        let fixture = PolicyFixture::on(install, &[("TENURE_EXEC_MODE", "allowlist"), ("PATH", &path)]);
        for (name, args) in LISTED {
            // Only shell builtins: the PATH has nothing else.
            let notes = fixture.served.install.dir().join("notes");
            let text = format!("#!/bin/sh\necho \"{name} $*\" >> '{}'\n", notes.display());
            write_program(&fixture.bin().join(name), &text);
            fixture.allow(name, args);
        }
        for name in OTHERS {
            let text = format!("#!/bin/sh\n: > '{}'\n", fixture.work().join(format!("ran-{name}")).display());
            write_program(&dir.join(name), &text);
        }
        Self { fixture, dir }
    }

    /// Files that only an unlisted program could have made.
    fn canaries(&self) -> BTreeSet<String> {
        let made = std::fs::read_dir(self.fixture.work()).expect("a directory").flatten();
        made.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
    }

    fn fill(&self, line: &str, payload: &str) -> String {
        let canary = self.fixture.work().join("canary");
        let lead = |text: &str, letter: char, with: &str| replace_letter(text, letter, with);
        let line = lead(line, 'P', &lead(payload, 'C', canary.to_str().expect("UTF-8")));
        lead(&lead(&line, 'C', canary.to_str().expect("UTF-8")), 'D', self.dir.to_str().expect("UTF-8"))
    }

    /// Tries a line; returns true if it was accepted.
    #[track_caller]
    fn try_line(&self, line: &str) -> bool {
        let answer = self.fixture.exec_as(&json!({"command": line, "timeoutSeconds": 20}));
        let made = self.canaries();
        assert!(made.is_empty(), "{line:?} made {made:?}: {}", answer.text());
        match answer.head.status {
            200 => true,
            403 | 422 => false,
            other => panic!("{other} for {line:?}: {}", answer.text()),
        }
    }
}

/// Replaces a letter that stands alone.
fn replace_letter(text: &str, letter: char, with: &str) -> String {
    let mut out = String::new();
    let chars: Vec<char> = text.chars().collect();
    for (at, &c) in chars.iter().enumerate() {
        let alone =
            |other: Option<&char>| other.is_none_or(|other| !other.is_ascii_alphanumeric() && *other != '_');
        let before = at.checked_sub(1).and_then(|at| chars.get(at));
        if c == letter && before != Some(&'-') && alone(before) && alone(chars.get(at + 1)) {
            out.push_str(with);
        } else {
            out.push(c);
        }
    }
    out
}

#[test]
fn no_command_line_runs_an_unlisted_program() {
    let range = AttackFixture::new();
    let mut lines: Vec<String> = Vec::new();
    for payload in PAYLOADS {
        lines.extend(FRAMES.iter().map(|frame| range.fill(frame, payload)));
    }
    lines.extend(LINES.iter().map(|line| range.fill(line, "touch C")));
    assert!(lines.len() >= 300);
    let through: Vec<&String> = sample(&lines, 3).filter(|line| range.try_line(line)).collect();
    // Every accepted line ran listed programs only; there is no canary, and these are the lines.
    let notes = range.fixture.notes();
    let is_listed = |note: &String| {
        let git =
            note.strip_prefix("git ").is_none_or(|args| args == "status" || args.starts_with("status "));
        git && LISTED.iter().any(|(name, _)| note == name || note.starts_with(&format!("{name} ")))
    };
    assert!(notes.iter().all(is_listed), "{notes:?}");
    assert!(through.len() < 12, "{through:#?}");
}

#[test]
fn plain_arguments_reach_the_program_unchanged() {
    let range = AttackFixture::new();
    for line in HARMLESS {
        assert!(range.try_line(&range.fill(line, "touch C")), "{line} is harmless");
    }
}

/// Random combinations of hostile pieces; a failure names the line, and so the seed.
#[test]
fn no_line_of_hostile_pieces_runs_an_unlisted_program() {
    #[rustfmt::skip]
    const PIECES: [&str; 48] = [
        "ls", "echo", "git", "status", "touch", "C", " ", " ", " ", ";", "&", "|", "\n", "'", "\"", "\\", "$", "(", ")", "`", "{",
        "}", "<", ">", "#", "!", "~", "*", "?", "[", "]", "=", "$(", "${", "$'", "\\\n", "&&", "||", "''", "\"\"", "'\\''", "A=",
        "-exec", "\t", "sh", "-c", "é", "eval",
    ];
    let range = AttackFixture::new();
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state % below as u64).expect("small")
    };
    let mut through = 0;
    let (lines, least) = if is_whole_range() { (300, 5) } else { (100, 1) };
    for _ in 0..lines {
        let count = 1 + next(9);
        let mut line: String = if next(2) == 0 { "ls ".to_owned() } else { String::new() };
        for _ in 0..count {
            line += PIECES[next(PIECES.len())];
        }
        through += usize::from(!line.trim().is_empty() && range.try_line(&range.fill(&line, "touch C")));
    }
    assert!(through > least, "only {through} were accepted: this proves little");
}

/// A plain entry for a program that runs others by its arguments allows nothing; with a pattern it does.
#[test]
fn a_plain_entry_for_a_program_launcher_allows_nothing() {
    let range = AttackFixture::new();
    let fixture = &range.fixture;
    let dangerous = [
        ("env", "env touch C"),
        ("xargs", "ls | xargs touch"),
        ("awk", "awk x"),
        ("perl", "perl -e x"),
        ("python3", "python3 -c x"),
        ("sed", "sed 1e"),
        ("sh", "sh -c x"),
        ("nice", "nice touch C"),
        ("timeout", "timeout 1 touch C"),
        ("ssh", "ssh -o ProxyCommand=x y"),
        ("vim", "vim -c x"),
        ("ed", "ed x"),
        ("less", "less +x"),
        ("man", "man -P x y"),
        ("sudo", "sudo x"),
        ("npx", "npx x"),
        ("node", "node -e x"),
        ("find", "find . -exec touch C ';'"),
        ("tar", "tar cf x --us=touch y"),
        ("tar", "tar cf x --rs=touch y"),
        ("tar", "tar xf x --inf=touch"),
        ("tar", "tar xf x --new-=touch"),
        ("tar", "tar xf x --to-c=touch"),
        ("sort", "sort --comp=touch x"),
        ("make", "make CC=touch"),
        ("make", "make -E x"),
        ("rsync", "rsync -e x a b"),
        ("rsync", "rsync --rs=x a b"),
        ("zip", "zip -TT x y"),
        ("npm", "npm exec x"),
        ("npm", "npm x y"),
        ("wget", "wget --use-askpass=x y"),
        ("nc", "nc -e x y"),
        ("git", "git config alias.x '!touch C'"),
        ("git", "git push --rec=x"),
        ("git", "git ls-remote --u=x"),
        ("git", "git remote-ext a x"),
        ("git", "git merge-index x -a"),
        ("git", "git send-email --smtp-server=/x"),
        ("git", "git fetch --u=x"),
    ];
    for (name, _) in dangerous {
        let answer = fixture.api.post("/v1/allowlist", &json!({"program": name}));
        if answer.head.status != 201 {
            let why = answer.refused(422, "invalid");
            assert!(why.contains("pattern of its arguments"), "{name}: {why}");
        }
    }
    for name in ["sh", "/usr/bin/python3.11", "env"] {
        fixture.api.post("/v1/allowlist", &json!({"program": name})).refused(422, "invalid");
    }
    // A glob does not tell its meaning.
    fixture.allow(&format!("{}/*", range.dir.display()), None);
    for (name, line) in dangerous {
        let line = range.fill(line, "");
        let answer = fixture.exec(&line);
        assert_eq!(answer.head.status, 403, "{line}: {}", answer.text());
        let why = answer.refused(403, "denied");
        assert!(
            why.contains("pattern of its arguments") || why.contains("other arguments"),
            "{name}: {line}: {why}"
        );
        assert!(range.canaries().is_empty(), "{line}: {:?}", range.canaries());
    }
    fixture.allow("sed", Some("-n [0-9]+p .*"));
    assert_eq!(fixture.exec("sed -n 3p file").is(200).json()["status"], "completed");
    assert_eq!(range.canaries(), BTreeSet::from(["ran-sed".to_owned()]));
    assert!(Path::new(&range.dir).exists());
}
