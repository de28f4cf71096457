//! The events of each change of a task. They never contain output or answers: those are in the task, for readers
//! who may see it.

use super::{kind, without_nulls};
use crate::rows::NewEvent;
use serde_json::{Value, json};
use tenure_core::ids::InstanceId;
use tenure_core::session::SessionKey;
use tenure_core::task::{EventKind, TaskRow};
use tenure_core::tools::tasks::TaskReset;

/// Makes the event of a change of a task; `None` if it is too frequent to be told.
pub(crate) fn happened(row: &TaskRow, what: EventKind, at_ms: u64) -> Option<NewEvent> {
    let (kind, detail) = match what {
        EventKind::Created => (kind::TASK_CREATED, json!({ "kind": row.kind, "childSessionKey": row.child })),
        EventKind::Started => (kind::TASK_STARTED, json!({})),
        EventKind::Progress => return None,
        EventKind::CancelAsked => (kind::TASK_CANCEL_ASKED, json!({})),
        EventKind::Ended | EventKind::Lost => (kind::TASK_ENDED, json!({ "deliveryStatus": row.delivery })),
        EventKind::Corrected => (kind::TASK_CORRECTED, json!({ "deliveryStatus": row.delivery })),
        EventKind::Policy => (kind::TASK_POLICY, json!({ "notifyPolicy": row.policy })),
    };
    Some(of(row, kind, detail, at_ms))
}

/// Makes the event of a changed delivery status.
pub(crate) fn delivery(row: &TaskRow, at_ms: u64) -> NewEvent {
    of(row, kind::TASK_DELIVERY, json!({ "deliveryStatus": row.delivery }), at_ms)
}

/// Makes the event of a removed task.
pub(crate) fn removed(row: &TaskRow, at_ms: u64) -> NewEvent {
    of(row, kind::TASK_REMOVED, json!({ "endedAtMs": row.ended_at_ms }), at_ms)
}

/// Makes the event of a reset of all tasks.
pub(crate) fn reset(reset: TaskReset, by: &InstanceId, at_ms: u64) -> NewEvent {
    let TaskReset { tasks, active, notices, .. } = reset;
    NewEvent {
        at_ms,
        kind: kind::TASKS_RESET.to_owned(),
        instance: by.clone(),
        run_id: None,
        session: None,
        detail: json!({ "tasks": tasks, "active": active, "notices": notices }),
    }
}

fn of(row: &TaskRow, kind: &str, mut detail: Value, at_ms: u64) -> NewEvent {
    detail["taskId"] = json!(row.id);
    detail["status"] = json!(row.status);
    NewEvent {
        at_ms,
        kind: kind.to_owned(),
        instance: row.instance.clone(),
        run_id: row.run.clone(),
        session: row.owner.as_ref().map(SessionKey::as_str).map(str::to_owned),
        detail: without_nulls(detail),
    }
}
