//! Impossible API requests are refused by name; nothing is started, nothing is lost, and the daemon lives.

use serde_json::{Value, json};
use tenure_it::api::{Api, text};
use tenure_it::eventually;
use tenure_it::install::Install;

fn daemon() -> (Install, Api) {
    let install = Install::new().with_daemon();
    let api = Api::of(&install);
    (install, api)
}

/// Asserts that the daemon is the same, with this number of runs.
#[track_caller]
fn assert_unchanged(api: &Api, pid: &Value, runs: usize) {
    let health = api.get("/v1/health").is(200).json();
    assert_eq!((&health["pid"], &health["status"]), (pid, &json!("ok")));
    let listed = api.get("/v1/runs?all=true").is(200).json();
    assert_eq!(listed["runs"].as_array().map(Vec::len), Some(runs), "{listed}");
}

fn pid(api: &Api) -> Value {
    api.get("/v1/health").is(200).json()["pid"].clone()
}

#[test]
fn invalid_ids_are_not_found_and_touch_nothing() {
    let (install, api) = daemon();
    let pid = pid(&api);
    let id = api.start(&json!({"command": ["sleep", "1000"]}));
    let stone = install.state().join("instance-id");
    for bad in [
        "0000dead",
        "..%2f..%2fx",
        "%2e%2e",
        "%2e%2e%2finstance-id",
        "..",
        ".",
        "%00",
        "%20",
        "x",
        "*",
        "%25",
    ] {
        for (method, tail) in [
            ("GET", ""),
            ("DELETE", ""),
            ("POST", "/cancel"),
            ("POST", "/wait"),
            ("GET", "/output"),
            ("GET", "/screen"),
            ("GET", "/tree"),
            ("GET", "/why"),
            ("POST", "/submit"),
        ] {
            let answer = api.ask(method, &format!("/v1/runs/{bad}{tail}"), &[], b"");
            answer.refused(404, "no-such-run");
        }
    }
    for odd in ["%ff", "%c3%28"] {
        let answer = api.get(&format!("/v1/runs/{odd}"));
        assert!(matches!(answer.head.status, 400 | 404), "{}", answer.text());
        let (status, code) = (answer.head.status, answer.json()["code"].clone());
        answer.refused(status, code.as_str().expect("a code"));
    }
    for path in
        ["/v1/runs/../../instance-id", "/../instance-id", "/v1/runs/", "/v1", "/", "//", "/v1/runs//tree"]
    {
        let answer = api.get(path);
        assert_eq!(answer.head.status, 404, "{path}: {}", answer.text());
        let code = answer.json()["code"].clone();
        answer.refused(404, code.as_str().expect("a code"));
    }
    assert!(stone.exists());
    assert_unchanged(&api, &pid, 1);
    assert_eq!(api.get(&format!("/v1/runs/{id}")).is(200).json()["state"], "running");
}

#[test]
fn an_ambiguous_id_prefix_is_refused() {
    let (_install, api) = daemon();
    let mut ids: Vec<String> = (0..17).map(|_| api.start(&json!({"command": ["true"]}))).collect();
    ids.sort();
    let pair = ids.windows(2).find(|pair| pair[0][..1] == pair[1][..1]).expect("17 ids, 16 digits");
    let why = api.get(&format!("/v1/runs/{}", &pair[0][..1])).refused(409, "ambiguous-id");
    assert!(why.contains("use a longer prefix"), "{why}");
    let why = api.delete(&format!("/v1/runs/{}", &pair[0][..1])).refused(422, "id-too-short");
    assert!(why.contains("give at least 4 characters"), "{why}");
    let _ = api.get(&format!("/v1/runs/{}", pair[0])).is(200);
}

#[test]
fn a_prefix_below_four_characters_ends_and_removes_nothing() {
    let (install, api) = daemon();
    let id = api.start(&json!({"command": ["sleep", "1000"]}));
    for text in [&id[..1], &id[..3]] {
        let refusals = [
            api.delete(&format!("/v1/runs/{text}")),
            api.post(&format!("/v1/runs/{text}/cancel"), &json!({})),
            api.post("/v1/cancel", &json!({"which": {"run": text}})),
            api.post("/v1/reap", &json!({"which": {"run": text}})),
            api.post(&format!("/v1/tasks/{text}/cancel"), &json!({})),
            api.post(&format!("/v1/approvals/{text}/deny"), &json!({})),
        ];
        for refused in refusals {
            let why = refused.refused(422, "id-too-short");
            assert!(why.contains("give at least 4 characters"), "{why}");
        }
        for verb in [&["cancel"][..], &["rm"], &["tasks", "cancel"]] {
            let said = install.tenure(&[verb, &[text]].concat());
            assert_eq!(said.status.code(), Some(1), "{verb:?}");
            assert!(String::from_utf8_lossy(&said.stderr).contains("give at least 4 characters"), "{verb:?}");
        }
        assert_eq!(api.get(&format!("/v1/runs/{text}")).is(200).json()["state"], "running");
    }
    let _ = api.delete(&format!("/v1/runs/{}", &id[..4])).is(204);
}

#[test]
fn impossible_arguments_are_refused_before_a_run_is_recorded() {
    let (install, api) = daemon();
    let nurseries = || -> Vec<_> {
        let dir = std::fs::read_dir(install.state().join("nurseries")).expect("nurseries");
        dir.map(|entry| entry.expect("an entry").file_name()).collect()
    };
    let before = nurseries();
    let long = |bytes: usize| "x".repeat(bytes);
    let many = vec![long(100_000); 80];
    let requests = [
        (json!({"command": ["true", long(23 << 20)]}), "argument 1"),
        (json!({"command": ["true", long(128 << 10)]}), "argument 1"),
        (json!({"command": many}), "the command with its environment"),
        (json!({"ptyCommand": format!("true {}", long(200 << 10))}), "argument 2"),
        (json!({"command": ["true"], "env": {"BIG": long(200 << 10)}}), "the environment variable BIG"),
        (json!({"command": ["true"], "cwd": format!("/{}", long(5000))}), "the working directory"),
    ];
    for (request, words) in requests {
        let why = api.post("/v1/runs", &request).refused(422, "too-long");
        assert!(why.starts_with(words) && why.contains("is too long"), "{why}");
        assert!(why.len() < 200, "{why}");
    }
    let exec = json!({"command": "true", "env": {"BIG": long(200 << 10)}});
    api.post("/v1/exec", &exec).refused(422, "too-long");
    for how in [&["run"][..], &["run", "--bg"]] {
        let place = format!("/{}", long(5000));
        let said = install.tenure(&[how, &["--cwd", &place, "--", "true"]].concat());
        assert_eq!(said.status.code(), Some(126), "{}", String::from_utf8_lossy(&said.stderr));
    }
    assert_eq!(api.get("/v1/runs?all=true").is(200).json()["runs"], json!([]));
    assert_eq!(nurseries(), before, "the nursery was not lost");
}

#[test]
fn records_and_events_keep_a_few_kibibytes_of_a_long_command() {
    let (_install, api) = daemon();
    let id = api.start(&json!({"command": ["sh", "-c", "exit ${#1}", "sh", "y".repeat(100_000), "more"]}));
    api.wait(&id);
    let run = api.get(&format!("/v1/runs/{id}")).is(200).json();
    assert_eq!(run["termination"]["exitCode"], 100_000 % 256, "it got all of it");
    let command = run["command"].as_array().expect("words");
    assert!(text(&command[4]).ends_with("yyy… (100000 bytes)"), "{command:?}");
    assert_eq!(command[5], "… (1 more words)");
    for path in [format!("/v1/runs/{id}"), format!("/v1/events?since=0&follow=false&run={id}")] {
        assert!(api.get(&path).is(200).text().len() < 20_000, "{path}");
    }
}

#[test]
fn invalid_requests_are_refused_and_name_the_field() {
    let (install, api) = daemon();
    let pid = pid(&api);
    let refused = |body: &[u8], words: &str| {
        let why = api.ask("POST", "/v1/runs", &[], body).refused(400, "bad-request");
        assert!(why.contains(words), "{why}");
    };
    refused(b"{\"command\": [\"true\"], \"comand\": 1}", "comand");
    refused(b"{\"command\": \"true\"}", "line 1");
    refused(b"{\"command\": [\"true\"]", "EOF");
    refused(b"[]", "line 1");
    refused(b"null", "null");
    refused(b"\xff\xfe", "line 1");
    refused(b"{\"command\": [\"true\"], \"timeoutMs\": -1}", "-1");
    refused(b"{\"command\": [\"true\"], \"timeoutMs\": 1.5}", "1.5");
    refused(b"{\"command\": [\"true\"], \"timeoutMs\": 18446744073709551616}", "line 1");
    refused(b"{\"command\": [\"true\"], \"timeoutMs\": \"1s\"}", "1s");
    refused(b"{\"command\": [\"true\"], \"onEscape\": \"forgive\"}", "forgive");
    refused(b"{\"command\": [\"true\"], \"stdin\": \"inherit\"}", "inherit");
    refused(b"{\"command\": [\"true\"], \"ptySize\": {\"cols\": 1, \"rows\": 1, \"z\": 1}}", "z");
    refused(b"{\"command\": [\"true\"], \"command\": [\"false\"]}", "command");
    let deep = [b"{\"command\":".to_vec(), b"[".repeat(100_000)].concat();
    refused(&deep, "line 1");
    let id = api.start(&json!({"command": ["sleep", "1000"], "stdin": "open"}));
    for (tail, body, words) in [
        ("cancel", json!({"nwo": true}), "nwo"),
        ("wait", json!({"timeout": 1}), "timeout"),
        ("stdin", json!({"dta": ""}), "dta"),
        ("keys", json!({"key": "x"}), "key"),
        ("paste", json!({"txt": ""}), "txt"),
        ("paste", json!({}), "text"),
        ("cancel", json!({"now": "yes"}), "yes"),
        ("keys", json!({"keys": "Up"}), "Up"),
    ] {
        let why = api.post(&format!("/v1/runs/{id}/{tail}"), &body).refused(400, "bad-request");
        assert!(why.contains(words), "{tail}: {why}");
    }
    for (path, words) in
        [("/v1/cancel", "wich"), ("/v1/reap", "wich"), ("/v1/shutdown", "wich"), ("/v1/backup", "wich")]
    {
        let why = api.post(path, &json!({"wich": {}})).refused(400, "bad-request");
        assert!(why.contains(words), "{path}: {why}");
    }
    assert_unchanged(&api, &pid, 1);
    assert_eq!(install.runs(), [id]);
}

#[test]
fn impossible_runs_are_refused() {
    let (install, api) = daemon();
    let pid = pid(&api);
    for (request, words) in [
        (json!({}), "empty"),
        (json!({"command": []}), "empty"),
        (json!({"command": [""]}), "empty"),
        (json!({"ptyCommand": "  "}), "empty"),
        (json!({"command": ["true"], "ptyCommand": "true"}), "not both"),
        (json!({"command": ["tr\u{0}ue"]}), "NUL"),
        (json!({"command": ["true", "\u{0}"]}), "NUL"),
        (json!({"ptyCommand": "true\u{0}"}), "NUL"),
        (json!({"command": ["true"], "cwd": "/tmp\u{0}"}), "NUL"),
        (json!({"command": ["true"], "cwd": "tmp"}), "absolute"),
        (json!({"command": ["true"], "cwd": ""}), "absolute"),
        (json!({"command": ["true"], "env": {"A": "\u{0}"}}), "NUL"),
        (json!({"command": ["true"], "env": {"A=B": "c"}}), "A=B"),
        (json!({"command": ["true"], "env": {"": "c"}}), "NAME=VALUE"),
        (json!({"command": ["true"], "session": "a\nb"}), "session"),
        (json!({"command": ["true"], "session": ""}), "session"),
        (json!({"command": ["true"], "session": "/etc/passwd"}), "path"),
        (json!({"command": ["true"], "session": "agent:"}), "agent"),
        (json!({"command": ["true"], "scope": "\u{1b}[2J"}), "scope"),
        (json!({"command": ["true"], "scope": "s".repeat(513)}), "scope"),
        (json!({"command": ["true"], "label": "a\u{0}b"}), "label"),
        (json!({"command": ["true"], "label": "l".repeat(100_000)}), "label"),
        (json!({"command": ["true"], "activity": "cpu"}), "no-output"),
        (json!({"command": ["true"], "pty": true, "ptySize": {"cols": 0, "rows": 5}}), "0x5"),
        (json!({"command": ["true"], "pty": true, "stdin": "closed"}), "terminal"),
    ] {
        let why = api.post("/v1/runs", &request).refused(422, "invalid");
        assert!(why.contains(words), "{request}: {why}");
    }
    let backup = |path: &str| api.post("/v1/backup", &json!({"path": path}));
    backup("relative.db").refused(422, "invalid");
    backup("/no/such/place/x.db").refused(422, "invalid");
    backup("/tmp/a\u{0}b").refused(422, "invalid");
    assert_unchanged(&api, &pid, 0);
    assert_eq!(install.runs(), [""; 0], "nothing was started");
    // The longest possible time is longer than any life.
    let id = api.start(&json!({"command": ["true"], "timeoutMs": u64::MAX, "noOutputTimeoutMs": u64::MAX,
        "graceMs": u64::MAX, "orphanGraceMs": u64::MAX}));
    assert_eq!(api.wait(&id)["termination"]["exitCode"], 0);
    let _ = api.post(&format!("/v1/runs/{id}/wait"), &json!({"timeoutMs": u64::MAX})).is(200);
}

#[test]
fn a_wrong_method_and_a_wrong_path_get_different_errors() {
    let (_install, api) = daemon();
    for (method, path) in [
        ("PUT", "/v1/runs"),
        ("DELETE", "/v1/runs"),
        ("POST", "/v1/health"),
        ("GET", "/v1/cancel"),
        ("PATCH", "/v1/runs/0000dead"),
        ("GET", "/v1/runs/0000dead/cancel"),
        ("POST", "/metrics"),
    ] {
        api.ask(method, path, &[], b"").refused(405, "method-not-allowed");
    }
    for path in ["/v2/runs", "/v1/run", "/v1/runs/0000dead/no-such", "/favicon.ico"] {
        api.get(path).refused(404, "no-such-route");
    }
}

#[test]
fn oversized_bodies_and_headers_are_refused() {
    let (_install, api) = daemon();
    let pid = pid(&api);
    let mut wire = api.connect();
    wire.request("POST", "/v1/runs", &[("Content-Length", "99999999999")], b"{}");
    wire.answer().refused(413, "too-large");
    let mut wire = api.connect();
    wire.request("POST", "/v1/runs", &[("Transfer-Encoding", "chunked")], b"");
    let chunk = [b"100000\r\n".to_vec(), vec![b' '; 0x10_0000], b"\r\n".to_vec()].concat();
    // The body is refused while it is sent, so the write may fail.
    let _ = (0..30).try_for_each(|_| wire.send(&chunk)).and_then(|()| wire.send(b"0\r\n\r\n"));
    wire.answer().refused(413, "too-large");
    let long = "x".repeat(1 << 20);
    let answer = api.ask("GET", "/v1/health", &[("X-Long", &long)], b"");
    assert_eq!(answer.head.status, 431);
    let many: Vec<(String, String)> = (0..2000).map(|n| (format!("X-{n}"), "y".to_owned())).collect();
    let many: Vec<(&str, &str)> = many.iter().map(|(name, value)| (&name[..], &value[..])).collect();
    assert_eq!(api.ask("GET", "/v1/health", &many, b"").head.status, 431);
    for raw in [
        "nonsense\r\n\r\n",
        "GET /v1/health HTTP/9.9\r\n\r\n",
        "POST /v1/runs HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
        "POST /v1/runs HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n{}",
        "POST /v1/runs HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        "GET /v1/he\0alth HTTP/1.1\r\nHost: x\r\n\r\n",
    ] {
        let mut wire = api.connect();
        wire.send(raw.as_bytes()).expect("it takes anything");
        wire.hang_up();
        let answer = wire.answer();
        assert_eq!(answer.head.status, 400, "{raw:?}: {}", answer.text());
    }
    assert_unchanged(&api, &pid, 0);
}

#[test]
fn a_truncated_body_starts_nothing() {
    let (install, api) = daemon();
    let pid = pid(&api);
    let mut wire = api.connect();
    wire.request("POST", "/v1/runs", &[("Content-Length", "1000")], b"{\"command\": [\"true\"]}");
    drop(wire);
    let mut wire = api.connect();
    wire.request("POST", "/v1/runs", &[("Content-Length", "1000")], b"{\"command\": [\"true\"]}");
    wire.hang_up();
    assert!(wire.is_closed());
    // Two in a row on one connection are two requests.
    let mut wire = api.connect();
    wire.request("GET", "/v1/health", &[], b"");
    wire.request("GET", "/v1/runs", &[], b"");
    assert_eq!((wire.answer().head.status, wire.answer().head.status), (200, 200));
    assert_unchanged(&api, &pid, 0);
    assert_eq!(install.runs(), [""; 0]);
}

#[test]
fn a_stalled_client_delays_no_other() {
    let (_install, api) = daemon();
    let id = api.start(&json!({"command": ["sh", "-c", "yes | head -c 30000000; exec sleep 1000"]}));
    let halves: Vec<_> = (0..50)
        .map(|n| {
            let mut wire = api.connect();
            let request =
                "POST /v1/runs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 50\r\n\r\n{\"command\"";
            wire.send(&request.as_bytes()[..20 + n]).expect("sent");
            wire
        })
        .collect();
    let deaf: Vec<_> = (0..50)
        .map(|_| {
            let mut wire = api.connect();
            wire.request("GET", &format!("/v1/runs/{id}/output?follow=true"), &[], b"");
            wire
        })
        .collect();
    for _ in 0..20 {
        let _ = api.get("/v1/health").is(200);
        let one = api.start(&json!({"command": ["true"]}));
        api.wait(&one);
    }
    drop((halves, deaf));
}

#[test]
fn a_thousand_followers_get_every_byte() {
    let (_install, api) = daemon();
    let id = api.start(&json!({"command": ["sh", "-c", "read go; seq 1 5000; read go; seq 5001 10000"],
        "stdin": "open"}));
    let path = format!("/v1/runs/{id}/output?follow=true");
    let followers: Vec<_> = (0..1000).map(|_| api.follow(&path, &[])).collect();
    let stdin = format!("/v1/runs/{id}/stdin");
    let _ = api.post(&stdin, &json!({"data": "go\n"})).is(204);
    let _ = api.post(&stdin, &json!({"data": "go\n"})).is(204);
    api.wait(&id);
    let whole: String = (1..=10000).map(|n| format!("{n}\n")).collect();
    for follower in followers {
        assert!(follower.rest() == whole.as_bytes());
    }
    eventually("no client is connected", || {
        (api.get("/v1/health").is(200).json()["liveRuns"] == 0).then_some(())
    });
}
