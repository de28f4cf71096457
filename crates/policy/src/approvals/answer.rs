//! Answers to approval requests. Each request is answered once.

use super::permission::{Choice, Permission};
use super::{ApprovalRecord, redacted, without_question, word};
use crate::Approvals;
use crate::allowlist::Entry;
use crate::authorize::CommandLine;
use crate::exec_spec::{self, ExecSpec};
use crate::executable::Bound;
use serde_json::json;
use std::sync::Arc;
use tenure_core::api::Approval;
use tenure_core::ids::check_prefix;
use tenure_core::problem::Code;
use tenure_os::clock;
use tenure_store::{ApprovalRow, ApprovalState, NewAnswer, kind};
use tenure_supervisor::Refusal;
use tenure_supervisor::Requester;
use tenure_supervisor::sync::lock;
use tokio::task::block_in_place;

impl Approvals {
    /// Answers a request. An approved command runs in the background of its session.
    pub async fn answer(
        self: &Arc<Self>,
        text: &str,
        state: ApprovalState,
        who: &Requester,
    ) -> Result<Approval, Refusal> {
        let row = self.open_request(text, who).await?;
        let id = row.approval.id.clone();
        if let Some(permission) = Permission::read(&row) {
            self.answer_permission(&row, permission, &Choice::Like(state), &who.to_string()).await?;
        } else if state == ApprovalState::Denied {
            // An unreadable request can be denied, too.
            self.record_answer(&row, state, (Vec::new(), &who.to_string())).await?;
        } else {
            self.approve(row, state, who).await?;
        }
        match self.supervisor.registry.approval(id).await? {
            Some(row) => Ok(self.json_of(&row).unwrap_or_else(|_| without_question(&row))),
            None => Err(Refusal::internal("internal error: the approval request is gone")),
        }
    }

    /// Answers an agent's permission request with one of its options.
    pub async fn choose(
        self: &Arc<Self>,
        text: &str,
        option: &str,
        who: &Requester,
    ) -> Result<Approval, Refusal> {
        let row = self.open_request(text, who).await?;
        let Some(permission) = Permission::read(&row) else {
            return Err(Refusal::invalid(
                "this request is about a command and has no options: allow or deny it",
            ));
        };
        self.answer_permission(&row, permission, &Choice::Option(option), &who.to_string()).await?;
        match self.supervisor.registry.approval(row.approval.id).await? {
            Some(row) => self.json_of(&row),
            None => Err(Refusal::internal("internal error: the approval request is gone")),
        }
    }

    /// Returns a request that the requester may answer and nobody has answered yet.
    async fn open_request(&self, text: &str, who: &Requester) -> Result<ApprovalRow, Refusal> {
        check_prefix(text).map_err(Refusal::short_id)?;
        let Some(row) = self.find_approval(text, who).await? else {
            return Err(Refusal::no_such_run(format!(
                "no approval request has the id {text:?}: list requests with `tenure approvals`"
            )));
        };
        if row.state != ApprovalState::Pending {
            return Err(answered_already(&row));
        }
        Ok(row)
    }

    /// Approves a command and starts it. Checks everything that could prevent the start first, because an answer cannot be
    /// changed once it is recorded.
    async fn approve(
        self: &Arc<Self>,
        row: ApprovalRow,
        state: ApprovalState,
        who: &Requester,
    ) -> Result<(), Refusal> {
        if row.approval.instance != self.supervisor.instance {
            return Err(Refusal::held_elsewhere(format!(
                "instance {} made the request {}: answer it through the daemon of that instance",
                row.approval.instance, row.approval.id
            )));
        }
        let asked = ApprovalRecord::read(&row)?;
        let entries = match (&asked.question.always, state) {
            (Ok(entries), ApprovalState::AllowedAlways) => entries.clone(),
            (Err(why), ApprovalState::AllowedAlways) => {
                return Err(Refusal::invalid(format!("the command can only be allowed once: {why}")));
            }
            _ => Vec::new(),
        };
        let spec = self.spec_of(&row, &asked)?;
        check_unchanged(&asked.question.line)?;
        self.supervisor.check_room()?;
        let starting = self.register_start(&row)?;
        let (approvals, by) = (Arc::clone(self), who.to_string());
        // A task of its own, so that an approved command starts even if the client disconnects.
        let task = tokio::spawn(async move {
            approvals.record_answer(&row, state, (entries, &by)).await?;
            approvals.start_unless_withdrawn(&row, (spec, asked.question.line), starting).await
        });
        task.await.map_err(Refusal::internal)?
    }

    /// Records an answer, once.
    pub(crate) async fn record_answer(
        &self,
        row: &ApprovalRow,
        state: ApprovalState,
        (entries, by): (Vec<Entry>, &str),
    ) -> Result<(), Refusal> {
        let id = row.approval.id.clone();
        let answer = NewAnswer {
            state,
            at_ms: clock::unix_ms(),
            by: by.to_owned(),
            asked: redacted(&row.approval.asked),
            entries: entries.iter().filter_map(|entry| serde_json::to_value(entry).ok()).collect(),
        };
        if !self.supervisor.registry.answer(id.clone(), answer).await? {
            return Err(match self.supervisor.registry.approval(id.clone()).await? {
                Some(row) => answered_already(&row),
                None => Refusal::wrong_state(format!("{id} was already answered, and its record is removed")),
            });
        }
        lock(&self.pending.specs).remove(&id);
        let detail = json!({"answer": word(state), "answeredBy": by});
        self.tell_of(&id, row.approval.session.clone(), kind::APPROVAL_ANSWERED, detail).await;
        Ok(())
    }

    /// Denies a session's open requests, and withdraws its approved commands that have not started. Returns their number.
    pub async fn close_questions(&self, session: &str, by: &str) -> Result<usize, Refusal> {
        let mut closed = 0;
        let of_session = |row: &ApprovalRow| row.approval.session.as_deref() == Some(session);
        for row in self.own_questions().await?.into_iter().filter(of_session) {
            match self.record_answer(&row, ApprovalState::Denied, (Vec::new(), by)).await {
                Ok(()) => closed += 1,
                // Answered meanwhile.
                Err(refusal) if refusal.code == Code::WrongState => {}
                Err(refusal) => return Err(refusal),
            }
        }
        Ok(closed + self.withdraw_starts_of(session))
    }

    /// Returns the spec of a command: from memory, or from the record if that is complete.
    fn spec_of(&self, row: &ApprovalRow, asked: &ApprovalRecord) -> Result<ExecSpec, Refusal> {
        if let Some(spec) = lock(&self.pending.specs).get(&row.approval.id) {
            return Ok(spec.clone());
        }
        if !asked.is_complete() {
            return Err(Refusal::wrong_state(format!(
                "{} were only in the memory of an earlier daemon: deny this, and have the command requested again",
                asked.missing()
            )));
        }
        let owner = Requester::Operator { about: "an approval".to_owned() };
        exec_spec::read(self, &asked.request, None, &owner)
    }
}

fn answered_already(row: &ApprovalRow) -> Refusal {
    let (id, state) = (&row.approval.id, word(row.state));
    Refusal::wrong_state(format!("{id} can no longer be answered: it is {state}"))
}

/// Checks that the programs are still those that the person was shown.
fn check_unchanged(line: &CommandLine) -> Result<(), Refusal> {
    let checked = block_in_place(|| line.bound.iter().try_for_each(Bound::check));
    checked.map_err(|changed| Refusal::denied(format!("{changed}; deny this request first")))
}
