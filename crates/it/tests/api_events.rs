//! The event stream: numbered, resumable over a daemon's death, for one run or all, at the reader's own pace.

use rustix::process::Signal;
use serde_json::{Value, json};
use tenure_it::api::{Api, Body};
use tenure_it::install::Install;
use tenure_it::known::Known;
use tenure_it::{PATIENCE, eventually};

fn daemon() -> (Install, Api) {
    let install = Install::new().with_daemon();
    let api = Api::of(&install);
    (install, api)
}

/// The events of a stream's text; each has its number as the SSE id and its kind as the SSE event.
#[track_caller]
fn read(text: &str) -> Vec<Value> {
    let mut events = Vec::new();
    for block in text.split("\n\n").filter(|block| block.contains("data:")) {
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
fn a_runs_events_tell_its_life_in_order() {
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
    assert_eq!(past(&api, ""), [Value::Null; 0], "without a beginning it is what comes");
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

/// Reads a stream until the daemon is gone; returns what came whole.
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
fn a_stream_is_resumed_after_the_daemons_death_without_loss_or_doubling() {
    let (install, api) = daemon();
    let stream = api.follow("/v1/events?since=0", &[]);
    let first = api.start(&json!({"command": ["sh", "-c", "read line"], "stdin": "open"}));
    for _ in 0..20 {
        let id = api.start(&json!({"command": ["true"]}));
        api.wait(&id);
    }
    let pid = api.get("/v1/health").is(200).json()["pid"].as_i64().expect("a pid");
    let victim = Known::hold(i32::try_from(pid).expect("a pid")).expect("it lives");
    victim.send(Signal::KILL);
    victim.wait_dead(PATIENCE);
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
fn a_reader_that_is_slow_misses_nothing() {
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
