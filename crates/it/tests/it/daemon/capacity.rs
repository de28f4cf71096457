//! Limits on the number of runs: queue, refusal, and retention of finished runs.

use rustix::process::Signal;
use serde_json::json;
use tenure_it::api::{Api, text};
use tenure_it::install::Install;
use tenure_it::{eventually, proc};

fn with(settings: &[(&str, &str)]) -> (Install, Api) {
    let install =
        settings.iter().fold(Install::new().with_daemon(), |it, (name, value)| it.with_env(name, value));
    let api = Api::of(&install);
    (install, api)
}

fn wait_for_queue(api: &Api, length: u64) {
    eventually(&format!("{length} in the queue"), || {
        (api.get("/v1/health").is(200).json()["queuedRuns"] == length).then_some(())
    });
}

#[test]
fn a_start_beyond_capacity_queues_and_beyond_the_queue_is_refused() {
    let (install, api) = with(&[("TENURE_RUNS_MAX", "1"), ("TENURE_RUNS_QUEUE", "1")]);
    let sleeper = json!({"command": ["sleep", "1000"]});
    let first = api.start(&sleeper);
    std::thread::scope(|scope| {
        let second = scope.spawn(|| api.start(&sleeper));
        wait_for_queue(&api, 1);
        let why = api.post("/v1/runs", &sleeper).refused(429, "too-many-runs");
        assert!(why.contains("runs.max"), "it names the limit to raise: {why}");
        let output = install.tenure(&["run", "--", "true"]);
        assert_eq!(output.status.code(), Some(125), "{output:?}");
        assert_eq!(install.runs(), [first.as_str()], "nothing of queued or refused callers");
        let metrics = api.get("/metrics").is(200).text();
        assert!(metrics.contains("tenure_runs_queued 1"), "{metrics}");
        install.ask_to_cancel(&[&first]);
        let second = second.join().expect("started");
        assert_eq!(api.wait(&first)["termination"]["reason"], "manual-cancel");
        assert_eq!(api.get(&format!("/v1/runs/{second}")).is(200).json()["state"], "running");
    });
    wait_for_queue(&api, 0);
}

#[test]
fn a_caller_that_leaves_the_queue_frees_its_place_and_starts_nothing() {
    let (install, api) = with(&[("TENURE_RUNS_MAX", "1"), ("TENURE_RUNS_QUEUE", "1")]);
    let first = api.start(&json!({"command": ["sleep", "1000"]}));
    let marker = install.dir().join("marker");
    let touch = marker.to_str().expect("UTF-8");
    for how in [Signal::INT, Signal::TERM, Signal::KILL] {
        let mut caller = install.start(&["run", "--", "touch", touch]);
        wait_for_queue(&api, 1);
        proc::send(caller.pid(), how);
        let code = caller.code();
        assert_ne!(code, 0, "{how:?}");
        wait_for_queue(&api, 0);
    }
    let mut background = install.start(&["run", "--bg", "--", "touch", touch]);
    wait_for_queue(&api, 1);
    proc::send(background.pid(), Signal::INT);
    background.code();
    wait_for_queue(&api, 0);
    let mut wire = api.connect();
    wire.request("POST", "/v1/runs", &[], json!({"command": ["touch", touch]}).to_string().as_bytes());
    wait_for_queue(&api, 1);
    drop(wire);
    wait_for_queue(&api, 0);
    install.cancel(&first);
    let last = api.start(&json!({"command": ["true"]}));
    api.wait(&last);
    assert!(!marker.exists(), "no caller that left was started");
    assert_eq!(install.runs().len(), 2);
}

#[test]
fn finished_runs_are_pruned_by_count_with_their_files() {
    let (install, api) = with(&[("TENURE_RETENTION_COUNT", "3"), ("TENURE_RETENTION_EVERY", "200ms")]);
    let live = api.start(&json!({"command": ["sleep", "1000"]}));
    let ids: Vec<String> = (0..8)
        .map(|_| {
            let id = api.start(&json!({"command": ["true"]}));
            api.wait(&id);
            id
        })
        .collect();
    eventually("three are left and the live one", || (install.runs().len() == 4).then_some(()));
    let expected = [&ids[7], &ids[6], &ids[5], &live].map(Clone::clone);
    // The files are removed first, so that each of them has a record.
    eventually("their records are gone, too", || {
        let listed = api.get("/v1/runs?all=true").is(200).json();
        let runs = listed["runs"].as_array().expect("runs").iter();
        (runs.map(|run| text(&run["runId"])).collect::<Vec<_>>() == expected).then_some(())
    });
    api.get(&format!("/v1/runs/{}", ids[0])).refused(404, "no-such-run");
}

#[test]
fn finished_runs_are_pruned_by_age_and_by_size() {
    let (install, api) = with(&[("TENURE_RETENTION_AGE", "1s"), ("TENURE_RETENTION_EVERY", "200ms")]);
    api.start(&json!({"command": ["true"]}));
    eventually("it is gone", || install.runs().is_empty().then_some(()));
    let (install, api) = with(&[("TENURE_RETENTION_BYTES", "100KiB"), ("TENURE_RETENTION_EVERY", "200ms")]);
    let start = || {
        let id = api.start(&json!({"command": ["head", "-c", "60000", "/dev/zero"]}));
        api.wait(&id);
        id
    };
    let (_, second) = (start(), start());
    eventually("one process is left", || (install.runs() == [second.clone()]).then_some(()));
}

#[test]
fn a_newly_started_daemon_prunes_no_run_by_age() {
    let (install, api) = with(&[("TENURE_RETENTION_COUNT", "2"), ("TENURE_RETENTION_EVERY", "200ms")]);
    let run = || {
        let id = api.start(&json!({"command": ["true"]}));
        api.wait(&id);
        id
    };
    let (older, old) = (run(), run());
    // As if the wall clock had been set a month ahead: by the clock, these runs ended weeks ago.
    let registry = rusqlite::Connection::open(install.state().join("tenure.db")).expect("the registry");
    for (id, days) in [(&older, 30_u32), (&old, 20)] {
        let changed = registry.execute(
            "UPDATE runs SET ended_at_ms = ended_at_ms - ?2 * 86400000,
                 ending = json_set(ending, '$.endedAtMs', ended_at_ms - ?2 * 86400000) WHERE run_id = ?1",
            (id, days),
        );
        assert_eq!(changed, Ok(1));
    }
    let new = run();
    let listed = || -> Vec<String> {
        let listed = api.get("/v1/runs?all=true").is(200).json();
        listed["runs"].as_array().expect("runs").iter().map(|run| text(&run["runId"])).collect()
    };
    eventually("one is pruned by count", || (!listed().contains(&older)).then_some(()));
    assert_eq!(listed(), [new, old], "the other is kept in spite of its age");
}

#[test]
fn secrets_are_shown_nowhere() {
    let (install, api) = with(&[]);
    let secret = "hunter2-do-not-tell";
    let run = api.run(&json!({
        "command": ["sh", "-c", "exit 0", "--password", secret, format!("--token={secret}")],
        "env": {"API_KEY": secret, "PLAIN": secret},
    }));
    let id = text(&run["runId"]);
    api.wait(&id);
    let paths = [
        format!("/v1/runs/{id}"),
        "/v1/runs?all=true".into(),
        "/v1/events?since=0&follow=false".into(),
        format!("/v1/runs/{id}/why"),
        "/metrics".into(),
    ];
    for path in paths {
        let shown = api.get(&path).is(200).text();
        assert!(!shown.contains(secret), "{path}: {shown}");
    }
    for args in [
        &["ps", "--all"][..],
        &["ps", "--all", "--json"],
        &["show", &id],
        &["why", &id],
        &["events"],
        &["events", "--json"],
        &["tree"],
    ] {
        let output = install.tenure(args);
        let shown = format!(
            "{:?}{:?}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
        assert!(output.status.success(), "{args:?}: {shown}");
        assert!(!shown.contains(secret), "{args:?}: {shown}");
    }
    assert_eq!(run["envNames"], json!(["API_KEY", "PLAIN"]));
    for file in walk(install.state()) {
        let bytes = std::fs::read(&file).unwrap_or_default();
        let found = bytes.windows(secret.len()).any(|part| part == secret.as_bytes());
        assert!(!found, "{} holds the secret", file.display());
    }
}

fn walk(dir: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => files.extend(walk(&entry.path())),
            Ok(kind) if kind.is_file() => files.push(entry.path()),
            _ => {}
        }
    }
    files
}
