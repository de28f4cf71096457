//! Tasks: `tasks` does what is asked of them. Every face comes here: HTTP, MCP and, over HTTP, the command line. What a
//! task is and how it ends is the registry's, in the transaction of what it tracks; telling it is `notifier`'s.

mod ending;
mod looking;
mod progress;

use crate::daemon::Daemon;
use crate::refusal::Refusal;
use crate::requester::Requester;
use crate::sessions::Asker;
use std::sync::Arc;
use tenure_core::defaults;
use tenure_core::ids::TaskId;
use tenure_core::task::{NotifyPolicy, TaskRow};
use tenure_core::tools::Notify;
use tenure_core::tools::tasks::{Action, Maintenance, TaskFinding, TasksReply, TasksRequest};
use tenure_os::{clock, random};
use tenure_store::{NewTask, Sweep, Tracked};

/// How many tasks are looked at together by an audit or a sweep.
const BATCH: usize = 1_000;

impl Daemon {
    /// Does what is asked of tasks.
    pub(crate) async fn tasks(
        self: &Arc<Self>,
        request: TasksRequest,
        who: &Requester,
    ) -> Result<TasksReply, Refusal> {
        let asker = self.asker(&request, who).await?;
        match request.action {
            Action::List => self.list_tasks(&request, &asker).await,
            Action::Show => self.show_task(&request, &asker).await,
            Action::Notify => self.set_policy(&request, &asker).await,
            Action::Cancel => {
                // Whoever stops waiting has it cancelled all the same.
                let (daemon, who) = (Arc::clone(self), who.clone());
                let doing = tokio::spawn(async move { daemon.cancel_task(&request, &asker, &who).await });
                doing.await.map_err(Refusal::internal)?
            }
            Action::Retry => self.retry_task(&request, &asker).await,
            Action::Acknowledge => self.acknowledge(&request, &asker).await,
            Action::Audit => self.audit(&asker).await,
            Action::Reset => self.reset_tasks(request.apply.unwrap_or(false), &asker).await,
            Action::Maintenance => self.maintain(request.apply.unwrap_or(false), &asker).await,
        }
    }

    /// Has something else of a task told from now on.
    async fn set_policy(&self, request: &TasksRequest, asker: &Asker) -> Result<TasksReply, Refusal> {
        let Some(policy) = request.policy else {
            let words: Vec<&str> = NotifyPolicy::ALL.iter().map(|policy| policy.word()).collect();
            return Err(Refusal::invalid(format!("policy is missing: it is one of {}", words.join(", "))));
        };
        let task = self.told_task(request, asker).await?;
        let row = self.registry.set_policy(task.id.clone(), policy, clock::unix_ms()).await?;
        self.something_happened();
        row.map(shown).ok_or_else(|| no_such_task(task.id.as_str()))
    }

    /// Has the owner told again what nobody took.
    async fn retry_task(&self, request: &TasksRequest, asker: &Asker) -> Result<TasksReply, Refusal> {
        let task = self.told_task(request, asker).await?;
        if self.registry.retry_notices(task.id.clone(), clock::unix_ms()).await? == 0 {
            return Err(Refusal::wrong_state(format!(
                "task {} has no notice to try again: its delivery is {}",
                task.id, task.delivery
            )));
        }
        self.something_happened();
        self.task_called(&task.id).await.map(shown)
    }

    /// Somebody who listens to events has heard how a task ended.
    async fn acknowledge(&self, request: &TasksRequest, asker: &Asker) -> Result<TasksReply, Refusal> {
        let task = self.told_task(request, asker).await?;
        if !task.status.is_terminal() {
            let why = format!("task {} is {}: there is no end to acknowledge yet", task.id, task.status);
            return Err(Refusal::wrong_state(why));
        }
        // What was acknowledged before is acknowledged.
        self.registry.acknowledge_task(Tracked::Task(task.id.clone()), clock::unix_ms()).await?;
        self.something_happened();
        self.task_called(&task.id).await.map(shown)
    }

    /// What is wrong with tasks.
    async fn audit(&self, asker: &Asker) -> Result<TasksReply, Refusal> {
        operators_only(asker, "audit")?;
        let audited = self.registry.audit_tasks(clock::unix_ms(), BATCH).await?;
        let findings = audited.into_iter().flat_map(|it| {
            let task_id = it.task.id;
            it.findings.into_iter().map(move |finding| TaskFinding { task_id: task_id.clone(), finding })
        });
        Ok(TasksReply { findings: Some(findings.collect()), ..TasksReply::default() })
    }

    /// Does what is due, or says what that is.
    async fn maintain(&self, apply: bool, asker: &Asker) -> Result<TasksReply, Refusal> {
        operators_only(asker, "maintenance")?;
        let sweep = self.sweep();
        let swept = if apply {
            self.registry.sweep_tasks(sweep).await?
        } else {
            self.registry.preview_sweep(sweep).await?
        };
        if apply {
            self.something_happened();
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
            let reset = self.registry.reset_tasks(self.instance.clone(), clock::unix_ms()).await?;
            self.something_happened();
            reset
        } else {
            self.registry.preview_reset().await?
        };
        Ok(TasksReply { reset: Some(reset), ..TasksReply::default() })
    }

    fn sweep(&self) -> Sweep {
        let grace_ms = u64::try_from(defaults::TASK_LOST_GRACE.as_millis()).unwrap_or(u64::MAX);
        // Read before the clocks are compared, as housekeeping does.
        let now_ms = clock::unix_ms();
        let removes = self.may_remove_by_age(defaults::KEEP_LOST_TASKS_FOR);
        Sweep { now_ms, grace_ms, limit: BATCH, removes }
    }

    /// Gives up what nothing is behind any more, and forgets what was kept for long enough.
    pub(crate) async fn tidy_tasks(&self) {
        loop {
            match self.registry.sweep_tasks(self.sweep()).await {
                Ok(swept) => {
                    let most = [swept.lost.len(), swept.stamped.len(), swept.removed.len()];
                    if most.into_iter().any(|it| it > 0) {
                        self.something_happened();
                    }
                    if most.into_iter().all(|it| it < BATCH) {
                        return;
                    }
                }
                Err(error) => return tracing::error!(%error, "tasks cannot be looked through"),
            }
        }
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

/// A task that tracks something which goes on by itself.
pub(crate) fn new_task(policy: NotifyPolicy, tells_quiet_success: bool) -> Result<NewTask, Refusal> {
    let id = TaskId::from_random(random::bytes().map_err(Refusal::internal)?);
    Ok(NewTask { id, policy, tells_quiet_success, owner: None, origin: None, label: None })
}

/// The task of a command in the background.
pub(crate) fn task_of_exec(notify: Notify) -> Result<NewTask, Refusal> {
    match notify {
        Notify::Auto => new_task(NotifyPolicy::DoneOnly, false),
        Notify::Always => new_task(NotifyPolicy::DoneOnly, true),
        Notify::Never => new_task(NotifyPolicy::Silent, false),
    }
}

#[cfg(test)]
mod tests;
