//! Cancelling a task: what it tracks is ended on the same path as always, and that end is the task's.

use super::shown;
use crate::daemon::Daemon;
use crate::refusal::Refusal;
use crate::requester::Requester;
use crate::sessions::Asker;
use std::sync::Arc;
use tenure_core::task::TaskRow;
use tenure_core::tools::tasks::{TasksReply, TasksRequest};
use tenure_os::clock;
use tenure_store::CancelAsked;

impl Daemon {
    /// Asks for the end of what a task tracks. One that is over is refused with its status.
    pub(super) async fn cancel_task(
        self: &Arc<Self>,
        request: &TasksRequest,
        asker: &Asker,
        who: &Requester,
    ) -> Result<TasksReply, Refusal> {
        let task = self.own_task(request, asker).await?;
        let task = match self.registry.ask_cancel(task.id.clone(), clock::unix_ms()).await? {
            CancelAsked::Noted(task) => *task,
            CancelAsked::NoTask => return Err(super::no_such_task(task.id.as_str())),
            CancelAsked::Over(task) => {
                return Err(Refusal::wrong_state(format!(
                    "task {} is {} already: there is nothing to cancel",
                    task.id, task.status
                )));
            }
        };
        self.something_happened();
        self.end_tracked(&task, who).await?;
        self.task_called(&task.id).await.map(shown)
    }

    async fn end_tracked(self: &Arc<Self>, task: &TaskRow, who: &Requester) -> Result<(), Refusal> {
        if let (Some(turn), Some(session)) = (&task.turn, &task.child) {
            // A message that waits never becomes a turn; one that was taken meanwhile is one.
            let withdrawn =
                self.registry.withdraw_message(session.clone(), turn.clone(), clock::unix_ms()).await?;
            if withdrawn {
                self.turns.something_changed();
            } else {
                self.turns.cancel(turn);
            }
            return Ok(());
        }
        match &task.run {
            Some(run) => match self.registry.run(run.clone()).await? {
                Some(row) => self.cancel_run(&row, false, who).await,
                None => Ok(()),
            },
            None => Ok(()),
        }
    }
}
