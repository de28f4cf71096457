//! Tasks in the embedded registry: the entry to `rows` (storage), `lifecycle` (events of the tracked work), `requests`
//! (requests about tasks), `outbox` and `queue` (notices), `lists` and `sweep`.

mod lifecycle;
mod lists;
mod outbox;
mod queue;
mod requests;
mod rows;
mod sweep;
#[cfg(test)]
mod tests;

pub(super) use lifecycle::{
    run_ended, run_started, run_stolen, track_run, track_run_in_background, track_turn, turn_ended, turn_run,
    turn_started, turn_withdrawn,
};

pub(super) use queue::hand_over;

use super::Sqlite;
use crate::Reply;
use crate::tasks::{
    Audited, Backlog, CancelAsked, Claim, Claimed, Found, Queued, Sweep, Swept, TaskPage, TaskQuery,
    TaskRegistry, Tracked, Tried,
};
use tenure_core::ids::{InstanceId, TaskId};
use tenure_core::session::SessionKey;
use tenure_core::task::{NoticeKey, NotifyPolicy, Progress, TaskRow};
use tenure_core::tools::tasks::{TaskNotice, TaskReset};

impl TaskRegistry for Sqlite {
    fn task(&self, which: Tracked) -> Reply<Option<TaskRow>> {
        self.read(move |db| lists::task(db, &which))
    }

    fn find_task(&self, text: String) -> Reply<Found> {
        self.read(move |db| lists::find(db, &text))
    }

    fn tasks(&self, query: TaskQuery) -> Reply<TaskPage> {
        self.read(move |db| lists::page(db, &query))
    }

    fn set_policy(&self, task: TaskId, policy: NotifyPolicy, at_ms: u64) -> Reply<Option<TaskRow>> {
        self.write(move |db| requests::set_policy(db, &task, policy, at_ms))
    }

    fn ask_cancel(&self, task: TaskId, at_ms: u64) -> Reply<CancelAsked> {
        self.write(move |db| requests::ask_cancel(db, &task, at_ms))
    }

    fn note_progress(&self, which: Tracked, progress: Progress, at_ms: u64) -> Reply<bool> {
        self.write(move |db| requests::note_progress(db, &which, &progress, at_ms))
    }

    fn acknowledge_task(&self, which: Tracked, at_ms: u64) -> Reply<bool> {
        self.write(move |db| requests::acknowledge(db, &which, at_ms))
    }

    fn claim_notices(
        &self,
        channel: String,
        by: InstanceId,
        now_ms: u64,
        until_ms: u64,
        limit: usize,
    ) -> Reply<Vec<Claimed>> {
        self.write(move |db| outbox::claim(db, &channel, &by, (now_ms, until_ms), limit))
    }

    fn renew_notice(&self, claim: Claim, until_ms: u64) -> Reply<bool> {
        self.write(move |db| outbox::renew(db, &claim, until_ms))
    }

    fn settle_notice(&self, claim: Claim, tried: Tried, at_ms: u64) -> Reply<bool> {
        self.write(move |db| outbox::settle(db, &claim, &tried, at_ms))
    }

    fn release_notices(&self, of: InstanceId, now_ms: u64) -> Reply<u64> {
        self.write(move |db| outbox::release(db, &of, now_ms))
    }

    fn next_notices(&self) -> Reply<Vec<(String, u64)>> {
        self.read(outbox::next)
    }

    fn retry_notices(&self, task: TaskId, at_ms: u64) -> Reply<u64> {
        self.write(move |db| requests::retry(db, &task, at_ms))
    }

    fn queued_notices(&self, session: SessionKey, limit: usize) -> Reply<Vec<Queued>> {
        self.read(move |db| queue::waiting(db, &session, limit))
    }

    fn take_notices(&self, session: SessionKey, keys: Vec<NoticeKey>, at_ms: u64) -> Reply<u64> {
        self.write(move |db| queue::take(db, &session, &keys, at_ms))
    }

    fn task_notices(&self, task: TaskId) -> Reply<Vec<TaskNotice>> {
        self.read(move |db| outbox::of_task(db, &task))
    }

    fn backlog(&self) -> Reply<Backlog> {
        self.read(outbox::backlog)
    }

    fn lose_task(&self, task: TaskId, why: String, at_ms: u64) -> Reply<bool> {
        self.enqueue(move |db| sweep::lose(db, &task, &why, at_ms), true)
    }

    fn sweep_tasks(&self, sweep: Sweep) -> Reply<Swept> {
        self.enqueue(move |db| sweep::apply(db, sweep), true)
    }

    fn preview_sweep(&self, sweep: Sweep) -> Reply<Swept> {
        self.read(move |db| sweep::preview(db, sweep))
    }

    fn reset_tasks(&self, by: InstanceId, at_ms: u64) -> Reply<TaskReset> {
        self.enqueue(move |db| sweep::reset(db, &by, at_ms), true)
    }

    fn preview_reset(&self) -> Reply<TaskReset> {
        self.read(sweep::preview_reset)
    }

    fn audit_tasks(&self, now_ms: u64, limit: usize) -> Reply<Vec<Audited>> {
        self.read(move |db| sweep::audit(db, now_ms, limit))
    }
}
