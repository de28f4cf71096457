//! The event stream: numbered, resumable after a daemon crash, for one run or all, at the reader's own pace.

use rustix::process::Signal;
use serde_json::{Value, json};
use tenure_it::api::{Api, Body};
use tenure_it::held_process::HeldProcess;
use tenure_it::install::Install;
use tenure_it::{WAIT_LIMIT, eventually};

fn daemon() -> (Install, Api) {
    let install = Install::new().with_daemon();
    let api = Api::of(&install);
    (install, api)
}

/// The recorded events of a stream's text; each has its number as the SSE id and its kind as the SSE event.
#[track_caller]
fn read(text: &str) -> Vec<Value> {
    let mut events = Vec::new();
    let recorded = |block: &&str| block.contains("data:") && !block.contains("event: run-output");
    for block in text.split("\n\n").filter(recorded) {
        let field =
            |name: &str| block.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default().trim();
        let event: Value = serde_json::from_str(field("data:")).expect("JSON");
        assert_eq!(field("id:"), event["seq"].to_string(), "{block}");
        assert_eq!(field("event:"), event["kind"].as_str().expect("a kind"), "{block}");
        for name in ["seq", "atMs", "kind", "runId", "sessionId", "instanceId", "detail"] {
            assert!(event.get(name).is_some(), "{name}: {event}");
        }
        events.push(event);
    }
    let numbers: Vec<_> = events.iter().map(|event| event["seq"].as_u64().expect("a number")).collect();
    assert!(numbers.is_sorted_by(|a, b| a < b), "{numbers:?}");
    events
}

#[track_caller]
fn past(api: &Api, query: &str) -> Vec<Value> {
    let answer = api.get(&format!("/v1/events?follow=false&{query}")).is(200);
    assert_eq!(answer.head.header("content-type"), Some("text/event-stream"));
    read(&answer.text())
}

fn kinds(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["kind"].as_str().expect("a kind")).collect()
}

#[test]
fn the_events_of_a_run_come_in_order() {
    let (_install, api) = daemon();
    let mut live = api.follow("/v1/events", &[]);
    let other = api.start(&json!({"command": ["sleep", "1000"]}));
    let id = api.start(&json!({"command": ["true"], "session": "agent:a:main"}));
    api.wait(&id);
    let events = past(&api, &format!("since=0&run={}", &id[..10]));
    assert_eq!(
        kinds(&events),
        [
            "run-created",
            "task-created",
            "run-started",
            "task-started",
            "run-leaving",
            "run-ended",
            "task-ended"
        ]
    );
    assert!(events.iter().all(|event| event["runId"] == *id && event["sessionId"] == "agent:a:main"));
    let all = past(&api, "since=0");
    assert!(all.len() > events.len() && all.iter().any(|event| event["runId"] == *other));
    let from = events[1]["seq"].as_u64().expect("a number");
    assert_eq!(past(&api, &format!("since={from}&run={id}"))[..], events[2..]);
    assert_eq!(past(&api, "since=999999999"), [Value::Null; 0]);
    assert_eq!(past(&api, ""), [Value::Null; 0], "without a start it is the new events");
    let seen = String::from_utf8_lossy(&live.wait_for("run-ended")).into_owned();
    assert!(seen.contains(&other) && seen.contains(&id));
    for (query, header) in
        [("since=x", None), ("since=-1", None), ("run=", None), ("", Some("x")), ("form=1", None)]
    {
        let headers: Vec<_> = header.iter().map(|value| ("Last-Event-ID", *value)).collect();
        let answer = api.ask("GET", &format!("/v1/events?{query}"), &headers, b"");
        assert!(matches!(answer.head.status, 400 | 404), "{query}");
    }
    let _ = api.delete(&format!("/v1/runs/{id}")).is(204);
    let left = past(&api, "since=0");
    assert_eq!(left.last().expect("an event")["kind"], "run-removed", "{left:?}");
}

/// Reads a stream until the daemon is gone; returns all complete events.
fn read_to_death(mut body: Body) -> Vec<Value> {
    let mut text = String::new();
    let reader = std::panic::AssertUnwindSafe(|| {
        while let Some(piece) = body.next_piece() {
            text.push_str(&String::from_utf8_lossy(&piece));
        }
    });
    // The connection breaks in the middle of a chunked body.
    let _ = std::panic::catch_unwind(reader);
    read(&text)
}

#[test]
fn a_stream_resumes_after_a_daemon_crash_without_loss_or_repetition() {
    let (install, api) = daemon();
    let stream = api.follow("/v1/events?since=0", &[]);
    let first = api.start(&json!({"command": ["sh", "-c", "read line"], "stdin": "open"}));
    for _ in 0..20 {
        let id = api.start(&json!({"command": ["true"]}));
        api.wait(&id);
    }
    let pid = api.get("/v1/health").is(200).json()["pid"].as_i64().expect("a pid");
    let victim = HeldProcess::hold(i32::try_from(pid).expect("a pid")).expect("it lives");
    victim.send(Signal::KILL);
    victim.wait_dead(WAIT_LIMIT);
    let before = read_to_death(stream);
    assert!(before.len() > 40, "{}", before.len());
    // The next daemon starts by itself, or on first use.
    let _ = Api::of(&install);
    let next = eventually("the next daemon", || api.try_connect().ok().map(|_| ()).map(|()| pid));
    assert_eq!(next, pid);
    let _ = api.post(&format!("/v1/runs/{first}/stdin"), &json!({"data": "go\n"})).is(204);
    assert_eq!(api.wait(&first)["termination"]["exitCode"], 0, "the run outlived the daemon");
    let last = before.last().expect("an event")["seq"].to_string();
    let mut resumed = api.follow("/v1/events?since=0", &[("Last-Event-ID", &last)]);
    let end = format!(r#""kind":"run-ended","runId":"{first}""#);
    let after = read(&String::from_utf8_lossy(&resumed.wait_for(&end)));
    drop(resumed);
    let both: Vec<u64> = before.iter().chain(&after).map(|event| event["seq"].as_u64().expect("n")).collect();
    let all: Vec<u64> = past(&api, "since=0").iter().map(|event| event["seq"].as_u64().expect("n")).collect();
    assert_eq!(both, all[..both.len()], "each once, none missing");
    assert!(after.iter().any(|event| event["kind"] == "daemon-started"), "{after:?}");
}

#[test]
fn a_slow_reader_misses_nothing() {
    let (_install, api) = daemon();
    let slow = api.follow("/v1/events?since=0", &[]);
    for _ in 0..120 {
        let id = api.start(&json!({"command": ["true"], "label": "x".repeat(500)}));
        api.wait(&id);
    }
    let all = past(&api, "since=0");
    let newest = format!("id: {}\n", all.last().expect("an event")["seq"]);
    let mut slow = slow;
    let seen = read(&String::from_utf8_lossy(&slow.wait_for(&newest)));
    assert_eq!(seen, all);
}

/// The heartbeats of one run in a stream's text, which have neither an id nor a number.
fn heartbeats(text: &str, run: &str) -> Vec<Value> {
    let is_one = |block: &&str| block.contains("event: run-output") && block.contains(run);
    let read = |block: &str| -> Value {
        assert!(!block.lines().any(|line| line.starts_with("id:")), "no position to resume from: {block}");
        let data = block.lines().find_map(|line| line.strip_prefix("data:")).expect("data");
        serde_json::from_str(data).expect("JSON")
    };
    text.split("\n\n").filter(is_one).map(read).collect()
}

#[test]
fn output_growth_is_sent_at_most_once_a_second_and_only_to_followers() {
    let (install, api) = daemon();
    let early = api.start(&json!({"command": ["sh", "-c", "echo old; exec sleep 600"]}));
    install.wait_for_output(&early, "old");
    let mut live = api.follow("/v1/events", &[]);
    let script = "for i in $(seq 60); do echo line $i; sleep 0.05; done";
    let id = api.start(&json!({"command": ["sh", "-c", script], "session": "agent:a:main"}));
    let end = format!(r#""kind":"run-ended","runId":"{id}""#);
    let text = String::from_utf8_lossy(&live.wait_for(&end)).into_owned();
    let beats = heartbeats(&text, &id);
    assert!(beats.len() >= 2, "it wrote for three seconds: {beats:?}");
    for pair in beats.windows(2) {
        let [at, bytes] =
            [|event: &Value| event["atMs"].as_u64(), |event: &Value| event["detail"]["bytes"].as_u64()];
        assert!(at(&pair[1]).expect("a time") >= at(&pair[0]).expect("a time") + 990, "{pair:?}");
        assert!(bytes(&pair[1]) > bytes(&pair[0]), "{pair:?}");
    }
    assert_eq!((&beats[0]["seq"], &beats[0]["sessionId"]), (&Value::Null, &"agent:a:main".into()));
    let place = |words: &str| text.find(words).unwrap_or_else(|| panic!("no {words:?}: {text}"));
    let started = place(&format!(r#""kind":"run-started","runId":"{id}""#));
    let first = place(&format!(r#""kind":"run-output","runId":"{id}""#));
    assert!(started < first && first < place(&end));
    assert_eq!(heartbeats(&text, &early), [Value::Null; 0], "earlier output is not reported");
    let kept = past(&api, "since=0");
    assert!(!kinds(&kept).contains(&"run-output"), "none has a row");
    // By the command line, and by a follower of one run.
    let mut one = api.follow(&format!("/v1/events?run={early}"), &[]);
    let cli = install.start(&["events", "-f", "--json"]);
    let late =
        api.start(&json!({"command": ["sh", "-c", "while read x; do echo now; done"], "stdin": "open"}));
    eventually("a heartbeat", || {
        let _ = api.post(&format!("/v1/runs/{late}/stdin"), &json!({"data": "\n"}));
        cli.out().contains("run-output").then_some(())
    });
    let _ = api.post(&format!("/v1/runs/{early}/cancel"), &json!({"now": true})).is(202);
    let text = String::from_utf8_lossy(&one.wait_for("run-ended")).into_owned();
    assert!(!text.contains("run-output"), "of another run: {text}");
}

#[test]
fn each_signal_event_comes_with_its_proof_during_the_stop() {
    let (install, api) = daemon();
    let run = api.run(&json!({"command": [install.actor(), "ignore-term", "sleep"], "graceMs": 600_000}));
    let id = run["runId"].as_str().expect("an id");
    install.wait_for_output(id, "ready");
    assert_eq!(install.show(id).get("exitingCause"), None);
    let _ = api.post(&format!("/v1/runs/{id}/cancel"), &json!({})).is(202);
    // Long before the grace is over.
    eventually("a signal event", || {
        kinds(&past(&api, &format!("since=0&run={id}"))).contains(&"run-signalled").then_some(())
    });
    assert_eq!(install.show(id)["exitingCause"], "manual-cancel");
    let listed = api.get("/v1/runs").is(200).json();
    assert_eq!(listed["runs"][0]["exitingCause"], "manual-cancel", "{listed}");
    let _ = api.post(&format!("/v1/runs/{id}/cancel"), &json!({"now": true})).is(202);
    let ended = api.wait(id);
    assert_eq!(ended.get("exitingCause"), None, "{ended}");
    let events = past(&api, &format!("since=0&run={id}"));
    let signals: Vec<&Value> = events
        .iter()
        .filter(|event| event["kind"] == "run-signalled")
        .map(|event| &event["detail"])
        .collect();
    let group = json!({"kind": "group", "pgid": run["pid"]});
    let sent = |name: &str| {
        let to_group = signals.iter().filter(|one| one["signalName"] == name && one["target"] == group);
        to_group.inspect(|one| assert_eq!(one["proof"], "unreaped-root", "{one}")).count()
    };
    assert_eq!((sent("SIGTERM"), sent("SIGKILL")), (1, 1), "each is reported once: {signals:?}");
    assert!(signals.iter().all(|one| one["proof"].is_string()), "{signals:?}");
    assert_eq!(kinds(&events).last(), Some(&"task-ended"), "no event follows the end");
}

#[test]
fn processes_that_outlive_the_command_are_reported_by_pid_and_executable() {
    let (install, api) = daemon();
    let actor = install.actor();
    for (how, which) in
        [(&["leave", "sleep"][..], "leftover"), (&["leave", "setsid", "sleep"][..], "escapee")]
    {
        let command: Vec<&str> = [actor.as_str()].into_iter().chain(how.iter().copied()).collect();
        let id = api.start(&json!({"command": command}));
        let ending = api.wait(&id)["termination"].clone();
        let list = if which == "leftover" { "leftoverProcesses" } else { "escapees" };
        let events = past(&api, &format!("since=0&run={id}"));
        let told: Vec<&Value> = events
            .iter()
            .filter(|event| event["kind"] == "run-escaped" && event["detail"]["which"] == which)
            .collect();
        let [event] = &told[..] else { panic!("{which}: {told:?}") };
        let detail = &event["detail"];
        assert_eq!((&detail["which"], &detail["exe"]), (&which.into(), &actor.as_str().into()), "{event}");
        assert_eq!(
            (&detail["pid"], &detail["exe"]),
            (&ending[list][0]["pid"], &ending[list][0]["exe"]),
            "{ending}"
        );
        let story = api.get(&format!("/v1/runs/{id}/why")).is(200).text();
        let pid = format!("({})", detail["pid"]);
        let how = if which == "leftover" { "outlived the command" } else { "left the session" };
        assert!(story.contains(&format!("{how}: {actor} {pid}")), "{story}");
        assert!(!story.contains("run-escaped"), "the story comes from the keeper's journal: {story}");
    }
}
