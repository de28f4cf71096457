//! `why` tells a run's story in order, and the metrics count each thing once.

use serde_json::{Value, json};
use std::collections::BTreeMap;
use tenure_it::api::Api;
use tenure_it::install::Install;

fn daemon(install: Install) -> (Install, Api) {
    let install = install.with_daemon();
    let api = Api::of(&install);
    (install, api)
}

fn story(api: &Api, id: &str) -> Vec<(String, String, String)> {
    let lines = api.get(&format!("/v1/runs/{id}/why")).is(200).json();
    let lines = lines.as_array().expect("lines");
    assert!(lines.is_sorted_by_key(|line| line["atMs"].as_u64()), "{lines:?}");
    let of =
        |line: &Value, name: &str| line[name].as_str().unwrap_or_else(|| panic!("{name}: {line}")).to_owned();
    lines.iter().map(|line| (of(line, "source"), of(line, "what"), of(line, "text"))).collect()
}

#[track_caller]
fn place(story: &[(String, String, String)], what: &str, words: &str) -> usize {
    let is = |(_, its, text): &(String, String, String)| its == what && text.contains(words);
    story.iter().position(is).unwrap_or_else(|| panic!("no {what} with {words:?}: {story:#?}"))
}

#[test]
fn a_story_covers_everything_from_request_to_end() {
    for install in [Install::new(), Install::new().without_cgroup()] {
        let (install, api) = daemon(install);
        let run =
            api.run(&json!({"command": [install.actor(), "child", "ignore-term", "sleep"], "graceMs": 200}));
        let id = run["runId"].as_str().expect("an id");
        install.wait_for_output(id, "ready child");
        let _ = api.post(&format!("/v1/runs/{id}/cancel"), &json!({})).is(202);
        api.wait(id);
        let told = story(&api, id);
        let pid = run["pid"].to_string();
        let lease = run["leaseId"].as_str().expect("a lease");
        let start_time = run["identity"]["startTime"].to_string();
        let steps = [
            place(&told, "run-created", "asked by: uid"),
            place(&told, "started", &pid),
            place(&told, "first-output", ""),
            place(&told, "cancel-asked", "uid"),
            place(&told, "exiting", "manual-cancel"),
            place(&told, "signalled", "SIGTERM"),
            place(&told, "signalled", "SIGKILL"),
            place(&told, "run-ended", "manual-cancel"),
        ];
        assert!(steps[0] == 0 && steps[7] == told.len() - 1, "{told:#?}");
        assert!(steps.is_sorted(), "{steps:?} {told:#?}");
        place(&told, "run-created", lease);
        place(&told, "run-started", &start_time);
        for (_, what, text) in told.iter().filter(|(_, what, _)| what == "signalled") {
            assert!(text.contains("because"), "{what} without a proof: {text}");
        }
    }
}

#[test]
fn a_story_names_leftovers_and_escapes() {
    let (install, api) = daemon(Install::new());
    let id = api.start(&json!({"command": [install.actor(), "leave", "sleep"]}));
    api.wait(&id);
    place(&story(&api, &id), "leftovers", "1 process of its session");
    let id = api.start(&json!({"command": [install.actor(), "leave", "setsid", "sleep"]}));
    assert_eq!(api.wait(&id)["termination"]["reason"], "ownership-escape");
    let told = story(&api, &id);
    let (seen, ended) = (place(&told, "escapees", "actor"), place(&told, "run-ended", "ownership-escape"));
    assert!(seen < ended);
}

#[test]
fn a_story_survives_its_daemon_and_a_run_that_never_started_has_one() {
    let (install, api) = daemon(Install::new());
    let id = api.start(&json!({"command": ["/no/such/program"]}));
    api.wait(&id);
    let told = story(&api, &id);
    place(&told, "run-ended", "spawn-error");
    assert!(install.tenure(&["daemon", "stop"]).status.success());
    let api = Api::of(&install);
    assert_eq!(story(&api, &id), told);
}

/// The samples by name and labels, and the families with their kinds.
fn samples(api: &Api) -> (BTreeMap<String, f64>, BTreeMap<String, String>) {
    let answer = api.get("/metrics").is(200);
    assert!(
        answer
            .head
            .header("content-type")
            .is_some_and(|kind| kind.starts_with("application/openmetrics-text"))
    );
    let text = answer.text();
    assert!(text.ends_with("# EOF\n"));
    let (mut values, mut kinds) = (BTreeMap::new(), BTreeMap::new());
    for line in text.lines() {
        if let Some((family, kind)) = line.strip_prefix("# TYPE ").and_then(|rest| rest.split_once(' ')) {
            assert!(kinds.insert(family.to_owned(), kind.to_owned()).is_none(), "{family} occurs twice");
        } else if let Some((name, value)) = line.rsplit_once(' ').filter(|_| !line.starts_with('#')) {
            let value = value.parse().unwrap_or_else(|_| panic!("{line}"));
            assert!(values.insert(name.to_owned(), value).is_none(), "{name} occurs twice");
        }
    }
    (values, kinds)
}

#[test]
fn each_event_is_counted_once_across_daemons() {
    let (install, api) = daemon(Install::new().without_cgroup());
    let before = samples(&api).0;
    assert!(before.iter().all(|(name, &value)| !name.contains("_total") || value == 0.0), "{before:?}");
    let actor = install.actor();
    for request in [
        json!({"command": ["true"]}),
        json!({"command": [actor, "die", "9"]}),
        json!({"command": ["sleep", "1000"], "timeoutMs": 300}),
        json!({"command": ["sleep", "1000"], "noOutputTimeoutMs": 200}),
        json!({"command": ["/no/such/program"]}),
        json!({"command": [actor, "leave", "setsid", "ignore-term", "sleep"], "graceMs": 100}),
    ] {
        let id = api.start(&request);
        api.wait(&id);
    }
    let live = api.start(&json!({"command": ["sleep", "1000"]}));
    let expected = [
        ("tenure_run_spawn_total", 6.0),
        ("tenure_run_exit_total{reason=\"exit\"}", 1.0),
        ("tenure_run_exit_total{reason=\"signal\"}", 1.0),
        ("tenure_run_exit_total{reason=\"overall-timeout\"}", 1.0),
        ("tenure_run_exit_total{reason=\"no-output-timeout\"}", 1.0),
        ("tenure_run_exit_total{reason=\"spawn-error\"}", 1.0),
        ("tenure_run_exit_total{reason=\"ownership-escape\"}", 1.0),
        ("tenure_run_exit_total{reason=\"manual-cancel\"}", 0.0),
        ("tenure_run_exit_total{reason=\"owner-lost\"}", 0.0),
        ("tenure_run_exit_total{reason=\"reconciled-stale\"}", 0.0),
        ("tenure_run_timeout_total{type=\"overall\"}", 1.0),
        ("tenure_run_timeout_total{type=\"no_output\"}", 1.0),
        ("tenure_run_ownership_escape_total", 1.0),
        ("tenure_run_reconcile_orphans_total", 0.0),
        ("tenure_run_lease_steal_total", 0.0),
        ("tenure_runs_live", 1.0),
    ];
    let check = |(now, kinds): (BTreeMap<String, f64>, BTreeMap<String, String>)| {
        for (name, value) in expected {
            assert_eq!(now.get(name), Some(&value), "{name}: {now:#?}");
        }
        let killed = |mode: &str| now[&format!("tenure_run_cleanup_kill_total{{mode=\"{mode}\"}}")];
        assert!(killed("pid") + killed("pgid") >= 1.0 && killed("cgroup") + killed("job") == 0.0, "{now:#?}");
        for family in ["tenure_run_start_seconds", "tenure_run_stop_seconds"] {
            assert_eq!(kinds.get(family).map(String::as_str), Some("histogram"));
        }
        let runs: Vec<_> = kinds.keys().filter(|name| !name.starts_with("tenure_")).collect();
        assert!(runs.is_empty(), "{runs:?}");
    };
    let now = samples(&api);
    assert_eq!(now.0.get("tenure_run_start_seconds_count"), Some(&7.0));
    check(now);
    assert!(install.tenure(&["daemon", "stop"]).status.success());
    let api = Api::of(&install);
    check(samples(&api));
    assert_eq!(api.get(&format!("/v1/runs/{live}")).is(200).json()["state"], "running");
}
