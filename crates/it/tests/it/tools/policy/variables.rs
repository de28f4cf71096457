//! The policy judges the variables of a call, and ignores the environment of every caller. Otherwise an entry for `git`
//! or `make` would let variables write any file and run any program.

use super::environment::process;
use super::fixture::{PolicyFixture, write_program};
use serde_json::{Value, json};
use std::path::Path;
use std::process::Stdio;
use tenure_it::api::{Api, text};

/// Links programs of this machine into the fixture's directory.
#[track_caller]
pub(crate) fn borrow(fixture: &PolicyFixture, names: &[&str]) {
    let path = std::env::var_os("PATH").expect("a PATH");
    for name in names {
        let found = std::env::split_paths(&path).map(|dir| dir.join(name)).find(|file| file.is_file());
        let found = found.unwrap_or_else(|| panic!("this test needs {name}"));
        std::os::unix::fs::symlink(found, fixture.bin().join(name)).expect("a link");
    }
}

#[test]
fn a_variable_writes_no_file_and_runs_nothing_unasked() {
    let fixture = PolicyFixture::listing();
    borrow(&fixture, &["git", "make"]);
    let canary = fixture.work().join("canary");
    let touch = format!("touch {}", canary.display());
    std::fs::write(
        fixture.work().join("Makefile"),
        "x:\n\t$(RM) $(CI) $(DEBUG) x\ny: y.o\n%.o:\n\t$(CC) $(TARGET_ARCH) -o y\n",
    )
    .expect("write");
    fixture.allow("git", None);
    fixture.allow("make", None);
    fixture.allow("/**", Some(".*"));
    let file = canary.to_str().expect("UTF-8");
    let mut tries: Vec<(&str, &str, &str)> = Vec::new();
    for name in ["GIT_TRACE2", "GIT_TRACE2_EVENT", "GIT_TRACE2_PERF", "GIT_TRACE_SETUP", "GIT_TRACE_PACKET"] {
        tries.push(("git --version", name, file));
    }
    for name in ["RM", "YACC", "MAKEOVERRIDES", "CI", "DEBUG"] {
        tries.push(("make x", name, &touch));
    }
    for name in ["TARGET_ARCH", "COMPILE.c", "anything"] {
        tries.push(("make y", name, &touch));
    }
    let sneaky = format!("1;{touch}");
    tries.push(("make x", "DEBUG", &sneaky));
    for (command, name, value) in tries {
        let answer = fixture.exec_as(&json!({"command": command, "env": {name: value}}));
        assert!(matches!(answer.head.status, 403 | 422), "{name} with {command}: {}", answer.text());
        assert!(!canary.exists(), "{name} with {command}");
    }
    // The same variables on the line.
    for line in [
        format!("GIT_TRACE2={file} git --version"),
        format!("env GIT_TRACE2={file} git --version"),
        format!("export GIT_TRACE2={file}; git --version"),
    ] {
        // A pattern for all arguments does not cover shell syntax.
        let answer = fixture.exec(&line);
        if answer.head.status == 200 {
            assert!(line.starts_with("env "), "{line}");
            std::fs::remove_file(&canary).expect("what the operator's pattern allows");
        }
        assert!(!canary.exists(), "{line}");
    }
    let plain =
        json!({"command": "git --version", "env": {"LANG": "C", "TZ": "Europe/Berlin", "NO_COLOR": "1"}});
    assert_eq!(fixture.exec_as(&plain).is(200).json()["exitCode"], 0);
}

#[test]
fn a_question_shows_the_variables_and_always_holds_for_these_values_only() {
    let fixture = PolicyFixture::asking();
    fixture.program("tool", "tool");
    fixture.allow("tool", None);
    let with = |env: Value| json!({"command": "tool a", "env": env});
    let id = fixture.asks_as(&with(json!({"A": "h1dden-value", "LANG": "C"})));
    let question = &fixture.questions()[0];
    assert_eq!(question["env"], json!({"A": "h1dden-value", "LANG": "C"}), "{question}");
    assert!(text(&question["why"]).contains("sets A,"), "{question}");
    let shown = fixture.served.install.tenure(&["approvals"]);
    let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
    assert!(shown.contains("with A=h1dden-value") && shown.contains("with LANG=C"), "{shown}");
    let _ = fixture.answer(&id, "allow-always").is(200);
    fixture.output(&id);
    let again = fixture.exec_as(&with(json!({"A": "h1dden-value", "LANG": "de_DE.UTF-8"}))).is(200).json();
    assert_eq!(again["status"], "completed", "{again}");
    for other in [json!({"A": "other"}), json!({"B": "h1dden-value"}), json!({"A": "h1dden-value", "B": "1"})]
    {
        let id = fixture.asks_as(&with(other));
        let _ = fixture.answer(&id, "deny").is(200);
    }
    let all = fixture.api.get("/v1/approvals?all=true").is(200).text();
    assert!(!all.contains("h1dden-value"), "{all}");
    let kept = grep(fixture.served.install.state(), b"h1dden-value");
    assert!(kept.is_empty(), "the value is recorded in {kept:?}");
}

/// Files below a directory that hold a text.
fn grep(dir: &Path, text: &[u8]) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).expect("a directory").flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(grep(&path, text));
        } else if path.is_file() {
            let held = std::fs::read(&path).unwrap_or_default();
            found.extend(held.windows(text.len()).any(|part| part == text).then_some(path));
        }
    }
    found
}

#[test]
fn the_callers_path_does_not_resolve_bare_program_names() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    drop(listener);
    let settings = [("TENURE_EXEC_MODE", "allowlist"), ("TENURE_API_LISTEN", &address.to_string())];
    let fixture = PolicyFixture::with(&settings);
    fixture.program("tool", "good");
    let evil = fixture.served.install.dir().join("evil");
    std::fs::create_dir(&evil).expect("mkdir");
    fixture.program_at(&evil.join("tool"), "evil");
    fixture.allow("tool", None);
    let path = format!("PATH={}:/usr/bin:/bin", evil.display());
    let given =
        process(&fixture, &[path.clone(), format!("GIT_TRACE2={}", fixture.work().join("trace").display())]);
    let request = json!({"command": "tool", "process": given});

    let why = fixture.exec_as(&request).refused(422, "invalid");
    assert!(why.contains("process") && why.contains("command line"), "{why}");
    let token = std::fs::read_to_string(fixture.served.install.state().join("api-token")).expect("a token");
    let bearer = format!("Bearer {}", token.trim());
    let headers = [("Authorization", bearer.as_str()), ("tenure-cli", "1")];
    let body = request.to_string();
    Api::Loopback(address).ask("POST", "/v1/exec", &headers, body.as_bytes()).refused(422, "invalid");

    let reply = fixture.exec_from_cli(&request).is(200).json();
    assert_eq!(reply["output"], format!("good in {}\n", fixture.work().display()), "{reply}");
    let mut cli = fixture.served.install.command(&["exec", "--", "tool"]);
    let said = cli.env("PATH", &path["PATH=".len()..]).output().expect("tenure");
    assert!(String::from_utf8_lossy(&said.stdout).starts_with("good in "), "{said:?}");

    let mut cli = fixture.served.install.command(&["exec", "--json-in", "-"]);
    let mut child = cli.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("tenure");
    std::io::Write::write_all(&mut child.stdin.take().expect("a pipe"), body.as_bytes()).expect("write");
    let said = child.wait_with_output().expect("an end");
    assert_eq!(said.status.code(), Some(1), "{said:?}");
    assert!(String::from_utf8_lossy(&said.stderr).contains("\"process\" is not allowed"), "{said:?}");

    let mut mcp = tenure_it::mcp_client::Client::of(&fixture.served.install, &[]);
    let why = mcp.refused("exec", &request);
    assert!(why.contains("process"), "{why}");
    assert_eq!(mcp.call("exec", &json!({"command": "tool", "workdir": fixture.work()}))["exitCode"], 0);
    mcp.leave();
    assert_eq!(fixture.notes(), ["good:"; 3]);
}

/// In a run of a session, with requests as our own command line sends them.
#[test]
fn a_sessions_environment_is_ignored_even_in_mode_full() {
    let fixture = PolicyFixture::with(&[("TENURE_EXEC_MODE", "full")]);
    let evil = fixture.served.install.dir().join("evil");
    std::fs::create_dir(&evil).expect("mkdir");
    write_program(&evil.join("tool"), &fixture.script("evil"));
    fixture.program("tool", "good");
    let tenure = tenure_it::install::tenure().to_str().expect("UTF-8").to_owned();
    let path = format!("{}:/usr/bin:/bin", evil.display());
    let run = json!({
        "command": [tenure, "exec", "--", "tool; echo HTTPS_PROXY=$HTTPS_PROXY; pwd"],
        "session": "agent:a:main", "cwd": fixture.work(),
        "env": {"PATH": path, "HTTPS_PROXY": "http://evil"},
    });
    let id = fixture.api.start(&run);
    fixture.api.wait(&id);
    let said = fixture.api.get(&format!("/v1/runs/{id}/output")).is(200).text();
    assert!(said.contains("good in ") && said.contains("HTTPS_PROXY=\n"), "{said}");
    assert!(said.contains(&format!("\n{}\n", fixture.work().display())), "the caller's directory: {said}");
    assert_eq!(fixture.notes(), ["good:"]);
}
