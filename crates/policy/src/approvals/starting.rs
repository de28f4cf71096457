//! What was allowed and does not run yet: it may wait long for a place or for its scope, and can be withdrawn until then.

use crate::Approvals;
use crate::authorize::Line;
use crate::exec_spec::Wanted;
use serde_json::json;
use std::sync::Arc;
use tenure_core::ids::RunId;
use tenure_store::{ApprovalRow, kind};
use tenure_supervisor::Refusal;
use tenure_supervisor::Requester;
use tenure_supervisor::foreground::Foreground;
use tenure_supervisor::sync::lock;
use tenure_supervisor::task::task_of_exec;
use tokio::sync::Notify;

/// One that was allowed.
#[derive(Debug)]
pub(super) struct Allowed {
    session: Option<String>,
    withdrawn: Arc<Notify>,
}

/// Keeps it known as one that is about to run, until it runs or is known not to.
pub(super) struct Starting {
    approvals: Arc<Approvals>,
    id: RunId,
    withdrawn: Arc<Notify>,
}

impl Drop for Starting {
    fn drop(&mut self) {
        lock(&self.approvals.waiting.allowed).remove(&self.id);
    }
}

impl Approvals {
    /// Before the answer is recorded: whoever reads that finds that it is about to run.
    pub(super) fn begin_allowed(self: &Arc<Self>, row: &ApprovalRow) -> Result<Starting, Refusal> {
        let (id, session) = (row.approval.id.clone(), row.approval.session.clone());
        let withdrawn = Arc::new(Notify::new());
        let mut all = lock(&self.waiting.allowed);
        if all.contains_key(&id) {
            return Err(Refusal::wrong_state(format!("somebody else allows {id} just now")));
        }
        all.insert(id.clone(), Allowed { session, withdrawn: Arc::clone(&withdrawn) });
        Ok(Starting { approvals: Arc::clone(self), id, withdrawn })
    }

    /// Whether this daemon is about to start it.
    pub(crate) fn is_starting(&self, id: &RunId) -> bool {
        lock(&self.waiting.allowed).contains_key(id)
    }

    /// Withdraws what is about to be started; says whether there was such a thing.
    pub(crate) fn withdraw_allowed(&self, id: &RunId) -> bool {
        lock(&self.waiting.allowed).get(id).map(|allowed| allowed.withdrawn.notify_one()).is_some()
    }

    pub(super) fn withdraw_allowed_of(&self, session: &str) -> usize {
        let all = lock(&self.waiting.allowed);
        let its = all.values().filter(|allowed| allowed.session.as_deref() == Some(session));
        its.map(|allowed| allowed.withdrawn.notify_one()).count()
    }

    /// Starts what was allowed, unless it is withdrawn.
    pub(super) async fn see_started(
        self: &Arc<Self>,
        row: &ApprovalRow,
        (wanted, line): (Wanted, Line),
        starting: Starting,
    ) -> Result<(), Refusal> {
        let started = tokio::select! {
            started = self.start_allowed(row, wanted, line) => started,
            // What is half started is ended: nobody waits for it any more.
            () = starting.withdrawn.notified() => {
                Err(Refusal::wrong_state(format!("{} was withdrawn before it was started", row.approval.id)))
            }
        };
        // Before it is told: whoever hears of it looks whether it still starts.
        drop(starting);
        if let Err(refusal) = &started {
            let detail = json!({"why": refusal.detail});
            self.tell_of(&row.approval.id, row.approval.session.clone(), kind::APPROVAL_FAILED, detail).await;
        }
        started
    }

    /// Starts what was allowed, in the background of its session.
    async fn start_allowed(
        self: &Arc<Self>,
        row: &ApprovalRow,
        wanted: Wanted,
        line: Line,
    ) -> Result<(), Refusal> {
        let id = row.approval.id.clone();
        let asked_by = match &row.approval.session {
            Some(session) => Requester::client(session.clone(), "approved".to_owned()),
            None => Requester::Operator { about: "approved".to_owned() },
        };
        let task = task_of_exec(wanted.notify)?;
        let request = wanted.start_request(line, Some(id.clone()))?;
        let (foreground, held) = Foreground::begin(&self.supervisor, request, &asked_by).await?;
        held.set_tracked(true);
        self.supervisor.registry.go_background(id, task).await?;
        foreground.release();
        Ok(())
    }
}
