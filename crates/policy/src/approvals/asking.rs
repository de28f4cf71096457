//! Asking a person, once about each command.

use super::{Recorded, VERSION, shown};
use crate::Approvals;
use crate::authorize::Question;
use crate::exec_spec::Wanted;
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

/// How many questions may wait at once: a person reads them.
const MOST: usize = 200;
/// Maximum length of a command in an event, in bytes. The question has all of it.
const TOLD: usize = 4 << 10;

impl Approvals {
    /// Asks a person. The same command of the same session is asked about once.
    pub async fn ask_about(
        self: &Arc<Self>,
        request: &ExecRequest,
        wanted: Wanted,
        question: Question,
    ) -> Result<ExecReply, Refusal> {
        // One at a time, so that nobody asks between the look and the question.
        let _turn = self.waiting.turn.lock().await;
        if let Some(id) = self.asked_already(&wanted).await? {
            return Ok(pending(id));
        }
        let id = state_root::new_run_id().map_err(Refusal::internal)?;
        let now = clock::unix_ms();
        let cwd = String::from_utf8_lossy(&wanted.spec.cwd).into_owned();
        let from_process = wanted.from_process;
        let request = ExecRequest {
            env: std::collections::BTreeMap::new(),
            process: None,
            session_key: wanted.spec.options.session_id.clone(),
            workdir: Some(cwd.clone()),
            ..request.clone()
        };
        let why = question.why.clone();
        let env_names = wanted.spec.options.env_names.clone();
        let asked = Recorded { version: VERSION, request, cwd, env_names, from_process, question };
        if let Some(id) = self.asked_by_an_earlier_daemon(&asked).await? {
            return Ok(pending(id));
        }
        let session = wanted.spec.options.session_id.clone();
        let approval = NewApproval {
            id: id.clone(),
            created_at_ms: now,
            expires_at_ms: now
                + u64::try_from(self.supervisor.settings.exec.approval.as_millis()).unwrap_or(u64::MAX / 2),
            instance: self.supervisor.instance.clone(),
            session: session.clone(),
            asked: serde_json::to_value(&asked).map_err(Refusal::internal)?,
        };
        let command = cut(&shown(&wanted.command), TOLD).into_owned();
        lock(&self.waiting.wanted).insert(id.clone(), wanted);
        if let Err(error) = self.supervisor.registry.ask_person(approval).await {
            lock(&self.waiting.wanted).remove(&id);
            return Err(error.into());
        }
        self.tell_of(&id, session, kind::APPROVAL_ASKED, json!({"command": command, "why": why})).await;
        Ok(pending(id))
    }

    /// A question that waits about the same command. What is in memory may be closed by now, by time or by another
    /// daemon of the registry.
    async fn asked_already(&self, wanted: &Wanted) -> Result<Option<RunId>, Refusal> {
        let is_same = |(id, known): (&RunId, &Wanted)| known.is_like(wanted).then(|| id.clone());
        let same: Vec<RunId> = lock(&self.waiting.wanted).iter().filter_map(is_same).collect();
        for id in same {
            let row = self.supervisor.registry.approval(id.clone()).await?;
            let waits = |row: ApprovalRow| {
                row.state == ApprovalState::Pending && row.approval.expires_at_ms > clock::unix_ms()
            };
            if row.is_some_and(waits) {
                return Ok(Some(id));
            }
            lock(&self.waiting.wanted).remove(&id);
        }
        Ok(None)
    }

    /// A question that waits about the same command and was asked before this daemon was there. Refuses one too many.
    async fn asked_by_an_earlier_daemon(&self, asked: &Recorded) -> Result<Option<RunId>, Refusal> {
        self.expire().await?;
        let waiting = self.own_questions().await?;
        let is_same = |row: &&ApprovalRow| {
            let of_another = asked.is_whole() && !lock(&self.waiting.wanted).contains_key(&row.approval.id);
            let known = of_another.then(|| Recorded::read(row).ok()).flatten();
            known.is_some_and(|known| known.is_whole() && known.request == asked.request)
        };
        if let Some(same) = waiting.iter().find(is_same) {
            return Ok(Some(same.approval.id.clone()));
        }
        if waiting.len() >= MOST {
            return Err(Refusal::busy(format!(
                "{MOST} commands wait for a person already: have some answered"
            )));
        }
        Ok(None)
    }
}

fn pending(id: RunId) -> ExecReply {
    let follow_up = format!(
        "A person is asked first: `tenure approvals` shows them the question. If it is allowed, it runs as {id} in the \
         background; process poll waits for that."
    );
    ExecReply { follow_up: Some(follow_up), ..unfinished(Status::ApprovalPending, id) }
}

/// An answer without an end.
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
