//! Entries without a pattern of arguments, with real programs: no argument makes them write to a file or run an
//! unlisted program.

use super::fixture::PolicyFixture;
use super::variables::borrow;
use serde_json::json;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

/// A repository whose configuration runs a program that leaves the canary.
fn evil_repository(fixture: &PolicyFixture) {
    let git = fixture.work().join("evil/.git");
    for dir in ["objects", "refs"] {
        fs::create_dir_all(git.join(dir)).expect("mkdir");
    }
    fs::write(git.join("HEAD"), "ref: refs/heads/main\n").expect("write");
    let touch = fixture.work().join("evil/touch");
    fs::write(&touch, format!("#!/bin/sh\n: > '{}'\n", fixture.work().join("canary").display()))
        .expect("write");
    fs::set_permissions(&touch, PermissionsExt::from_mode(0o755)).expect("chmod");
    let program = touch.display();
    let config = format!(
        "[core]\n\trepositoryformatversion = 0\n\tfsmonitor = {program}\n\tpager = {program}\n[alias]\n\tx = !{program}\n"
    );
    fs::write(git.join("config"), config).expect("write");
}

#[test]
fn a_listed_program_cannot_write_or_run_files_named_by_its_arguments() {
    let fixture = PolicyFixture::listing();
    borrow(&fixture, &["git", "make", "find", "sort", "curl"]);
    evil_repository(&fixture);
    let canary = fixture.work().join("canary");
    let c = canary.to_str().expect("UTF-8");
    fs::write(fixture.work().join("evil/Makefile"), format!("all:\n\ttouch {c}\n")).expect("write");
    fs::write(fixture.work().join("evil/curlrc"), format!("output={c}\n")).expect("write");
    fs::write(
        fixture.work().join("evil/package.json"),
        format!("{{\"scripts\": {{\"test\": \"touch {c}\"}}}}"),
    )
    .expect("write");
    for name in ["git", "make", "find", "sort", "curl", "npm", "pip"] {
        fixture.allow(name, None);
    }
    fixture.program("npm", "npm");
    fixture.program("pip", "pip");
    for line in [
        "git --git-dir=evil/.git x",
        "git push --repo=evil",
        "git push -o origin evil",
        "npm -prefix evil test",
        "npm exe evil",
        "pip install --editable=evil",
        "git --git-dir evil/.git x",
        "git -C evil x",
        "git -C evil status",
        "git -Cevil status",
        "git --git-dir=evil/.git --work-tree=. status",
        "git diff --no-index --output=CANARY evil/Makefile evil/curlrc",
        "git diff --no-index --outp CANARY evil/Makefile evil/curlrc",
        "git clone evil/.git /nowhere/x",
        "git init CANARY",
        "find . -fprintf CANARY x",
        "find . -fprint CANARY",
        "find . -fprint0 CANARY",
        "find . -fls CANARY",
        "find . -exec touch CANARY ';'",
        "sort -o CANARY evil/Makefile",
        "sort -oCANARY evil/Makefile",
        "sort -uo CANARY evil/Makefile",
        "sort --output=CANARY evil/Makefile",
        "sort --outp CANARY evil/Makefile",
        "curl -K evil/curlrc file:///etc/hostname",
        "curl --config evil/curlrc file:///etc/hostname",
        "curl -so CANARY file:///etc/hostname",
        "curl --trace CANARY file:///etc/hostname",
        "curl -D CANARY file:///etc/hostname",
        "make -f evil/Makefile",
        "make -C evil",
        "make -kC evil",
        "make --directory=evil",
        "make --eval='$(shell touch CANARY)'",
        "npm --prefix evil test",
        "npm --prefix=evil test",
        "npm install ./evil",
        "pip install ./evil",
        "pip install evil",
    ] {
        let why = fixture.refuses(&line.replace("CANARY", c));
        assert!(why.contains("pattern of its arguments"), "{line}: {why}");
        assert!(!canary.exists(), "{line}");
    }
    // A call may choose the directory. The repository's fsmonitor program and unknown verbs do not run there.
    let evil = fixture.work().join("evil");
    let _ = fixture.exec_as(&json!({"command": "git status", "workdir": evil})).is(200);
    let _ = fixture.exec_as(&json!({"command": "git x", "workdir": evil})).refused(403, "denied");
    assert!(!canary.exists(), "by the directory of the call");
    assert!(fixture.notes().is_empty(), "{:?}", fixture.notes());
    fixture.runs("git --version && find . -name x && sort evil/Makefile && npm test && pip list");
    fixture.runs("curl -sS file:///etc/hostname | sort");
    // With a pattern, the operator decides.
    fixture.allow("sort", Some("-o [^ ]+ evil/Makefile"));
    fixture.runs(&format!("sort -o {c} evil/Makefile"));
    assert!(canary.exists());
}

#[test]
fn git_runs_without_system_configuration_and_file_monitor() {
    let fixture = PolicyFixture::listing();
    fixture.allow("env", Some(""));
    let env = fixture.runs("env");
    for line in [
        "GIT_CONFIG_NOSYSTEM=1",
        "GIT_CONFIG_KEY_0=core.fsmonitor",
        "GIT_CONFIG_VALUE_0=false",
        "GIT_CONFIG_COUNT=3",
        "GIT_CONFIG_KEY_2=safe.bareRepository",
        "GIT_CONFIG_VALUE_2=explicit",
        "GIT_PAGER=cat",
    ] {
        assert!(env.lines().any(|one| one == line), "{line}: {env}");
    }
}

#[test]
fn a_link_matched_by_a_glob_does_not_run_its_target() {
    let fixture = PolicyFixture::listing();
    let tools = fixture.work().join("tools");
    fs::create_dir(&tools).expect("mkdir");
    fixture.program_at(&tools.join("good"), "good");
    symlink(tools.join("good"), tools.join("alias")).expect("link");
    let evil = fixture.program("evil", "evil");
    symlink(&evil, tools.join("link")).expect("link");
    symlink("/bin/sh", tools.join("shell")).expect("link");
    for args in [None, Some(".*")] {
        fixture.allow(&format!("{}/*", tools.display()), args);
        for name in ["link", "shell"] {
            let why = fixture.refuses(&format!("{}/{name} -c x", tools.display()));
            assert!(why.contains("the file behind its links"), "{why}");
        }
    }
    fixture.runs(&format!("{0}/good && {0}/alias", tools.display()));
    assert_eq!(fixture.notes(), ["good:", "good:"]);
}

#[test]
fn adding_a_program_without_a_pattern_explains_the_effect() {
    let fixture = PolicyFixture::listing();
    let added = fixture.served.install.tenure(&["allowlist", "add", "git"]);
    let (out, err) = (String::from_utf8_lossy(&added.stdout), String::from_utf8_lossy(&added.stderr));
    assert_eq!(out.trim(), "1");
    assert!(err.contains("--git-dir") && err.contains("any directory") && err.contains("--args"), "{err}");
    let added = fixture.served.install.tenure(&["allowlist", "add", "git", "--args", "status"]);
    assert!(added.stderr.is_empty(), "{}", String::from_utf8_lossy(&added.stderr));
}
