//! Lifetime of an ACP agent's process: it is stopped after a long idle time, its conversation continues in another, and
//! a session never has two.

use serde_json::{Value, json};
use tenure_it::acp_fixture::{AcpFixture, KEY, counted, description};
use tenure_it::api::text;
use tenure_it::eventually;
use tenure_it::proc;

/// Waits until the session has no adapter.
#[track_caller]
fn wait_evicted(acp: &AcpFixture) {
    eventually(&format!("an eviction\n{}", acp.log()), || acp.status(KEY)["adapter"].is_null().then_some(()));
}

#[test]
fn an_idle_adapter_is_stopped_and_the_next_one_continues_its_conversation() {
    for (flag, method) in [("--load", "session/load"), ("--resume", "session/resume")] {
        let acp = AcpFixture::with(&[flag], "idle = '150ms'", "[run]\ngrace = '200ms'");
        acp.open(KEY);
        let before = acp.describe_itself(KEY);
        wait_evicted(&acp);
        acp.process_is_gone(0);
        assert_eq!(acp.status(KEY)["state"], "idle", "the session is open");
        let entries = acp.entries(KEY).len();
        let after = acp.describe_itself(KEY);
        assert_ne!(after["pid"], before["pid"]);
        assert_eq!((&after["session"], &after["loaded"]), (&before["session"], &true.into()), "{after}");
        assert_eq!(acp.times(method), 1, "{:?}", acp.methods());
        assert_eq!(acp.entries(KEY).len(), entries + 2, "{:#?}", acp.entries(KEY));
        acp.finish();
    }
}

#[test]
fn a_replay_after_the_load_response_is_not_part_of_the_next_answer() {
    // After an eviction, and after the adapter's death.
    for dies in [false, true] {
        let idle = if dies { "1h" } else { "150ms" };
        let acp =
            AcpFixture::with(&["--load", "--late"], &format!("idle = '{idle}'"), "[run]\ngrace = '200ms'");
        acp.open(KEY);
        for words in ["one", "two", "three"] {
            let _ = acp.turn_ok(
                KEY,
                &format!("!say answer {words}\n!tool {words} read look\n!tool-end {words} completed\n!say ."),
            );
        }
        if dies {
            let _ = acp.turn(KEY, "!say last words\n!exit 3 gone");
        } else {
            wait_evicted(&acp);
        }
        let before = acp.entries(KEY);
        for (number, words) in ["new", "newer"].into_iter().enumerate() {
            let turn = acp.turn_ok(KEY, &format!("!say {words}"));
            assert_eq!(turn["text"], words, "{turn}");
            let entries = acp.entries(KEY);
            assert_eq!(entries.len(), before.len() + 2 * (number + 1), "{entries:#?}");
            assert_eq!(entries[..before.len()], before[..]);
        }
        assert!(acp.times("session/load") > 0, "{:?}", acp.methods());
        acp.finish();
    }
}

#[test]
fn an_unloadable_conversation_starts_anew_and_its_agent_is_kept() {
    for odd in [["--refuse", "session/load"], ["--dies-of", "session/load"]] {
        let flags = [&["--load"][..], &odd[..]].concat();
        let acp = AcpFixture::with(&flags, "idle = '150ms'", "[run]\ngrace = '200ms'");
        acp.open(KEY);
        let before = acp.describe_itself(KEY);
        assert_eq!(acp.status(KEY)["adapter"]["resumes"], true);
        wait_evicted(&acp);
        let after = acp.describe_itself(KEY);
        assert_ne!(after["session"], before["session"], "{after}");
        let notes = acp.bodies(KEY, "note");
        let told = notes.iter().any(|note| text(&note["text"]).contains("this is a new session"));
        assert!(told, "{notes:#?}");
        assert_eq!(acp.status(KEY)["agentSessionId"], after["session"]);
        assert_eq!(acp.status(KEY)["adapter"]["resumes"], false, "{}", acp.status(KEY));
        // Another session of the agent is long idle as well while a third has turns, one after the other.
        let [other, third] = ["agent:helper:other", "agent:helper:third"];
        acp.open(other);
        let kept = acp.describe_itself(other);
        acp.open(third);
        for _ in 0..20 {
            let _ = acp.describe_itself(third);
        }
        assert_eq!(acp.describe_itself(other)["pid"], kept["pid"]);
        assert_eq!(acp.describe_itself(KEY)["pid"], after["pid"]);
        acp.finish();
    }
}

#[test]
fn resume_is_preferred_to_load_if_both_are_offered() {
    let acp = AcpFixture::with(&["--load", "--resume"], "idle = '150ms'", "");
    acp.open(KEY);
    let _ = acp.describe_itself(KEY);
    wait_evicted(&acp);
    let _ = acp.describe_itself(KEY);
    assert_eq!((acp.times("session/resume"), acp.times("session/load")), (1, 0));
    acp.finish();
}

#[test]
fn an_adapter_without_load_or_resume_is_never_evicted() {
    let acp = AcpFixture::with(&[], "idle = '50ms'", "");
    acp.open(KEY);
    let other = "agent:helper:other";
    let before = acp.describe_itself(KEY);
    // Far beyond its own idle time another session has had turns, one after the other.
    acp.open(other);
    for _ in 0..20 {
        let _ = acp.describe_itself(other);
    }
    assert!(acp.status(KEY)["adapter"].is_object());
    assert_eq!(acp.describe_itself(KEY)["pid"], before["pid"]);
    acp.finish();
}

#[test]
fn a_busy_adapter_is_not_idle() {
    let acp = AcpFixture::with(&["--load"], "idle = '100ms'", "");
    acp.open(KEY);
    let sent = acp.send(KEY, "!say busy \n!await go");
    acp.wait_text(KEY, "busy");
    // The turns of another session take longer than the idle time.
    let other = "agent:helper:other";
    acp.open(other);
    let _ = acp.describe_itself(other);
    eventually("the eviction of the other", || acp.status(other)["adapter"].is_null().then_some(()));
    acp.release("go");
    let turn = acp.end_of(KEY, &sent["turnId"]);
    assert_eq!(turn["stop"], "end-turn", "{turn}");
    acp.finish();
}

#[test]
fn close_and_history_work_without_the_evicted_adapter() {
    let acp = AcpFixture::with(&["--load", "--close"], "idle = '100ms'", "");
    acp.open(KEY);
    let _ = acp.describe_itself(KEY);
    wait_evicted(&acp);
    assert_eq!(acp.entries(KEY).len(), 2);
    let _ = acp.close(KEY);
    assert_eq!(acp.starts().len(), 1, "no adapter is started for a close");
    acp.finish();
}

#[test]
fn the_mode_of_an_evicted_agent_is_set_in_the_next_one() {
    let acp = AcpFixture::with(&["--load", "--modes"], "idle = '3s'", "");
    acp.open(KEY);
    let _ = acp.describe_itself(KEY);
    wait_evicted(&acp);
    let reply = acp.expect_ok("set-mode", KEY, &json!({"agentMode": "act"}));
    assert_eq!(reply["session"]["adapter"]["mode"], "act", "{reply}");
    assert_eq!(acp.describe_itself(KEY)["mode"], "act");
    acp.finish();
}

#[test]
fn a_session_never_has_two_adapters() {
    // The adapter ignores requests to exit, so the next is needed during its stop.
    let flags = ["--load", "--ignore-eof", "--ignore-term"];
    let acp = AcpFixture::with(&flags, "idle = '50ms'", "[run]\ngrace = '700ms'");
    acp.open(KEY);
    for start in 0..2 {
        let sent = acp.send(KEY, &format!("!await go-{start}"));
        acp.wait_starts(start + 1);
        let adapter = acp.process(start);
        acp.release(&format!("go-{start}"));
        let _ = acp.end_of(KEY, &sent["turnId"]);
        eventually("it is asked to end", || {
            (adapter.is_dead() || !proc::pending(adapter.pid).is_empty()).then_some(())
        });
    }
    let _ = acp.describe_itself(KEY);
    assert_eq!(acp.starts().len(), 3);
    acp.assert_never_two();
    acp.finish();
}

fn pid(start: &Value) -> i32 {
    i32::try_from(start["pid"].as_i64().expect("a pid")).expect("a pid")
}

#[test]
fn messages_queue_in_order_up_to_a_limit() {
    let acp = AcpFixture::with(&[], "", "[sessions]\nqueue = 3");
    acp.open(KEY);
    let first = acp.send(KEY, "!say here \n!await go");
    acp.wait_text(KEY, "here");
    let queued: Vec<Value> = (1..=3).map(|n| acp.send(KEY, &format!("!say number {n} "))).collect();
    for (n, sent) in queued.iter().enumerate() {
        assert_eq!((&sent["delivery"], &sent["ahead"]), (&"queued".into(), &n.into()), "{sent}");
    }
    let full = acp.ask("send", KEY, &json!({"text": "one too many"}));
    assert!(matches!(full.head.status, 409 | 429), "{}", full.text());
    let refused = acp.ask("send", KEY, &json!({"text": "now or never", "whenBusy": "refuse"}));
    assert!(refused.head.status >= 400, "{}", refused.text());
    acp.release("go");
    for sent in [&first].into_iter().chain(&queued) {
        assert_eq!(acp.end_of(KEY, &sent["turnId"])["stop"], "end-turn");
    }
    assert_eq!(acp.agent_text(KEY), "here number 1 number 2 number 3 ");
    let _ = acp.describe_itself(KEY);
    acp.finish();
}

#[test]
fn each_of_many_sessions_has_its_own_adapter() {
    let acp = AcpFixture::new(&[]);
    let keys: Vec<String> = (0..8).map(|n| format!("agent:helper:{n}")).collect();
    let sent: Vec<Value> = keys
        .iter()
        .map(|key| {
            acp.open(key);
            acp.send(key, "!count 1 50\n!await go\n!count 51 100")
        })
        .collect();
    for key in &keys {
        acp.wait_text(key, "50 ");
    }
    acp.release("go");
    for (key, sent) in keys.iter().zip(&sent) {
        assert_eq!(acp.end_of(key, &sent["turnId"])["stop"], "end-turn");
        assert_eq!(acp.agent_text(key), counted(100), "{key}");
    }
    let pids: std::collections::HashSet<i32> = acp.starts().iter().map(pid).collect();
    assert_eq!(pids.len(), 8);
    acp.finish();
}

#[test]
fn a_session_from_the_agents_own_list_can_be_continued() {
    let acp = AcpFixture::with(&["--load", "--list"], "idle = '100ms'", "");
    acp.open(KEY);
    let session = text(&acp.describe_itself(KEY)["session"]);
    wait_evicted(&acp);
    let turn = acp.turn_ok(KEY, "hello");
    assert_eq!(description(&turn)["session"], session);
    acp.finish();
}

#[test]
fn a_conversation_of_acpx_is_continued_by_its_own_agent() {
    let acp = AcpFixture::new(&["--load"]);
    acp.open(KEY);
    let session = text(&acp.describe_itself(KEY)["session"]);
    let _ = acp.close(KEY);
    let records = tempfile::tempdir().expect("a directory");
    let record = json!({
        "schema": "acpx.session.v1", "acpx_record_id": "earlier", "acp_session_id": session, "cwd": acp.dir(),
        "agent_command": format!("'{}' --load", tenure_it::install::scripted_acp().display()),
    });
    std::fs::write(records.path().join("earlier.json"), record.to_string()).expect("a record");
    let imported = acp.api.post("/v1/sessions/import", &json!({"dir": records.path()}));
    assert_eq!(imported.head.status, 200, "{}", imported.text());
    let turn = acp.turn_ok("acpx:earlier", "hello");
    assert_eq!((&description(&turn)["session"], acp.times("session/load")), (&session.into(), 1), "{turn}");
    acp.finish();
}
