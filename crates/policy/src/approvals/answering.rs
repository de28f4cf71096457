//! Answering a question, once.

use super::permission::{Choice, Permission};
use super::{Recorded, kept, without_question, word};
use crate::Approvals;
use crate::allowlist::Entry;
use crate::authorize::Line;
use crate::exec_spec::{self, Wanted};
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
    /// Answers a question. What is allowed runs, in the background of its session.
    pub async fn answer(
        self: &Arc<Self>,
        text: &str,
        state: ApprovalState,
        who: &Requester,
    ) -> Result<Approval, Refusal> {
        check_prefix(text).map_err(Refusal::short_id)?;
        let Some(row) = self.find_approval(text, who).await? else {
            return Err(Refusal::no_such_run(format!(
                "nobody was asked about {text:?}: `tenure approvals` lists them"
            )));
        };
        let id = row.approval.id.clone();
        if row.state != ApprovalState::Pending {
            return Err(answered_already(&row));
        }
        if let Some(permission) = Permission::read(&row) {
            self.answer_permission(&row, permission, &Choice::Like(state), &who.to_string()).await?;
        } else if state == ApprovalState::Denied {
            // It need not be understood for that.
            self.record_answer(&row, state, (Vec::new(), &who.to_string())).await?;
        } else {
            self.allow_asked(row, state, who).await?;
        }
        match self.supervisor.registry.approval(id).await? {
            Some(row) => Ok(self.json_of(&row).unwrap_or_else(|_| without_question(&row))),
            None => Err(Refusal::internal("the question is gone")),
        }
    }

    /// Answers a question of an agent with one of the options that it offers.
    pub async fn choose(
        self: &Arc<Self>,
        text: &str,
        option: &str,
        who: &Requester,
    ) -> Result<Approval, Refusal> {
        check_prefix(text).map_err(Refusal::short_id)?;
        let Some(row) = self.find_approval(text, who).await? else {
            return Err(Refusal::no_such_run(format!(
                "nobody was asked about {text:?}: `tenure approvals` lists them"
            )));
        };
        if row.state != ApprovalState::Pending {
            return Err(answered_already(&row));
        }
        let Some(permission) = Permission::read(&row) else {
            return Err(Refusal::invalid("it is a command, which offers no answers: allow or deny it"));
        };
        self.answer_permission(&row, permission, &Choice::Option(option), &who.to_string()).await?;
        match self.supervisor.registry.approval(row.approval.id).await? {
            Some(row) => self.json_of(&row),
            None => Err(Refusal::internal("the question is gone")),
        }
    }

    /// Allows what was asked, and starts it. All that can be known to stand in the way is looked at first: an answer is
    /// spent once it is recorded.
    async fn allow_asked(
        self: &Arc<Self>,
        row: ApprovalRow,
        state: ApprovalState,
        who: &Requester,
    ) -> Result<(), Refusal> {
        if row.approval.instance != self.supervisor.instance {
            return Err(Refusal::held_elsewhere(format!(
                "instance {} asked about {}: answer its daemon",
                row.approval.instance, row.approval.id
            )));
        }
        let asked = Recorded::read(&row)?;
        let entries = match (&asked.question.always, state) {
            (Ok(entries), ApprovalState::AllowedAlways) => entries.clone(),
            (Err(why), ApprovalState::AllowedAlways) => {
                return Err(Refusal::invalid(format!("it can be allowed this time only: {why}")));
            }
            _ => Vec::new(),
        };
        let wanted = self.wanted_again(&row, &asked)?;
        check_unchanged(&asked.question.line)?;
        self.supervisor.check_room()?;
        let starting = self.begin_allowed(&row)?;
        let (approvals, by) = (Arc::clone(self), who.to_string());
        // Whoever allows it may hang up: what is recorded as allowed is started.
        let task = tokio::spawn(async move {
            approvals.record_answer(&row, state, (entries, &by)).await?;
            approvals.see_started(&row, (wanted, asked.question.line), starting).await
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
            asked: kept(&row.approval.asked),
            entries: entries.iter().filter_map(|entry| serde_json::to_value(entry).ok()).collect(),
        };
        if !self.supervisor.registry.answer(id.clone(), answer).await? {
            return Err(match self.supervisor.registry.approval(id.clone()).await? {
                Some(row) => answered_already(&row),
                None => Refusal::wrong_state(format!("{id} was answered already, and is forgotten")),
            });
        }
        lock(&self.waiting.wanted).remove(&id);
        let detail = json!({"answer": word(state), "answeredBy": by});
        self.tell_of(&id, row.approval.session.clone(), kind::APPROVAL_ANSWERED, detail).await;
        Ok(())
    }

    /// Closes what a session asked, and withdraws what was allowed and has not begun. Returns how many.
    pub async fn close_questions(&self, session: &str, by: &str) -> Result<usize, Refusal> {
        let mut closed = 0;
        let of_session = |row: &ApprovalRow| row.approval.session.as_deref() == Some(session);
        for row in self.own_questions().await?.into_iter().filter(of_session) {
            match self.record_answer(&row, ApprovalState::Denied, (Vec::new(), by)).await {
                Ok(()) => closed += 1,
                // Somebody was faster.
                Err(refusal) if refusal.code == Code::WrongState => {}
                Err(refusal) => return Err(refusal),
            }
        }
        Ok(closed + self.withdraw_allowed_of(session))
    }

    /// What was wanted, from memory, or from the record if that has all of it.
    fn wanted_again(&self, row: &ApprovalRow, asked: &Recorded) -> Result<Wanted, Refusal> {
        if let Some(wanted) = lock(&self.waiting.wanted).get(&row.approval.id) {
            return Ok(wanted.clone());
        }
        if !asked.is_whole() {
            return Err(Refusal::wrong_state(format!(
                "a daemon that is gone had {} in its memory: deny this, and have it asked again",
                asked.lack()
            )));
        }
        let owner = Requester::Operator { about: "an approval".to_owned() };
        exec_spec::read(self, &asked.request, None, &owner)
    }
}

fn answered_already(row: &ApprovalRow) -> Refusal {
    let (id, state) = (&row.approval.id, word(row.state));
    Refusal::wrong_state(format!("{id} is answered already, or too late: it is {state}"))
}

/// What is executed must still be what a person was shown.
fn check_unchanged(line: &Line) -> Result<(), Refusal> {
    let checked = block_in_place(|| line.bound.iter().try_for_each(Bound::check));
    checked.map_err(|changed| Refusal::denied(format!("{changed}; deny this first")))
}
