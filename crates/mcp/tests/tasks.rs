//! `tasks`: the fields for clients, and the replies in words.

mod fake;

use fake::tasks::TASK;
use fake::{Fake, Log, RUN, Wire, text};
use serde_json::{Value, json};

async fn wire() -> Wire {
    Wire::ready(Fake::new(&Log::new()), 1 << 16).await
}

async fn ask(arguments: Value) -> Value {
    wire().await.call("tasks", arguments).await
}

#[tokio::test]
async fn a_client_can_say_neither_who_it_is_nor_what_operators_do() {
    let mut wire = wire().await;
    for (name, value) in [
        ("as", json!("agent:main:1")),
        ("visibility", json!("all")),
        ("sandboxed", json!(false)),
        ("apply", json!(true)),
    ] {
        let mut asked = json!({"action": "list"});
        asked[name] = value;
        let result = wire.call("tasks", asked).await;
        assert_eq!(result["isError"], true, "{result}");
        assert!(text(&result).contains(&format!("unknown field `{name}`")), "{result}");
    }
    for action in ["retry", "audit", "maintenance"] {
        let result = wire.call("tasks", json!({"action": action, "lookup": TASK})).await;
        assert_eq!(result["isError"], true, "{result}");
        let text = text(&result);
        assert!(text.starts_with("bad-request: ") && text.contains(&format!("`{action}` is for operators")));
    }
}

#[tokio::test]
async fn no_client_is_told_of_what_it_cannot_ask() {
    let mut wire = wire().await;
    wire.send(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})).await;
    let tool = wire.receive().await["result"]["tools"][3].clone();
    assert_eq!(tool["name"], "tasks");
    let fields = tool["inputSchema"]["properties"].as_object().unwrap();
    for hidden in ["as", "visibility", "sandboxed", "apply"] {
        assert!(!fields.contains_key(hidden), "{hidden}");
    }
    assert_eq!(fields["action"]["enum"], json!(["list", "show", "notify", "cancel"]));
    for hidden in ["retry", "audit", "maintenance"] {
        assert!(!tool.to_string().contains(hidden), "{hidden}");
    }
    assert_eq!(fields["policy"]["enum"], json!(["done_only", "state_changes", "silent"]));
    assert_eq!(fields["statuses"]["items"]["type"], "string");
    assert_eq!(tool["inputSchema"]["required"], json!(["action"]));
    assert!(tool["description"].as_str().unwrap().contains("how is it going?"), "{tool}");
}

#[tokio::test]
async fn what_is_not_understood_is_named_with_what_would_be() {
    let mut wire = wire().await;
    for (arguments, wrong, right) in [
        (json!({}), "`action`", ""),
        (json!({"action": "status"}), "`status`", "`cancel`"),
        (json!({"action": "show", "taskId": "x"}), "`taskId`", "`lookup`"),
        (json!({"action": "notify", "lookup": "x", "policy": "loud"}), "`loud`", "`state_changes`"),
        (json!({"action": "list", "statuses": ["done"]}), "`done`", "`timed_out`"),
        (json!({"action": "list", "kind": "exec"}), "`exec`", "`subagent`"),
    ] {
        let result = wire.call("tasks", arguments).await;
        assert_eq!(result["isError"], true, "{result}");
        let text = text(&result);
        assert!(text.starts_with("bad-request: ") && text.contains(wrong) && text.contains(right), "{text}");
        for hidden in ["`as`", "`visibility`", "`apply`", "`audit`", "`retry`", "`maintenance`"] {
            assert!(!text.contains(hidden), "{text}");
        }
    }
}

#[tokio::test]
async fn how_it_goes_is_told_with_what_happened_last_and_how_to_end_it() {
    let result = ask(json!({"action": "show", "lookup": "running"})).await;
    assert_eq!(result["isError"], false);
    assert_eq!(result["structuredContent"]["task"]["taskId"], TASK);
    let told = text(&result);
    let lines: Vec<&str> = told.lines().collect();
    // The task began long ago, and its age changes while the test runs.
    assert!(lines[0].starts_with(&format!("task {TASK} [running; for ")), "{told}");
    assert!(lines[0].ends_with(&format!(" d; run; label \"the \\\"build\\\"\"; runId {RUN}]")), "{told}");
    assert_eq!(lines[1..3], ["progress: 12 of 40", "What happened last:"]);
    assert!(lines[3].starts_with("  started, ") && lines[4].ends_with(" ago: 12 of 40"), "{told}");
    assert_eq!(lines[5], "Its owner is told when it ends (done_only).");
    assert_eq!(lines[6], format!("tasks {{\"action\":\"cancel\",\"lookup\":\"{TASK}\"}} ends it."));
    assert_eq!(lines.len(), 7);
}

#[tokio::test]
async fn how_it_ended_is_told_and_is_no_error_of_who_asks() {
    let mut wire = wire().await;
    for (status, words) in [
        ("succeeded", ["result: all 40 built", "because of exit, exit code 0, 90 bytes of output"]),
        ("failed", ["error: it broke", "exit code 1"]),
        ("timed_out", ["error: it broke", "Telling its owner: delivered."]),
        ("cancelled", ["result: all 40 built", "after 2.5 s, "]),
        ("lost", ["error: it broke", "{\"action\":\"log\",\"runId\":"]),
    ] {
        let result = wire.call("tasks", json!({"action": "show", "lookup": status})).await;
        assert_eq!(result["isError"], false, "{result}");
        let told = text(&result);
        assert!(told.starts_with(&format!("task {TASK} [{status}; after 2.5 s, ")), "{told}");
        assert!(words.iter().all(|word| told.contains(word)) && !told.contains("ends it"), "{told}");
    }
    let queued = wire.call("tasks", json!({"action": "show", "lookup": "queued"})).await;
    assert!(text(&queued).contains("[queued; waiting for "), "{queued}");
}

#[tokio::test]
async fn a_list_has_each_with_its_summary_and_says_if_there_is_more() {
    let result = ask(json!({"action": "list", "statuses": ["failed", "running"]})).await;
    let lines: Vec<_> = text(&result).lines().collect();
    assert_eq!(lines.len(), 5, "{result}");
    assert!(lines[0].contains("[failed; ") && lines[2].contains("[running; for "), "{result}");
    assert!(lines[2].contains("; subagent; ") && lines[2].ends_with("; session helper:1]"), "{result}");
    assert_eq!([lines[1], lines[3]], ["  error: it broke", "  progress: 12 of 40"]);
    assert_eq!(lines[4], r#"[there is more: the same with "after":"c\"2" shows it]"#);
    let result = ask(json!({"action": "list", "owner": "nobody"})).await;
    assert_eq!(text(&result), "there are no such tasks that you may see");
}

#[tokio::test]
async fn a_notify_tells_what_is_told_from_now_on() {
    let mut wire = wire().await;
    for (policy, words) in [
        ("done_only", "told when it ends (done_only)."),
        ("state_changes", "told how it goes and when it ends (state_changes)."),
        ("silent", "told nothing unasked (silent)."),
    ] {
        let asked = json!({"action": "notify", "lookup": TASK, "policy": policy});
        let result = wire.call("tasks", asked).await;
        assert!(text(&result).ends_with(words), "{result}");
    }
}

#[tokio::test]
async fn a_cancel_tells_that_it_is_under_way_and_how_to_see_its_end() {
    let result = ask(json!({"action": "cancel", "lookup": TASK})).await;
    let told = text(&result);
    assert!(told.contains("; being ended; "), "{told}");
    let show = format!("tasks {{\"action\":\"show\",\"lookup\":\"{TASK}\"}} shows when it is.");
    assert!(told.ends_with(&show), "{told}");
    let result = ask(json!({"action": "cancel", "lookup": "nobody"})).await;
    assert_eq!(result["isError"], true);
    assert_eq!(result["_meta"]["tenure/problem"]["code"], "no-such-task");
}
