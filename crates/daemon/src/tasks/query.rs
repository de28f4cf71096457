//! `tasks list` and `tasks show`: finds tasks and checks who may see and control them. Reading changes nothing.

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
    /// Lists the tasks that the requester may see: a session sees the tasks that it owns, and those of its own turns.
    pub(super) async fn list_tasks(
        &self,
        query: TaskQuery,
        owner: Option<SessionKey>,
        asker: &Asker,
    ) -> Result<TasksReply, Refusal> {
        let (owner, of) = match owner {
            Some(owner) => (Some(self.visible_owner(&owner, asker).await?), None),
            None => (None, asker.key().cloned()),
        };
        let query = TaskQuery { owner, of, ..query };
        let page = self.supervisor.registry.tasks(query).await?;
        let next = page.next.map(|at| format!("{}:{}", at.created_at_ms, at.task_id));
        Ok(TasksReply { tasks: Some(page.tasks), next, ..TasksReply::default() })
    }

    /// Checks that the requester may see the tasks of this session.
    async fn visible_owner(&self, owner: &SessionKey, asker: &Asker) -> Result<SessionKey, Refusal> {
        if asker.key().is_some_and(|own| own != owner) {
            asker.see(&self.agents.find_session(owner).await?.row, Action::Status)?;
        }
        Ok(owner.clone())
    }

    /// Finds the task of a request, if the requester may see it.
    pub(super) async fn find_task(&self, lookup: &Lookup, asker: &Asker) -> Result<TaskRow, Refusal> {
        let Lookup(text) = lookup;
        let task = match self.supervisor.registry.find_task(text.clone()).await? {
            Found::One(task) => *task,
            Found::None => return Err(no_such_task(text)),
            Found::Several(ids) => {
                let ids: Vec<&str> = ids.iter().map(TaskId::as_str).collect();
                let why = format!(
                    "{text:?} matches more than one task: use a longer prefix of one of {}",
                    ids.join(", ")
                );
                return Err(Refusal::ambiguous(why));
            }
        };
        self.check_visible(&task, asker).await?;
        Ok(task)
    }

    /// Returns a task and its notices.
    pub(super) async fn show_task(&self, lookup: &Lookup, asker: &Asker) -> Result<TasksReply, Refusal> {
        let task = self.find_task(lookup, asker).await?;
        let notices = self.supervisor.registry.task_notices(task.id.clone()).await?;
        Ok(TasksReply { task: Some(task), notices: Some(notices), ..TasksReply::default() })
    }

    /// Refuses requesters who may see neither the task's owner nor the session that does the work.
    async fn check_visible(&self, task: &TaskRow, asker: &Asker) -> Result<(), Refusal> {
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
            "task {} does not belong to session {own}, nor to a session that it may see",
            task.id
        )))
    }

    /// Finds the task of a request, if the requester may cancel it: an operator, the owner, the session that does the work,
    /// or a session above it.
    pub(super) async fn find_to_cancel(&self, lookup: &Lookup, asker: &Asker) -> Result<TaskRow, Refusal> {
        let task = self.find_task(lookup, asker).await?;
        let Some(own) = asker.key() else { return Ok(task) };
        if task.owner.as_ref() == Some(own) || task.child.as_ref() == Some(own) {
            return Ok(task);
        }
        match task.child.as_ref().or(task.owner.as_ref()) {
            Some(key) => asker.own(&self.agents.find_session(key).await?.row).map(|()| task),
            None => Err(Refusal::forbidden(format!("task {} does not belong to session {own}", task.id))),
        }
    }

    /// Finds the task of a request, if the requester may manage its notices: an operator, or the session that gets them.
    pub(super) async fn find_to_notify(&self, lookup: &Lookup, asker: &Asker) -> Result<TaskRow, Refusal> {
        let task = self.find_task(lookup, asker).await?;
        match (asker.key(), task.owner.as_ref().or(task.child.as_ref())) {
            (Some(own), Some(told)) if own != told => Err(Refusal::forbidden(format!(
                "session {own} cannot change the notices of task {}: they go to session {told}",
                task.id
            ))),
            (Some(own), None) => {
                Err(Refusal::forbidden(format!("task {} does not belong to session {own}", task.id)))
            }
            (Some(_), Some(_)) | (None, _) => Ok(task),
        }
    }

    /// Reads a task by its id.
    pub(super) async fn task_by_id(&self, id: &TaskId) -> Result<TaskRow, Refusal> {
        let task = self.supervisor.registry.task(Tracked::Task(id.clone())).await?;
        task.ok_or_else(|| no_such_task(id.as_str()))
    }
}
