//! Impossible requests of the agent are refused with a stable code and a sentence with a remedy; nothing is started,
//! nothing hangs, and the daemon keeps serving.

use serde_json::{Value, json};
use std::time::{Duration, Instant};
use tenure_it::agent::Agent;
use tenure_it::api::text;
use tenure_it::unchanged_daemon::UnchangedDaemon;

#[test]
fn an_unknown_action_or_field_is_named_with_the_valid_ones() {
    let (install, agent) = Agent::new();
    let unchanged = UnchangedDaemon::new(&agent, 0);
    let refused = |request: Value, words: &[&str]| {
        let why = agent.ask_process(&request).refused(400, "bad-request");
        assert!(words.iter().all(|word| why.contains(word)), "{why}");
    };
    let actions = ["`list`", "`poll`", "`log`", "`write`", "`send-keys`", "`submit`", "`paste`", "`screen`"];
    refused(json!({"action": "pause"}), &actions);
    refused(json!({"action": "Poll"}), &["Poll", "`resize`", "`kill`", "`clear`", "`remove`"]);
    refused(json!({"action": ""}), &["action", "`list`"]);
    refused(json!({"action": 7}), &["action"]);
    refused(json!({}), &["action"]);
    refused(json!({"action": "poll", "sessionId": "x"}), &["sessionId", "`runId`"]);
    refused(json!({"action": "poll", "run_id": "x"}), &["run_id", "`runId`"]);
    let why = agent.ask_exec(&json!({"comand": "true"})).refused(400, "bad-request");
    assert!(why.contains("comand") && why.contains("`command`"), "{why}");
    // A field of another action is an error too.
    for (request, words) in [
        (json!({"action": "poll", "runId": "x", "data": "y"}), ["data", "write"]),
        (json!({"action": "write", "runId": "x", "keys": ["C-c"]}), ["keys", "send-keys"]),
        (json!({"action": "write", "runId": "x", "text": ""}), ["text", "paste"]),
        (json!({"action": "list", "timeoutMs": 1}), ["timeoutMs", "poll"]),
        (json!({"action": "screen", "runId": "x", "cols": 1}), ["cols", "resize"]),
        (json!({"action": "kill", "runId": "x", "offset": 1}), ["offset", "log"]),
    ] {
        let why = agent.ask_process(&request).refused(422, "invalid");
        assert!(words.iter().all(|word| why.contains(word)), "{why}");
    }
    unchanged.check(&install);
}

#[test]
fn an_invalid_id_matches_no_run() {
    let (install, agent) = Agent::new();
    let run = agent.on_pipes("sleep 1000");
    let unchanged = UnchangedDaemon::new(&agent, 1);
    let long = "a".repeat(10_000);
    for id in [
        "",
        " ",
        "0000dead",
        "\u{0}",
        "a\nb",
        "\u{1b}[2J",
        "../",
        "../../daemon.log",
        "*",
        "%",
        "é",
        long.as_str(),
    ] {
        for action in [
            "poll",
            "log",
            "write",
            "send-keys",
            "submit",
            "paste",
            "screen",
            "resize",
            "kill",
            "clear",
            "remove",
        ] {
            let why = agent.ask_process(&json!({"action": action, "runId": id})).refused(404, "no-such-run");
            assert!(why.contains("process list"), "{why}");
            assert!(why.len() < 500 && !why.contains(|c: char| c.is_control()), "{why:?}");
        }
    }
    for action in ["poll", "kill", "screen"] {
        let why = agent.ask_process(&json!({"action": action})).refused(422, "invalid");
        assert!(why.contains("runId") && why.contains("process list"), "{why}");
        agent.ask_process(&json!({"action": action, "runId": 7})).refused(400, "bad-request");
        agent.ask_process(&json!({"action": action, "runId": ["a"]})).refused(400, "bad-request");
    }
    assert_eq!(run.listed()["status"], "running");
    unchanged.check(&install);
}

#[test]
fn an_ambiguous_id_prefix_is_refused_and_a_unique_one_suffices() {
    let (_install, agent) = Agent::new();
    let mut ids: Vec<String> = (0..17).map(|_| agent.on_pipes("sleep 1000").id).collect();
    ids.sort();
    let pair = ids.windows(2).find(|pair| pair[0][..1] == pair[1][..1]).expect("17 ids, 16 digits");
    for action in ["poll", "log"] {
        let request = json!({"action": action, "runId": &pair[0][..1]});
        let why = agent.ask_process(&request).refused(409, "ambiguous-id");
        assert!(why.contains("use a longer prefix"), "{why}");
    }
    for action in ["kill", "clear", "remove"] {
        for id in [&pair[0][..1], &pair[0][..3]] {
            let why = agent.ask_process(&json!({"action": action, "runId": id})).refused(422, "id-too-short");
            assert!(why.contains("is too short: give at least 4 characters"), "{why}");
        }
    }
    let same = pair[0].bytes().zip(pair[1].bytes()).take_while(|(a, b)| a == b).count();
    let others = ids.iter().filter(|id| id.starts_with(&pair[0][..=same])).count();
    assert_eq!(others, 1);
    let polled = agent.ask_process(&json!({"action": "poll", "runId": &pair[0][..=same], "timeoutMs": 0}));
    assert_eq!(polled.is(200).json()["runId"], pair[0].as_str());
    let listed = agent.ask_process(&json!({"action": "list"})).is(200).json();
    let running = listed["runs"].as_array().expect("runs").iter().filter(|run| run["status"] == "running");
    assert_eq!(running.count(), 17, "no run was ended by a guess");
}

#[test]
fn numbers_out_of_range_are_refused_by_name_or_clamped_with_a_note() {
    let (install, agent) = Agent::new();
    let run = agent.on_pipes("printf 'one\\ntwo\\nthree\\n'; exec sleep 1000");
    run.wait_for_log("three");
    let unchanged = UnchangedDaemon::new(&agent, 1);
    for (action, field) in [("poll", "timeoutMs"), ("log", "offset"), ("log", "limit"), ("resize", "cols")] {
        for value in [json!(-1), json!(1.5), json!("1"), json!(1e300), json!([1]), json!(true)] {
            let why = run.asks(action, &json!({field: value})).refused(400, "bad-request");
            assert!(why.contains(field), "{value}: {why}");
        }
    }
    let began = Instant::now();
    let polled = run.expect_ok("poll", &json!({"timeoutMs": u64::MAX}));
    assert_eq!(polled["output"], "one\ntwo\nthree\n", "existing output is returned at once");
    let message = text(&polled["message"]);
    assert!(message.contains("30000") && message.contains(&u64::MAX.to_string()), "{message}");
    let message = text(&run.expect_ok("poll", &json!({"timeoutMs": 0}))["message"]);
    assert!(!message.contains("30000"), "{message}");
    let page = run.expect_ok("log", &json!({"offset": u64::MAX}));
    assert_eq!((&page["output"], &page["totalLines"]), (&json!(""), &json!(3)));
    assert!(text(&page["message"]).contains("only 3 lines"), "{page}");
    assert_eq!(run.expect_ok("log", &json!({"offset": 3}))["output"], "");
    assert_eq!(run.expect_ok("log", &json!({"offset": 1, "limit": u64::MAX}))["output"], "two\nthree\n");
    assert_eq!(run.expect_ok("log", &json!({"limit": 1}))["output"], "three\n");
    for (action, id) in [("log", Some(&run.id)), ("list", None)] {
        let why =
            agent.ask_process(&json!({"action": action, "runId": id, "limit": 0})).refused(422, "invalid");
        assert!(why.contains("limit") && why.contains('1'), "{why}");
    }
    let _ = agent.ask_process(&json!({"action": "list", "limit": u64::MAX})).is(200);
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    run.kill();
    unchanged.check(&install);
}

#[test]
fn impossible_commands_and_variables_are_refused() {
    let (install, agent) = Agent::new();
    let unchanged = UnchangedDaemon::new(&agent, 0);
    let refused = |request: Value, words: &[&str]| {
        let why = agent.ask_exec(&request).refused(422, "invalid");
        assert!(words.iter().all(|word| why.contains(word)) && why.len() < 1000, "{words:?}: {why}");
    };
    refused(json!({}), &["empty"]);
    refused(json!({"command": ""}), &["empty"]);
    refused(json!({"command": " \n\t"}), &["empty"]);
    refused(json!({"command": "echo a\u{0}b"}), &["NUL"]);
    refused(json!({"command": format!("echo {}", "x".repeat(1 << 20))}), &["1048581", "file"]);
    let with_env = |name: &str, value: &str| json!({"command": "env", "env": {name: value}});
    refused(with_env("", "x"), &["name"]);
    refused(with_env("A=B", "x"), &["\"A\"", "name"]);
    refused(with_env("=", "x"), &["name"]);
    refused(with_env("1A", "x"), &["1A"]);
    refused(with_env("A B", "x"), &["A B"]);
    refused(with_env("A\u{0}", "x"), &["name"]);
    refused(with_env("A", "x\u{0}"), &["NUL"]);
    refused(with_env("é", "x"), &["name"]);
    refused(with_env(&"N".repeat(1 << 20), "x\u{0}"), &["NNN"]);
    for blocked in ["PATH", "LD_PRELOAD", "ld_preload", "Bash_Env", "BASH_ENV", "TENURE_STATE", "PYTHONHOME"]
    {
        let why = agent.ask_exec(&with_env(blocked, "s3cret-value")).refused(422, "invalid");
        assert!(why.contains(blocked) && !why.contains("s3cret-value"), "{why}");
    }
    unchanged.check(&install);
    // Lower case is valid, too.
    let request = json!({"command": "echo $lower_case", "env": {"lower_case": "kept = as \"it\" is"}});
    assert_eq!(agent.ask_exec(&request).is(200).json()["output"], "kept = as \"it\" is\n");
}

#[test]
fn an_invalid_directory_is_reported() {
    let (install, agent) = Agent::new();
    let file = install.dir().join("file");
    std::fs::write(&file, "").expect("write");
    for (workdir, words) in [("", "workdir"), (" ", "workdir"), ("/tmp\u{0}x", "workdir")] {
        let why = agent.ask_exec(&json!({"command": "pwd", "workdir": workdir})).refused(422, "invalid");
        assert!(why.contains(words), "{why}");
    }
    assert_eq!(install.runs(), [""; 0]);
    for workdir in [file.to_str().expect("UTF-8"), "/no/such/place", "no/such/place", "~"] {
        let reply = agent.ask_exec(&json!({"command": "pwd", "workdir": workdir})).is(200).json();
        assert_eq!((&reply["status"], &reply["failureKind"]), (&json!("failed"), &json!("spawn-error")));
        let follow_up = text(&reply["followUp"]);
        assert!(follow_up.contains(workdir.trim_start_matches('~')), "{workdir}: {follow_up}");
    }
    let dir = install.dir().canonicalize().expect("a directory");
    let inner = dir.join("a/b");
    std::fs::create_dir_all(&inner).expect("mkdir");
    let request = json!({"command": "pwd -P", "workdir": inner.join("../..")});
    assert_eq!(agent.ask_exec(&request).is(200).json()["output"], format!("{}\n", dir.display()));
    // Without a caller's directory, a relative one is below the home directory.
    let home_dir = agent.run("pwd")["output"].clone();
    assert_eq!(agent.ask_exec(&json!({"command": "pwd", "workdir": "."})).is(200).json()["output"], home_dir);
}

#[test]
fn impossible_durations_are_refused_by_name_or_clamped_with_a_note() {
    let (install, agent) = Agent::new();
    let unchanged = UnchangedDaemon::new(&agent, 0);
    for (field, value) in [
        ("timeoutSeconds", json!(-1)),
        ("timeoutSeconds", json!(1e300)),
        ("noOutputTimeoutSeconds", json!(-0.5)),
        ("noOutputTimeoutSeconds", json!(1e20)),
    ] {
        let why = agent.ask_exec(&json!({"command": "true", field: value})).refused(422, "invalid");
        assert!(why.contains(field) && why.contains("seconds"), "{why}");
    }
    for (field, value) in [
        ("timeoutSeconds", json!("NaN")),
        ("timeoutSeconds", json!("10s")),
        ("yieldMs", json!(-1)),
        ("yieldMs", json!(0.5)),
        ("yieldMs", json!("10")),
        ("background", json!("yes")),
        ("pty", json!(1)),
        ("env", json!(["A=1"])),
        ("env", json!({"A": 1})),
        ("ask", json!("maybe")),
        ("notify", json!("loudly")),
        ("command", json!(["true"])),
    ] {
        let mut request = json!({"command": "true"});
        request[field] = value;
        let why = agent.ask_exec(&request).refused(400, "bad-request");
        assert!(why.contains(field), "{request}: {why}");
    }
    // JSON has no such numbers.
    for raw in ["NaN", "Infinity", "-Infinity", "1e999"] {
        let body = format!(r#"{{"command": "true", "timeoutSeconds": {raw}}}"#);
        agent.api.ask("POST", "/v1/exec", &[], body.as_bytes()).refused(400, "bad-request");
    }
    for key in ["a\nb", "", "\u{1b}[2J", "\u{0}", &"s".repeat(513), &"s".repeat(1 << 20)] {
        for (answer, words) in [
            (agent.ask_exec(&json!({"command": "true", "sessionKey": key})), "session key"),
            (agent.ask_exec(&json!({"command": "true", "scopeKey": key})), "one line"),
            (agent.ask_process(&json!({"action": "list", "sessionKey": key})), "session key"),
        ] {
            let why = answer.refused(422, "invalid");
            assert!(why.contains(words), "{why}");
            assert!(why.len() < 1000 && !why.contains(|c: char| c.is_control()), "{why:?}");
        }
    }
    for key in ["/tmp", "a:..:b", "agent:", "agent:a b:1", "a\u{200b}"] {
        let _ = agent.ask_exec(&json!({"command": "true", "sessionKey": key})).refused(422, "invalid");
        let _ = agent.ask_process(&json!({"action": "list", "sessionKey": key})).refused(422, "invalid");
    }
    agent.ask_exec(&json!({"command": "true", "replace": true})).refused(422, "invalid");
    unchanged.check(&install);
    let began = Instant::now();
    for (asked, taken) in
        [(0, "used 10 instead of 0"), (1_000_000_000_000_u64, "used 120000 instead of 1000000000000")]
    {
        let reply = agent.ask_exec(&json!({"command": "true", "yieldMs": asked})).is(200).json();
        assert!(text(&reply["warnings"][0]).contains(taken), "{reply}");
    }
    // The shortest time is not zero.
    let reply = agent.ask_exec(&json!({"command": "sleep 1000", "timeoutSeconds": 1e-300})).is(200).json();
    assert_eq!(
        (&reply["status"], &reply["failureKind"]),
        (&json!("failed"), &json!("overall-timeout")),
        "{reply}"
    );
    for longest in [json!(1e15), json!(1.8e19), json!(0)] {
        let request =
            json!({"command": "echo done", "timeoutSeconds": longest, "noOutputTimeoutSeconds": longest});
        let reply = agent.ask_exec(&request).is(200).json();
        assert_eq!((&reply["status"], &reply["output"]), (&json!("completed"), &json!("done\n")), "{reply}");
    }
    assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
}

#[test]
fn invalid_bodies_start_nothing() {
    let (install, agent) = Agent::new();
    let unchanged = UnchangedDaemon::new(&agent, 0);
    for path in ["/v1/exec", "/v1/process"] {
        let ask = |body: &[u8]| agent.api.ask("POST", path, &[], body);
        let deep = [b"{\"command\":".to_vec(), b"[".repeat(100_000)].concat();
        let deeper = [b"{\"a\":".repeat(100_000), b"1".to_vec(), b"}".repeat(100_000)].concat();
        for body in [
            &b"[]"[..],
            b"[\"true\"]",
            b"[{\"command\": \"true\"}]",
            b"7",
            b"\"true\"",
            b"null",
            b"true",
            b"{\"command\": \"true\"",
            b"{\"command\": \"true\"}}",
            b"{\"command\": \"true\"} x",
            b"{\"command\": \"true\", \"command\": \"false\"}",
            b"command=true",
            b"\xff\xfe",
            b"{\"command\": \"\\ud800\"}",
            b"{\"command\": \"a\xff\"}",
            &deep,
            &deeper,
        ] {
            let why = ask(body).refused(400, "bad-request");
            assert!(why.contains("invalid request body") && why.len() < 1000, "{why}");
        }
        let mut wire = agent.api.connect();
        wire.request("POST", path, &[("Content-Length", "26000000")], b"{");
        wire.answer().refused(413, "too-large");
        let body = format!(r#"{{"command": "true", "label": "{}"}}"#, "x".repeat(24 << 20));
        let mut wire = agent.api.connect();
        wire.request("POST", path, &[], body.as_bytes());
        let why = wire.answer().refused(413, "too-large");
        assert!(why.contains("25165824"), "{why}");
        for method in ["GET", "PUT", "DELETE", "PATCH"] {
            let why = agent.api.ask(method, path, &[], b"").refused(405, "method-not-allowed");
            assert!(why.contains("openapi.json"), "{why}");
        }
    }
    // A form is not JSON under any content type; JSON is, under any.
    for kind in ["application/x-www-form-urlencoded", "text/plain", "application/json", "nonsense"] {
        let headers = [("Content-Type", kind)];
        agent.api.ask("POST", "/v1/exec", &headers, b"command=true").refused(400, "bad-request");
        let listed = agent.api.ask("POST", "/v1/process", &headers, b"{\"action\": \"list\"}");
        assert_eq!(listed.is(200).json()["runs"], json!([]));
    }
    unchanged.check(&install);
}
