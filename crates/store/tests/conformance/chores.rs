//! Sample tasks for a registry, and queries about them.

use crate::sample::{NOW, ending, hold, in_session, instance, run_id, started};
use crate::talk::asked;
use std::sync::Arc;
use tenure_core::ending::{Exit, Reason, Termination};
use tenure_core::ids::TaskId;
use tenure_core::session::Origin;
use tenure_core::task::{NotifyPolicy, TaskRow};
use tenure_store::{Change, Claimed, NewRun, NewSession, NewTask, Registry, Tracked};

/// An id made of a number; greater numbers are greater ids.
pub(crate) fn task_id(number: u64) -> TaskId {
    let mut bytes = [0xaa; 12];
    bytes[4..].copy_from_slice(&number.to_be_bytes());
    TaskId::from_random(bytes)
}

pub(crate) fn task(number: u64) -> NewTask {
    NewTask {
        id: task_id(number),
        policy: NotifyPolicy::DoneOnly,
        tells_quiet_success: true,
        owner: None,
        origin: None,
        label: Some(format!("job {number}")),
    }
}

/// A run of a session, with its task.
pub(crate) fn tracked_in(number: u64, session: &str) -> NewRun {
    NewRun { task: Some(task(number)), ..in_session(number, session) }
}

/// The same with another notify policy.
pub(crate) fn tracked_as(number: u64, session: &str, policy: NotifyPolicy) -> NewRun {
    NewRun { task: Some(NewTask { policy, ..task(number) }), ..in_session(number, session) }
}

pub(crate) fn slack() -> Origin {
    Origin { channel: "slack".to_owned(), to: Some("#ops".to_owned()), thread: None }
}

/// A session that was created from a channel.
pub(crate) fn on_slack(text: &str) -> NewSession {
    let mut new = asked(text);
    new.request.origin = Some(slack());
    new
}

/// The end of a run with this code, after ten bytes of output.
pub(crate) fn exit(number: u64, code: i32) -> Change {
    let mut ending = ending(number, Reason::Exit);
    ending.termination = Termination::new(Reason::Exit, Some(Exit::Code(code)), None);
    Change::Ended(Box::new(ending))
}

/// Records a run of instance 1 with its task, and that it began.
pub(crate) async fn begun(registry: &Arc<dyn Registry>, run: NewRun) {
    let id = run.ticket.run_id.clone();
    registry.create(run).await.unwrap();
    assert!(registry.record(id, hold(1), started(), NOW).await.unwrap());
}

/// The whole life of a run with its task, up to its end with this code.
pub(crate) async fn lived(registry: &Arc<dyn Registry>, run: NewRun, code: i32) {
    let number = run.ticket.created_at_ms - NOW;
    begun(registry, run).await;
    assert!(registry.record(run_id(number), hold(1), exit(number, code), NOW + number).await.unwrap());
}

pub(crate) async fn row(registry: &Arc<dyn Registry>, number: u64) -> TaskRow {
    registry.task(Tracked::Task(task_id(number))).await.unwrap().unwrap()
}

/// Claims the channel's due notices for 30 ms.
pub(crate) async fn claimed(registry: &Arc<dyn Registry>, now_ms: u64) -> Vec<Claimed> {
    registry.claim_notices("slack".into(), instance(1), now_ms, now_ms + 30, 99).await.unwrap()
}

/// Returns the keys of the claimed notices.
pub(crate) fn keys(claimed: &[Claimed]) -> Vec<String> {
    claimed.iter().map(|it| it.claim.key.to_string()).collect()
}

/// Returns the key of a task's notice.
pub(crate) fn key_of(number: u64, purpose: &str) -> String {
    format!("task-{}-{purpose}", task_id(number))
}

/// Returns the keys of the notices that wait for a session.
pub(crate) async fn waiting(registry: &Arc<dyn Registry>, session: &str) -> Vec<String> {
    let queued = registry.queued_notices(session.parse().unwrap(), 99).await.unwrap();
    queued.into_iter().map(|it| it.notice.key.to_string()).collect()
}
