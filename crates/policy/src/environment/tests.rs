//! Environments as attackers and careless people write them.

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
    for table in tables.into_iter().chain([&CODE_PREFIXES[..], &GUARDED_PREFIXES]) {
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
fn prefixes_and_cargos_programs_are_refused() {
    for name in ["LD_PRELOAD", "LD_", "DYLD_INSERT_LIBRARIES", "BASH_FUNC_ls%%", "Ld_Library_Path"] {
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
    ] {
        assert_eq!(reason(name), Some(Reason::Guarded), "{name}");
    }
    for name in
        ["CARGO_TARGET_LINKER", "CARGO_TARGET__LINKER_X", "LDX", "GIT_AUTHOR_NAME", "FOO", "_", "LANG"]
    {
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
