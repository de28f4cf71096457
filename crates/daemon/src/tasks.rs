//! The `tasks` tool: lists and manages background tasks. All interfaces call it: HTTP, MCP and, over HTTP, the command line.
//! The registry creates and ends tasks, in the transaction of the run or turn that they track; `notifier` delivers the notices.
//!
//! # One task's walk
//!
//! The registry creates a task together with the run or turn that it tracks: a background run, a command of exec when it goes to
//! the background, a turn when it begins or is queued. `core` decides the task's steps, texts and receiver; the store applies that
//! inside the transaction that records the ending, and puts the notice into the outbox there. The notifier holds a due notice for
//! a second, lets waiting owners and callers see the end first, and then calls a webhook or runs the channel's command as a run. A
//! notice that no channel accepts is queued for the owner's next turn, and the registry delivers it with that turn.

mod call;
mod cancel;
mod progress;
mod query;

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

/// Number of tasks per page of an audit or a sweep.
const BATCH: usize = 1_000;

impl Daemon {
    /// Executes a request of the `tasks` tool.
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
                // A task of its own, so that the cancel is completed even if the client disconnects.
                let (daemon, who) = (Arc::clone(self), who.clone());
                let cancelling = tokio::spawn(async move { daemon.cancel_task(&lookup, &asker, &who).await });
                cancelling.await.map_err(Refusal::internal)?
            }
            TasksCall::Retry(lookup) => self.retry_task(&lookup, &asker).await,
            TasksCall::Acknowledge(lookup) => self.acknowledge(&lookup, &asker).await,
            TasksCall::Audit => self.audit(&asker).await,
            TasksCall::Reset { apply } => self.reset_tasks(apply, &asker).await,
            TasksCall::Maintenance { apply } => self.maintain(apply, &asker).await,
        }
    }

    /// Changes which notices of a task are delivered.
    async fn set_policy(
        &self,
        lookup: &Lookup,
        policy: NotifyPolicy,
        asker: &Asker,
    ) -> Result<TasksReply, Refusal> {
        let task = self.find_to_notify(lookup, asker).await?;
        let row = self.supervisor.registry.set_policy(task.id.clone(), policy, clock::unix_ms()).await?;
        self.supervisor.events.notify_followers();
        row.map(shown).ok_or_else(|| no_such_task(task.id.as_str()))
    }

    /// Retries the notices of a task that no channel accepted.
    async fn retry_task(&self, lookup: &Lookup, asker: &Asker) -> Result<TasksReply, Refusal> {
        let task = self.find_to_notify(lookup, asker).await?;
        if self.supervisor.registry.retry_notices(task.id.clone(), clock::unix_ms()).await? == 0 {
            return Err(Refusal::wrong_state(format!(
                "task {} has no notice to retry: its delivery is {}",
                task.id, task.delivery
            )));
        }
        self.supervisor.events.notify_followers();
        self.task_by_id(&task.id).await.map(shown)
    }

    /// Records that the owner knows how a task ended.
    async fn acknowledge(&self, lookup: &Lookup, asker: &Asker) -> Result<TasksReply, Refusal> {
        let task = self.find_to_notify(lookup, asker).await?;
        if !task.status.is_terminal() {
            let why = format!("task {} is {}: only an ended task can be acknowledged", task.id, task.status);
            return Err(Refusal::wrong_state(why));
        }
        // A second acknowledgement changes nothing.
        self.supervisor.registry.acknowledge_task(Tracked::Task(task.id.clone()), clock::unix_ms()).await?;
        self.supervisor.events.notify_followers();
        self.task_by_id(&task.id).await.map(shown)
    }

    /// Lists inconsistencies of tasks.
    async fn audit(&self, asker: &Asker) -> Result<TasksReply, Refusal> {
        operators_only(asker, "audit")?;
        let audited = self.supervisor.registry.audit_tasks(clock::unix_ms(), BATCH).await?;
        let findings = audited.into_iter().flat_map(|it| {
            let task_id = it.task.id;
            it.findings.into_iter().map(move |finding| TaskFinding { task_id: task_id.clone(), finding })
        });
        Ok(TasksReply { findings: Some(findings.collect()), ..TasksReply::default() })
    }

    /// Closes, reconciles and removes tasks that are due, or counts them.
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

    /// Discards task state, or counts what it would discard. Runs, sessions and their records stay.
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
        Some(key) => {
            Err(Refusal::forbidden(format!("session {key} cannot use {what}: only an operator can")))
        }
        None => Ok(()),
    }
}

fn shown(task: TaskRow) -> TasksReply {
    TasksReply { task: Some(task), ..TasksReply::default() }
}

fn no_such_task(text: &str) -> Refusal {
    let shown: String = text.chars().take(64).collect();
    Refusal::no_such_task(format!("there is no task {shown:?}: list tasks with `tenure tasks list`"))
}

#[cfg(test)]
mod tests;
