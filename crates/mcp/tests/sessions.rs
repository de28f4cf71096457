//! `sessions`: the fields for clients, the replies in words, and the effect of giving up.

mod fake;

use fake::sessions::TURN;
use fake::{Fake, Log, RUN, Wire, call, text};
use serde_json::{Value, json};

async fn wire() -> Wire {
    Wire::ready(Fake::new(&Log::new()), 1 << 16).await
}

async fn ask(arguments: Value) -> Value {
    wire().await.call("sessions", arguments).await
}

#[tokio::test]
async fn a_client_cannot_say_who_it_is() {
    let mut wire = wire().await;
    for (name, value) in
        [("as", json!("agent:main:1")), ("visibility", json!("all")), ("sandboxed", json!(false))]
    {
        let mut asked = json!({"action": "list"});
        asked[name] = value;
        let result = wire.call("sessions", asked).await;
        assert_eq!(result["isError"], true, "{result}");
        assert!(text(&result).contains(&format!("unknown field `{name}`")), "{result}");
    }
}

#[tokio::test]
async fn what_is_not_understood_is_named_with_what_would_be() {
    let mut wire = wire().await;
    for (arguments, wrong, right) in [
        (json!({}), "`action`", ""),
        (json!({"sessionKey": "helper:1"}), "`action`", ""),
        (json!({"action": "kill"}), "`kill`", "`cancel`"),
        (json!({"action": "wait", "session": "x"}), "`session`", "`sessionKey`"),
        (json!({"action": "spawn", "kind": "boss"}), "`boss`", "`subagent`"),
    ] {
        let result = wire.call("sessions", arguments).await;
        assert_eq!(result["isError"], true, "{result}");
        let text = text(&result);
        assert!(text.starts_with("bad-request: ") && text.contains(wrong) && text.contains(right), "{text}");
        for hidden in ["`as`", "`visibility`", "`sandboxed`"] {
            assert!(!text.contains(hidden), "{text}");
        }
    }
}

#[tokio::test]
async fn no_client_is_told_of_the_fields_that_say_who_asks() {
    let mut wire = wire().await;
    wire.send(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})).await;
    let tools = wire.receive().await["result"]["tools"].clone();
    let fields = |tool: usize| tools[tool]["inputSchema"]["properties"].clone();
    for hidden in ["as", "visibility", "sandboxed"] {
        assert!(fields(2).get(hidden).is_none(), "{hidden}");
    }
    assert!(fields(2).get("sessionKey").is_some());
    assert!(fields(0).get("sessionKey").is_none() && fields(1).get("sessionKey").is_none());
    assert_eq!(tools[2]["inputSchema"]["required"], json!(["action"]));
}

#[tokio::test]
async fn who_spawns_is_told_the_key_and_how_to_wait() {
    let result = ask(json!({"action": "spawn", "agent": "helper", "task": "count"})).await;
    assert_eq!(result["isError"], false);
    assert_eq!(result["structuredContent"]["session"]["key"], "helper:1");
    let told = format!(
        "helper:1 [idle; subagent by cli; agent helper; below mcp:1; persistent; 1 turn]\n\
         [started; turnId {TURN}]\n\
         sessions {{\"action\":\"wait\",\"sessionKey\":\"helper:1\",\"turnId\":\"{TURN}\"}} waits for its end and shows \
         the answer."
    );
    assert_eq!(text(&result), told);
    let result = ask(json!({"action": "spawn", "agent": "helper", "task": null})).await;
    assert!(text(&result).contains("nothing to do yet: sessions {\"action\":\"send\""), "{result}");
}

#[tokio::test]
async fn who_sends_is_told_what_became_of_the_message() {
    let result =
        ask(json!({"action": "send", "sessionKey": "a\"b", "text": "go", "whenBusy": "steer"})).await;
    let told = text(&result);
    assert!(
        told.starts_with(&format!("[queued; turnId {TURN}; 2 messages come before it]\nnote: it cannot")),
        "{told}"
    );
    assert!(told.contains(r#""sessionKey":"a\"b""#), "{told}");
}

#[tokio::test]
async fn a_list_has_a_line_for_each_and_says_if_there_is_more() {
    let result = ask(json!({"action": "list"})).await;
    let lines: Vec<_> = text(&result).lines().collect();
    assert_eq!(lines.len(), 3, "{result}");
    assert!(lines[0].starts_with("helper:1 [idle;") && lines[1].starts_with("helper:2 [idle;"), "{result}");
    assert_eq!(lines[2], "[there is more: the same with \"after\":\"helper:2\" shows it]");
}

#[tokio::test]
async fn a_history_tells_who_said_what() {
    let result = ask(json!({"action": "history", "sessionKey": "helper:1"})).await;
    assert_eq!(result["isError"], false, "that a turn has failed is no error of who reads of it");
    let told = format!(
        "[done; turn 1; turnId {TURN}; 1.5 s; runId {RUN}]\n\
         session mcp:1 said:\ncount the files\nall of them\n\
         The answer was:\nthere are 12\n[7 bytes more are left out; history with maxBytes shows more]\n\
         [failed; turn 1; turnId {TURN}; 1.5 s; runId {RUN}]\n\
         session mcp:1 said:\ncount the files\nall of them\nerror: it broke"
    );
    assert_eq!(text(&result), told);
}

#[tokio::test]
async fn a_status_has_what_it_does_now() {
    let result = ask(json!({"action": "status", "sessionKey": "helper:1"})).await;
    let told = text(&result);
    for words in [
        "helper:1 [busy;",
        "label \"counts\"",
        "2 messages wait",
        "[running; turn 1;",
        "said: count the files…\n",
        &format!("runs that have not ended: {RUN}"),
    ] {
        assert!(told.contains(words), "{words}: {told}");
    }
}

#[tokio::test]
async fn a_wait_has_the_answer_or_how_to_go_on() {
    let mut wire = wire().await;
    for (state, is_error, words) in [
        ("done", false, "there are 12\n[done; turn 1;"),
        ("failed", true, "error: it broke"),
        ("timed-out", true, "[timed-out; turn 1;"),
        ("lost", true, "[lost; turn 1;"),
        ("cancelled", false, "[cancelled; turn 1;"),
        (
            "running",
            false,
            "goes on waiting; sessions {\"action\":\"cancel\",\"sessionKey\":\"x:running\"} ends",
        ),
        ("queued", false, "The turn has not begun. Wait again;"),
    ] {
        let key = format!("x:{state}");
        let result = wire.call("sessions", json!({"action": "wait", "sessionKey": key})).await;
        assert_eq!(result["isError"], is_error, "{result}");
        assert!(text(&result).contains(words), "{result}");
    }
}

#[tokio::test]
async fn a_cancel_tells_which_turn_it_ended() {
    let result = ask(json!({"action": "cancel", "sessionKey": "helper:1"})).await;
    assert!(text(&result).starts_with("[cancelled; turn 1;"), "{result}");
    let result = ask(json!({"action": "cancel", "sessionKey": "idle"})).await;
    assert!(text(&result).starts_with("no turn is under way"), "{result}");
    let result = ask(json!({"action": "cancel", "sessionKey": "nobody"})).await;
    assert_eq!(result["isError"], true);
    assert_eq!(result["_meta"]["tenure/problem"]["code"], "no-such-session");
}

#[tokio::test]
async fn a_close_tells_what_was_ended_and_what_was_left_alone() {
    let result = ask(json!({"action": "close", "sessionKey": "helper:1"})).await;
    let told = format!(
        "closed: helper:1:1, helper:1\nruns that were ended: {RUN}\n\
         warning: not every process is known to be gone of: {RUN}\n\
         left alone: other, because the owner is not the parent"
    );
    assert_eq!(text(&result), told);
    let result = ask(json!({"action": "close", "sessionKey": "closed"})).await;
    assert_eq!(text(&result), "it was closed already");
}

#[tokio::test]
async fn who_cancels_a_wait_stops_waiting_and_nothing_more() {
    let log = Log::new();
    let mut wire = Wire::ready(Fake::new(&log), 1 << 16).await;
    wire.send(&call(3, "sessions", &json!({"action": "wait", "sessionKey": "hang"}))).await;
    log.until(|seen| seen.begun == 1).await;
    let cancelled =
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 3}});
    wire.send(&cancelled).await;
    log.until(|seen| seen.dropped == 1).await;
    // The next call is answered first: the wait never is, and no other action was requested.
    wire.call("sessions", json!({"action": "status", "sessionKey": "hang"})).await;
    assert_eq!(log.seen().begun, 2);
}
