//! The events of each change of a session. They never contain messages or answers: those are in the transcript, for
//! readers who may see it.

use super::{kind, without_nulls};
use crate::rows::NewEvent;
use crate::sessions::{Move, Moved};
use crate::turns::{NewTurn, Turn};
use serde_json::{Value, json};
use tenure_core::ids::InstanceId;
use tenure_core::session::{SessionKey, SessionRow};

/// Makes the event of a created or imported session.
pub(crate) fn created(row: &SessionRow, label: Option<&str>) -> NewEvent {
    let detail = json!({
        "agentId": row.agent,
        "kind": row.kind,
        "mode": row.mode,
        "backendId": row.backend,
        "spawnedBy": row.spawned_by,
        "parentSessionKey": row.parent,
        "interaction": row.interaction,
        "label": label,
    });
    of(&row.key, &row.instance, (kind::SESSION_CREATED, detail), row.created_at_ms)
}

/// Makes the event of a closing session.
pub(crate) fn closing(row: &SessionRow, step: &Move, moved: &Moved) -> NewEvent {
    let detail = json!({ "reason": step.reason, "withdrawn": moved.withdrawn.len() });
    of(&row.key, &row.instance, (kind::SESSION_CLOSING, detail), step.at_ms)
}

/// Makes the event of a closed session.
pub(crate) fn closed(row: &SessionRow, step: &Move, turns: u64) -> NewEvent {
    let detail = json!({ "reason": step.reason, "turns": turns });
    of(&row.key, &row.instance, (kind::SESSION_CLOSED, detail), step.at_ms)
}

/// Makes the event of a removed session.
pub(crate) fn removed(row: &SessionRow, at_ms: u64) -> NewEvent {
    let detail = json!({ "closedAtMs": row.closed_at_ms });
    of(&row.key, &row.instance, (kind::SESSION_REMOVED, detail), at_ms)
}

/// Makes the event of a turn that began.
pub(crate) fn turn_started(turn: &Turn) -> NewEvent {
    let asked = &turn.asked;
    let detail = json!({
        "turnId": asked.id,
        "number": turn.number,
        "askedBy": asked.asked_by,
        "messageBytes": asked.message.len(),
    });
    of(&asked.session, &turn.instance, (kind::TURN_STARTED, detail), turn.began_at_ms)
}

/// Makes the event of a turn that ended.
pub(crate) fn turn_ended(turn: &Turn, at_ms: u64) -> NewEvent {
    let detail = json!({
        "turnId": turn.asked.id,
        "number": turn.number,
        "state": turn.state,
        "textBytes": turn.text.as_ref().map(|it| it.text.len() as u64 + it.cut_bytes),
    });
    let event = of(&turn.asked.session, &turn.instance, (kind::TURN_ENDED, detail), at_ms);
    NewEvent { run_id: turn.run.clone(), ..event }
}

/// Makes the event of a queued message.
pub(crate) fn message_queued(row: &SessionRow, asked: &NewTurn, before: u64) -> NewEvent {
    let detail = json!({
        "turnId": asked.id,
        "askedBy": asked.asked_by,
        "messageBytes": asked.message.len(),
        "before": before,
    });
    of(&row.key, &row.instance, (kind::MESSAGE_QUEUED, detail), asked.sent_at_ms)
}

/// Makes the event of a withdrawn message.
pub(crate) fn message_withdrawn(
    row: &SessionRow,
    message: &tenure_core::ids::TurnId,
    at_ms: u64,
) -> NewEvent {
    of(&row.key, &row.instance, (kind::MESSAGE_WITHDRAWN, json!({ "turnId": message })), at_ms)
}

fn of(session: &SessionKey, by: &InstanceId, (kind, detail): (&str, Value), at_ms: u64) -> NewEvent {
    NewEvent {
        at_ms,
        kind: kind.to_owned(),
        instance: by.clone(),
        run_id: None,
        session: Some(session.as_str().to_owned()),
        detail: without_nulls(detail),
    }
}
