//! Sample runs for a registry, made from the first records ever shipped.

use serde_json::json;
use std::sync::Arc;
use tenure_core::ending::{Reason, Termination};
use tenure_core::ids::{InstanceId, RunId};
use tenure_core::record::{self, Ending, KeeperNote, Ticket};
use tenure_store::{
    ApprovalState, Beat, Change, Hold, NewAnswer, NewApproval, NewEvent, NewRun, Query, Registry,
};

/// The time at which the tests happen.
pub(crate) const NOW: u64 = 1_800_000_000_000;

/// An id made of a number; greater numbers are greater ids.
pub(crate) fn run_id(number: u64) -> RunId {
    let mut bytes = [0; 12];
    bytes[4..].copy_from_slice(&number.to_be_bytes());
    RunId::from_random(bytes)
}

pub(crate) fn instance(number: u8) -> InstanceId {
    InstanceId::from_random([number; 12])
}

/// The hold of a run's first owner.
pub(crate) fn hold(number: u8) -> Hold {
    Hold { instance: instance(number), epoch: 1 }
}

/// A run of instance 1 that was requested at `NOW + number`.
pub(crate) fn new_run(number: u64) -> NewRun {
    let mut ticket: Ticket = record::decode(include_bytes!("../../../core/fixtures/ticket-v1")).unwrap();
    ticket.run_id = run_id(number);
    ticket.owner_instance_id = instance(1);
    ticket.lease_epoch = 1;
    ticket.created_at_ms = NOW + number;
    NewRun {
        ticket,
        directory: format!("/state/runs/{number}"),
        asked_by: "uid 1000".to_owned(),
        exec: None,
        session_parent: None,
        is_started: false,
        task: None,
    }
}

pub(crate) fn in_session(number: u64, session: &str) -> NewRun {
    let mut run = new_run(number);
    run.ticket.options.session_id = Some(session.to_owned());
    run
}

pub(crate) fn in_scope(number: u64, scope: &str) -> NewRun {
    let mut run = new_run(number);
    run.ticket.options.scope = Some(scope.to_owned());
    run
}

pub(crate) fn note() -> KeeperNote {
    record::decode(include_bytes!("../../../core/fixtures/keeper-v1")).unwrap()
}

pub(crate) fn started() -> Change {
    Change::Started(Box::new(note()))
}

pub(crate) fn leaving() -> Change {
    Change::Leaving { cause: None, detail: None }
}

/// An ending at `NOW + number` with ten bytes of output.
pub(crate) fn ending(number: u64, reason: Reason) -> Ending {
    let mut ending: Ending = record::decode(include_bytes!("../../../core/fixtures/ending-v1")).unwrap();
    ending.run_id = run_id(number);
    ending.ended_at_ms = NOW + number;
    ending.termination = Termination::new(reason, None, None);
    ending
}

pub(crate) fn ended(number: u64) -> Change {
    Change::Ended(Box::new(ending(number, Reason::Exit)))
}

/// Enrols instance 1, which never expires.
pub(crate) async fn enrolled(registry: &Arc<dyn Registry>) -> Beat {
    registry.enrol(instance(1), "here".to_owned(), u64::MAX).await.unwrap()
}

/// Creates a run of instance 1 and ends it.
pub(crate) async fn create_ended(registry: &Arc<dyn Registry>, run: NewRun, ending: Ending) {
    let id = run.ticket.run_id.clone();
    registry.create(run).await.unwrap();
    assert!(registry.record(id, hold(1), Change::Ended(Box::new(ending)), NOW).await.unwrap());
}

/// Returns the ids of every page of a list, read page by page.
pub(crate) async fn listed(registry: &Arc<dyn Registry>, query: Query) -> Vec<RunId> {
    let mut query = query;
    let mut found = Vec::new();
    loop {
        let page = registry.runs(query.clone()).await.unwrap();
        assert!(page.runs.len() <= query.limit);
        found.extend(page.runs.into_iter().map(|run| run.ticket.run_id));
        match page.next {
            Some(next) => query.after = Some(next),
            None => return found,
        }
    }
}

/// Returns the ids of these runs.
pub(crate) fn ids(numbers: &[u64]) -> Vec<RunId> {
    numbers.iter().map(|&number| run_id(number)).collect()
}

/// A request of instance 1 for approval, made at `NOW + number`.
pub(crate) fn question(number: u64, expires_at_ms: u64) -> NewApproval {
    NewApproval {
        id: run_id(number),
        created_at_ms: NOW + number,
        expires_at_ms,
        instance: instance(1),
        session: None,
        asked: json!({"request": {"command": "ls"}}),
    }
}

/// An answer by a person.
pub(crate) fn yes(state: ApprovalState, at_ms: u64) -> NewAnswer {
    let (by, asked) = ("a person".to_owned(), json!({"kept": true}));
    NewAnswer { state, at_ms, by, asked, entries: Vec::new() }
}

/// The event that tells the end of a run.
pub(crate) fn told(number: u64) -> NewEvent {
    NewEvent {
        at_ms: NOW + number,
        kind: "run-notice".to_owned(),
        instance: instance(1),
        run_id: Some(run_id(number)),
        session: None,
        detail: json!({}),
    }
}
