//! Attaching over a WebSocket: first the screen, then its output, until the run has ended.

use serde_json::json;
use tenure_it::api::Api;
use tenure_it::install::Install;
use tenure_it::websocket::WebSocket;

fn daemon() -> (Install, Api) {
    let install = Install::new().with_daemon();
    let api = Api::of(&install);
    (install, api)
}

#[test]
fn a_terminal_viewer_gets_a_repaint_can_type_and_gets_the_ending() {
    let (install, api) = daemon();
    let script = "printf '\\033[2J\\033[5;7Hearlier'; while read line; do echo \"got $line\"; stty size; echo next; done";
    let id = api.start(&json!({"ptyCommand": script}));
    install.wait_for_output(&id, "earlier");
    let mut first = WebSocket::attach(&api, &id);
    let painted = first.wait_for("earlier");
    assert!(painted.contains('\x1b'), "the log is repeated instead of the screen: {painted:?}");
    first.keys("hello\r");
    first.wait_for("got hello");
    // The command prints its size then, which changes later.
    first.wait_for("next");
    let mut second = WebSocket::attach(&api, &id);
    second.wait_for("got hello");
    second.text("{\"cols\":90,\"rows\":33}");
    second.keys("again\r");
    for viewer in [&mut first, &mut second] {
        let seen = viewer.wait_for("33 90");
        assert!(seen.contains("got again"), "{seen:?}");
    }
    second.close();
    first.keys("\x04");
    let (_, code, reason) = first.end();
    assert_eq!(code, 1000, "{reason}");
    assert!(reason.contains("exit"), "{reason}");
    let gone = api.ask("GET", &format!("/v1/runs/{id}/attach"), &[], b"");
    gone.refused(400, "bad-request");
}

#[test]
fn a_viewer_of_pipes_gets_their_output_from_the_start() {
    let (install, api) = daemon();
    let id = api.start(&json!({"command": ["sh", "-c", "echo begin; exec cat"], "stdin": "open"}));
    install.wait_for_output(&id, "begin");
    let mut viewer = WebSocket::attach(&api, &id);
    viewer.wait_for("begin\n");
    viewer.keys("typed\n");
    viewer.wait_for("typed\n");
    let _ = api.post(&format!("/v1/runs/{id}/cancel"), &json!({})).is(202);
    let (_, code, reason) = viewer.end();
    assert_eq!(code, 1000, "{reason}");
    assert!(reason.contains("cancel"), "{reason}");
}

#[test]
fn the_last_output_arrives_before_the_end() {
    let (_install, api) = daemon();
    let id = api.start(&json!({"command": ["sh", "-c", "read line; seq 1 20000; exit 3"], "stdin": "open"}));
    let mut viewer = WebSocket::attach(&api, &id);
    viewer.keys("\n");
    let (seen, _, reason) = viewer.end();
    let whole: String = (1..=20000).map(|n| format!("{n}\n")).collect();
    assert!(seen == whole, "{} bytes of {}", seen.len(), whole.len());
    assert!(reason.contains('3'), "{reason}");
}

#[test]
fn an_invalid_message_is_answered_with_an_error_and_the_run_continues() {
    let (_install, api) = daemon();
    let id = api.start(&json!({"ptyCommand": "cat"}));
    for nonsense in ["no JSON", "{\"cols\":0,\"rows\":0}", "{\"cols\":-1,\"rows\":3}", "{\"cols\":10}"] {
        let mut viewer = WebSocket::attach(&api, &id);
        viewer.text(nonsense);
        let (_, code, reason) = viewer.end();
        assert_eq!(code, 1011, "{nonsense}: {reason}");
        assert!(!reason.is_empty(), "{nonsense}");
    }
    let mut viewer = WebSocket::attach(&api, &id);
    viewer.keys("alive\r");
    viewer.wait_for("alive");
}

#[test]
fn an_exiting_daemon_closes_the_socket_with_a_reason_and_the_run_continues() {
    let (install, api) = daemon();
    let id = api.start(&json!({"ptyCommand": "cat"}));
    let mut viewer = WebSocket::attach(&api, &id);
    viewer.keys("here\r");
    viewer.wait_for("here");
    let mut follower = api.connect();
    follower.request("GET", &format!("/v1/runs/{id}/output?follow=true"), &[], b"");
    assert_eq!(follower.head().status, 200);
    assert!(install.tenure(&["daemon", "stop"]).status.success());
    let (_, code, reason) = viewer.end();
    assert_eq!(code, 1001, "{reason}");
    let rest = follower.take(usize::MAX);
    assert!(
        !rest.ends_with(b"0\r\n\r\n"),
        "a dropped connection is not an end: {:?}",
        String::from_utf8_lossy(&rest)
    );
    let api = Api::of(&install);
    assert_eq!(api.get(&format!("/v1/runs/{id}")).is(200).json()["state"], "running");
    let mut viewer = WebSocket::attach(&api, &id);
    viewer.wait_for("here");
}

#[test]
fn a_run_that_cannot_be_attached_to_is_refused_with_a_reason() {
    let (_install, api) = daemon();
    let id = api.start(&json!({"command": ["true"]}));
    api.wait(&id);
    let upgrade = [
        ("Connection", "Upgrade"),
        ("Upgrade", "websocket"),
        ("Sec-WebSocket-Version", "13"),
        ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
    ];
    api.ask("GET", &format!("/v1/runs/{id}/attach"), &upgrade, b"").refused(409, "wrong-state");
    api.ask("GET", "/v1/runs/0000dead/attach", &upgrade, b"").refused(404, "no-such-run");
    api.get(&format!("/v1/runs/{id}/attach")).refused(400, "bad-request");
}
