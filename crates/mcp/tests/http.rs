//! Many clients over HTTP: sessions, access, and the moment when a reply counts as written.

#![allow(clippy::unwrap_used, reason = "this is a test")]

mod fake;

use bytes::Bytes;
use fake::{Fake, Log, call, initialize};
use http_body_util::{BodyExt, Full};
use hyper::body::Body;
use hyper::{Request, Response};
use serde_json::{Value, json};
use std::pin::{Pin, pin};
use std::task::{Context, Waker};
use std::time::Duration;
use tenure_mcp::{Receipted, Service, Watched, service};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

const LONG: Duration = Duration::from_secs(3600);

fn serve(log: &Log, idle: Duration) -> Service<Fake> {
    let log = log.clone();
    let shared = log.clone();
    service(move || Ok(Fake::new(&log)), move || Ok(Fake::new(&shared)), (idle, 3), CancellationToken::new())
}

fn request(method: &str, session: Option<&str>, body: &Value) -> Request<Full<Bytes>> {
    let mut request = Request::builder()
        .method(method)
        .uri("/mcp")
        .header("host", "localhost")
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream");
    if let Some(session) = session {
        request = request.header("mcp-session-id", session);
    }
    request.body(Full::new(Bytes::from(body.to_string()))).unwrap()
}

async fn send(service: &Service<Fake>, request: Request<Full<Bytes>>) -> Response<Receipted> {
    service.clone().oneshot(request).await.unwrap()
}

/// Opens a session.
async fn open(service: &Service<Fake>) -> String {
    let answer = send(service, request("POST", None, &initialize())).await;
    assert_eq!(answer.status(), 200);
    let session = answer.headers()["mcp-session-id"].to_str().unwrap().to_owned();
    answer.into_body().collect().await.unwrap();
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    assert_eq!(send(service, request("POST", Some(&session), &ready)).await.status(), 202);
    session
}

#[tokio::test]
async fn each_session_has_tools_of_its_own_until_it_is_deleted() {
    let log = Log::new();
    let service = serve(&log, LONG);
    let (one, other) = (open(&service).await, open(&service).await);
    assert_ne!(one, other);
    log.until(|seen| seen.connected == 2).await;
    let hanging =
        send(&service, request("POST", Some(&one), &call(3, "exec", &json!({"command": "hang"})))).await;
    log.until(|seen| seen.begun == 1).await;
    assert_eq!(send(&service, request("DELETE", Some(&one), &json!({}))).await.status(), 204);
    log.until(|seen| seen.dropped == 1 && seen.gone == 1).await;
    drop(hanging);
    let again =
        send(&service, request("POST", Some(&one), &call(4, "exec", &json!({"command": "echo"})))).await;
    assert_eq!(again.status(), 404);
    assert_eq!(log.seen().gone, 1, "the other is still there");
}

#[tokio::test(start_paused = true)]
async fn a_session_that_nobody_uses_ends() {
    let log = Log::new();
    let service = serve(&log, Duration::from_millis(50));
    open(&service).await;
    log.until(|seen| seen.gone == 1).await;
}

#[tokio::test]
async fn a_reply_counts_as_written_when_its_body_was_taken() {
    let log = Log::new();
    let service = serve(&log, LONG);
    let session = open(&service).await;
    let answer =
        send(&service, request("POST", Some(&session), &call(3, "exec", &json!({"command": "echo hi"}))))
            .await;
    log.until(|seen| seen.returned == 1).await;
    assert_eq!(log.seen().written, 0);
    let body = answer.into_body().collect().await.unwrap().to_bytes();
    assert!(String::from_utf8_lossy(&body).contains("structuredContent"));
    assert_eq!(log.seen().written, 1);
}

#[tokio::test]
async fn a_reply_whose_body_was_dropped_does_not_count_as_written() {
    let log = Log::new();
    let service = serve(&log, LONG);
    let session = open(&service).await;
    let answer =
        send(&service, request("POST", Some(&session), &call(3, "exec", &json!({"command": "echo hi"}))))
            .await;
    log.until(|seen| seen.returned == 1).await;
    drop(answer);
    send(&service, request("DELETE", Some(&session), &json!({}))).await;
    log.until(|seen| seen.gone == 1).await;
    assert_eq!(log.seen().written, 0);
}

/// Reads the frame with the reply; returns it with the rest of the body.
async fn reply(answer: Response<Receipted>) -> (Bytes, Receipted) {
    let mut body = answer.into_body();
    loop {
        let frame = body.frame().await.expect("a reply").unwrap().into_data().unwrap();
        if String::from_utf8_lossy(&frame).contains("structuredContent") {
            return (frame, body);
        }
    }
}

#[tokio::test]
async fn a_reply_that_the_socket_does_not_take_does_not_count_as_written() {
    let log = Log::new();
    let service = serve(&log, LONG);
    let session = open(&service).await;
    let (mut client, socket) = tokio::io::duplex(8);
    let (mut socket, outflow) = Watched::new(socket);
    let mut ask = request("POST", Some(&session), &call(3, "exec", &json!({"command": "echo hi"})));
    ask.extensions_mut().insert(outflow);
    let (frame, mut body) = reply(send(&service, ask).await).await;
    let mut context = Context::from_waker(Waker::noop());
    {
        let mut writing = pin!(socket.write_all(&frame));
        assert!(writing.as_mut().poll(&mut context).is_pending());
        for _ in 0..3 {
            assert!(Pin::new(&mut body).poll_frame(&mut context).is_pending());
            assert!(!body.is_end_stream());
        }
        assert_eq!(log.seen().written, 0);
        let mut taken = vec![0; frame.len()];
        let (written, read) = tokio::join!(writing, client.read_exact(&mut taken));
        written.unwrap();
        read.unwrap();
    }
    assert!(body.frame().await.is_none());
    assert_eq!(log.seen().written, 1);
}

#[tokio::test]
async fn a_body_that_ends_without_its_reply_does_not_count_as_written() {
    let log = Log::new();
    let leaving = CancellationToken::new();
    let (of, left) = (log.clone(), leaving.clone());
    let shared = log.clone();
    let service = service(move || Ok(Fake::new(&of)), move || Ok(Fake::new(&shared)), (LONG, 3), left);
    let session = open(&service).await;
    let ask = request("POST", Some(&session), &call(3, "exec", &json!({"command": "echo hi"})));
    let body = send(&service, ask).await.into_body();
    log.until(|seen| seen.returned == 1).await;
    leaving.cancel();
    let said = body.collect().await.unwrap().to_bytes();
    assert!(!String::from_utf8_lossy(&said).contains("structuredContent"));
    assert_eq!(log.seen().written, 0);
}

#[tokio::test]
async fn a_reply_to_a_cancelled_call_does_not_count_as_written() {
    let log = Log::new();
    let service = serve(&log, LONG);
    let session = open(&service).await;
    let ask = request("POST", Some(&session), &call(3, "exec", &json!({"command": "echo hi"})));
    let (_, mut body) = reply(send(&service, ask).await).await;
    let cancelled =
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 3}});
    assert_eq!(send(&service, request("POST", Some(&session), &cancelled)).await.status(), 202);
    // The next call is handled after it.
    let next = request("POST", Some(&session), &call(4, "exec", &json!({"command": "echo hi"})));
    send(&service, next).await.into_body().collect().await.unwrap();
    assert_eq!(log.seen().written, 1);
    while body.frame().await.is_some() {}
    assert_eq!(log.seen().written, 1, "only the other");
}

#[tokio::test]
async fn a_rebound_name_or_a_foreign_page_is_refused() {
    let service = serve(&Log::new(), LONG);
    for (name, value, status) in [
        ("host", "evil.example", 403),
        ("origin", "http://evil.example", 403),
        ("origin", "null", 403),
        ("origin", "http://localhost:8000", 200),
    ] {
        let mut request = request("POST", None, &initialize());
        request.headers_mut().insert(name, value.parse().unwrap());
        assert_eq!(send(&service, request).await.status(), status, "{name}: {value}");
    }
}

/// A request of the version without sessions.
fn stateless(id: u32, method: &str, params: &Value) -> Request<Full<Bytes>> {
    let mut ask = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
    ask["params"]["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "0"},
        "io.modelcontextprotocol/clientCapabilities": {}});
    let mut request = request("POST", None, &ask);
    let headers = request.headers_mut();
    headers.insert("mcp-protocol-version", "2026-07-28".parse().unwrap());
    headers.insert("mcp-method", method.parse().unwrap());
    if let Some(name) = params["name"].as_str() {
        headers.insert("mcp-name", name.parse().unwrap());
    }
    request
}

fn stateless_exec(id: u32, command: &str) -> Request<Full<Bytes>> {
    stateless(id, "tools/call", &json!({"name": "exec", "arguments": {"command": command}}))
}

#[tokio::test(start_paused = true)]
async fn clients_without_a_session_share_their_tools_until_nobody_uses_them() {
    let log = Log::new();
    let service = serve(&log, Duration::from_secs(10));
    for id in 0..3 {
        let answer = send(&service, stateless_exec(id, "echo hi")).await;
        assert_eq!(answer.status(), 200);
        assert!(answer.headers().get("mcp-session-id").is_none());
        let body = answer.into_body().collect().await.unwrap().to_bytes();
        assert!(String::from_utf8_lossy(&body).contains("structuredContent"));
        tokio::time::sleep(Duration::from_secs(6)).await;
    }
    assert_eq!((log.seen().written, log.seen().gone), (3, 0), "one for all three");
    // A call in progress uses them, however long it takes.
    let hanging = tokio::spawn({
        let service = service.clone();
        async move { send(&service, stateless_exec(3, "hang")).await.status() }
    });
    log.until(|seen| seen.begun == 4).await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(log.seen().gone, 0);
    // A client that hangs up ends the command that its call waited for.
    hanging.abort();
    log.until(|seen| seen.dropped == 1).await;
    log.until(|seen| seen.gone == 1).await;
}

#[tokio::test(start_paused = true)]
async fn clients_without_a_session_of_an_earlier_daemon_get_their_time_again() {
    let log = Log::new();
    let service = serve(&log, Duration::from_secs(10));
    service.begin_shared().unwrap();
    tokio::time::sleep(Duration::from_secs(9)).await;
    assert_eq!(log.seen().gone, 0);
    log.until(|seen| seen.gone == 1).await;
}

#[tokio::test]
async fn what_the_version_without_sessions_has_no_more_is_not_found() {
    let service = serve(&Log::new(), LONG);
    let begin = json!({"protocolVersion": "2026-07-28", "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}});
    for (method, params) in [
        ("initialize", begin),
        ("ping", json!({})),
        ("logging/setLevel", json!({"level": "info"})),
        ("prompts/list", json!({})),
        ("resources/list", json!({})),
    ] {
        let answer = send(&service, stateless(1, method, &params)).await;
        assert_eq!(answer.status(), 404, "{method}");
        let body = answer.into_body().collect().await.unwrap().to_bytes();
        assert!(String::from_utf8_lossy(&body).contains("-32601"), "{method}: {body:?}");
    }
    let answer = send(&service, stateless(1, "server/discover", &json!({}))).await;
    assert_eq!(answer.status(), 200);
    let body = answer.into_body().collect().await.unwrap().to_bytes();
    let body = String::from_utf8_lossy(&body);
    assert!(
        body.contains("2026-07-28") && body.contains("2025-11-25") && !body.contains("logging"),
        "{body}"
    );
}
