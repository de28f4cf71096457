//! Start of approved commands. A command may wait long for a place or its scope, and can be withdrawn until it starts.

use crate::Approvals;
use crate::authorize::CommandLine;
use crate::exec_spec::ExecSpec;
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

/// An approved command that has not started.
#[derive(Debug)]
pub(super) struct ApprovedStart {
    session: Option<String>,
    withdrawn: Arc<Notify>,
}

/// Registers a command as starting until it is dropped.
pub(super) struct StartGuard {
    approvals: Arc<Approvals>,
    id: RunId,
    withdrawn: Arc<Notify>,
}

impl Drop for StartGuard {
    fn drop(&mut self) {
        lock(&self.approvals.pending.approved).remove(&self.id);
    }
}

impl Approvals {
    /// Registers an approved command. Called before the answer is recorded, so that a reader of the answer finds the command
    /// as starting.
    pub(super) fn register_start(self: &Arc<Self>, row: &ApprovalRow) -> Result<StartGuard, Refusal> {
        let (id, session) = (row.approval.id.clone(), row.approval.session.clone());
        let withdrawn = Arc::new(Notify::new());
        let mut all = lock(&self.pending.approved);
        if all.contains_key(&id) {
            return Err(Refusal::wrong_state(format!("another client is approving {id} right now")));
        }
        all.insert(id.clone(), ApprovedStart { session, withdrawn: Arc::clone(&withdrawn) });
        Ok(StartGuard { approvals: Arc::clone(self), id, withdrawn })
    }

    /// Returns true if this daemon is about to start the command.
    pub(crate) fn is_starting(&self, id: &RunId) -> bool {
        lock(&self.pending.approved).contains_key(id)
    }

    /// Withdraws a command that is about to start. Returns false if there is none.
    pub(crate) fn withdraw_start(&self, id: &RunId) -> bool {
        lock(&self.pending.approved).get(id).map(|allowed| allowed.withdrawn.notify_one()).is_some()
    }

    pub(super) fn withdraw_starts_of(&self, session: &str) -> usize {
        let all = lock(&self.pending.approved);
        let its = all.values().filter(|allowed| allowed.session.as_deref() == Some(session));
        its.map(|allowed| allowed.withdrawn.notify_one()).count()
    }

    /// Starts an approved command, unless it is withdrawn.
    pub(super) async fn start_unless_withdrawn(
        self: &Arc<Self>,
        row: &ApprovalRow,
        (spec, line): (ExecSpec, CommandLine),
        starting: StartGuard,
    ) -> Result<(), Refusal> {
        let started = tokio::select! {
            started = self.start_approved(row, spec, line) => started,
            // A half-started command ends, because nobody waits for it.
            () = starting.withdrawn.notified() => {
                Err(Refusal::wrong_state(format!("{} was withdrawn before it was started", row.approval.id)))
            }
        };
        // Before the event, because its readers check whether the command is still starting.
        drop(starting);
        if let Err(refusal) = &started {
            let detail = json!({"why": refusal.detail});
            self.tell_of(&row.approval.id, row.approval.session.clone(), kind::APPROVAL_FAILED, detail).await;
        }
        started
    }

    /// Starts an approved command in the background of its session.
    async fn start_approved(
        self: &Arc<Self>,
        row: &ApprovalRow,
        spec: ExecSpec,
        line: CommandLine,
    ) -> Result<(), Refusal> {
        let id = row.approval.id.clone();
        let asked_by = match &row.approval.session {
            Some(session) => Requester::client(session.clone(), "approved".to_owned()),
            None => Requester::Operator { about: "approved".to_owned() },
        };
        let task = task_of_exec(spec.notify)?;
        let request = spec.start_request(line, Some(id.clone()))?;
        let (foreground, held) = Foreground::begin(&self.supervisor, request, &asked_by).await?;
        held.set_tracked(true);
        self.supervisor.registry.go_background(id, task).await?;
        foreground.release();
        Ok(())
    }
}
