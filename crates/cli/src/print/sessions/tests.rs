use super::*;
use serde_json::{Value, json};

fn shown(more: &Value) -> String {
    let mut session = json!({
        "key": "agent:a:1", "agentId": "a", "kind": "subagent", "mode": "persistent", "backendId": "cli",
        "instanceId": "c".repeat(24), "interaction": "interactive", "state": "busy", "createdAtMs": 0, "updatedAtMs": 0,
        "label": null, "agentSessionId": null, "turns": 2, "queued": 0,
    });
    let fields = session.as_object_mut().unwrap();
    fields.extend(more.as_object().unwrap().clone());
    let groups = groups(&Context::fixed(200, 9_000), &serde_json::from_value(session).unwrap());
    let rows = |(title, rows): Group| {
        rows.into_iter().map(move |(name, value)| format!("{title}: {name}: {value}\n"))
    };
    groups.into_iter().flat_map(rows).collect()
}

#[test]
fn a_session_shows_its_ownership() {
    let text = shown(&json!({
        "parentSessionKey": "p", "ownerSessionKey": "p", "spawnedBy": "top", "lineage": ["p", "top"], "sandboxed": true,
        "origin": {"channel": "slack", "thread": "7\u{1b}[2J"},
    }));
    for line in [
        "Ownership: parent: p\n",
        "Ownership: owner: p\n",
        "Ownership: spawned by: top\n",
        "Ownership: lineage: p ← top\n",
        "Ownership: channel: slack, 7\n",
        "Ownership: sandboxed: yes",
    ] {
        assert!(text.contains(line), "{line}{text}");
    }
    let text = shown(&json!({}));
    assert!(
        text.contains("spawned by: nobody") && !text.contains("parent:") && !text.contains("sandboxed"),
        "{text}"
    );
}

#[test]
fn a_session_shows_its_work() {
    let text = shown(&json!({
        "queued": 3, "work": {"cwd": "/src", "timeoutMs": 90000}, "liveRuns": ["b".repeat(24), "d".repeat(24)],
        "agentSessionId": "ab-1",
        "activeTurn": {
            "turnId": "a".repeat(24), "number": 2, "state": "running", "askedBy": "p", "message": "go\non", "messageCutBytes": 9,
            "text": null, "error": null, "runId": "b".repeat(24), "sentAtMs": 0, "beganAtMs": 0, "endedAtMs": null,
        },
    }));
    for line in [
        "Session: queued: 3\n",
        "Work: directory: /src\n",
        "Work: timeout: 1 min 30 s\n",
        "Work: conversation: ab-1\n",
        "Active turn: message: go on…\n",
        "Active turn: sent by: p\n",
        "Work: live runs: bbbbbbbbbbbb dddddddddddd\n",
    ] {
        assert!(text.contains(line), "{line}{text}");
    }
}

#[test]
fn an_adapter_shows_its_modes_and_options() {
    let select = json!({"id": "effort", "name": "Effort", "type": "select", "currentValue": "low", "options": [
        {"value": "low", "name": "Low"}, {"group": "more", "name": "More", "options": [{"value": "high", "name": "High"}]}]});
    let text = shown(&json!({"adapter": {
        "runId": "b".repeat(24), "agent": "helper 1.0", "agentSessionId": "s1", "resumes": true, "mode": "plan",
        "modes": [{"id": "plan", "name": "Plan \u{1b}[2J"}, {"id": "code", "name": "Code"}], "options": [select],
    }}));
    for line in [
        "Adapter: agent: helper 1.0\n",
        "Adapter: resumes: yes\n",
        "Adapter: mode: plan: Plan  (set)\n",
        "Adapter: mode: code: Code\n",
        "Adapter: option: effort: low (of low, high)\n",
    ] {
        assert!(text.contains(line), "{line}{text}");
    }
}
