//! Client identity: only this user is let in, and a process of a run acts as that run's session.

use serde_json::json;
use std::os::unix::fs::PermissionsExt;
use tenure_it::api::{Api, text};
use tenure_it::eventually;
use tenure_it::install::Install;

/// A daemon whose `tenure` can be called from inside a run as `$T`.
fn daemon() -> (Install, Api) {
    let install = Install::new().with_daemon();
    let api = Api::of(&install);
    (install, api)
}

/// Runs a script as a session's run, with `$T` as the program; returns its output.
#[track_caller]
fn inside(api: &Api, session: Option<&str>, script: &str) -> String {
    let mut request = json!({"command": ["sh", "-c", script],
        "env": {"T": tenure_it::install::tenure(), "TENURE_NO_AUTOSTART": "1"}, "onEscape": "reap"});
    if let Some(session) = session {
        request["session"] = session.into();
    }
    let id = api.start(&request);
    api.wait(&id);
    api.get(&format!("/v1/runs/{id}/output")).is(200).text()
}

#[test]
fn the_socket_is_private_to_its_owner() {
    let (install, _api) = daemon();
    let mode = |path| std::fs::metadata(path).expect("it is there").permissions().mode() & 0o7777;
    assert_eq!(mode(install.state().to_owned()), 0o700);
    for name in ["daemon.sock", "tenure.db", "daemon.log", "instance-id", "daemon.lock"] {
        assert_eq!(mode(install.state().join(name)) & 0o077, 0, "{name}");
    }
}

#[test]
fn another_user_is_refused_even_if_the_file_modes_allow_it() {
    if !rustix::process::geteuid().is_root() {
        return eprintln!("cannot run here: only root can act as another user");
    }
    let (install, api) = daemon();
    let stranger = Install::new().unprivileged().with_state(install.state().to_owned());
    let ask = |args: &[&str]| {
        let output = stranger.tenure(args);
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (code, said) = ask(&["daemon", "status"]);
    assert_eq!(code, Some(1), "only the file modes refuse it: {said}");
    std::fs::set_permissions(install.state(), PermissionsExt::from_mode(0o755)).expect("chmod");
    let socket = install.state().join("daemon.sock");
    std::fs::set_permissions(&socket, PermissionsExt::from_mode(0o666)).expect("chmod");
    for (args, code) in [
        (&["daemon", "status"][..], 1),
        (&["ps"], 1),
        (&["daemon", "stop"], 1),
        (&["run", "--bg", "--", "true"], 125),
        (&["run", "--", "true"], 125),
    ] {
        let (its, said) = ask(args);
        assert_eq!(its, Some(code), "{args:?}: {said}");
        // A start of a run first checks the state root.
        let refused = said.contains("user 65534 is not this daemon's user");
        assert!(refused || code == 125, "{args:?}: {said}");
    }
    assert_eq!(install.runs(), [""; 0]);
    let _ = api.get("/v1/health").is(200);
    std::fs::set_permissions(install.state(), PermissionsExt::from_mode(0o700)).expect("chmod");
}

#[test]
fn a_process_of_a_session_sees_and_ends_only_its_sessions_runs() {
    let (_install, api) = daemon();
    let mine = api.start(&json!({"command": ["sleep", "1000"], "session": "agent:a:main", "scope": "mine"}));
    let other =
        api.start(&json!({"command": ["sleep", "1000"], "session": "agent:b:main", "scope": "theirs"}));
    let nobodys = api.start(&json!({"command": ["sleep", "1000"]}));
    let session = Some("agent:a:main");
    let listed = inside(&api, session, "\"$T\" ps --json; \"$T\" ps --session agent:b:main --json");
    assert!(listed.contains(&mine), "{listed}");
    assert!(!listed.contains(&other) && !listed.contains(&nobodys), "{listed}");
    for verb in ["show", "why", "cancel", "rm", "wait --timeout 1s"] {
        let said = inside(&api, session, &format!("\"$T\" {verb} {other} 2>&1; echo code $?"));
        assert!(said.contains("code 4"), "{verb}: {said}");
        let unknown = said.replace(&other, "ID");
        let nowhere =
            inside(&api, session, &format!("\"$T\" {verb} 0000dead0000dead0000dead 2>&1; echo code $?"));
        assert_eq!(unknown, nowhere.replace("0000dead0000dead0000dead", "ID"), "it looks like no run at all");
    }
    for which in ["--scope theirs", "--session agent:b:main", "--agent b"] {
        let said = inside(&api, session, &format!("\"$T\" cancel {which} 2>&1; echo code $?"));
        assert!(said.contains("nothing was cancelled\ncode 0") && !said.contains(&other), "{which}: {said}");
    }
    let said = inside(&api, session, "\"$T\" run --bg --scope theirs --replace -- true 2>&1; echo code $?");
    assert!(said.contains("code 125") && !said.contains(&other), "{said}");
    let said = inside(&api, session, "\"$T\" run --bg --session agent:b:main -- true 2>&1; echo code $?");
    assert!(said.contains("code 125"), "{said}");
    for verb in ["reap", "reap --dry-run", "daemon stop", "backup ./copy"] {
        let said = inside(&api, session, &format!("\"$T\" {verb} 2>&1; echo code $?"));
        assert!(said.contains("code 1\n") && said.contains("agent:a:main"), "{verb}: {said}");
    }
    let events = inside(&api, session, "\"$T\" events --json");
    let about = |id: &str| events.contains(&format!("\"runId\":\"{id}\""));
    assert!(about(&mine) && !about(&other) && !about(&nobodys), "{events}");
    for id in [&mine, &other, &nobodys] {
        assert_eq!(api.get(&format!("/v1/runs/{id}")).is(200).json()["state"], "running");
    }
    let said = inside(&api, session, &format!("\"$T\" cancel {mine} && \"$T\" wait {mine}; echo code $?"));
    assert!(said.contains("code 123"), "{said}");
    let story = api.get(&format!("/v1/runs/{mine}/why")).is(200).text();
    assert!(story.contains("session agent:a:main"), "the requester of its end: {story}");
}

#[test]
fn a_run_started_in_a_session_belongs_to_the_session() {
    let (_install, api) = daemon();
    let said = inside(
        &api,
        Some("agent:a:main"),
        "\"$T\" run --bg -- \"$T\" run --bg -- sleep 1000; \"$T\" run --quiet -- true",
    );
    let child = said.trim().to_owned();
    assert_eq!(child.lines().count(), 1, "{said}");
    assert_eq!(api.get(&format!("/v1/runs/{child}")).is(200).json()["sessionId"], "agent:a:main", "{said}");
    let all = eventually("four runs", || {
        let all = api.get("/v1/runs?all=true").is(200).json()["runs"].take();
        all.as_array().filter(|all| all.len() == 4).cloned()
    });
    assert!(all.iter().all(|run| run["sessionId"] == "agent:a:main"), "{all:?}");
}

#[test]
fn a_process_of_a_run_without_a_session_is_an_operator() {
    let (_install, api) = daemon();
    let other = api.start(&json!({"command": ["sleep", "1000"], "session": "agent:b:main"}));
    let said = inside(&api, None, &format!("\"$T\" ps --json; \"$T\" cancel {other}; echo code $?"));
    assert!(said.contains(&other) && said.contains("code 0"), "{said}");
    assert_eq!(api.wait(&other)["termination"]["reason"], "manual-cancel");
}

#[test]
fn a_client_that_left_its_terminal_session_or_its_parent_is_still_identified() {
    let (install, api) = daemon();
    let other = api.start(&json!({"command": ["sleep", "1000"], "session": "agent:b:main"}));
    let file = install.dir().join("listed");
    let script = format!(
        "(setsid sh -c '(sleep 0.2; env -i TENURE_STATE=$TENURE_STATE TENURE_NO_AUTOSTART=1 \"'\"$T\"'\" ps --json > {0}.part 2>&1; mv {0}.part {0}) &' &) ; \
         while [ ! -e {0} ]; do sleep 0.05; done",
        file.display()
    );
    inside(&api, Some("agent:a:main"), &script);
    let listed = std::fs::read_to_string(&file).expect("recorded output");
    assert!(listed.contains("agent:a:main") && !listed.contains(&other), "{listed}");
}

#[test]
fn a_client_that_asks_right_after_its_start_is_identified() {
    let (_install, api) = daemon();
    let other = api.start(&json!({"command": ["sleep", "1000"], "session": "agent:b:main"}));
    for _ in 0..30 {
        let run = api.run(&json!({"command": [tenure_it::install::tenure(), "ps", "--json"],
            "session": "agent:a:main", "env": {"TENURE_NO_AUTOSTART": "1"}}));
        let id = text(&run["runId"]);
        api.wait(&id);
        let listed = api.get(&format!("/v1/runs/{id}/output")).is(200).text();
        assert!(listed.contains(&id) && !listed.contains(&other), "{listed}");
    }
}
