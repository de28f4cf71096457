//! The loopback address: only if switched on, only with the token, and never for a page of another host.

use serde_json::json;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use tenure_it::api::{Answer, Api};
use tenure_it::install::Install;

/// A port that nobody has at this moment.
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
fn who_shows_the_token_may_do_everything() {
    let loopback = listening();
    let health = loopback.ask("GET", "/v1/health", &[], "").is(200).json();
    assert!(health["listen"].as_str().is_some_and(|at| at.starts_with("127.0.0.1:")), "{health}");
    let run = loopback.ask("POST", "/v1/runs", &[], "{\"command\": [\"true\"]}").is(201).json();
    let id = run["runId"].as_str().expect("an id");
    let _ = loopback.ask("POST", &format!("/v1/runs/{id}/wait"), &[], "{}").is(200);
    let story = loopback.ask("GET", &format!("/v1/runs/{id}/why"), &[], "").is(200).text();
    assert!(story.contains("127.0.0.1"), "who asked: {story}");
    let local = loopback.ask("GET", "/v1/health", &[("Origin", "http://localhost:3000")], "");
    assert_eq!(local.head.status, 200);
    let lower = format!("bearer {}", loopback.token);
    let _ = loopback.api.ask("GET", "/v1/health", &[("Authorization", &lower)], b"").is(200);
}

#[test]
fn the_token_is_its_owners_alone_and_made_once() {
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
fn who_does_not_show_the_token_is_refused_everywhere() {
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
fn a_foreground_run_is_for_the_socket_alone() {
    let loopback = listening();
    let upgrade = [("Connection", "Upgrade"), ("Upgrade", "tenure-keeper")];
    let answer = loopback.ask("POST", "/v1/runs", &upgrade, "{\"command\": [\"true\"]}");
    let why = answer.refused(400, "bad-request");
    assert!(why.contains("Unix socket"), "{why}");
    assert_eq!(loopback.install.runs(), [""; 0]);
}

#[test]
fn an_address_that_others_can_reach_is_refused() {
    for address in ["0.0.0.0:7777", "[::]:7777", "192.0.2.1:7777", "example.org:80", "127.0.0.1", "7777"] {
        let install = Install::new().with_daemon().with_env("TENURE_API_LISTEN", address);
        let output = install.tenure(&["daemon", "start"]);
        let err = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{address}: {err}");
        assert!(err.contains("TENURE_API_LISTEN") && err.lines().count() == 1, "{address}: {err}");
    }
}

#[test]
fn an_address_that_is_taken_is_said() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("an address").to_string();
    let install = Install::new().with_daemon().with_env("TENURE_API_LISTEN", &address);
    let output = install.tenure(&["daemon", "start"]);
    let err = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{err}");
    assert!(err.contains(&address), "{err}");
}
