//! Entries as people write them, and commands that try to get around them.

use super::*;
use crate::environment::judge;
use crate::shell::analyse;
use std::path::PathBuf;
use std::sync::LazyLock;

fn entry(program: &str, args: Option<&str>) -> Entry {
    Entry { program: program.into(), args: args.map(str::to_owned), exact: None, agent: None }
}

fn list(entries: &[(&str, Option<&str>)]) -> Allowlist {
    Allowlist::new(entries.iter().map(|(program, args)| entry(program, *args)).collect()).unwrap()
}

/// Resolves a word: a bare name is in /usr/bin, a path is itself.
fn found(word: &str) -> Executable {
    let path = if word.contains('/') { PathBuf::from(word) } else { Path::new("/usr/bin").join(word) };
    Executable { called: path.clone(), real: path, through_path: !word.contains('/') }
}

fn ask(list: &Allowlist, agent: Option<&str>, cwd: &str, line: &str) -> Result<Vec<usize>, Miss> {
    let analysis = analyse(line).unwrap();
    let programs: Vec<_> = analysis.segments().iter().map(|it| found(it.program())).collect();
    let calls: Vec<_> =
        analysis.segments().iter().zip(&programs).map(|(it, at)| Call::of(it, at, None)).collect();
    list.matches(from(agent, Path::new(cwd)), &calls)
}

/// A caller that sets no variables.
fn from<'a>(agent: Option<&'a str>, cwd: &'a Path) -> Caller<'a> {
    static NONE: LazyLock<Unlisted> = LazyLock::new(Unlisted::default);
    Caller { agent, cwd, env: &NONE }
}

fn why(list: &Allowlist, line: &str) -> MissWhy {
    ask(list, None, "/", line).unwrap_err().why
}

fn allows(list: &Allowlist, line: &str) -> bool {
    ask(list, None, "/", line).is_ok()
}

#[test]
fn every_command_of_a_line_must_be_allowed() {
    let list = list(&[("git", None), ("/usr/bin/wc", None)]);
    assert_eq!(ask(&list, None, "/", "git log | wc -l && git status"), Ok(vec![0, 1, 0]));
    let miss = ask(&list, None, "/", "git status; rm -rf /").unwrap_err();
    assert_eq!((miss.segment, miss.program.as_str(), &miss.why), (1, "rm", &MissWhy::Program));
    let text = miss.to_string();
    assert!(text.contains("command 2") && text.contains("\"rm\"") && text.contains("/usr/bin/rm"), "{text}");
}

#[test]
fn a_bare_name_allows_only_what_was_called_so_through_the_path() {
    let list = list(&[("git", None)]);
    assert!(allows(&list, "git status"));
    for line in ["/usr/bin/git status", "./git status", "/tmp/git", "gitk", "Git"] {
        assert_eq!(why(&list, line), MissWhy::Program, "{line}");
    }
    let elsewhere = Executable { through_path: false, ..found("git") };
    let call = Call { argv: &["git".into()], program: &elsewhere, bound: None };
    assert_eq!(list.matches(from(None, Path::new("/")), &[call]).unwrap_err().why, MissWhy::Program);
}

#[test]
fn a_path_allows_however_it_was_called() {
    let list =
        list(&[("/usr/bin/git", None), ("/opt/*/bin/tool", None), ("/srv/**", None), ("/x/a[[]b", None)]);
    for line in ["git status", "/usr/bin/git", "/opt/a/bin/tool", "/srv/x", "/srv/x/y/z", "'/x/a[b'"] {
        assert!(allows(&list, line), "{line}");
    }
    for line in
        ["/usr/bin/gitk", "/opt/a/b/bin/tool", "/opt/bin/tool", "/srvx", "/usr/local/bin/git", "/x/ab"]
    {
        assert!(!allows(&list, line), "{line}");
    }
}

#[test]
fn a_pattern_covers_the_arguments_from_end_to_end() {
    let list =
        list(&[("git", Some("status|log( --oneline)?")), ("echo", Some("")), ("ls", Some("^-l [a-z]+$"))]);
    for line in ["git status", "git log", "git log --oneline", "git 'status'", "echo", "ls -l abc"] {
        assert!(allows(&list, line), "{line}");
    }
    for line in [
        "git",
        "git status -s",
        "git -p status",
        "git log --oneline x",
        "git logx",
        "echo a",
        "echo ''",
        "ls -l a b",
        "git statuslog",
    ] {
        assert_eq!(why(&list, line), MissWhy::Arguments, "{line}");
    }
}

#[test]
fn no_two_argument_lists_look_alike_to_a_pattern() {
    let list = list(&[
        ("git", Some("log --oneline x")),
        ("echo", Some("'a b' ''")),
        ("printf", Some(r"'it'\\''s'")),
    ]);
    assert!(allows(&list, "git log --oneline x"));
    assert!(!allows(&list, "git 'log --oneline' x"));
    assert!(!allows(&list, "git 'log --oneline x'"));
    assert!(allows(&list, "echo \"a b\" \"\""));
    assert!(!allows(&list, "echo \\'a b\\' \"''\""));
    assert!(allows(&list, "printf \"it's\""));
}

#[test]
fn control_characters_match_no_pattern() {
    let list = list(&[("git", Some("(?s).*"))]);
    assert!(allows(&list, "git commit -m 'a b'"));
    assert_eq!(why(&list, "git commit -m 'a\nb'"), MissWhy::Control);
    assert_eq!(why(&list, "git commit -m 'a\tb'"), MissWhy::Control);
}

#[test]
fn what_runs_others_needs_a_pattern() {
    let plain = list(&[("env", None), ("/usr/bin/*", None), ("/bin/sh", None)]);
    for line in
        ["env rm x", "sudo x", "/bin/sh -c x", "find . -exec rm {} +", "python3 x.py", "git -c a=b log"]
    {
        assert!(matches!(why(&plain, line), MissWhy::RunsOthers(_)), "{line}");
    }
    assert!(allows(&plain, "find . -name x"));
    assert!(allows(&list(&[("timeout", Some(r"\d+ ls"))]), "timeout 5 ls"));
}

#[test]
fn what_runs_others_is_known_behind_a_link() {
    let list = list(&[("/{opt,bin,usr/bin}/*", None)]);
    let ask = |real: &str| {
        let program = Executable { called: "/opt/tool".into(), real: real.into(), through_path: false };
        list.matches(
            from(None, Path::new("/")),
            &[Call { argv: &["/opt/tool".into()], program: &program, bound: None }],
        )
    };
    assert!(matches!(ask("/usr/bin/dash").unwrap_err().why, MissWhy::RunsOthers(_)));
    assert!(matches!(ask("/usr/bin/python3.11").unwrap_err().why, MissWhy::RunsOthers(_)));
    // Each of its links is a program of its own.
    assert_eq!(ask("/bin/busybox"), Ok(vec![0]));
}

#[test]
fn allow_always_is_for_one_command_in_one_directory_of_one_agent() {
    let argv: Vec<String> = ["git", "commit", "-m", "a\nb"].map(str::to_owned).to_vec();
    let program = found("git");
    let call = Call { argv: &argv, program: &program, bound: None };
    let entry = Entry::allow_always(call, from(Some("main"), Path::new("/repo"))).unwrap();
    let text = serde_json::to_string(&entry).unwrap();
    assert_eq!(serde_json::from_str::<Entry>(&text).unwrap(), entry);
    let list = Allowlist::new(vec![entry]).unwrap();
    let line = "git commit -m 'a\nb'";
    assert_eq!(ask(&list, Some("main"), "/repo", line), Ok(vec![0]));
    assert_eq!(ask(&list, Some("main"), "/other", line).unwrap_err().why, MissWhy::Arguments);
    assert_eq!(ask(&list, Some("other"), "/repo", line).unwrap_err().why, MissWhy::Agent);
    assert_eq!(ask(&list, None, "/repo", line).unwrap_err().why, MissWhy::Agent);
    assert!(ask(&list, Some("main"), "/repo", "git commit -m 'a b'").is_err());
    assert!(ask(&list, Some("main"), "/repo", "git commit -m 'a\nb' x").is_err());
    assert!(ask(&list, Some("main"), "/repo", "/usr/bin/git commit -m 'a\nb'").is_err());
}

#[test]
fn allow_always_is_for_what_the_program_held_and_an_entry_without_that_is_for_its_path() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().canonicalize().unwrap().join("tool");
    std::fs::write(&path, "one").unwrap();
    let argv = ["tool".to_owned()];
    let program = Executable { called: path.clone(), real: path.clone(), through_path: true };
    let (cwd, bound) = (Path::new("/"), Bound::of(&path).unwrap());
    let call = Call { argv: &argv, program: &program, bound: Some(&bound) };
    let entry = Entry::allow_always(call, from(None, cwd)).unwrap();
    let list = Allowlist::new(vec![entry.clone()]).unwrap();
    assert_eq!(list.matches(from(None, cwd), &[call]), Ok(vec![0]));
    // The same content is the same program, however new the file is.
    std::fs::remove_file(&path).unwrap();
    std::fs::write(&path, "one").unwrap();
    let again = Bound::of(&path).unwrap();
    assert_eq!(list.matches(from(None, cwd), &[Call { bound: Some(&again), ..call }]), Ok(vec![0]));
    std::fs::write(&path, "two").unwrap();
    let other = Bound::of(&path).unwrap();
    for bound in [Some(&other), None] {
        let miss = list.matches(from(None, cwd), &[Call { bound, ..call }]).unwrap_err();
        assert_eq!(miss.why, MissWhy::Changed);
        assert!(miss.to_string().contains("has changed"), "{miss}");
    }
    let mut old = serde_json::to_value(entry).unwrap();
    old["exact"].as_object_mut().unwrap().remove("sha256").unwrap();
    let old = Allowlist::new(vec![serde_json::from_value(old).unwrap()]).unwrap();
    assert_eq!(old.matches(from(None, cwd), &[Call { bound: Some(&other), ..call }]), Ok(vec![0]));
}

#[test]
fn allow_always_is_refused_for_what_runs_others() {
    for argv in [&["sudo", "ls"][..], &["sh", "-c", "ls"], &["find", ".", "-exec", "x"]] {
        let argv: Vec<String> = argv.iter().map(|&word| word.to_owned()).collect();
        let program = found(&argv[0]);
        let error = Entry::allow_always(
            Call { argv: &argv, program: &program, bound: None },
            from(None, Path::new("/")),
        )
        .unwrap_err();
        assert!(error.to_string().contains("pattern of its arguments"), "{error}");
    }
}

#[test]
fn a_glob_in_an_exact_entry_is_a_name() {
    let exact =
        Exact { argv: vec!["x".into()], cwd: "/".into(), sha256: Vec::new(), env: Unlisted::default() };
    let odd = Entry { exact: Some(exact), ..entry("/usr/bin/*", None) };
    assert_eq!(why(&Allowlist::new(vec![odd]).unwrap(), "x"), MissWhy::Program);
}

#[test]
fn an_entry_that_cannot_be_used_says_what_to_write() {
    let exact = |argv: &[&str], cwd: &str| {
        let argv = argv.iter().map(|&word| word.to_owned()).collect();
        Some(Exact { argv, cwd: cwd.into(), sha256: Vec::new(), env: Unlisted::default() })
    };
    let long = "a".repeat(5000);
    let table = [
        (entry("", None), "write an absolute path"),
        (entry("bin/git", None), "write an absolute one"),
        (entry("./git", None), "write an absolute one"),
        (entry("**/git", None), "write an absolute one"),
        (entry("/usr//git", None), "without them"),
        (entry("/usr/../git", None), "without them"),
        (entry("/usr/./git", None), "without them"),
        (entry("..", None), "without them"),
        (entry("/usr/[a", None), "not a valid glob"),
        (entry("git", Some("(")), "not a valid regular expression"),
        (entry("git", Some("a)|(b")), "not a valid regular expression"),
        (entry("git", Some("(?x) a # b")), "not a valid regular expression"),
        (entry("git", Some(r"\p{Nowhere}")), "not a valid regular expression"),
        (entry("git", Some(r"(?:\w{100}){100}")), "too complex"),
        (entry("git", Some(&long)), "too long"),
        (entry(&long, None), "too long"),
        (Entry { exact: exact(&["git"], "/"), ..entry("/git", Some("x")) }, "one of them"),
        (Entry { exact: exact(&["git"], "rel"), ..entry("/git", None) }, "absolute cwd"),
        (Entry { exact: exact(&[], "/"), ..entry("/git", None) }, "absolute cwd"),
        (Entry { exact: exact(&["git"], "/"), ..entry("git", None) }, "absolute cwd"),
        (Entry { agent: Some(String::new()), ..entry("git", None) }, "leave it out"),
    ];
    for (bad, wanted) in table {
        let error = Allowlist::new(vec![entry("ok", None), bad]).unwrap_err();
        assert_eq!(error.index, 1);
        let text = error.to_string();
        assert!(text.contains(wanted) && text.starts_with("entry 2") && !text.contains('\n'), "{text}");
    }
}

#[test]
fn an_unknown_field_is_refused() {
    assert!(serde_json::from_str::<Entry>(r#"{"program":"git","arg":"x"}"#).is_err());
    assert!(serde_json::from_str::<Entry>(r#"{"program":"git"}"#).is_ok());
}

fn giving<'a>(cwd: &'a Path, env: &'a Unlisted) -> Caller<'a> {
    Caller { agent: None, cwd, env }
}

#[test]
fn variables_that_are_not_listed_are_allowed_for_the_very_same_command_only() {
    let mut entries = vec![entry("make", None), entry("git", Some("status")), entry("*", Some(".*"))];
    let make = found("make");
    let argv = ["make".to_owned()];
    let call = Call { argv: &argv, program: &make, bound: None };
    let cwd = Path::new("/repo");
    let one = judge([("A", "1")]).unwrap();
    let and_language = judge([("LANG", "C"), ("A", "1")]).unwrap();
    let miss = Allowlist::new(entries.clone()).unwrap().matches(giving(cwd, &one), &[call]).unwrap_err();
    assert_eq!(miss.why, MissWhy::Variables { names: vec!["A".into()] });
    assert!(miss.to_string().contains("sets A"), "{miss}");

    entries.clear();
    entries.push(Entry::allow_always(call, giving(cwd, &one)).unwrap());
    let list = Allowlist::new(entries).unwrap();
    assert_eq!(list.matches(giving(cwd, &and_language), &[call]), Ok(vec![0]));
    for other in
        [vec![("A", "2")], vec![("B", "1")], vec![("A", "1"), ("B", "2")], vec![], vec![("LANG", "C")]]
    {
        let other = judge(other).unwrap();
        assert!(matches!(
            list.matches(giving(cwd, &other), &[call]).unwrap_err().why,
            MissWhy::Variables { .. }
        ));
    }
}

#[test]
fn an_entry_of_an_earlier_version_reads_back_and_is_for_no_variables() {
    let old = r#"{"program":"/usr/bin/make","exact":{"argv":["make"],"cwd":"/repo"}}"#;
    let entry: Entry = serde_json::from_str(old).unwrap();
    assert_eq!(serde_json::to_string(&entry).unwrap(), old);
    let list = Allowlist::new(vec![entry]).unwrap();
    let make = found("make");
    let call = Call { argv: &["make".to_owned()], program: &make, bound: None };
    let cwd = Path::new("/repo");
    assert!(list.matches(from(None, cwd), &[call]).is_ok());
    let env = judge([("A", "1")]).unwrap();
    assert!(list.matches(Caller { agent: None, cwd, env: &env }, &[call]).is_err());
}

#[test]
fn a_link_that_a_glob_matches_is_allowed_if_its_target_is_matched_too() {
    let ask = |list: &Allowlist, real: &str| {
        let program = Executable { called: "/opt/tools/x".into(), real: real.into(), through_path: false };
        let call = Call { argv: &["/opt/tools/x".into()], program: &program, bound: None };
        list.matches(from(None, Path::new("/")), &[call]).map_err(|miss| miss.why)
    };
    for glob in ["/opt/tools/*", "/opt/tools/?", "/opt/*/x", "/opt/tools/[x]", "/opt/tools/{x,y}"] {
        for args in [None, Some(".*")] {
            let real = PathBuf::from("/bin/rm");
            assert_eq!(ask(&list(&[(glob, args)]), "/bin/rm"), Err(MissWhy::Link { real }), "{glob}");
        }
    }
    assert_eq!(ask(&list(&[("/opt/tools/*", None)]), "/opt/tools/x-1.2"), Ok(vec![0]));
    // The entry names exactly this link.
    assert_eq!(ask(&list(&[("/opt/tools/x", None)]), "/opt/x-1.2/bin/x"), Ok(vec![0]));
}

#[test]
fn an_entry_without_a_pattern_does_not_cover_arguments_that_reach_further() {
    let bare = list(&[("git", None), ("find", None), ("sort", None)]);
    for line in ["git -C evil status", "git --git-dir=/evil x", "find . -fprintf f x", "sort -o f x"] {
        assert!(matches!(why(&bare, line), MissWhy::Reaches(_)), "{line}");
        let text = ask(&bare, None, "/", line).unwrap_err().to_string();
        assert!(text.contains("pattern of its arguments"), "{text}");
    }
    assert!(allows(&list(&[("git", Some("-C [a-z]+ status"))]), "git -C sub status"));
    // Such a command can be allowed exactly, because its words say what it does.
    let (program, argv) = (found("sort"), ["sort", "-o", "f", "x"].map(str::to_owned));
    let call = Call { argv: &argv, program: &program, bound: None };
    assert!(Entry::allow_always(call, from(None, Path::new("/"))).is_ok());
}
