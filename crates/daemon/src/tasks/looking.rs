//! Looking at tasks: which there are, and which one is meant. Looking changes nothing.

use super::call::Lookup;
use super::no_such_task;
use crate::daemon::Daemon;
use tenure_agents::sessions::Asker;
use tenure_core::ids::TaskId;
use tenure_core::session::{Action, SessionKey};
use tenure_core::task::TaskRow;
use tenure_core::tools::tasks::TasksReply;
use tenure_store::{Found, TaskQuery, Tracked};
use tenure_supervisor::Refusal;

impl Daemon {
    /// The tasks that there are for whoever asks: a session sees those that it is told of, and its own turns.
    pub(super) async fn list_tasks(
        &self,
        query: TaskQuery,
        owner: Option<SessionKey>,
        asker: &Asker,
    ) -> Result<TasksReply, Refusal> {
        let (owner, of) = match owner {
            Some(owner) => (Some(self.owner_seen(&owner, asker).await?), None),
            None => (None, asker.key().cloned()),
        };
        let query = TaskQuery { owner, of, ..query };
        let page = self.supervisor.registry.tasks(query).await?;
        let next = page.next.map(|at| format!("{}:{}", at.created_at_ms, at.task_id));
        Ok(TasksReply { tasks: Some(page.tasks), next, ..TasksReply::default() })
    }

    /// A session whose tasks whoever asks may see.
    async fn owner_seen(&self, owner: &SessionKey, asker: &Asker) -> Result<SessionKey, Refusal> {
        if asker.key().is_some_and(|own| own != owner) {
            asker.see(&self.agents.find_session(owner).await?.row, Action::Status)?;
        }
        Ok(owner.clone())
    }

    /// The task that is meant, if whoever asks may see it.
    pub(super) async fn task_meant(&self, lookup: &Lookup, asker: &Asker) -> Result<TaskRow, Refusal> {
        let Lookup(text) = lookup;
        let task = match self.supervisor.registry.find_task(text.clone()).await? {
            Found::One(task) => *task,
            Found::None => return Err(no_such_task(text)),
            Found::Several(ids) => {
                let ids: Vec<&str> = ids.iter().map(TaskId::as_str).collect();
                let why =
                    format!("{text:?} means more than one task: write more of one of {}", ids.join(", "));
                return Err(Refusal::ambiguous(why));
            }
        };
        self.see_task(&task, asker).await?;
        Ok(task)
    }

    /// A task, and what its owner was told of it.
    pub(super) async fn show_task(&self, lookup: &Lookup, asker: &Asker) -> Result<TasksReply, Refusal> {
        let task = self.task_meant(lookup, asker).await?;
        let notices = self.supervisor.registry.task_notices(task.id.clone()).await?;
        Ok(TasksReply { task: Some(task), notices: Some(notices), ..TasksReply::default() })
    }

    /// A task is seen by whom it is told, and by who may see the session that is told or does the work.
    async fn see_task(&self, task: &TaskRow, asker: &Asker) -> Result<(), Refusal> {
        let Some(own) = asker.key() else { return Ok(()) };
        let sessions = [&task.owner, &task.child];
        if sessions.into_iter().flatten().any(|key| key == own) {
            return Ok(());
        }
        for key in sessions.into_iter().flatten() {
            if let Some(session) = self.supervisor.registry.session(key.clone()).await?
                && asker.see(&session.row, Action::Status).is_ok()
            {
                return Ok(());
            }
        }
        Err(Refusal::forbidden(format!(
            "task {} is none of session {own}'s, nor of one that it may see",
            task.id
        )))
    }

    /// The task that is meant, if whoever asks may decide on it: it is told of it, or the work came from it.
    pub(super) async fn own_task(&self, lookup: &Lookup, asker: &Asker) -> Result<TaskRow, Refusal> {
        let task = self.task_meant(lookup, asker).await?;
        let Some(own) = asker.key() else { return Ok(task) };
        if task.owner.as_ref() == Some(own) || task.child.as_ref() == Some(own) {
            return Ok(task);
        }
        match task.child.as_ref().or(task.owner.as_ref()) {
            Some(key) => asker.own(&self.agents.find_session(key).await?.row).map(|()| task),
            None => Err(Refusal::forbidden(format!("task {} is none of session {own}'s", task.id))),
        }
    }

    /// The task that is meant, if whoever asks may decide on what is told of it: it is who is told.
    pub(super) async fn told_task(&self, lookup: &Lookup, asker: &Asker) -> Result<TaskRow, Refusal> {
        let task = self.task_meant(lookup, asker).await?;
        match (asker.key(), task.owner.as_ref().or(task.child.as_ref())) {
            (Some(own), Some(told)) if own != told => Err(Refusal::forbidden(format!(
                "task {} is told to session {told}: what it hears is not for session {own} to say",
                task.id
            ))),
            (Some(own), None) => {
                Err(Refusal::forbidden(format!("task {} is none of session {own}'s", task.id)))
            }
            (Some(_), Some(_)) | (None, _) => Ok(task),
        }
    }

    /// The task, as it is now.
    pub(super) async fn task_called(&self, id: &TaskId) -> Result<TaskRow, Refusal> {
        let task = self.supervisor.registry.task(Tracked::Task(id.clone())).await?;
        task.ok_or_else(|| no_such_task(id.as_str()))
    }
}
