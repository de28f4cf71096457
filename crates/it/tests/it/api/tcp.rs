//! The loopback address: only if enabled, only with the token, and never for a page of another host.

use serde_json::json;
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;
use tenure_it::api::{Answer, Api};
use tenure_it::install::Install;

/// A port that is free at this moment.
fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address").port()
}

struct Loopback {
    install: Install,
    api: Api,
    token: String,
}

fn listening() -> Loopback {
    let install = Install::new().with_daemon();
    let port = free_port();
    std::fs::write(install.config(), format!("[api]\nlisten = \"127.0.0.1:{port}\"\n")).expect("written");
    let _ = Api::of(&install);
    let file = install.state().join("api-token");
    let token = std::fs::read_to_string(&file).expect("a token").trim().to_owned();
    let api = Api::Loopback(([127, 0, 0, 1], port).into());
    Loopback { install, api, token }
}

impl Loopback {
    fn ask(&self, method: &str, path: &str, more: &[(&str, &str)], body: &str) -> Answer {
        let bearer = format!("Bearer {}", self.token);
        let headers = [&[("Authorization", bearer.as_str())], more].concat();
        self.api.ask(method, path, &headers, body.as_bytes())
    }
}

#[test]
fn a_client_with_the_token_may_do_everything() {
    let loopback = listening();
    let health = loopback.ask("GET", "/v1/health", &[], "").is(200).json();
    assert!(health["listen"].as_str().is_some_and(|at| at.starts_with("127.0.0.1:")), "{health}");
    let run = loopback.ask("POST", "/v1/runs", &[], "{\"command\": [\"true\"]}").is(201).json();
    let id = run["runId"].as_str().expect("an id");
    let _ = loopback.ask("POST", &format!("/v1/runs/{id}/wait"), &[], "{}").is(200);
    let story = loopback.ask("GET", &format!("/v1/runs/{id}/why"), &[], "").is(200).text();
    assert!(story.contains("127.0.0.1"), "the requester: {story}");
    let local = loopback.ask("GET", "/v1/health", &[("Origin", "http://localhost:3000")], "");
    assert_eq!(local.head.status, 200);
    let lower = format!("bearer {}", loopback.token);
    let _ = loopback.api.ask("GET", "/v1/health", &[("Authorization", &lower)], b"").is(200);
}

#[test]
fn the_token_is_private_to_its_owner_and_made_once() {
    let loopback = listening();
    let file = loopback.install.state().join("api-token");
    let mode = std::fs::metadata(&file).expect("a token").permissions().mode() & 0o777;
    assert_eq!((mode, loopback.token.len() >= 32), (0o600, true));
    assert!(loopback.install.tenure(&["daemon", "stop"]).status.success());
    let _ = Api::of(&loopback.install);
    assert_eq!(std::fs::read_to_string(&file).expect("a token").trim(), loopback.token);
    let _ = loopback.ask("GET", "/v1/health", &[], "").is(200);
    assert!(loopback.install.tenure(&["daemon", "stop"]).status.success());
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o644)).expect("chmod");
    let output = loopback.install.tenure(&["daemon", "start"]);
    let err = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{err}");
    assert!(err.contains("chmod 600"), "{err}");
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o600)).expect("chmod");
}

#[test]
fn a_client_without_the_token_is_refused_everywhere() {
    let loopback = listening();
    let wrong = "0".repeat(loopback.token.len());
    let short = &loopback.token[..loopback.token.len() - 1];
    let basic = format!("Basic {}", loopback.token);
    let tries = [
        None,
        Some(format!("Bearer {wrong}")),
        Some(format!("Bearer {short}")),
        Some("Bearer ".into()),
        Some(basic),
    ];
    for path in ["/v1/health", "/v1/runs", "/metrics", "/openapi.json", "/v1/events", "/nowhere"] {
        for shown in &tries {
            let headers: Vec<_> = shown.iter().map(|value| ("Authorization", value.as_str())).collect();
            let answer = loopback.api.ask("GET", path, &headers, b"");
            assert!(answer.head.header("www-authenticate").is_some_and(|how| how.starts_with("Bearer")));
            answer.refused(401, "unauthorized");
        }
    }
    loopback.api.post("/v1/runs", &json!({"command": ["true"]})).refused(401, "unauthorized");
    loopback.api.post("/v1/shutdown", &json!({})).refused(401, "unauthorized");
    assert_eq!(loopback.install.runs(), [""; 0]);
}

#[test]
fn a_foreign_host_or_page_is_refused_even_with_the_token() {
    let loopback = listening();
    for host in [
        "evil.example",
        "127.0.0.1.evil.example",
        "localhost.evil.example:80",
        "10.0.0.1",
        "[::1].evil.example",
        "",
    ] {
        loopback.ask("GET", "/v1/health", &[("Host", host)], "").refused(403, "forbidden");
    }
    for origin in
        ["https://evil.example", "null", "http://localhost.evil.example", "http://127.0.0.1@evil.example"]
    {
        loopback.ask("GET", "/v1/health", &[("Origin", origin)], "").refused(403, "forbidden");
    }
    loopback.ask("GET", "http://evil.example/v1/health", &[], "").refused(403, "forbidden");
}

#[test]
fn a_foreground_run_is_available_on_the_unix_socket_only() {
    let loopback = listening();
    let upgrade = [("Connection", "Upgrade"), ("Upgrade", "tenure-keeper")];
    let answer = loopback.ask("POST", "/v1/runs", &upgrade, "{\"command\": [\"true\"]}");
    let why = answer.refused(400, "bad-request");
    assert!(why.contains("Unix socket"), "{why}");
    assert_eq!(loopback.install.runs(), [""; 0]);
}

#[test]
fn a_non_loopback_address_is_refused() {
    for address in ["0.0.0.0:7777", "[::]:7777", "192.0.2.1:7777", "example.org:80", "127.0.0.1", "7777"] {
        let install = Install::new().with_daemon().with_env("TENURE_API_LISTEN", address);
        let output = install.tenure(&["daemon", "start"]);
        let err = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{address}: {err}");
        assert!(err.contains("TENURE_API_LISTEN") && err.lines().count() == 1, "{address}: {err}");
    }
}

#[test]
fn if_its_port_is_busy_the_daemon_serves_the_socket_and_binds_the_port_later() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("an address");
    let install = Install::new()
        .with_daemon()
        .with_env("TENURE_API_LISTEN", &address.to_string())
        .with_env("TENURE_HEARTBEAT", "200ms");
    let api = Api::of(&install);
    let health = api.get("/v1/health").is(200).json();
    let error = health["listenError"].as_str().expect("an error");
    assert!(error.contains(&format!("cannot listen on {address}")), "{health}");
    for args in [&["daemon", "status"][..], &["doctor"]] {
        let said = String::from_utf8_lossy(&install.tenure(args).stdout).into_owned();
        assert!(said.contains("cannot listen on"), "{args:?}: {said}");
    }
    drop(taken);
    tenure_it::eventually("it listens", || {
        api.get("/v1/health").is(200).json()["listenError"].is_null().then_some(())
    });
    Api::Loopback(address).get("/v1/health").refused(401, "unauthorized");
}

#[test]
fn half_sent_heads_lock_out_no_client_with_the_token() {
    let loopback = listening();
    let Api::Loopback(address) = loopback.api else { panic!("a loopback address") };
    let half_open: Vec<TcpStream> = (0..300)
        .map(|_| {
            let mut stream = TcpStream::connect(address).expect("a connection");
            stream.write_all(b"GET /v1/health HTTP/1.1\r\nHost: localhost\r\n").expect("half a head");
            stream
        })
        .collect();
    for _ in 0..20 {
        let _ = loopback.ask("GET", "/v1/health", &[], "").is(200);
    }
    // The daemon closes the idle connections.
    for mut stream in half_open {
        stream.set_read_timeout(Some(Duration::from_secs(30))).expect("a limit");
        let mut said = Vec::new();
        match stream.read_to_end(&mut said) {
            Ok(_) => {}
            Err(error) => assert_eq!(error.kind(), ErrorKind::ConnectionReset, "{error}"),
        }
    }
}

#[test]
fn a_head_in_two_pieces_a_second_and_a_half_apart_is_answered() {
    let loopback = listening();
    let head = format!(
        "GET /v1/health HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\n\r\n",
        loopback.token
    );
    let mut wire = loopback.api.connect();
    wire.send(&head.as_bytes()[..60]).expect("sent");
    #[expect(clippy::disallowed_methods, reason = "the client is slow, within the time that a stranger has")]
    std::thread::sleep(tenure_core::defaults::LOOPBACK_HEAD * 3 / 4);
    wire.send(&head.as_bytes()[60..]).expect("sent");
    let _ = wire.answer().is(200);
}

#[test]
fn a_client_with_the_token_outlasts_the_timeout_for_strangers() {
    let loopback = listening();
    let mut wire = loopback.api.connect();
    let bearer = format!("Bearer {}", loopback.token);
    let id =
        loopback.ask("POST", "/v1/runs", &[], "{\"command\": [\"sleep\", \"3\"]}").is(201).json()["runId"]
            .clone();
    let path = format!("/v1/runs/{}/wait", id.as_str().expect("an id"));
    wire.request("POST", &path, &[("Authorization", &bearer)], b"{}");
    assert_eq!(wire.answer().is(200).json()["state"], "exited");
}

#[test]
fn a_refused_request_is_answered_before_its_connection_closes() {
    let loopback = listening();
    let (local, bearer) = (Api::of(&loopback.install), format!("Bearer {}", loopback.token));
    // More than fits into the sockets' buffers.
    let (large, too_large) = (vec![b'x'; 3 << 20], vec![b'x'; 30 << 20]);
    let long_head = "x".repeat(1 << 20);
    let plain: &[(&str, &str)] = &[];
    let refusals = [
        (404, "/v1/nothing", plain, &large),
        (405, "/v1/health", plain, &large),
        (400, "/v1/runs", plain, &large),
        (413, "/v1/runs", plain, &too_large),
        (
            413,
            "/mcp",
            &[("Accept", "application/json, text/event-stream"), ("Content-Type", "application/json")],
            &too_large,
        ),
        (401, "/v1/runs", &[("Authorization", "Bearer wrong")], &large),
        (403, "/v1/runs", &[("Host", "evil.example")], &large),
        (431, "/v1/runs", &[("X-Long", &long_head)], &large),
    ];
    for (status, path, headers, body) in refusals {
        for api in [&local, &loopback.api] {
            let is_local = matches!(api, Api::Local(_));
            if is_local && matches!(status, 401 | 403) {
                continue;
            }
            let given = |name: &str| headers.iter().any(|(its, _)| *its == name);
            let bearer = (!given("Authorization")).then_some(("Authorization", bearer.as_str()));
            let headers: Vec<_> = headers.iter().copied().chain(bearer).collect();
            for _ in 0..10 {
                let mut wire = api.connect();
                let sent = wire.try_request("POST", path, &headers, body);
                sent.unwrap_or_else(|error| panic!("{status} {path}: it is not read: {error}"));
                assert_eq!(wire.answer().head.status, status, "{path}");
            }
        }
    }
}
