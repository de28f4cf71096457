//! Exit codes and notes of replies.

use super::*;
use serde_json::json;

fn reply(with: &serde_json::Value) -> ExecReply {
    let mut fields = json!({
        "status": "completed", "runId": "0123456789abcdef01234567", "exitCode": null, "exitSignal": null,
        "exitReason": null, "failureKind": null, "durationMs": 1, "output": "", "truncated": false, "nextLine": null,
        "nextOffset": null, "tail": "", "followUp": null, "warnings": [],
    });
    for (name, value) in with.as_object().unwrap() {
        fields[name] = value.clone();
    }
    serde_json::from_value(fields).unwrap()
}

#[test]
fn the_exit_code_is_the_commands_own_or_that_of_run() {
    let ended = |reason: &str, exit: Option<i32>, signal: Option<&str>| {
        code(&reply(
            &json!({"status": "failed", "exitReason": reason, "exitCode": exit, "exitSignal": signal}),
        ))
    };
    assert_eq!(code(&reply(&json!({"exitReason": "exit", "exitCode": 3}))), 3);
    assert_eq!(ended("exit", Some(127), None), 127);
    assert_eq!(ended("overall-timeout", Some(0), None), 124);
    assert_eq!(ended("no-output-timeout", None, Some("SIGTERM")), 124);
    assert_eq!(ended("manual-cancel", Some(0), None), 123);
    assert_eq!(ended("owner-lost", None, None), 123);
    assert_eq!(ended("ownership-escape", Some(0), None), 122);
    assert_eq!(ended("reconciled-stale", None, None), 121);
    assert_eq!(ended("signal", None, Some("SIGKILL")), 137);
    assert_eq!(ended("spawn-error", Some(126), None), 126);
}

#[test]
fn a_running_command_exits_0_and_a_pending_approval_exits_1() {
    let going_on = reply(&json!({"status": "running"}));
    assert_eq!(code(&going_on), 0);
    assert!(notes(&going_on)[0].contains("tenure process poll 0123456789ab"));
    let asked = reply(&json!({"status": "approval-pending"}));
    assert_eq!(code(&asked), 1);
    assert!(notes(&asked)[0].contains("tenure approvals allow-once 0123456789ab"));
}

#[test]
fn a_cut_output_names_the_command_for_the_rest() {
    let whole = reply(&json!({"exitReason": "exit", "exitCode": 0}));
    assert!(notes(&whole).is_empty());
    let cut = reply(&json!({"exitReason": "exit", "exitCode": 0, "truncated": true, "nextLine": 7}));
    assert!(notes(&cut)[0].contains("tenure process log 0123456789ab --offset 7"));
}

#[test]
fn a_time_limit_is_explained_with_command_line_flags() {
    for kind in ["overall-timeout", "no-output-timeout"] {
        let ended = reply(&json!({
            "status": "failed", "exitReason": kind, "failureKind": kind, "followUp": "give timeoutSeconds", "truncated": true,
        }));
        let said = notes(&ended);
        assert!(said.len() == 2 && !said.concat().contains("timeoutSeconds"), "{said:?}");
    }
    let broken =
        reply(&json!({"status": "failed", "failureKind": "spawn-error", "followUp": "no such directory"}));
    assert_eq!(notes(&broken), ["no such directory"]);
}
