//! A single client over a stream: replies, calls that are given up, and the moment when a reply counts as written.

mod fake;

use fake::{Fake, Log, RUN, Wire, call, initialize, text};
use serde_json::json;

#[tokio::test]
async fn a_reply_is_structured_and_readable() {
    let mut wire = Wire::ready(Fake::new(&Log::new()), 1 << 16).await;
    let result = wire.call("exec", json!({"command": "echo hello", "workdir": null})).await;
    assert_eq!(result["structuredContent"]["output"], "hello");
    assert_eq!(result["structuredContent"]["runId"], RUN);
    assert_eq!(result["isError"], false);
    assert_eq!(text(&result), format!("hello\n[completed; exit code 0; runId {RUN}; 12 ms]"));
}

#[tokio::test]
async fn a_command_that_did_not_get_to_its_end_is_an_error() {
    let mut wire = Wire::ready(Fake::new(&Log::new()), 1 << 16).await;
    let result = wire.call("exec", json!({"command": "fail too slow"})).await;
    assert_eq!(result["isError"], true);
    assert_eq!(result["structuredContent"]["failureKind"], "overall-timeout");
    assert!(text(&result).contains("failureKind overall-timeout"), "{result}");
}

#[tokio::test]
async fn a_refusal_is_the_tools_error_with_its_code() {
    let mut wire = Wire::ready(Fake::new(&Log::new()), 1 << 16).await;
    let result = wire.call("exec", json!({"command": "refuse the scope has a run"})).await;
    assert_eq!(result["isError"], true);
    assert_eq!(text(&result), "scope-taken: the scope has a run");
    assert_eq!(result["_meta"]["tenure/problem"]["code"], "scope-taken");
    assert!(result.get("structuredContent").is_none());
}

#[tokio::test]
async fn what_is_not_understood_is_named_with_what_would_be() {
    let mut wire = Wire::ready(Fake::new(&Log::new()), 1 << 16).await;
    for (tool, arguments, wrong, right) in [
        ("exec", json!({"command": "echo", "cmd": "x"}), "`cmd`", "`workdir`"),
        ("exec", json!({"command": "echo", "process": {}}), "`process`", ""),
        ("exec", json!({}), "command is missing", ""),
        ("exec", json!({"command": "echo", "yieldMs": "soon"}), "soon", ""),
        ("process", json!({"action": "pause"}), "`pause`", "`send-keys`"),
        ("process", json!({"action": "poll", "id": "x"}), "`id`", "`runId`"),
        ("process", json!({"runId": "x"}), "`action`", ""),
    ] {
        let result = wire.call(tool, arguments).await;
        assert_eq!(result["isError"], true, "{result}");
        let text = text(&result);
        assert!(text.contains(wrong) && text.contains(right), "{text}");
        assert!(!text.contains(", `process`"), "{text}");
    }
    wire.send(&call(8, "shell", &json!({}))).await;
    assert_eq!(wire.receive().await["error"]["code"], -32602);
}

#[tokio::test]
async fn what_process_answers_is_told_in_words() {
    let mut wire = Wire::ready(Fake::new(&Log::new()), 1 << 16).await;
    let result = wire.call("process", json!({"action": "list"})).await;
    assert_eq!(text(&result), "one line a run");
    let result = wire.call("process", json!({"action": "poll", "runId": RUN})).await;
    let told = format!(
        "new line\n[running; runId {RUN}; 1.5 s; waiting for input]\nPoll again in 5.0 s, or wait with timeoutMs."
    );
    assert_eq!(text(&result), told);
    let result = wire.call("process", json!({"action": "screen", "runId": RUN})).await;
    assert!(text(&result).starts_with("a\nb\n[screen of 80x2; cursor at row 1, column 2"), "{result}");
}

#[tokio::test]
async fn a_cancelled_call_is_dropped_and_not_answered() {
    let log = Log::new();
    let mut wire = Wire::ready(Fake::new(&log), 1 << 16).await;
    wire.send(&call(3, "exec", &json!({"command": "hang"}))).await;
    log.until(|seen| seen.begun == 1).await;
    assert_eq!(log.seen().dropped, 0);
    let params = json!({"requestId": 3, "reason": "changed my mind"});
    wire.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})).await;
    log.until(|seen| seen.dropped == 1).await;
    // The next reply belongs to the next call.
    wire.call("exec", json!({"command": "echo"})).await;
}

#[tokio::test(start_paused = true)]
async fn the_end_of_the_connection_drops_the_calls_and_the_tools() {
    let log = Log::new();
    let mut wire = Wire::ready(Fake::new(&log), 1 << 16).await;
    wire.send(&call(3, "exec", &json!({"command": "hang"}))).await;
    log.until(|seen| seen.begun == 1).await;
    let started = tokio::time::Instant::now();
    wire.hang_up().await;
    log.until(|seen| seen.dropped == 1 && seen.gone == 1).await;
    assert!(started.elapsed().as_secs() < 3, "the SDK's patience was waited for");
}

#[tokio::test]
async fn serving_that_is_dropped_gives_up_what_was_waited_for() {
    let log = Log::new();
    let mut wire = Wire::ready(Fake::new(&log), 1 << 16).await;
    wire.send(&call(3, "exec", &json!({"command": "hang"}))).await;
    log.until(|seen| seen.begun == 1).await;
    wire.served.abort();
    log.until(|seen| seen.dropped == 1 && seen.gone == 1).await;
}

#[tokio::test]
async fn who_asks_for_progress_hears_the_last_line() {
    let log = Log::new();
    let mut wire = Wire::ready(Fake::new(&log), 1 << 16).await;
    let mut asked = call(3, "exec", &json!({"command": "hang"}));
    asked["params"]["_meta"] = json!({"progressToken": "t"});
    wire.send(&asked).await;
    let told = wire.receive().await;
    assert_eq!(told["method"], "notifications/progress");
    assert_eq!(told["params"], json!({"progressToken": "t", "progress": 1.0, "message": "one"}));
}

#[tokio::test]
async fn a_reply_counts_as_written_once_it_was() {
    let log = Log::new();
    let mut wire = Wire::ready(Fake::new(&log), 64).await;
    wire.send(&call(3, "exec", &json!({"command": "long 4000"}))).await;
    log.until(|seen| seen.returned == 1).await;
    tokio::task::yield_now().await;
    assert_eq!(log.seen().written, 0, "most of it is not read yet");
    wire.receive().await;
    log.until(|seen| seen.written == 1).await;
}

#[tokio::test]
async fn a_reply_that_nobody_took_does_not_count_as_written() {
    let log = Log::new();
    let mut wire = Wire::ready(Fake::new(&log), 64).await;
    wire.send(&call(3, "exec", &json!({"command": "long 4000"}))).await;
    log.until(|seen| seen.returned == 1).await;
    wire.hang_up().await;
    log.until(|seen| seen.gone == 1).await;
    assert_eq!(log.seen().written, 0);
}

#[tokio::test]
async fn a_client_hears_notices_unless_it_wants_quiet() {
    let tools = Fake::new(&Log::new());
    let mut handle = tools.handle();
    let mut wire = Wire::ready(tools, 1 << 16).await;
    let client = handle.wait_for(Option::is_some).await.unwrap().clone().unwrap();
    assert!(client.notice("run 01 has ended").await);
    let told = wire.receive().await;
    assert_eq!(told["method"], "notifications/message");
    assert_eq!(told["params"], json!({"level": "info", "logger": "tenure", "data": "run 01 has ended"}));
    let level =
        json!({"jsonrpc": "2.0", "id": 5, "method": "logging/setLevel", "params": {"level": "error"}});
    wire.send(&level).await;
    wire.receive().await;
    assert!(!client.notice("run 02 has ended").await);
}

#[tokio::test]
async fn a_line_that_is_not_json_ends_nothing() {
    let mut wire = Wire::ready(Fake::new(&Log::new()), 1 << 16).await;
    wire.send(&json!("not a message")).await;
    let answer = wire.receive().await;
    assert!(answer["error"]["code"].is_i64(), "{answer}");
    wire.call("exec", json!({"command": "echo"})).await;
}

#[tokio::test]
async fn a_client_that_is_ready_twice_is_connected_once() {
    let log = Log::new();
    let mut wire = Wire::ready(Fake::new(&log), 1 << 16).await;
    for _ in 0..3 {
        wire.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
    }
    wire.call("exec", json!({"command": "echo"})).await;
    log.until(|seen| seen.connected == 1).await;
    wire.hang_up().await;
    log.until(|seen| seen.gone == 1).await;
    assert_eq!(log.seen().connected, 1);
}

#[tokio::test]
async fn a_client_is_told_the_terms_that_hold() {
    let mut wire = Wire::open(Fake::new(&Log::new()), 1 << 16);
    wire.send(&initialize()).await;
    let told = wire.receive().await["result"]["instructions"].as_str().unwrap_or_default().to_owned();
    assert!(told.contains(" 7.0 s unless `yieldMs`") && told.ends_with("leaves go on."), "{told}");
}
