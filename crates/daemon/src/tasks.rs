//! Tasks: `tasks` does what is asked of them. Every face comes here: HTTP, MCP and, over HTTP, the command line. What a
//! task is and how it ends is the registry's, in the transaction of what it tracks; telling it is `notifier`'s.
//!
//! # One task's walk
//!
//! A task is made in the transaction that makes what it tracks: a run in the background, a command of exec when it goes to the background, a
//! turn when it begins or waits. `core` decides its steps, its words and its receiver; the store applies that inside the transaction
//! that records the ending, and puts the notice into the outbox there. The notifier holds a due notice for a second, lets owners and
//! callers who wait see the end first, and hands it to a webhook or runs the channel's command as a run. A notice that no channel
//! accepts waits for the owner's next turn, which the registry begins with it.

mod call;
mod ending;
mod looking;
mod progress;

use crate::daemon::Daemon;
use call::{Lookup, TasksCall};
use std::sync::Arc;
use tenure_agents::sessions::Asker;
use tenure_core::task::{NotifyPolicy, TaskRow};
use tenure_core::tools::tasks::{Maintenance, TaskFinding, TasksReply, TasksRequest};
use tenure_os::clock;
use tenure_store::Tracked;
use tenure_supervisor::Refusal;
use tenure_supervisor::Requester;

/// How many tasks are looked at together by an audit or a sweep.
const BATCH: usize = 1_000;

impl Daemon {
    /// Does what is asked of tasks.
    pub(crate) async fn tasks(
        self: &Arc<Self>,
        request: TasksRequest,
        who: &Requester,
    ) -> Result<TasksReply, Refusal> {
        let asker = self.agents.asker(&request, who).await?;
        match TasksCall::read(request)? {
            TasksCall::List { query, owner } => self.list_tasks(query, owner, &asker).await,
            TasksCall::Show(lookup) => self.show_task(&lookup, &asker).await,
            TasksCall::Notify { lookup, policy } => self.set_policy(&lookup, policy, &asker).await,
            TasksCall::Cancel(lookup) => {
                // Whoever stops waiting has it cancelled all the same.
                let (daemon, who) = (Arc::clone(self), who.clone());
                let doing = tokio::spawn(async move { daemon.cancel_task(&lookup, &asker, &who).await });
                doing.await.map_err(Refusal::internal)?
            }
            TasksCall::Retry(lookup) => self.retry_task(&lookup, &asker).await,
            TasksCall::Acknowledge(lookup) => self.acknowledge(&lookup, &asker).await,
            TasksCall::Audit => self.audit(&asker).await,
            TasksCall::Reset { apply } => self.reset_tasks(apply, &asker).await,
            TasksCall::Maintenance { apply } => self.maintain(apply, &asker).await,
        }
    }

    /// Has something else of a task told from now on.
    async fn set_policy(
        &self,
        lookup: &Lookup,
        policy: NotifyPolicy,
        asker: &Asker,
    ) -> Result<TasksReply, Refusal> {
        let task = self.told_task(lookup, asker).await?;
        let row = self.supervisor.registry.set_policy(task.id.clone(), policy, clock::unix_ms()).await?;
        self.supervisor.events.notify_followers();
        row.map(shown).ok_or_else(|| no_such_task(task.id.as_str()))
    }

    /// Has the owner told again what nobody took.
    async fn retry_task(&self, lookup: &Lookup, asker: &Asker) -> Result<TasksReply, Refusal> {
        let task = self.told_task(lookup, asker).await?;
        if self.supervisor.registry.retry_notices(task.id.clone(), clock::unix_ms()).await? == 0 {
            return Err(Refusal::wrong_state(format!(
                "task {} has no notice to try again: its delivery is {}",
                task.id, task.delivery
            )));
        }
        self.supervisor.events.notify_followers();
        self.task_called(&task.id).await.map(shown)
    }

    /// Somebody who listens to events has heard how a task ended.
    async fn acknowledge(&self, lookup: &Lookup, asker: &Asker) -> Result<TasksReply, Refusal> {
        let task = self.told_task(lookup, asker).await?;
        if !task.status.is_terminal() {
            let why = format!("task {} is {}: there is no end to acknowledge yet", task.id, task.status);
            return Err(Refusal::wrong_state(why));
        }
        // What was acknowledged before is acknowledged.
        self.supervisor.registry.acknowledge_task(Tracked::Task(task.id.clone()), clock::unix_ms()).await?;
        self.supervisor.events.notify_followers();
        self.task_called(&task.id).await.map(shown)
    }

    /// What is wrong with tasks.
    async fn audit(&self, asker: &Asker) -> Result<TasksReply, Refusal> {
        operators_only(asker, "audit")?;
        let audited = self.supervisor.registry.audit_tasks(clock::unix_ms(), BATCH).await?;
        let findings = audited.into_iter().flat_map(|it| {
            let task_id = it.task.id;
            it.findings.into_iter().map(move |finding| TaskFinding { task_id: task_id.clone(), finding })
        });
        Ok(TasksReply { findings: Some(findings.collect()), ..TasksReply::default() })
    }

    /// Does what is due, or says what that is.
    async fn maintain(&self, apply: bool, asker: &Asker) -> Result<TasksReply, Refusal> {
        operators_only(asker, "maintenance")?;
        let sweep = tenure_supervisor::task::sweep(&self.supervisor);
        let swept = if apply {
            self.supervisor.registry.sweep_tasks(sweep).await?
        } else {
            self.supervisor.registry.preview_sweep(sweep).await?
        };
        if apply {
            self.supervisor.events.notify_followers();
        }
        let maintenance = Maintenance {
            applied: apply,
            lost: swept.lost,
            reconciled: swept.stamped,
            pruned: swept.removed.len() as u64,
        };
        Ok(TasksReply { maintenance: Some(maintenance), ..TasksReply::default() })
    }

    /// Discards task state, or says what that would be. Runs, sessions and their records are not touched.
    async fn reset_tasks(&self, apply: bool, asker: &Asker) -> Result<TasksReply, Refusal> {
        operators_only(asker, "reset")?;
        let reset = if apply {
            let reset = self
                .supervisor
                .registry
                .reset_tasks(self.supervisor.instance.clone(), clock::unix_ms())
                .await?;
            self.supervisor.events.notify_followers();
            reset
        } else {
            self.supervisor.registry.preview_reset().await?
        };
        Ok(TasksReply { reset: Some(reset), ..TasksReply::default() })
    }
}

fn operators_only(asker: &Asker, what: &str) -> Result<(), Refusal> {
    match asker.key() {
        Some(key) => Err(Refusal::forbidden(format!("{what} is the operator's, not session {key}'s"))),
        None => Ok(()),
    }
}

fn shown(task: TaskRow) -> TasksReply {
    TasksReply { task: Some(task), ..TasksReply::default() }
}

fn no_such_task(text: &str) -> Refusal {
    let shown: String = text.chars().take(64).collect();
    Refusal::no_such_task(format!("there is no task {shown:?}: `tenure tasks list` shows those there are"))
}

#[cfg(test)]
mod tests;
