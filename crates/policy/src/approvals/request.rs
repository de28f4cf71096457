//! New approval requests: at most one for each command of a session.

use super::{ApprovalRecord, VERSION, shown};
use crate::Approvals;
use crate::authorize::Question;
use crate::exec_spec::ExecSpec;
use serde_json::json;
use std::sync::Arc;
use tenure_core::ids::RunId;
use tenure_core::tools::{ExecReply, ExecRequest, Status};
use tenure_core::visible::cut;
use tenure_keeper::state_root;
use tenure_os::clock;
use tenure_store::{ApprovalRow, ApprovalState, NewApproval, kind};
use tenure_supervisor::Refusal;
use tenure_supervisor::sync::lock;

/// Maximum number of open requests: a person reads them.
const MAX_OPEN: usize = 200;
/// Maximum length of a command in an event, in bytes. The request contains the whole command.
const EVENT_COMMAND_BYTES: usize = 4 << 10;

impl Approvals {
    /// Requests an approval. A second request for the same command of a session returns the first one.
    pub async fn request_approval(
        self: &Arc<Self>,
        request: &ExecRequest,
        spec: ExecSpec,
        question: Question,
    ) -> Result<ExecReply, Refusal> {
        // Serialized, so that two calls cannot both find no request and create one.
        let _guard = self.pending.request_lock.lock().await;
        if let Some(id) = self.find_in_memory(&spec).await? {
            return Ok(pending(id));
        }
        let id = state_root::new_run_id().map_err(Refusal::internal)?;
        let now = clock::unix_ms();
        let cwd = String::from_utf8_lossy(&spec.spec.cwd).into_owned();
        let from_process = spec.from_process;
        let request = ExecRequest {
            env: std::collections::BTreeMap::new(),
            process: None,
            session_key: spec.spec.options.session_id.clone(),
            workdir: Some(cwd.clone()),
            ..request.clone()
        };
        let why = question.why.clone();
        let env_names = spec.spec.options.env_names.clone();
        let asked = ApprovalRecord { version: VERSION, request, cwd, env_names, from_process, question };
        if let Some(id) = self.find_recorded(&asked).await? {
            return Ok(pending(id));
        }
        let session = spec.spec.options.session_id.clone();
        let approval = NewApproval {
            id: id.clone(),
            created_at_ms: now,
            expires_at_ms: now
                + u64::try_from(self.supervisor.settings.exec.approval.as_millis()).unwrap_or(u64::MAX / 2),
            instance: self.supervisor.instance.clone(),
            session: session.clone(),
            asked: serde_json::to_value(&asked).map_err(Refusal::internal)?,
        };
        let command = cut(&shown(&spec.command), EVENT_COMMAND_BYTES).into_owned();
        lock(&self.pending.specs).insert(id.clone(), spec);
        if let Err(error) = self.supervisor.registry.ask_person(approval).await {
            lock(&self.pending.specs).remove(&id);
            return Err(error.into());
        }
        self.tell_of(&id, session, kind::APPROVAL_ASKED, json!({"command": command, "why": why})).await;
        Ok(pending(id))
    }

    /// Finds an open request in memory for the same command. A request in memory may be closed, by its expiry or by another
    /// daemon of the registry.
    async fn find_in_memory(&self, spec: &ExecSpec) -> Result<Option<RunId>, Refusal> {
        let is_same = |(id, known): (&RunId, &ExecSpec)| known.is_like(spec).then(|| id.clone());
        let same: Vec<RunId> = lock(&self.pending.specs).iter().filter_map(is_same).collect();
        for id in same {
            let row = self.supervisor.registry.approval(id.clone()).await?;
            let waits = |row: ApprovalRow| {
                row.state == ApprovalState::Pending && row.approval.expires_at_ms > clock::unix_ms()
            };
            if row.is_some_and(waits) {
                return Ok(Some(id));
            }
            lock(&self.pending.specs).remove(&id);
        }
        Ok(None)
    }

    /// Finds an open request of an earlier daemon for the same command. Refuses a new request beyond the maximum.
    async fn find_recorded(&self, asked: &ApprovalRecord) -> Result<Option<RunId>, Refusal> {
        self.expire().await?;
        let open = self.own_questions().await?;
        let is_same = |row: &&ApprovalRow| {
            let of_another = asked.is_complete() && !lock(&self.pending.specs).contains_key(&row.approval.id);
            let known = of_another.then(|| ApprovalRecord::read(row).ok()).flatten();
            known.is_some_and(|known| known.is_complete() && known.request == asked.request)
        };
        if let Some(same) = open.iter().find(is_same) {
            return Ok(Some(same.approval.id.clone()));
        }
        if open.len() >= MAX_OPEN {
            return Err(Refusal::busy(format!(
                "{MAX_OPEN} commands already wait for approval: have some answered"
            )));
        }
        Ok(None)
    }
}

fn pending(id: RunId) -> ExecReply {
    let follow_up = format!(
        "The command needs an approval (`tenure approvals`). Once approved, it runs as {id} in the background: process poll \
         waits for that."
    );
    ExecReply { follow_up: Some(follow_up), ..unfinished(Status::ApprovalPending, id) }
}

/// Returns the reply for a command that has not ended.
pub fn unfinished(status: Status, run_id: RunId) -> ExecReply {
    ExecReply {
        status,
        run_id,
        exit_code: None,
        exit_signal: None,
        exit_reason: None,
        failure_kind: None,
        duration_ms: 0,
        output: String::new(),
        truncated: false,
        next_line: None,
        next_offset: None,
        tail: String::new(),
        follow_up: None,
        warnings: Vec::new(),
    }
}
