use super::*;
use crate::args::TaskArgs;
use serde_json::{Value, json};

fn reply(findings: &Value) -> TasksReply {
    serde_json::from_value(json!({"findings": findings})).unwrap()
}

#[test]
fn only_an_audit_with_findings_exits_1() {
    let found =
        json!([{"taskId": "a".repeat(24), "code": "stale_queued", "severity": "warning", "detail": "x"}]);
    assert_eq!(code(&TasksVerb::Audit, &reply(&found)), 1);
    assert_eq!(code(&TasksVerb::Audit, &reply(&json!([]))), 0);
    assert_eq!(code(&TasksVerb::Cancel(TaskArgs { lookup: String::new() }), &reply(&found)), 0);
}
