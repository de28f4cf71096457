//! The API's limits: beyond each limit, new clients are refused as README says, and earlier clients continue.

use serde_json::{Value, json};
use tenure_core::defaults;
use tenure_it::api::{Answer, Api, Wire};
use tenure_it::eventually;
use tenure_it::install::Install;

fn daemon() -> (Install, Api) {
    let install = Install::new().with_daemon();
    let api = Api::of(&install);
    (install, api)
}

/// Returns true if this process may open so many files. Prints a message if not.
fn may_open(count: usize) -> bool {
    tenure_os::descriptors::raise_limit();
    let (most, _) = tenure_os::descriptors::limit();
    let may = most > count as u64 + 200;
    if !may {
        eprintln!("cannot run here: {most} open files are too few for {count} connections");
    }
    may
}

#[test]
fn at_the_connection_limit_queries_and_cancels_still_work() {
    if !may_open(defaults::CONNECTIONS) {
        return;
    }
    let (install, api) = daemon();
    let id = api.start(&json!({"command": ["sleep", "1000"]}));
    let wait = format!("/v1/runs/{id}/wait");
    let mut waiting: Vec<Wire> = (0..defaults::CONNECTIONS)
        .map(|_| {
            let mut wire = api.connect();
            wire.request("POST", &wait, &[], b"{\"timeoutMs\": 300000}");
            wire
        })
        .collect();
    // Connections are accepted in order, so these come after all the others.
    let why = api.get("/v1/runs").refused(503, "too-many-connections");
    assert!(why.contains("4096 clients are connected: close some of them"), "{why}");
    api.post("/v1/runs", &json!({"command": ["true"]})).refused(503, "too-many-connections");
    let _ = api.get("/v1/health").is(200);
    for args in [&["daemon", "status"][..], &["show", &id], &["cancel", &id]] {
        let told = install.tenure(args);
        assert!(told.status.success(), "{args:?}: {}", String::from_utf8_lossy(&told.stderr));
    }
    for wire in &mut waiting {
        assert_eq!(wire.answer().is(200).json()["state"], "exited");
    }
    drop(waiting);
    eventually("there is space again", || (api.get("/v1/runs").head.status == 200).then_some(()));
}

#[test]
fn at_the_follower_limit_the_next_is_refused_until_one_disconnects() {
    if !may_open(defaults::FOLLOWERS) {
        return;
    }
    let (_install, api) = daemon();
    let id = api.start(&json!({"command": ["sleep", "1000"], "pty": true}));
    let output = format!("/v1/runs/{id}/output?follow=true");
    let mut followers: Vec<_> = (0..defaults::FOLLOWERS)
        .map(|n| api.follow(if n % 2 == 0 { "/v1/events" } else { &output }, &[]))
        .collect();
    for path in ["/v1/events", &output] {
        // Waits only for the head: the body of an accepted request does not end.
        let mut wire = api.connect();
        wire.request("GET", path, &[], b"");
        let head = wire.head();
        assert_eq!(head.status, 503, "{path}: {head:?}");
        let length = head.header("content-length").and_then(|length| length.parse().ok()).expect("a length");
        let why = String::from_utf8(wire.take(length)).expect("UTF-8");
        assert!(why.contains("too-many-followers") && why.contains("1024 clients already follow"), "{why}");
    }
    let attach = [
        ("Connection", "upgrade"),
        ("Upgrade", "websocket"),
        ("Sec-WebSocket-Version", "13"),
        ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
    ];
    api.ask("GET", &format!("/v1/runs/{id}/attach"), &attach, b"").refused(503, "too-many-followers");
    // Requests that follow nothing are answered.
    let _ = api.get("/v1/events?follow=false&since=0").is(200);
    let _ = api.get(&format!("/v1/runs/{id}/output")).is(200);
    followers.pop();
    eventually("a place is free", || {
        let mut wire = api.connect();
        wire.request("GET", "/v1/events", &[], b"");
        (wire.head().status == 200).then_some(())
    });
}

const ACCEPTS: [(&str, &str); 2] =
    [("Accept", "application/json, text/event-stream"), ("Content-Type", "application/json")];

/// Opens an MCP session over HTTP.
fn initialize(api: &Api) -> String {
    let begin = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "it", "version": "0"}}});
    let answer = api.ask("POST", "/mcp", &ACCEPTS, begin.to_string().as_bytes()).is(200);
    let session = answer.head.header("mcp-session-id").expect("a session").to_owned();
    let _ = say(api, &session, &json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).is(202);
    session
}

fn say(api: &Api, session: &str, message: &Value) -> Answer {
    let headers = [ACCEPTS[0], ACCEPTS[1], ("Mcp-Session-Id", session)];
    api.ask("POST", "/mcp", &headers, message.to_string().as_bytes())
}

#[test]
fn at_the_mcp_session_limit_the_least_recently_used_is_dropped() {
    let (_install, api) = daemon();
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    let sessions: Vec<String> = (0..defaults::MCP_HTTP_SESSIONS).map(|_| initialize(&api)).collect();
    // The first session was used again, so the second one is the least recently used.
    let _ = say(&api, &sessions[0], &list).is(200);
    let next = initialize(&api);
    assert_eq!(say(&api, &sessions[1], &list).head.status, 404, "it was dropped");
    for session in [&sessions[0], &sessions[2], &sessions[defaults::MCP_HTTP_SESSIONS - 1], &next] {
        let _ = say(&api, session, &list).is(200);
    }
}

fn resident_kib(pid: &Value) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("a live process");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("its memory");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

#[test]
fn large_requests_leave_no_memory_behind() {
    let (_install, api) = daemon();
    let pid = api.get("/v1/health").is(200).json()["pid"].clone();
    let before = resident_kib(&pid);
    let body = json!({"command": ["echo", "x".repeat(23_000_000)]}).to_string();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| api.ask("POST", "/v1/runs", &[], body.as_bytes()).refused(422, "too-long"));
        }
    });
    eventually("the memory is freed", || (resident_kib(&pid) < before + (32 << 10)).then_some(()));
}
