//! `tenure mcp`: a client's commands live as long as it does, and its conversation outlives the daemon.

use serde_json::{Value, json};
use tenure_it::api::Api;
use tenure_it::home::Home;
use tenure_it::install::{Install, tenure};
use tenure_it::mcp::Client;
use tenure_it::{eventually, proc};

fn state(home: &Home, run: &str) -> String {
    home.show(run)["state"].as_str().unwrap_or_default().to_owned()
}

#[track_caller]
fn wait_ended(home: &Home, run: &str) {
    eventually(&format!("the end of {run}"), || (state(home, run) == "exited").then_some(()));
    assert_eq!(home.show(run)["termination"]["reason"], "manual-cancel");
}

#[test]
fn commands_start_where_the_client_is_and_end_when_it_leaves() {
    let home = Home::watched();
    let mut client = Client::of(&home, &[]);
    let reply = client.call("exec", &json!({"command": "pwd; exit 3"}));
    assert_eq!(reply["output"], format!("{}\n", home.dir().display()));
    assert_eq!(reply["exitCode"], 3);
    let run = client.start();
    client.leave();
    wait_ended(&home, &run);
    home.finish();
}

#[test]
fn a_client_sees_nothing_of_another() {
    let home = Home::watched();
    let (mut one, mut other) = (Client::of(&home, &[]), Client::of(&home, &[]));
    let run = one.start();
    assert_eq!(other.call("process", &json!({"action": "list"}))["runs"], json!([]));
    let stranger = json!({"name": "process", "arguments": {"action": "kill", "runId": run}});
    let answer = other.ask("tools/call", &stranger);
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    assert_eq!(state(&home, &run), "running");
    other.leave();
    one.leave();
    wait_ended(&home, &run);
    home.finish();
}

#[test]
fn a_line_that_is_no_message_is_answered_and_the_conversation_goes_on() {
    let home = Home::watched();
    let mut client = Client::of(&home, &[]);
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
    // A client that says nothing else is answered too.
    let piped = home.shell(&format!("echo junk | {} mcp", tenure().display()));
    assert!(String::from_utf8_lossy(&piped.stdout).contains("-32700"), "{piped:?}");
    home.finish();
}

#[test]
fn a_client_cannot_say_which_session_it_is() {
    let home = Home::watched();
    let mut client = Client::of(&home, &[]);
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
    home.finish();
}

#[test]
fn a_client_spawns_below_its_own_session_and_is_told_the_answer() {
    let home = Home::watched();
    let mut client = Client::of(&home, &["--session", "agent:main:7"]);
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
    home.finish();
}

#[test]
fn a_shared_session_ends_with_its_last_client() {
    let home = Home::watched();
    let mut one = Client::of(&home, &["--session", "agent:main:7"]);
    let mut other = Client::of(&home, &["--session", "agent:main:7"]);
    let run = one.start();
    one.leave();
    assert_eq!(other.call("process", &json!({"action": "list"}))["runs"][0]["runId"], *run);
    assert_eq!(state(&home, &run), "running");
    other.leave();
    wait_ended(&home, &run);
    home.finish();
}

#[test]
fn who_is_told_to_keep_keeps() {
    let home = Home::of(Install::new().with_daemon().with_env("TENURE_MCP_ON_LEAVE", "keep"));
    home.begin();
    let mut client = Client::of(&home, &[]);
    let run = client.start();
    client.leave();
    // One more client comes and goes: by then the first one's leaving was heard.
    Client::of(&home, &[]).leave();
    assert_eq!(state(&home, &run), "running");
    home.tenure(&["cancel", &run]);
    wait_ended(&home, &run);
    home.finish();
}

#[test]
fn the_conversation_goes_on_with_the_next_daemon() {
    let home = Home::watched();
    let mut client = Client::of(&home, &[]);
    let run = client.start();
    let waits = json!({"name": "exec", "arguments": {"command": "sleep 1001", "yieldMs": 100_000}});
    let waiting = client.send("tools/call", &waits);
    eventually("the command that is waited for", || {
        let all = home.tenure(&["ps", "--state", "running", "--json"]);
        String::from_utf8_lossy(&all.stdout).contains("sleep 1001").then_some(())
    });
    let killed = home.kill();
    let answer = client.answer(waiting);
    assert!(answer["error"]["message"].as_str().is_some_and(|why| why.contains("action list")), "{answer}");
    home.next_after(killed);
    let runs = client.call("process", &json!({"action": "list"}))["runs"].clone();
    let live = runs.as_array().expect("a list").iter().filter(|run| run["status"] == "running").count();
    assert_eq!(live, 2, "{runs}");
    assert_eq!(state(&home, &run), "running");
    client.leave();
    wait_ended(&home, &run);
    home.wait_nobody(tenure_it::PATIENCE);
    home.finish();
}

#[test]
fn a_process_of_a_run_speaks_for_no_session_of_another() {
    let home = Home::watched();
    let mut client = Client::of(&home, &["--session", "agent:main:7"]);
    let mut other = Client::of(&home, &[]);
    let run = other.start();
    let theirs = home.show(&run)["sessionId"].as_str().expect("a session").to_owned();
    assert!(theirs.starts_with("mcp:"), "{theirs}");
    for session in [&*theirs, "mcp:000000000000000000000000", "agent:main:8"] {
        let command = format!("{} mcp --session {session} </dev/null 2>&1; echo code $?", tenure().display());
        let reply = client.call("exec", &json!({"command": command}));
        let output = reply["output"].as_str().unwrap_or_default();
        assert!(output.contains("cannot speak for session") && !output.contains("code 0"), "{reply}");
    }
    let own = format!("{} mcp --session agent:main:7 </dev/null; echo code $?", tenure().display());
    assert_eq!(client.call("exec", &json!({"command": own}))["output"], "code 0\n");
    client.leave();
    assert_eq!(state(&home, &run), "running");
    other.leave();
    wait_ended(&home, &run);
    home.finish();
}

#[test]
fn a_process_of_a_run_comes_back_to_the_session_that_it_made() {
    let home = Home::watched();
    let mut client = Client::of(&home, &["--session", "agent:main:7"]);
    // Its client is a shell: the first command is there before the daemon goes, the list is asked for after.
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
            let said = std::fs::read_to_string(home.dir().join("said")).unwrap_or_default();
            let messages = said.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
            messages.into_iter().find(|message| message["id"] == id)
        })
    };
    let run = answer(1)["result"]["structuredContent"]["runId"].as_str().expect("a run").to_owned();
    let killed = home.kill();
    home.next_after(killed);
    std::fs::write(home.dir().join("go"), "go\n").expect("it waits");
    let listed = answer(2)["result"]["structuredContent"]["runs"].clone();
    assert_eq!((&listed[0]["runId"], &listed[0]["status"]), (&json!(run), &json!("running")), "{listed}");
    assert_eq!(listed.as_array().map(Vec::len), Some(1), "{listed}");
    home.tenure(&["cancel", &bound]);
    wait_ended(&home, &run);
    client.leave();
    home.finish();
}

#[test]
fn a_client_that_is_killed_has_left() {
    let home = Home::watched();
    let mut client = Client::of(&home, &[]);
    let run = client.start();
    proc::kill(client.pid());
    wait_ended(&home, &run);
    home.finish();
}

/// Calls a tool by the version of the protocol that has no sessions, over HTTP; returns what it says.
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
fn clients_without_a_session_go_on_with_their_runs_from_request_to_request_and_daemon_to_daemon() {
    let home = Home::watched();
    let api = Api::of(&home);
    let started = call_stateless(&api, "exec", &json!({"command": "sleep 1004", "background": true}));
    let run = started["runId"].as_str().expect("a run").to_owned();
    let listed = call_stateless(&api, "process", &json!({"action": "list"}));
    assert_eq!(listed["runs"][0]["runId"], *run, "{listed}");
    // A client of its own session sees nothing of it.
    let mut other = Client::of(&home, &[]);
    assert_eq!(other.call("process", &json!({"action": "list"}))["runs"], json!([]));
    let killed = home.kill();
    home.next_after(killed);
    let polled = call_stateless(&api, "process", &json!({"action": "poll", "runId": run, "timeoutMs": 0}));
    assert_eq!(polled["status"], "running", "{polled}");
    let ended = call_stateless(&api, "process", &json!({"action": "kill", "runId": run}));
    assert_eq!(ended["exitReason"], "manual-cancel", "{ended}");
    other.leave();
    home.finish();
}
