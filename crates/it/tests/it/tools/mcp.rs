//! `tenure mcp`: a client's commands live as long as it does, and its conversation survives the daemon.

use serde_json::{Value, json};
use tenure_it::api::Api;
use tenure_it::daemon_fixture::DaemonFixture;
use tenure_it::install::{Install, tenure};
use tenure_it::mcp_client::Client;
use tenure_it::{eventually, proc};

fn state(fixture: &DaemonFixture, run: &str) -> String {
    fixture.show(run)["state"].as_str().unwrap_or_default().to_owned()
}

#[track_caller]
fn wait_ended(fixture: &DaemonFixture, run: &str) {
    eventually(&format!("the end of {run}"), || (state(fixture, run) == "exited").then_some(()));
    assert_eq!(fixture.show(run)["termination"]["reason"], "manual-cancel");
}

#[test]
fn commands_start_where_the_client_is_and_end_when_it_leaves() {
    let fixture = DaemonFixture::with_warden();
    let mut client = Client::of(&fixture, &[]);
    let reply = client.call("exec", &json!({"command": "pwd; exit 3"}));
    assert_eq!(reply["output"], format!("{}\n", fixture.dir().display()));
    assert_eq!(reply["exitCode"], 3);
    let run = client.start();
    client.leave();
    wait_ended(&fixture, &run);
    fixture.finish();
}

#[test]
fn a_client_sees_nothing_of_another() {
    let fixture = DaemonFixture::with_warden();
    let (mut one, mut other) = (Client::of(&fixture, &[]), Client::of(&fixture, &[]));
    let run = one.start();
    assert_eq!(other.call("process", &json!({"action": "list"}))["runs"], json!([]));
    let stranger = json!({"name": "process", "arguments": {"action": "kill", "runId": run}});
    let answer = other.ask("tools/call", &stranger);
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    assert_eq!(state(&fixture, &run), "running");
    other.leave();
    one.leave();
    wait_ended(&fixture, &run);
    fixture.finish();
}

#[test]
fn an_invalid_line_is_answered_and_the_conversation_continues() {
    let fixture = DaemonFixture::with_warden();
    let mut client = Client::of(&fixture, &[]);
    let answer = client.line("this is no JSON");
    assert_eq!(
        (&answer["error"]["code"], answer.get("id")),
        (&json!(-32700), Some(&Value::Null)),
        "{answer}"
    );
    for invalid in ["[1, 2, 3]", "{\"jsonrpc\": \"2.0\", \"method\": 1, \"params\": \"bar\"}"] {
        let answer = client.line(invalid);
        assert_eq!(
            (&answer["error"]["code"], answer.get("id")),
            (&json!(-32600), Some(&Value::Null)),
            "{answer}"
        );
    }
    assert_eq!(client.call("exec", &json!({"command": "echo on"}))["output"], "on\n");
    client.leave();
    // A client that sends nothing else is answered too.
    let piped = fixture.shell(&format!("echo junk | {} mcp", tenure().display()));
    assert!(String::from_utf8_lossy(&piped.stdout).contains("-32700"), "{piped:?}");
    fixture.finish();
}

#[test]
fn a_client_cannot_say_which_session_it_is() {
    let fixture = DaemonFixture::with_warden();
    let mut client = Client::of(&fixture, &[]);
    for (name, value) in [("as", "agent:main:7"), ("visibility", "all"), ("sandboxed", "false")] {
        let mut asked = json!({"action": "list"});
        asked[name] = value.into();
        let answer = client.ask("tools/call", &json!({"name": "sessions", "arguments": asked}));
        let result = &answer["result"];
        assert_eq!(result["isError"], true, "{answer}");
        let why = result["content"][0]["text"].as_str().unwrap_or_default();
        assert!(why.contains(&format!("unknown field `{name}`")), "{why}");
    }
    client.leave();
    fixture.finish();
}

#[test]
fn a_client_spawns_a_child_session_and_gets_its_answer() {
    let fixture = DaemonFixture::with_warden();
    let mut client = Client::of(&fixture, &["--session", "agent:main:7"]);
    let spawned =
        client.call("sessions", &json!({"action": "spawn", "backend": "exec", "task": "echo done"}));
    assert_eq!(spawned["session"]["parentSessionKey"], "agent:main:7", "{spawned}");
    let (key, turn) = (spawned["session"]["key"].clone(), spawned["sent"]["turnId"].clone());
    let wait = json!({"action": "wait", "sessionKey": key, "turnId": turn, "timeoutMs": 30_000});
    let waited = client.call("sessions", &wait);
    assert_eq!(waited["turn"]["text"], "done\n", "{waited}");
    let closed = client.call("sessions", &json!({"action": "close", "sessionKey": key}));
    assert_eq!(closed["closed"]["closed"], json!([key]), "{closed}");
    client.leave();
    fixture.finish();
}

#[test]
fn a_shared_session_ends_with_its_last_client() {
    let fixture = DaemonFixture::with_warden();
    let mut one = Client::of(&fixture, &["--session", "agent:main:7"]);
    let mut other = Client::of(&fixture, &["--session", "agent:main:7"]);
    let run = one.start();
    one.leave();
    assert_eq!(other.call("process", &json!({"action": "list"}))["runs"][0]["runId"], *run);
    assert_eq!(state(&fixture, &run), "running");
    other.leave();
    wait_ended(&fixture, &run);
    fixture.finish();
}

#[test]
fn runs_of_a_keep_client_survive_it() {
    let fixture = DaemonFixture::of(Install::new().with_daemon().with_env("TENURE_MCP_ON_LEAVE", "keep"));
    fixture.start_daemon();
    let mut client = Client::of(&fixture, &[]);
    let run = client.start();
    client.leave();
    // Another client comes and goes: by then the first one's disconnect was noticed.
    Client::of(&fixture, &[]).leave();
    assert_eq!(state(&fixture, &run), "running");
    fixture.tenure(&["cancel", &run]);
    wait_ended(&fixture, &run);
    fixture.finish();
}

#[test]
fn the_conversation_continues_with_the_next_daemon() {
    let fixture = DaemonFixture::with_warden();
    let mut client = Client::of(&fixture, &[]);
    let run = client.start();
    let waits = json!({"name": "exec", "arguments": {"command": "sleep 1001", "yieldMs": 100_000}});
    let waiting = client.send("tools/call", &waits);
    eventually("the awaited command", || {
        let all = fixture.tenure(&["ps", "--state", "running", "--json"]);
        String::from_utf8_lossy(&all.stdout).contains("sleep 1001").then_some(())
    });
    let killed = fixture.kill();
    let answer = client.answer(waiting);
    assert!(answer["error"]["message"].as_str().is_some_and(|why| why.contains("action list")), "{answer}");
    fixture.wait_next_daemon(killed);
    let runs = client.call("process", &json!({"action": "list"}))["runs"].clone();
    let live = runs.as_array().expect("a list").iter().filter(|run| run["status"] == "running").count();
    assert_eq!(live, 2, "{runs}");
    assert_eq!(state(&fixture, &run), "running");
    client.leave();
    wait_ended(&fixture, &run);
    fixture.wait_nobody(tenure_it::WAIT_LIMIT);
    fixture.finish();
}

#[test]
fn a_process_of_a_run_cannot_speak_for_another_session() {
    let fixture = DaemonFixture::with_warden();
    let mut client = Client::of(&fixture, &["--session", "agent:main:7"]);
    let mut other = Client::of(&fixture, &[]);
    let run = other.start();
    let theirs = fixture.show(&run)["sessionId"].as_str().expect("a session").to_owned();
    assert!(theirs.starts_with("mcp:"), "{theirs}");
    for session in [&*theirs, "mcp:000000000000000000000000", "agent:main:8"] {
        let command = format!("{} mcp --session {session} </dev/null 2>&1; echo code $?", tenure().display());
        let reply = client.call("exec", &json!({"command": command}));
        let output = reply["output"].as_str().unwrap_or_default();
        assert!(output.contains("cannot act as session") && !output.contains("code 0"), "{reply}");
    }
    let own = format!("{} mcp --session agent:main:7 </dev/null; echo code $?", tenure().display());
    assert_eq!(client.call("exec", &json!({"command": own}))["output"], "code 0\n");
    client.leave();
    assert_eq!(state(&fixture, &run), "running");
    other.leave();
    wait_ended(&fixture, &run);
    fixture.finish();
}

#[test]
fn a_process_of_a_run_returns_to_the_session_that_it_made() {
    let fixture = DaemonFixture::with_warden();
    let mut client = Client::of(&fixture, &["--session", "agent:main:7"]);
    // Its client is a shell: the first command is there before the daemon stops, the list is requested after.
    let begin = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "it", "version": "0"}}});
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let call = |id: u32, tool: &str, arguments: Value| json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool, "arguments": arguments}});
    let start = call(1, "exec", json!({"command": "sleep 1002", "background": true}));
    let list = call(2, "process", json!({"action": "list"}));
    let script = format!(
        "mkfifo go; (printf '%s\\n' '{begin}' '{ready}' '{start}'; read x <go; echo '{list}'; sleep 1003) | {} mcp >said",
        tenure().display()
    );
    let bound = client.call("exec", &json!({"command": script, "background": true}));
    let bound = bound["runId"].as_str().expect("a run").to_owned();
    let answer = |id: u32| {
        eventually(&format!("an answer to {id}"), || {
            let said = std::fs::read_to_string(fixture.dir().join("said")).unwrap_or_default();
            let messages = said.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
            messages.into_iter().find(|message| message["id"] == id)
        })
    };
    let run = answer(1)["result"]["structuredContent"]["runId"].as_str().expect("a run").to_owned();
    let killed = fixture.kill();
    fixture.wait_next_daemon(killed);
    std::fs::write(fixture.dir().join("go"), "go\n").expect("it waits");
    let listed = answer(2)["result"]["structuredContent"]["runs"].clone();
    assert_eq!((&listed[0]["runId"], &listed[0]["status"]), (&json!(run), &json!("running")), "{listed}");
    assert_eq!(listed.as_array().map(Vec::len), Some(1), "{listed}");
    fixture.tenure(&["cancel", &bound]);
    wait_ended(&fixture, &run);
    client.leave();
    fixture.finish();
}

#[test]
fn a_killed_client_counts_as_disconnected() {
    let fixture = DaemonFixture::with_warden();
    let mut client = Client::of(&fixture, &[]);
    let run = client.start();
    proc::kill(client.pid());
    wait_ended(&fixture, &run);
    fixture.finish();
}

/// Calls a tool by the version of the protocol that has no sessions, over HTTP; returns its result.
#[track_caller]
fn call_stateless(api: &Api, tool: &str, arguments: &Value) -> Value {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "it", "version": "0"},
        "io.modelcontextprotocol/clientCapabilities": {}});
    let params = json!({"name": tool, "arguments": arguments, "_meta": meta});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let headers = [
        ("accept", "application/json, text/event-stream"),
        ("content-type", "application/json"),
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "tools/call"),
        ("mcp-name", tool),
    ];
    let answer = api.ask("POST", "/mcp", &headers, body.to_string().as_bytes()).is(200).text();
    let said = answer.lines().find_map(|line| line.strip_prefix("data: {")).expect("an answer");
    let answer: Value = serde_json::from_str(&format!("{{{said}")).expect("JSON");
    answer["result"]["structuredContent"].clone()
}

#[test]
fn clients_without_a_session_keep_their_runs_across_requests_and_daemons() {
    let fixture = DaemonFixture::with_warden();
    let api = Api::of(&fixture);
    let started = call_stateless(&api, "exec", &json!({"command": "sleep 1004", "background": true}));
    let run = started["runId"].as_str().expect("a run").to_owned();
    let listed = call_stateless(&api, "process", &json!({"action": "list"}));
    assert_eq!(listed["runs"][0]["runId"], *run, "{listed}");
    // A client of its own session sees nothing of it.
    let mut other = Client::of(&fixture, &[]);
    assert_eq!(other.call("process", &json!({"action": "list"}))["runs"], json!([]));
    let killed = fixture.kill();
    fixture.wait_next_daemon(killed);
    let polled = call_stateless(&api, "process", &json!({"action": "poll", "runId": run, "timeoutMs": 0}));
    assert_eq!(polled["status"], "running", "{polled}");
    let ended = call_stateless(&api, "process", &json!({"action": "kill", "runId": run}));
    assert_eq!(ended["exitReason"], "manual-cancel", "{ended}");
    other.leave();
    fixture.finish();
}
