//! A scope has one live run: a second is refused, a replacement waits for the end of the whole tree before it.

use serde_json::json;
use tenure_it::api::{Api, text};
use tenure_it::install::Install;
use tenure_it::witness::Witness;

fn daemon() -> (Install, Api) {
    let install = Install::new().with_daemon();
    let api = Api::of(&install);
    (install, api)
}

#[test]
fn a_second_run_in_a_scope_is_refused_until_the_first_has_ended() {
    let (install, api) = daemon();
    let sleeper = json!({"command": ["sleep", "1000"], "scope": "build"});
    let first = api.start(&sleeper);
    let why = api.post("/v1/runs", &sleeper).refused(409, "scope-taken");
    assert!(why.contains(&first) && why.contains("replace"), "{why}");
    let output = install.tenure(&["run", "--scope", "build", "--", "true"]);
    assert_eq!(output.status.code(), Some(125), "{output:?}");
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(err.lines().count() == 1 && err.contains("--replace"), "{err}");
    assert_eq!(install.runs(), [first.as_str()], "nothing else was started");
    api.start(&json!({"command": ["true"], "scope": "other"}));
    install.cancel(&first);
    let second = api.start(&sleeper);
    assert_ne!(first, second);
}

#[test]
fn a_replacement_starts_only_when_the_whole_tree_before_it_is_gone() {
    let (install, api) = daemon();
    let witness = Witness::new(install.dir());
    let path = witness.path().to_str().expect("UTF-8").to_owned();
    let first = api
        .start(&json!({"command": [install.actor(), "--witness", path, "child", "ignore-term", "sleep"],
        "scope": "build", "graceMs": 300}));
    install.wait_for_output(&first, "ready child");
    // A witness of the first tree's end: an open of the FIFO for writing without waiting succeeds only with a
    // reader, which is us; so the second checks whether any other process still holds it open.
    let look = format!("ls -l /proc/[0-9]*/fd 2>/dev/null | grep -c ' {path}$' || true");
    let second = api.run(&json!({"command": ["sh", "-c", look], "scope": "build", "replace": true}));
    assert!(witness.all_dead(), "the first tree lives while the second runs");
    let id = text(&second["runId"]);
    api.wait(&id);
    let how = api.get(&format!("/v1/runs/{first}")).is(200).json()["termination"].clone();
    assert_eq!((&how["reason"], &how["confirmed"]), (&json!("manual-cancel"), &json!(true)), "{how}");
    // The reader is the test itself.
    assert_eq!(api.get(&format!("/v1/runs/{id}/output")).is(200).text().trim(), "1");
}

#[test]
fn replace_requires_a_scope() {
    let (install, api) = daemon();
    api.post("/v1/runs", &json!({"command": ["true"], "replace": true})).refused(422, "invalid");
    assert_eq!(install.runs(), [""; 0]);
}

#[test]
fn the_command_line_cancels_by_scope_session_and_agent() {
    let (install, api) = daemon();
    let spared = install.start_in_background(&["--session", "agent:b:main"], &["sleep", "1000"]);
    for (flags, which) in [
        (["--scope", "build"], ["--scope", "build"]),
        (["--session", "agent:a:main"], ["--session", "agent:a:main"]),
        (["--session", "agent:a:sub"], ["--agent", "a"]),
    ] {
        let id = install.start_in_background(&flags, &["sleep", "1000"]);
        let output = install.tenure(&[&["cancel"], &which[..]].concat());
        assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), id, "{which:?} {output:?}");
        assert_eq!(install.wait(&id), 123);
    }
    let nobody = install.tenure(&["cancel", "--scope", "nobody's"]);
    assert_eq!((nobody.status.code(), nobody.stdout.len()), (Some(0), 0));
    assert_eq!(api.get(&format!("/v1/runs/{spared}")).is(200).json()["state"], "running");
}
