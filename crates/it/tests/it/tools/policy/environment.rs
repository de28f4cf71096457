//! The environment of an agent's commands: forbidden variables, variables that are not passed on, and the run's own.

use super::fixture::PolicyFixture;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use tenure_it::api::text;

/// The names, as written in the source: variables that make other code run, credentials, and the operator's
/// own.
const NAMES: &str = include_str!("../../../../../policy/src/environment/names.rs");

/// The names of one table.
fn table(name: &str) -> Vec<String> {
    let begin = NAMES.find(&format!("const {name}:")).unwrap_or_else(|| panic!("no {name}"));
    let rest = &NAMES[begin..];
    let body = &rest[rest.find("= [").expect("a table")..rest.find("];").expect("an end")];
    let names: Vec<String> = body.split('"').skip(1).step_by(2).map(str::to_owned).collect();
    assert!(names.len() > 2, "{name}");
    names
}

/// Names that begin with one of the prefixes.
fn prefixed(name: &str) -> Vec<String> {
    table(name).into_iter().map(|prefix| format!("{prefix}X")).collect()
}

fn never_handed_down() -> Vec<String> {
    [table("CODE"), table("SECRETS"), prefixed("CODE_PREFIXES")].concat()
}

fn in_every_case(name: &str) -> [String; 3] {
    let mixed = |(at, c): (usize, char)| if at % 2 == 0 { c.to_ascii_lowercase() } else { c };
    [name.to_owned(), name.to_ascii_lowercase(), name.chars().enumerate().map(mixed).collect()]
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let three = |part: &[u8]| {
        let number =
            part.iter().chain([0, 0].iter()).take(3).fold(0_usize, |n, &byte| n << 8 | usize::from(byte));
        let digit = |at: usize| if at <= part.len() { DIGITS[number >> (18 - 6 * at) & 63] } else { b'=' };
        (0..4).map(|at| char::from(digit(at))).collect::<String>()
    };
    bytes.chunks(3).map(three).collect()
}

/// A caller's process with this environment, as the command line passes it on.
pub(crate) fn process(fixture: &PolicyFixture, env: &[String]) -> Value {
    let mut words = vec![fixture.work().to_str().expect("UTF-8").to_owned()];
    words.extend(env.iter().cloned());
    let bytes: Vec<u8> = words.iter().flat_map(|word| [word.as_bytes(), b"\0"].concat()).collect();
    json!({"words": base64(&bytes), "argc": 0, "umask": 0o022, "nofile": [1024, 4096]})
}

/// The environment of a command that a process with `env` requests.
#[track_caller]
fn environment(fixture: &PolicyFixture, request: &Value) -> BTreeMap<String, String> {
    let reply = fixture.exec_from_cli(request).is(200).json();
    assert_eq!(reply["exitCode"], 0, "{reply}");
    let output = text(&reply["output"]);
    let variable = |line: &str| line.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned()));
    let found: Vec<_> = output.lines().filter_map(variable).collect();
    let all: BTreeMap<_, _> = found.iter().cloned().collect();
    assert_eq!(all.len(), found.len(), "a name occurs twice: {output}");
    all
}

#[test]
fn forbidden_variables_are_refused_and_all_named() {
    let fixture = PolicyFixture::with(&[("TENURE_EXEC_MODE", "full")]);
    let mut names = never_handed_down();
    names.extend(table("GUARDED"));
    names.extend(prefixed("GUARDED_PREFIXES"));
    names.extend(
        [
            "PATH",
            "TENURE_RUN_ID",
            "TENURE_LEASE_ID",
            "TENURE_INSTANCE_ID",
            "TENURE_SESSION_KEY",
            "TENURE_STATE",
            "TENURE_ANYTHING",
            "BASH_FUNC_ls%%",
            "CARGO_TARGET_X86_64_LINKER",
            "A B",
            "1A",
            "",
            "A-B",
        ]
        .map(str::to_owned),
    );
    assert!(names.len() > 400);
    for spelling in 0..3 {
        let env: BTreeMap<String, &str> =
            names.iter().map(|name| (in_every_case(name)[spelling].clone(), "v4lue")).collect();
        let why = fixture.exec_as(&json!({"command": "true", "env": env})).refused(422, "invalid");
        for name in env.keys() {
            assert!(why.contains(&format!("{name:?}")), "{name} is not named: {why}");
        }
        assert!(why.contains("leave them out") && !why.contains("v4lue"), "{why}");
    }
    // Alone, too.
    for name in ["LD_PRELOAD", "path", "Tenure_Run_Id", "http_proxy", "SHELL", "BASH_FUNC_x%%", "IFS", "PS4"]
    {
        let why = fixture.exec_as(&json!({"command": "true", "env": {name: "x"}})).refused(422, "invalid");
        assert!(why.contains(name), "{why}");
    }
    let env = environment(&fixture, &json!({"command": "env", "env": {"COLOUR": "red", "lower_1": "a b=c"}}));
    assert_eq!((&env["COLOUR"][..], &env["lower_1"][..]), ("red", "a b=c"));
}

#[test]
fn code_loading_variables_and_credentials_of_a_caller_are_not_passed_on() {
    let fixture = PolicyFixture::with(&[("TENURE_EXEC_MODE", "full")]);
    let bad = never_handed_down();
    let mut given: Vec<String> =
        bad.iter().flat_map(|name| in_every_case(name)).map(|name| format!("{name}=v4lue")).collect();
    given.extend(
        ["PATH=/usr/bin:/bin", "HOME=/nowhere", "HTTPS_PROXY=p", "COLOUR=red", "=x", "novalue"]
            .map(str::to_owned),
    );
    let env = environment(&fixture, &json!({"command": "env", "process": process(&fixture, &given)}));
    let left: Vec<_> = env.iter().filter(|(_, value)| *value == "v4lue").collect();
    assert!(left.is_empty(), "{left:?}");
    assert_eq!((&env["HOME"][..], &env["HTTPS_PROXY"][..], &env["COLOUR"][..]), ("/nowhere", "p", "red"));
}

#[test]
fn code_loading_variables_and_credentials_of_the_daemon_are_not_passed_on() {
    let names = never_handed_down();
    // These would keep the daemon itself from starting, or its shell.
    let own = |name: &&String| {
        !matches!(name.as_str(), "GLIBC_TUNABLES" | "MALLOC_TRACE") && !name.starts_with("LD_")
    };
    let settings: Vec<(&str, &str)> = names
        .iter()
        .filter(own)
        .map(|name| (name.as_str(), "v4lue"))
        .chain([("TENURE_EXEC_MODE", "full")])
        .collect();
    let fixture = PolicyFixture::with(&settings);
    let env = environment(&fixture, &json!({"command": "env"}));
    let left: Vec<_> = env.iter().filter(|(_, value)| *value == "v4lue").collect();
    assert!(left.is_empty(), "{left:?}");
    assert!(env["PATH"].ends_with(":/usr/bin:/bin"));
}

#[test]
fn the_identity_of_a_run_cannot_be_forged_and_reaches_the_command() {
    let fixture = PolicyFixture::listing();
    fixture.allow("env", Some(""));
    let names = ["TENURE_RUN_ID", "TENURE_LEASE_ID", "TENURE_INSTANCE_ID", "TENURE_SESSION_KEY"];
    let mut given: Vec<String> = names.iter().map(|name| format!("{name}=forged")).collect();
    given.extend(given.clone());
    given.push("PATH=/usr/bin:/bin".to_owned());
    let process = process(&fixture, &given);
    let reply =
        fixture.exec_from_cli(&json!({"command": "env", "process": process, "sessionKey": "agent:a:main"}));
    let reply = reply.is(200).json();
    let output = text(&reply["output"]);
    assert!(!output.contains("forged"), "{output}");
    assert!(output.contains(&format!("TENURE_RUN_ID={}\n", text(&reply["runId"]))), "{output}");
    assert!(output.contains("TENURE_SESSION_KEY=agent:a:main\n"), "{output}");
    assert!(output.contains(&format!("TENURE_INSTANCE_ID={}\n", fixture.served.instance())), "{output}");
    assert_eq!(names.map(|name| output.matches(&format!("{name}=")).count()), [1; 4], "{output}");
    // Without a session, it carries none.
    let reply = fixture.exec_from_cli(&json!({"command": "env", "process": process})).is(200).json();
    let output = text(&reply["output"]);
    assert!(!output.contains("TENURE_SESSION_KEY"), "{output}");
}

/// A shell that used any of this would run another program, or leave a trace.
#[test]
fn shell_variables_of_the_caller_do_not_affect_the_command() {
    let fixture = PolicyFixture::with(&[("TENURE_EXEC_MODE", "ask")]);
    fixture.program("tool", "good");
    let evil = fixture.program("evil", "evil");
    let trap = fixture.bin().join("bash");
    fixture.program_at(&trap, "evil");
    let evil = evil.display();
    let tool = fixture.bin().join("tool");
    let given = [
        format!("BASH_FUNC_tool%%=() {{ {evil}; }}"),
        format!("BASH_FUNC_{}%%=() {{ {evil}; }}", tool.display()),
        format!("BASH_FUNC_echo()=() {{ {evil}; }}"),
        format!("ENV={evil}"),
        format!("BASH_ENV={evil}"),
        format!("PS4=$({evil})"),
        format!("PROMPT_COMMAND={evil}"),
        format!("SHELL={}", trap.display()),
        "SHELLOPTS=xtrace:allexport".to_owned(),
        "BASHOPTS=expand_aliases".to_owned(),
        "IFS=/".to_owned(),
        "LD_PRELOAD=/no/such/library.so".to_owned(),
        "CDPATH=/".to_owned(),
        format!("PATH={}:/usr/bin:/bin", fixture.bin().display()),
    ];
    fixture.allow("tool", None);
    let process = process(&fixture, &given);
    let reply =
        fixture.exec_from_cli(&json!({"command": "tool a && tool 'b c'", "process": process})).is(200).json();
    let work = fixture.work();
    assert_eq!(text(&reply["output"]), format!("good in {0}\ngood in {0}\n", work.display()), "{reply}");
    // A line for a shell goes to one that ignores all of this, too.
    let request = json!({"command": "for i in c/d; do tool $i; done", "process": process});
    let id = text(&fixture.exec_from_cli(&request).is(200).json()["runId"]);
    let _ = fixture.answer(&id, "allow-once").is(200);
    assert_eq!(fixture.output(&id), format!("good in {}\n", work.display()));
    assert_eq!(fixture.notes(), ["good: a", "good: b c", "good: c/d"]);
}

#[test]
fn an_allowlisted_command_gets_no_pager_and_no_editor() {
    let fixture = PolicyFixture::listing();
    fixture.allow("env", Some(""));
    let given = [
        "PATH=/usr/bin:/bin",
        "PAGER=/evil",
        "GIT_PAGER=/evil",
        "EDITOR=/evil",
        "LESSOPEN=|/evil %s",
        "VISUAL=/evil",
        "GIT_EDITOR=/evil",
        "LESS=-x",
        "MANPAGER=/evil",
    ];
    let given = given.map(str::to_owned);
    for pty in [false, true] {
        let request = json!({"command": "env", "process": process(&fixture, &given), "pty": pty});
        let env = environment(&fixture, &request);
        assert!(!env.values().any(|value| value.contains("evil")), "{env:?}");
        assert_eq!(
            (env["PAGER"].trim(), env["GIT_PAGER"].trim(), env["LESSSECURE"].trim()),
            ("cat", "cat", "1")
        );
        assert!(
            ["EDITOR", "VISUAL", "GIT_EDITOR"].iter().all(|name| env[*name].trim() == "false"),
            "{env:?}"
        );
    }
}
