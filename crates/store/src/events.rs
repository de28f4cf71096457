//! The events and counts of each change. Pure: the store calls it inside the transaction that makes the change, so
//! a change is recorded, told and counted at once, or not at all.

pub(crate) mod journal;
pub(crate) mod sessions;
pub(crate) mod tasks;

use crate::rows::{Beat, Change, Count, Hold, NewEvent, NewRun, RunRow};
use serde_json::{Map, Value, json};
use tenure_core::ending::{ProcessNote, Reason};
use tenure_core::ids::{InstanceId, RunId};
use tenure_core::record::{Boundary, Ending, KeeperNote};
use tenure_core::state::State;

/// The kinds of events. Frozen, because clients match on them.
pub mod kind {
    macro_rules! kinds {
        ($($(#[$doc:meta])* $name:ident = $word:literal;)*) => {
            $($(#[$doc])* pub const $name: &str = $word;)*

            /// All kinds.
            pub const ALL: &[&str] = &[$($word,)*];
        };
    }

    kinds! {
        /// A run was requested and recorded.
        RUN_CREATED = "run-created";
        /// The command of a run executes.
        RUN_STARTED = "run-started";
        /// A run is being ended, or its command has ended.
        RUN_LEAVING = "run-leaving";
        /// A signal reached a process of a run.
        RUN_SIGNALLED = "run-signalled";
        /// A process outlived the run's command: it left the session, or is a leftover in it.
        RUN_ESCAPED = "run-escaped";
        /// The output of a run grew. Live only: it has no row and no number.
        RUN_OUTPUT = "run-output";
        /// A run has ended.
        RUN_ENDED = "run-ended";
        /// Another instance took a run from a lost owner.
        LEASE_STOLEN = "lease-stolen";
        /// A run was hidden from lists.
        RUN_HIDDEN = "run-hidden";
        /// The record of a run was removed.
        RUN_REMOVED = "run-removed";
        /// An instance enrolled.
        INSTANCE_ENROLLED = "instance-enrolled";
        /// An expired instance was unseated.
        INSTANCE_UNSEATED = "instance-unseated";
        /// A session was created, or imported.
        SESSION_CREATED = "session-created";
        /// The processes of a session are being ended.
        SESSION_CLOSING = "session-closing";
        /// A session was closed.
        SESSION_CLOSED = "session-closed";
        /// The record of a session was removed, with its turns.
        SESSION_REMOVED = "session-removed";
        /// A turn began.
        TURN_STARTED = "turn-started";
        /// A turn ended.
        TURN_ENDED = "turn-ended";
        /// A message was queued for a session.
        MESSAGE_QUEUED = "message-queued";
        /// A queued message was withdrawn, and never will be a turn.
        MESSAGE_WITHDRAWN = "message-withdrawn";
        /// A task was created.
        TASK_CREATED = "task-created";
        /// A task began.
        TASK_STARTED = "task-started";
        /// Cancellation of a task was requested.
        TASK_CANCEL_ASKED = "task-cancel-asked";
        /// A task ended, or was given up.
        TASK_ENDED = "task-ended";
        /// A task was given up although it had ended.
        TASK_CORRECTED = "task-corrected";
        /// The notify policy of a task was changed.
        TASK_POLICY = "task-policy";
        /// The delivery status of a task changed.
        TASK_DELIVERY = "task-delivery";
        /// The record of a task was removed.
        TASK_REMOVED = "task-removed";
        /// All tasks were discarded.
        TASKS_RESET = "tasks-reset";
        /// Cancellation of a run was requested.
        CANCEL_ASKED = "cancel-asked";
        /// A recorded run without a holder was examined, and action was taken.
        RECONCILED = "reconciled";
        /// A command of the exec tool ended in the background.
        EXEC_ENDED = "exec-ended";
        /// A task's notice, for those who listen to the events.
        TASK_NOTICE = "task-notice";
        /// A person was asked to approve a command or a tool call.
        APPROVAL_ASKED = "approval-asked";
        /// A person has answered.
        APPROVAL_ANSWERED = "approval-answered";
        /// The request for approval expired.
        APPROVAL_EXPIRED = "approval-expired";
        /// An approved command could not be started.
        APPROVAL_FAILED = "approval-failed";
        /// The daemon started to serve.
        DAEMON_STARTED = "daemon-started";
        /// The daemon stops.
        DAEMON_STOPPED = "daemon-stopped";
    }
}

/// Maximum number of processes that an event names; the ending itself has all of them.
const NAMED: usize = 16;

/// The effect of a change of a run.
#[derive(Debug, PartialEq)]
pub(crate) struct Effects {
    /// The new state.
    pub(crate) state: State,
    /// The events.
    pub(crate) events: Vec<NewEvent>,
    /// The counts, with their increments.
    pub(crate) counts: Vec<(Count, u64)>,
}

/// Returns the effect of a change; `None` if the run has passed it. Unlike a live run's own steps, the registry's
/// may skip states, because it only learns of those that a daemon saw.
#[must_use]
pub(crate) fn effects(before: &RunRow, change: &Change, at_ms: u64) -> Option<Effects> {
    let (state, kind, detail, counts) = match (change, before.state) {
        // The end of a run may be requested before its start is known; the start is news until it is recorded.
        (Change::Started(note), state @ (State::Starting | State::Running | State::Exiting)) => {
            if before.note.is_some() {
                return None;
            }
            (state.max(State::Running), kind::RUN_STARTED, started(note), vec![(Count::Spawn, 1)])
        }
        (Change::Leaving { .. }, State::Exiting)
        | (_, State::Exited)
        // The store tells these by `journal::events`, which needs to know the events told before.
        | (Change::Noted(_), State::Starting | State::Running | State::Exiting) => return None,
        (Change::Leaving { cause, detail }, State::Starting | State::Running) => {
            (State::Exiting, kind::RUN_LEAVING, json!({ "cause": cause, "detail": detail }), Vec::new())
        }
        (Change::Ended(ending), State::Starting | State::Running | State::Exiting) => {
            (State::Exited, kind::RUN_ENDED, ended(before, ending), ending_counts(ending))
        }
    };
    let events = vec![of_run(before, &before.hold.instance, kind, detail, at_ms)];
    Some(Effects { state, events, counts })
}

fn started(note: &KeeperNote) -> Value {
    let (boundary, why) = match &note.boundary {
        Boundary::Cgroup { .. } => ("cgroup", None),
        Boundary::Group => ("group", None),
        Boundary::Job { .. } => ("job", None),
        Boundary::Subreaper { why } => ("subreaper", why.as_deref()),
    };
    json!({
        "pid": note.root.pid,
        "startTime": note.root.start_time,
        "bootId": note.root.place.boot_id,
        "keeperPid": note.keeper.pid,
        "boundary": boundary,
        "boundaryWhy": why,
        "startedAtMs": note.started_at_ms,
    })
}

fn ended(before: &RunRow, ending: &Ending) -> Value {
    let how = &ending.termination;
    let named = |list: &[ProcessNote]| (!list.is_empty()).then(|| json!(list[..list.len().min(NAMED)]));
    let total = |list: &[ProcessNote]| (list.len() > NAMED).then_some(list.len());
    json!({
        "reason": how.reason,
        "cause": before.cause,
        "exitCode": how.exit_code,
        "signal": how.signal,
        "confirmed": how.confirmed,
        "leftovers": how.leftovers,
        "leftoverProcesses": named(&how.leftover_processes),
        "escapees": named(&how.escapees),
        "escapeesTotal": total(&how.escapees),
        "survivors": named(&how.survivors),
        "survivorsTotal": total(&how.survivors),
        "outputOpen": how.output_open,
        "outputBytes": ending.output.bytes,
        "handedOverTo": (!ending.handed_over_to.is_empty()).then_some(&ending.handed_over_to),
        "endedAtMs": ending.ended_at_ms,
        "detail": how.detail,
    })
}

fn ending_counts(ending: &Ending) -> Vec<(Count, u64)> {
    let how = &ending.termination;
    let mut counts = vec![(Count::Exit(how.reason), 1)];
    match how.reason {
        Reason::OverallTimeout => counts.push((Count::TimeoutOverall, 1)),
        Reason::NoOutputTimeout => counts.push((Count::TimeoutNoOutput, 1)),
        Reason::Exit
        | Reason::Signal
        | Reason::ManualCancel
        | Reason::SpawnError
        | Reason::OwnershipEscape
        | Reason::OwnerLost
        | Reason::ReconciledStale => {}
    }
    if how.reason == Reason::OwnershipEscape || !how.escapees.is_empty() {
        counts.push((Count::Escape, 1));
    }
    counts.extend(kills(ending).into_iter().filter(|&(_, times)| times > 0));
    counts
}

/// Returns the number of SIGKILLs for this run, by kind of target.
fn kills(ending: &Ending) -> Vec<(Count, u64)> {
    let kills = ending.kills;
    vec![
        (Count::KillPid, kills.pid.into()),
        (Count::KillGroup, kills.pgid.into()),
        (Count::KillCgroup, kills.cgroup.into()),
        (Count::KillJob, kills.job.into()),
    ]
}

/// Makes the event of a new run.
pub(crate) fn created(run: &NewRun) -> NewEvent {
    let ticket = &run.ticket;
    let detail = json!({
        "askedBy": run.asked_by,
        "label": ticket.options.label,
        "command": ticket.command,
        "cwd": ticket.cwd,
        "scope": ticket.options.scope,
        "backend": ticket.backend_id,
        "pty": ticket.options.pty_size.is_some(),
        "leaseId": ticket.lease_id,
        "epoch": ticket.lease_epoch,
        "owner": ticket.owner_instance_id,
        "escapedFrom": ticket.escaped_from,
    });
    NewEvent {
        at_ms: ticket.created_at_ms,
        kind: kind::RUN_CREATED.to_owned(),
        instance: ticket.owner_instance_id.clone(),
        run_id: Some(ticket.run_id.clone()),
        session: ticket.options.session_id.clone(),
        detail: without_nulls(detail),
    }
}

/// Makes the event of a run that was taken from a lost owner; the new owner tells it.
pub(crate) fn stolen(
    run: RunId,
    session: Option<String>,
    (from, to): (&Hold, &Hold),
    at_ms: u64,
) -> NewEvent {
    let detail = json!({
        "owner": { "from": from.instance, "to": to.instance },
        "epoch": { "from": from.epoch, "to": to.epoch },
    });
    NewEvent {
        at_ms,
        kind: kind::LEASE_STOLEN.to_owned(),
        instance: to.instance.clone(),
        run_id: Some(run),
        session,
        detail,
    }
}

/// Makes the event of a hidden run.
pub(crate) fn hidden(run: &RunRow, at_ms: u64) -> NewEvent {
    of_run(run, &run.hold.instance, kind::RUN_HIDDEN, json!({ "label": run.ticket.options.label }), at_ms)
}

/// Makes the event of a removed run, with the last facts about it.
pub(crate) fn removed(run: &RunRow, at_ms: u64) -> NewEvent {
    let how = run.ending.as_ref().map(|ending| &ending.termination);
    let detail = json!({
        "label": run.ticket.options.label,
        "command": run.ticket.command,
        "reason": how.map(|how| how.reason),
        "endedAtMs": run.ending.as_ref().map(|ending| ending.ended_at_ms),
    });
    of_run(run, &run.hold.instance, kind::RUN_REMOVED, detail, at_ms)
}

/// Makes the event of an enrolled instance.
pub(crate) fn enrolled(instance: InstanceId, beat: Beat, about: &str, at_ms: u64) -> NewEvent {
    let detail = json!({ "incarnation": beat.incarnation, "about": about });
    of_instance(instance, kind::INSTANCE_ENROLLED, detail, at_ms)
}

/// Makes the event of an unseated instance.
pub(crate) fn unseated(instance: InstanceId, from: Beat, to: Beat, at_ms: u64) -> NewEvent {
    let detail = json!({
        "incarnation": { "from": from.incarnation, "to": to.incarnation },
        "lastBeat": from.number,
    });
    of_instance(instance, kind::INSTANCE_UNSEATED, detail, at_ms)
}

fn of_instance(instance: InstanceId, kind: &str, detail: Value, at_ms: u64) -> NewEvent {
    NewEvent { at_ms, kind: kind.to_owned(), instance, run_id: None, session: None, detail }
}

fn of_run(run: &RunRow, by: &InstanceId, kind: &str, detail: Value, at_ms: u64) -> NewEvent {
    NewEvent {
        at_ms,
        kind: kind.to_owned(),
        instance: by.clone(),
        run_id: Some(run.ticket.run_id.clone()),
        session: run.ticket.options.session_id.clone(),
        detail: without_nulls(detail),
    }
}

/// Removes null fields: events are many, and most of their fields would be empty.
fn without_nulls(detail: Value) -> Value {
    match detail {
        Value::Object(fields) => {
            fields.into_iter().filter(|(_, v)| !v.is_null()).collect::<Map<_, _>>().into()
        }
        other => other,
    }
}

#[cfg(test)]
mod tests;
