//! Environments as attackers and careless people write them.

use super::unlisted::LISTED;
use super::*;

fn entries(lines: &[&str]) -> Vec<Vec<u8>> {
    lines.iter().map(|line| line.as_bytes().to_vec()).collect()
}

fn reason(name: &str) -> Option<Reason> {
    check([name]).err().map(|blocked| blocked.variables[0].1)
}

#[test]
fn the_tables_are_sorted_and_disjoint_and_in_capitals() {
    let tables = [&CODE[..], &SECRETS, &GUARDED];
    for table in tables.into_iter().chain([&CODE_PREFIXES[..], &GUARDED_PREFIXES, &GUARDED_SUFFIXES]) {
        assert!(table.is_sorted_by(|a, b| a < b));
        assert!(table.iter().all(|name| is_name(name.as_bytes()) && *name == name.to_ascii_uppercase()));
    }
    let mut all = tables.concat();
    let many = all.len();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), many);
}

#[test]
fn no_name_is_there_twice_by_its_prefix() {
    for name in CODE.iter().chain(&GUARDED) {
        let prefixes = CODE_PREFIXES.iter().chain(&GUARDED_PREFIXES);
        assert!(!prefixes.into_iter().any(|prefix| name.starts_with(prefix)), "{name}");
    }
    assert!(SECRETS.iter().all(|name| !CODE_PREFIXES.iter().any(|prefix| name.starts_with(prefix))));
}

#[test]
fn every_name_of_the_tables_is_refused_when_given() {
    for (table, wanted) in
        [(&CODE[..], Reason::Code), (&SECRETS, Reason::Secret), (&GUARDED, Reason::Guarded)]
    {
        for name in table {
            assert_eq!(reason(name), Some(wanted), "{name}");
            assert_eq!(reason(&name.to_ascii_lowercase()), Some(wanted), "{name}");
        }
    }
}

#[test]
fn names_with_such_a_beginning_or_end_are_refused() {
    for name in [
        "LD_PRELOAD",
        "LD_",
        "DYLD_INSERT_LIBRARIES",
        "BASH_FUNC_ls%%",
        "Ld_Library_Path",
        "LUA_PATH_5_4",
        "LUA_INIT_5_5",
        "LUA_CPATH_5_4",
        "GOCACHEPROG",
        "RSYNC_CONNECT_PROG",
        "RUSTFMT",
        "PROTOC",
        "JAVACMD",
        "PYTEST_ADDOPTS",
        "ERL_LIBS",
    ] {
        assert_eq!(reason(name), Some(Reason::Code), "{name}");
    }
    for name in [
        "GIT_CONFIG_COUNT",
        "npm_config_registry",
        "CARGO_REGISTRIES_X_INDEX",
        "TF_VAR_x",
        "XDG_CONFIG_HOME",
        "CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_LINKER",
        "CARGO_TARGET_WASM32_WASI_RUNNER",
        "CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUSTFLAGS",
        "HOST_CC",
        "TARGET_CXX",
        "CC_x86_64_unknown_linux_gnu",
        "CCACHE_PREFIX",
        "AWS_PAGER",
        "GH_PAGER",
        "GLAB_PAGER",
        "BORG_RSH",
        "BORG_PASSCOMMAND",
        "RESTIC_PASSWORD_COMMAND",
    ] {
        assert_eq!(reason(name), Some(Reason::Guarded), "{name}");
    }
    for name in ["LDX", "GIT_AUTHOR_NAME", "FOO", "_", "LANG", "MIX_ENV", "NODE_ENV", "PAGERS", "TMPDIR"] {
        assert_eq!(reason(name), None, "{name}");
    }
}

#[test]
fn the_path_and_our_own_names_are_refused_when_given_and_inherited_otherwise() {
    for name in ["PATH", "Path", "path"] {
        assert_eq!(reason(name), Some(Reason::Path), "{name}");
    }
    assert_eq!(reason("TENURE_RUN_ID"), Some(Reason::Identity));
    assert_eq!(reason("tenure_x"), Some(Reason::Identity));
    let kept =
        entries(&["PATH=/bin", "TENURE_RUN_ID=x", "HOME=/root", "HTTPS_PROXY=x", "SSH_AUTH_SOCK=/x", "A=="]);
    assert_eq!(scrub(kept.clone()), kept);
}

#[test]
fn names_that_are_none_are_refused() {
    for name in ["", "1A", "A-B", "A B", "A=B", "é", "A\0", "A\n", "a.b", "%"] {
        assert_eq!(reason(name), Some(Reason::BadName), "{name:?}");
    }
}

#[test]
fn what_runs_code_and_what_is_secret_is_not_inherited() {
    let environment = entries(&[
        "LD_PRELOAD=/x.so",
        "A=1",
        "bash_env=/x",
        "BASH_FUNC_ls%%=() { :; }",
        "NODE_OPTIONS=",
        "AWS_SECRET_ACCESS_KEY=x",
        "no equals sign",
        "=C:=x",
        "GH_TOKEN=x",
        "LANG=C",
    ]);
    assert_eq!(scrub(environment), entries(&["A=1", "GH_TOKEN=x", "LANG=C"]));
}

#[test]
fn bytes_that_are_no_text_pass_through() {
    let entry = b"X=\xff\xfe=\n".to_vec();
    assert_eq!(scrub(vec![entry.clone()]), [entry]);
    assert!(check([b"\xff".as_slice()]).is_err());
}

#[test]
fn an_error_names_every_variable_and_no_value() {
    let text = check(["FOO", "PATH", "LD_PRELOAD", "x y=hunter2", "NPM_TOKEN"]).unwrap_err().to_string();
    for part in ["\"PATH\" (", "\"LD_PRELOAD\" (", "\"x y\" (", "\"NPM_TOKEN\" (", "leave them out"] {
        assert!(text.contains(part), "{text}");
    }
    assert!(!text.contains("hunter2") && !text.contains("FOO") && !text.contains('\n'), "{text}");
    let long = check(["é".repeat(10_000)]).unwrap_err().to_string();
    assert!(long.len() < 400, "{long}");
}

fn unlisted(variables: &[(&str, &str)]) -> Vec<String> {
    judge(variables.iter().copied()).unwrap().names().map(str::to_owned).collect()
}

#[test]
fn listed_names_with_plain_values_are_not_asked_about() {
    assert!(LISTED.is_sorted_by(|a, b| a < b));
    for name in LISTED {
        assert_eq!(reason(name), None, "{name} is listed and blocked");
        assert_eq!(unlisted(&[(name, "1"), (name, "")]), [""; 0], "{name}");
    }
    let everyday = [
        ("LANG", "de_DE.UTF-8@euro"),
        ("LC_ALL", "C.UTF-8"),
        ("TZ", "Europe/Berlin"),
        ("TZ", "CET-1CEST,M3.5.0,M10.5.0"),
        ("TERM", "xterm-256color"),
        ("RUST_LOG", "info,hyper::client=debug"),
        ("DEBUG", "express:router,http"),
        ("CI", "true"),
    ];
    assert_eq!(unlisted(&everyday), [""; 0]);
}

#[test]
fn every_other_name_is_asked_about() {
    for name in [
        "GIT_TRACE2",
        "GIT_TRACE2_EVENT",
        "RM",
        "YACC",
        "TARGET_ARCH",
        "MAKEOVERRIDES",
        "COLOUR",
        "lang",
        "Ci",
        "LC_X",
        "TERMX",
        "DEBUG_FD",
        "RUST_LOG_STYLE",
        "NODE_ENV",
        "TMPDIR",
        "_",
    ] {
        assert_eq!(unlisted(&[(name, "1"), ("LANG", "C")]), [name]);
    }
}

#[test]
fn a_listed_name_with_a_value_that_is_a_path_or_shell_text_is_asked_about() {
    for (name, value) in [
        ("LANG", "../../evil"),
        ("LC_ALL", "/evil"),
        ("LANGUAGE", "de/evil"),
        ("TERM", "/evil"),
        ("TERM", "a/b"),
        ("TZ", ":/evil"),
        ("TZ", "/evil"),
        ("TZ", "a/../../evil"),
        ("TZ", "./evil"),
        ("DEBUG", "1; touch x"),
        ("DEBUG", "$(touch x)"),
        ("DEBUG", "`x`"),
        ("CI", "a b"),
        ("CI", "-x"),
        ("DEBUG", "a|b"),
        ("DEBUG", "a\nb"),
        ("RUST_LOG", "a>b"),
        ("COLUMNS", "é"),
        ("DEBUG", "*"),
    ] {
        assert_eq!(unlisted(&[(name, value)]), [name], "{value}");
    }
    assert_eq!(unlisted(&[("DEBUG", &"a".repeat(257))]), ["DEBUG"]);
}

#[test]
fn other_values_are_other_variables_and_no_value_is_kept() {
    let one = judge([("A", "hunter2")]).unwrap();
    assert_eq!(one, judge([("LANG", "C"), ("A", "hunter2")]).unwrap());
    for other in [vec![("A", "hunter3")], vec![("B", "hunter2")], vec![("A", "hunter2"), ("B", "")], vec![]] {
        assert_ne!(one, judge(other).unwrap());
    }
    let kept = serde_json::to_string(&one).unwrap();
    assert!(!kept.contains("hunter2") && kept.contains("\"A\""), "{kept}");
    assert_eq!(serde_json::from_str::<Unlisted>(&kept).unwrap(), one);
    assert!(judge([("A", "1"), ("LD_PRELOAD", "x")]).is_err());
}
