//! One live run in a scope: a second is refused, a replacement waits for the end of the whole tree before it.

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
    assert_eq!(install.runs(), [first.as_str()], "nothing else was begun");
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
    // A witness of the first tree's end: who opens the FIFO for writing without waiting succeeds only while
    // somebody reads it, and we do; so the second asks whether anybody else still holds it open.
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
fn concurrent_replacements_are_made_one_after_the_other() {
    let (_install, api) = daemon();
    let request = json!({"command": ["sleep", "1000"], "scope": "build", "replace": true, "graceMs": 2000});
    let ids: Vec<String> = std::thread::scope(|scope| {
        let all: Vec<_> = (0..10).map(|_| scope.spawn(|| api.start(&request))).collect();
        all.into_iter().map(|one| one.join().expect("started")).collect()
    });
    let live = api.get("/v1/runs?scope=build").is(200).json();
    let live = live["runs"].as_array().expect("runs");
    assert_eq!(live.len(), 1, "{live:?}");
    assert!(ids.contains(&text(&live[0]["runId"])));
    let mut lives: Vec<(u64, u64)> = Vec::new();
    for id in &ids {
        let run = api.get(&format!("/v1/runs/{id}")).is(200).json();
        let started = run["startedAtMs"].as_u64().expect("it was started");
        lives.push((started, run["endedAtMs"].as_u64().unwrap_or(u64::MAX)));
    }
    lives.sort_unstable();
    assert!(lives.windows(2).all(|pair| pair[0].1 <= pair[1].0), "two lived at once: {lives:?}");
}

#[test]
fn a_replacement_of_the_only_place_takes_that_place() {
    let install =
        Install::new().with_daemon().with_env("TENURE_RUNS_MAX", "1").with_env("TENURE_RUNS_QUEUE", "1");
    let api = Api::of(&install);
    let request = json!({"command": ["sleep", "1000"], "scope": "build", "replace": true});
    let first = api.start(&request);
    let second = api.start(&request);
    assert_eq!(api.wait(&first)["termination"]["reason"], "manual-cancel");
    assert_eq!(api.get(&format!("/v1/runs/{second}")).is(200).json()["state"], "running");
}

#[test]
fn a_scope_whose_run_was_removed_is_free_when_it_has_ended() {
    let (install, api) = daemon();
    let first = api.start(&json!({"command": [install.actor(), "ignore-term", "sleep"], "scope": "build",
        "graceMs": 5000}));
    install.wait_for_output(&first, "ready");
    let _ = api.delete(&format!("/v1/runs/{first}")).is(204);
    api.post("/v1/runs", &json!({"command": ["true"], "scope": "build"})).refused(409, "scope-taken");
    api.start(&json!({"command": ["true"], "scope": "build", "replace": true}));
}

#[test]
fn replacing_needs_a_scope() {
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
