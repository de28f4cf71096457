//! Tasks in the state that their lookups say.

use super::{RUN, refused};
use serde_json::json;
use tenure_core::api::Problem;
use tenure_core::task::{NotifyPolicy, TaskRow};
use tenure_core::tools::tasks::{Action, TasksReply, TasksRequest};

pub(crate) const TASK: &str = "fedcbafedcbafedcbafedcba";

/// A command in the background, with this status.
pub(crate) fn task(status: &str) -> TaskRow {
    let ended = !["queued", "running"].contains(&status);
    let failed = ["failed", "timed_out", "lost"].contains(&status);
    let outcome = json!({"reason": "exit", "exitCode": i32::from(failed), "outputBytes": 90});
    serde_json::from_value(json!({
        "taskId": TASK, "kind": "run", "status": status,
        "deliveryStatus": if ended { "delivered" } else { "pending" }, "notifyPolicy": "done_only",
        "tellsQuietSuccess": true, "runId": RUN, "ownerSessionKey": "mcp:1", "instanceId": RUN,
        "interaction": "parent-owned-background", "label": "the \"build\"", "progressSummary": "12 of 40",
        "terminalSummary": (ended && !failed).then_some("all 40 built"), "error": failed.then_some("it broke"),
        "outcome": ended.then_some(outcome),
        "recentEvents": [
            {"atMs": 1000, "kind": "started"}, {"atMs": 2000, "kind": "progress", "summary": "12 of 40"},
        ],
        "createdAtMs": 500, "startedAtMs": (status != "queued").then_some(1000),
        "endedAtMs": ended.then_some(3500), "lastEventAtMs": 2000,
    }))
    .unwrap()
}

/// A running turn of a session.
fn turn() -> TaskRow {
    let mut task = task("running");
    task.kind = tenure_core::task::Kind::Subagent;
    task.child = Some("helper:1".parse().unwrap());
    task.label = None;
    task
}

/// Returns the reply. `show` returns a task with the status that is looked up.
pub(crate) fn answer(request: &TasksRequest) -> Result<TasksReply, Problem> {
    let lookup = request.lookup.as_deref().unwrap_or_default();
    if request.action != Action::List && lookup == "nobody" {
        return Err(refused("no-such-task", "there is no task nobody"));
    }
    let of = |task| Ok(TasksReply { task: Some(task), ..TasksReply::default() });
    match request.action {
        Action::List if request.owner.as_deref() == Some("nobody") => {
            Ok(TasksReply { tasks: Some(Vec::new()), ..TasksReply::default() })
        }
        Action::List => {
            let tasks = Some(vec![task("failed"), turn()]);
            Ok(TasksReply { tasks, next: Some("c\"2".to_owned()), ..TasksReply::default() })
        }
        Action::Show => of(task(lookup)),
        Action::Notify => {
            let mut task = task("running");
            task.policy = request.policy.unwrap_or(NotifyPolicy::DoneOnly);
            of(task)
        }
        Action::Cancel => {
            let mut task = task("running");
            task.cancel_asked_at_ms = Some(3000);
            of(task)
        }
        Action::Retry | Action::Acknowledge | Action::Audit | Action::Maintenance | Action::Reset => {
            panic!("it is not a client's to ask")
        }
    }
}
