//! Input of runs through the API, their output, and their screens.

use serde_json::json;
use tenure_it::api::Api;
use tenure_it::eventually;
use tenure_it::install::Install;

fn daemon() -> (Install, Api) {
    let install = Install::new().with_daemon();
    let api = Api::of(&install);
    (install, api)
}

#[test]
fn repeated_input_is_taken_once_and_a_gap_is_refused() {
    let (_install, api) = daemon();
    let id = api.start(&json!({"command": ["cat"], "stdin": "open"}));
    let stdin = format!("/v1/runs/{id}/stdin");
    let _ = api.post(&stdin, &json!({"data": "hello ", "offset": 0})).is(204);
    let _ = api.post(&stdin, &json!({"data": "hello ", "offset": 0})).is(204);
    let _ = api.post(&stdin, &json!({"data": "lo world", "offset": 3})).is(204);
    let gap = api.post(&stdin, &json!({"data": "late", "offset": 100})).refused(409, "wrong-state");
    assert!(gap.contains("11"), "it names the next offset: {gap}");
    api.post(&stdin, &json!({"data": "x", "offset": u64::MAX})).refused(409, "wrong-state");
    // "/w==" is the byte 0xff.
    let _ = api.post(&stdin, &json!({"dataBase64": "AAH/"})).is(204);
    api.post(&stdin, &json!({"dataBase64": "not base64"})).refused(422, "invalid");
    api.post(&stdin, &json!({"data": "x", "dataBase64": "eA=="})).refused(422, "invalid");
    api.post(&stdin, &json!({})).refused(422, "invalid");
    let _ = api.post(&stdin, &json!({"data": "!", "eof": true})).is(204);
    let run = api.wait(&id);
    assert_eq!(run["termination"]["exitCode"], 0);
    let output = api.get(&format!("/v1/runs/{id}/output")).is(200);
    assert_eq!(output.body, b"hello world\x00\x01\xff!");
    assert_eq!(output.head.header("content-type"), Some("application/octet-stream"));
    assert_eq!(output.head.header("tenure-offset"), Some("0"));
    api.post(&stdin, &json!({"data": "x"})).refused(409, "wrong-state");
}

#[test]
fn more_input_than_any_pipe_holds_arrives_whole() {
    let (_install, api) = daemon();
    let id = api.start(&json!({"command": ["sha256sum"], "stdin": "open"}));
    let data = "0123456789abcdef".repeat(128 << 10);
    let _ = api.post(&format!("/v1/runs/{id}/stdin"), &json!({"data": data, "eof": true})).is(204);
    api.wait(&id);
    let check = api.start(&json!({"command": ["sh", "-c",
        "i=0; while [ $i -lt 2048 ]; do printf '%s' \"$B\"; i=$((i+1)); done | sha256sum"],
        "env": {"B": "0123456789abcdef".repeat(64)}}));
    api.wait(&check);
    let of = |id: &str| api.get(&format!("/v1/runs/{id}/output")).is(200).text();
    assert_eq!(of(&id), of(&check));
}

#[test]
fn input_to_a_run_without_stdin_is_refused() {
    let (_install, api) = daemon();
    let id = api.start(&json!({"command": ["sleep", "1000"]}));
    for (what, body) in [
        ("stdin", json!({"data": "x"})),
        ("keys", json!({"keys": ["Enter"]})),
        ("paste", json!({"text": "x"})),
        ("submit", json!({})),
        ("resize", json!({"cols": 10, "rows": 10})),
    ] {
        api.post(&format!("/v1/runs/{id}/{what}"), &body).refused(409, "wrong-state");
    }
    api.get(&format!("/v1/runs/{id}/screen")).refused(409, "wrong-state");
}

#[test]
fn a_terminal_takes_keys_pastes_and_sizes_and_shows_its_screen() {
    let (_install, api) = daemon();
    let id = api.start(&json!({"command": ["cat", "-v"], "pty": true}));
    let to = |what: &str, body| api.post(&format!("/v1/runs/{id}/{what}"), &body);
    let screen = || api.get(&format!("/v1/runs/{id}/screen")).is(200).json().to_string();
    let shows = |text: &str| {
        eventually(&format!("{text:?} on the screen"), || screen().contains(text).then_some(()));
    };
    let _ = to("keys", json!({"literal": "typed", "keys": []})).is(204);
    let _ = to("submit", json!({})).is(204);
    // The echo, and the line that cat printed.
    shows(r#""typed","typed""#);
    let _ = to("keys", json!({"keys": ["Up"], "hex": ["7a", "0d"]})).is(204);
    shows("^[[Az");
    let _ = to("paste", json!({"text": "pasted", "bracketed": true})).is(204);
    let _ = to("submit", json!({})).is(204);
    shows("^[[200~pasted^[[201~");
    for bad in [json!({"keys": ["NoSuchKey"]}), json!({"hex": ["zz"]}), json!({})] {
        to("keys", bad).refused(422, "invalid");
    }
    let _ = to("resize", json!({"cols": 66, "rows": 11})).is(204);
    eventually("the new size", || screen().contains("66").then_some(()));
    to("resize", json!({"cols": 0, "rows": 11})).refused(422, "invalid");
    to("resize", json!({"cols": 70000, "rows": 11})).refused(400, "bad-request");
    to("resize", json!({"cols": 10, "rows": 10, "depth": 3})).refused(400, "bad-request");
    let _ = to("keys", json!({"keys": ["C-c"]})).is(204);
    assert_eq!(api.wait(&id)["termination"]["signal"], json!(2));
    assert!(screen().contains("pasted"), "its last screen stays");
}

#[test]
fn output_is_read_from_any_offset() {
    let (_install, api) = daemon();
    let script = "printf 'one\\ntwo\\n'; printf 'err\\n' >&2; printf '\\033[31mred\\033[0m\\n'";
    let id = api.start(&json!({"command": ["sh", "-c", script]}));
    api.wait(&id);
    let whole = api.get(&format!("/v1/runs/{id}/output")).is(200).body;
    let at = |query: &str| api.get(&format!("/v1/runs/{id}/output?{query}")).is(200);
    assert_eq!(at("offset=4&limit=3").body, whole[4..7]);
    assert_eq!(at("offset=4").head.header("tenure-offset"), Some("4"));
    assert_eq!(at("stream=stderr").body, b"err\n");
    assert_eq!(at("stream=stdout&limit=5").body, b"one\nt");
    assert_eq!(at("stream=stdout&tail=1&text=true").body, b"red\n");
    assert_eq!(at("text=true").head.header("content-type"), Some("text/plain; charset=utf-8"));
    assert_eq!(at("limit=0").body, b"");
    assert_eq!(at(&format!("offset={}", whole.len())).body, b"");
    assert_eq!(at("offset=99999&follow=true").body, b"");
    assert_eq!(at("offset=18446744073709551615").body, b"");
    assert_eq!(at("follow=true").body, whole, "an ended run is followed to its end");
    for bad in ["stream=stdin", "offset=1&tail=1", "offset=-1", "limit=1e3", "tail=x", "follow=yes", "of=1"] {
        api.get(&format!("/v1/runs/{id}/output?{bad}")).refused(400, "bad-request");
    }
}

#[test]
fn output_is_followed_until_the_run_has_ended() {
    let (_install, api) = daemon();
    let id = api.start(&json!({"command": ["cat"], "stdin": "open"}));
    let mut follower = api.follow(&format!("/v1/runs/{id}/output?follow=true"), &[]);
    let stdin = format!("/v1/runs/{id}/stdin");
    for word in ["first", "second", "third"] {
        let _ = api.post(&stdin, &json!({"data": word})).is(204);
        follower.wait_for(word);
    }
    let _ = api.post(&stdin, &json!({"data": "last", "eof": true})).is(204);
    assert_eq!(follower.rest(), b"last");
    let limited = api.get(&format!("/v1/runs/{id}/output?follow=true&limit=7")).is(200);
    assert_eq!(limited.body, b"firstse");
}

#[test]
fn the_tree_shows_every_process() {
    let (install, api) = daemon();
    let id = api.start(&json!({"command": [install.actor(), "tree"]}));
    install.wait_for_output(&id, "ready tree");
    let tree = api.get(&format!("/v1/runs/{id}/tree")).is(200).json();
    let tree = tree.as_array().expect("processes");
    assert!(tree.len() > 1, "{tree:?}");
    for process in tree {
        for name in
            ["pid", "ppid", "pgid", "sid", "exe", "command", "startedAtMs", "cpuMs", "rssBytes", "via"]
        {
            assert!(process.get(name).is_some(), "{name}: {process}");
        }
    }
    let _ = api.post(&format!("/v1/runs/{id}/cancel"), &json!({"now": true})).is(202);
    api.wait(&id);
    assert_eq!(api.get(&format!("/v1/runs/{id}/tree")).is(200).json(), json!([]));
}
