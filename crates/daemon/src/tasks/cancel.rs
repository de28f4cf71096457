//! `tasks cancel`: ends the run or turn that a task tracks, on the usual path. Its end is the task's end.

use super::call::Lookup;
use super::shown;
use crate::daemon::Daemon;
use std::sync::Arc;
use tenure_agents::sessions::Asker;
use tenure_core::ids::check_prefix;
use tenure_core::task::{Status, TaskRow};
use tenure_core::tools::tasks::TasksReply;
use tenure_os::{clock, pause};
use tenure_store::{CancelAsked, TaskQuery};
use tenure_supervisor::Refusal;
use tenure_supervisor::Requester;

/// Refuses a short prefix of a task's or its run's id. A session's key is never a prefix.
fn check_lookup(Lookup(text): &Lookup, task: &TaskRow) -> Result<(), Refusal> {
    let is_key = [&task.owner, &task.child].into_iter().flatten().any(|key| key.as_str() == *text);
    if is_key { Ok(()) } else { check_prefix(text).map_err(Refusal::short_id) }
}

impl Daemon {
    /// Cancels the run or turn that a task tracks. An ended task is refused with its status.
    pub(super) async fn cancel_task(
        self: &Arc<Self>,
        lookup: &Lookup,
        asker: &Asker,
        who: &Requester,
    ) -> Result<TasksReply, Refusal> {
        let task = self.find_to_cancel(lookup, asker).await?;
        check_lookup(lookup, &task)?;
        let task = match self.supervisor.registry.ask_cancel(task.id.clone(), clock::unix_ms()).await? {
            CancelAsked::Noted(task) => *task,
            CancelAsked::NoTask => return Err(super::no_such_task(task.id.as_str())),
            CancelAsked::Over(task) => {
                return Err(Refusal::wrong_state(format!(
                    "task {} has already ended: it is {}",
                    task.id, task.status
                )));
            }
        };
        pause::point("daemon-cancel-asked");
        self.supervisor.events.notify_followers();
        self.end_tracked(&task, who).await?;
        self.task_by_id(&task.id).await.map(shown)
    }

    /// Completes the cancels that an earlier daemon recorded but did not finish.
    pub(crate) async fn resume_cancels(self: &Arc<Self>) {
        let who = Requester::Operator { about: "whoever cancelled its task".to_owned() };
        let statuses = vec![Status::Queued, Status::Running];
        let mut query = TaskQuery { statuses, limit: super::BATCH, ..TaskQuery::default() };
        loop {
            let page = match self.supervisor.registry.tasks(query.clone()).await {
                Ok(page) => page,
                Err(error) => return tracing::error!(%error, "cannot read the tasks to cancel"),
            };
            let is_ours = |task: &&TaskRow| {
                task.cancel_asked_at_ms.is_some() && task.instance == self.supervisor.instance
            };
            for task in page.tasks.iter().filter(is_ours) {
                if let Err(refusal) = self.end_tracked(task, &who).await {
                    tracing::warn!(task = %task.id, why = refusal.detail, "cannot cancel a task");
                }
            }
            match page.next {
                Some(next) => query.after = Some(next),
                None => return,
            }
        }
    }

    async fn end_tracked(self: &Arc<Self>, task: &TaskRow, who: &Requester) -> Result<(), Refusal> {
        if let (Some(turn), Some(session)) = (&task.turn, &task.child) {
            // A queued message is withdrawn; if a turn has begun with it meanwhile, that turn is cancelled.
            let withdrawn = self
                .supervisor
                .registry
                .withdraw_message(session.clone(), turn.clone(), clock::unix_ms())
                .await?;
            if withdrawn {
                self.agents.turns.notify_waiters();
            } else {
                self.agents.turns.cancel(turn);
            }
            return Ok(());
        }
        match &task.run {
            Some(run) => match self.supervisor.registry.run(run.clone()).await? {
                Some(row) => self.supervisor.cancel_run(&row, false, who).await,
                None => Ok(()),
            },
            None => Ok(()),
        }
    }
}
