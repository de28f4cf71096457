//! Commands that a person is asked about. The question and its answer are records; the values of variables that a
//! command is given are not, and wait in memory: a question with some cannot be answered after a restart.

use super::asked::is_visible;
use super::exec::unfinished;
use super::foreground::Foreground;
use super::judge::{Line, Question};
use super::wanted::{self, Wanted};
use crate::daemon::{Daemon, lock};
use crate::refusal::Refusal;
use crate::requester::Requester;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use tenure_core::api::Approval;
use tenure_core::ids::RunId;
use tenure_core::redact;
use tenure_core::tools::{ExecReply, ExecRequest, Status};
use tenure_keeper::state_root;
use tenure_os::clock;
use tenure_policy::executable::Bound;
use tenure_store::{ApprovalRow, ApprovalState, NewAnswer, NewApproval, NewEvent};
use tokio::task::block_in_place;

/// How many questions may wait at once: a person reads them.
const MOST: usize = 200;
/// How many questions are looked through for one.
const LOOKED_THROUGH: usize = 1_000;

/// What is asked, as it is recorded.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Recorded {
    /// Without the values of variables and without the caller's process.
    request: ExecRequest,
    cwd: String,
    env_names: Vec<String>,
    question: Question,
}

impl Recorded {
    /// Whether the record has all that it takes to run it.
    fn is_whole(&self) -> bool {
        self.env_names.is_empty()
    }
}

/// The commands that wait, with what is not recorded of them.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    wanted: Mutex<HashMap<RunId, Wanted>>,
    /// Held by whoever asks.
    turn: tokio::sync::Mutex<()>,
}

impl Daemon {
    /// Asks a person. The same command of the same session is asked about once.
    pub(super) async fn ask_about(
        self: &Arc<Self>,
        request: &ExecRequest,
        wanted: Wanted,
        question: Question,
    ) -> Result<ExecReply, Refusal> {
        // One at a time, so that nobody asks between the look and the question.
        let _turn = self.waiting.turn.lock().await;
        if let Some(id) = self.asked_already(&wanted) {
            return Ok(pending(id));
        }
        let id = state_root::new_run_id().map_err(Refusal::internal)?;
        let now = clock::unix_ms();
        let cwd = String::from_utf8_lossy(&wanted.process.cwd).into_owned();
        let request = ExecRequest {
            env: std::collections::BTreeMap::new(),
            process: None,
            session_key: wanted.session.clone(),
            workdir: Some(cwd.clone()),
            ..request.clone()
        };
        let why = question.why.clone();
        let asked = Recorded { request, cwd, env_names: wanted.process.env_names.clone(), question };
        if let Some(id) = self.asked_by_an_earlier_daemon(&asked).await? {
            return Ok(pending(id));
        }
        let session = wanted.session.clone();
        let approval = NewApproval {
            id: id.clone(),
            created_at_ms: now,
            expires_at_ms: now
                + u64::try_from(self.settings.exec.approval.as_millis()).unwrap_or(u64::MAX / 2),
            instance: self.instance.clone(),
            session: session.clone(),
            asked: serde_json::to_value(&asked).map_err(Refusal::internal)?,
        };
        let command = shown(&wanted.command);
        lock(&self.waiting.wanted).insert(id.clone(), wanted);
        if let Err(error) = self.registry.ask_person(approval).await {
            lock(&self.waiting.wanted).remove(&id);
            return Err(error.into());
        }
        self.tell_of(&id, session, "approval-asked", json!({"command": command, "why": why})).await;
        Ok(pending(id))
    }

    /// A question that waits about the same command.
    fn asked_already(&self, wanted: &Wanted) -> Option<RunId> {
        lock(&self.waiting.wanted).iter().find(|(_, known)| known.is_like(wanted)).map(|(id, _)| id.clone())
    }

    /// A question that waits about the same command and was asked before this daemon was there. Refuses one too many.
    async fn asked_by_an_earlier_daemon(&self, asked: &Recorded) -> Result<Option<RunId>, Refusal> {
        self.expire().await?;
        let rows = self.registry.approvals(true, LOOKED_THROUGH).await?;
        let waiting: Vec<NewApproval> =
            rows.into_iter().map(|row| row.approval).filter(|it| it.instance == self.instance).collect();
        let is_same = |it: &&NewApproval| {
            let of_another = asked.is_whole() && !lock(&self.waiting.wanted).contains_key(&it.id);
            let known =
                of_another.then(|| serde_json::from_value::<Recorded>(it.asked.clone()).ok()).flatten();
            known.is_some_and(|known| known.is_whole() && known.request == asked.request)
        };
        if let Some(same) = waiting.iter().find(is_same) {
            return Ok(Some(same.id.clone()));
        }
        if waiting.len() >= MOST {
            return Err(Refusal::busy(format!(
                "{MOST} commands wait for a person already: have some answered"
            )));
        }
        Ok(None)
    }

    async fn tell_of(&self, id: &RunId, session: Option<String>, kind: &str, detail: serde_json::Value) {
        self.tell(NewEvent {
            at_ms: clock::unix_ms(),
            kind: kind.to_owned(),
            instance: self.instance.clone(),
            run_id: Some(id.clone()),
            session,
            detail,
        })
        .await;
    }

    /// The questions that this requester may see.
    pub(crate) async fn approvals(&self, all: bool, who: &Requester) -> Result<Vec<Approval>, Refusal> {
        self.expire().await?;
        let rows = self.registry.approvals(!all, LOOKED_THROUGH).await?;
        rows.iter().filter(|row| is_visible(row, who)).map(json_of).collect()
    }

    /// The question that an id, or a unique beginning of one, means to this requester.
    pub(super) async fn find_approval(
        &self,
        text: &str,
        who: &Requester,
    ) -> Result<Option<ApprovalRow>, Refusal> {
        self.expire().await?;
        if let Ok(id) = text.parse() {
            // A whole id is the only question that it can mean, however many there are.
            return Ok(self.registry.approval(id).await?.filter(|row| is_visible(row, who)));
        }
        let rows = self.registry.approvals(false, LOOKED_THROUGH).await?;
        let is_meant = |row: &ApprovalRow| !text.is_empty() && row.approval.id.as_str().starts_with(text);
        let mut meant = rows.into_iter().filter(|row| is_meant(row) && is_visible(row, who));
        match (meant.next(), meant.next()) {
            (Some(_), Some(_)) => Err(Refusal::ambiguous(format!(
                "several questions have ids that begin with {text}: write more of it"
            ))),
            (one, _) => Ok(one),
        }
    }

    /// Closes the questions that nobody answered in time.
    pub(crate) async fn expire(&self) -> Result<(), Refusal> {
        for id in self.registry.expire_approvals(clock::unix_ms()).await? {
            lock(&self.waiting.wanted).remove(&id);
            let session = self.registry.approval(id.clone()).await?.and_then(|row| row.approval.session);
            self.tell_of(&id, session, "approval-expired", json!({})).await;
        }
        Ok(())
    }

    /// Answers a question. What is allowed runs, in the background of its session.
    pub(crate) async fn answer(
        self: &Arc<Self>,
        text: &str,
        state: ApprovalState,
        who: &Requester,
    ) -> Result<Approval, Refusal> {
        let Some(row) = self.find_approval(text, who).await? else {
            return Err(Refusal::no_such_run(format!(
                "nobody was asked about {text:?}: `tenure approvals` lists them"
            )));
        };
        if row.approval.instance != self.instance && state != ApprovalState::Denied {
            return Err(Refusal::held_elsewhere(format!(
                "instance {} asked about {}: answer its daemon",
                row.approval.instance, row.approval.id
            )));
        }
        let asked: Recorded =
            serde_json::from_value(row.approval.asked.clone()).map_err(Refusal::internal)?;
        let entries = match (&asked.question.always, state) {
            (Ok(entries), ApprovalState::AllowedAlways) => entries.clone(),
            (Err(why), ApprovalState::AllowedAlways) => {
                return Err(Refusal::invalid(format!("it can be allowed this time only: {why}")));
            }
            _ => Vec::new(),
        };
        let allowed = state != ApprovalState::Denied;
        let wanted = if allowed { Some(self.wanted_again(&row, &asked)?) } else { None };
        if allowed {
            // Before it is recorded: an entry of the allowlist may come with it.
            check_unchanged(&asked.question.line)?;
        }
        self.record_answer(&row, &asked, state, (entries, who)).await?;
        lock(&self.waiting.wanted).remove(&row.approval.id);
        if let Some(wanted) = wanted {
            // Whoever allowed it need not wait until there is a place for it.
            let (daemon, row, line) = (Arc::clone(self), row.clone(), asked.question.line);
            let starting = tokio::spawn(async move { daemon.start_allowed(&row, wanted, line).await });
            starting.await.map_err(Refusal::internal)??;
        }
        match self.registry.approval(row.approval.id.clone()).await? {
            Some(row) => json_of(&row),
            None => Err(Refusal::internal("the question is gone")),
        }
    }

    /// Records an answer, once.
    async fn record_answer(
        &self,
        row: &ApprovalRow,
        asked: &Recorded,
        state: ApprovalState,
        (entries, who): (Vec<tenure_policy::allowlist::Entry>, &Requester),
    ) -> Result<(), Refusal> {
        let id = row.approval.id.clone();
        // What stays is what a person may read later.
        let mut kept = asked.clone();
        kept.request.command = shown(&asked.request.command);
        kept.question.line = Line { words: Vec::new(), bound: Vec::new(), understood: false };
        let answer = NewAnswer {
            state,
            at_ms: clock::unix_ms(),
            by: who.to_string(),
            asked: serde_json::to_value(kept).map_err(Refusal::internal)?,
            entries: entries.iter().filter_map(|entry| serde_json::to_value(entry).ok()).collect(),
        };
        if !self.registry.answer(id.clone(), answer).await? {
            let now = self.registry.approval(id.clone()).await?;
            let state = now.map_or("gone".to_owned(), |row| word(row.state));
            return Err(Refusal::wrong_state(format!(
                "{id} is answered already, or too late: it is {state}"
            )));
        }
        let detail = json!({"answer": word(state), "answeredBy": who.to_string()});
        self.tell_of(&id, row.approval.session.clone(), "approval-answered", detail).await;
        Ok(())
    }

    /// What was wanted, from memory, or from the record if that has all of it.
    fn wanted_again(&self, row: &ApprovalRow, asked: &Recorded) -> Result<Wanted, Refusal> {
        if let Some(wanted) = lock(&self.waiting.wanted).get(&row.approval.id) {
            return Ok(wanted.clone());
        }
        if !asked.is_whole() {
            return Err(Refusal::wrong_state(format!(
                "the values of {} were in the memory of a daemon that is gone: deny this, and have it asked again",
                asked.env_names.join(", ")
            )));
        }
        let owner = Requester::Operator { about: "an approval".to_owned() };
        wanted::read(self, &asked.request, &owner)
    }

    /// Starts what was allowed, in the background of its session.
    async fn start_allowed(
        self: &Arc<Self>,
        row: &ApprovalRow,
        wanted: Wanted,
        line: Line,
    ) -> Result<(), Refusal> {
        let id = row.approval.id.clone();
        let asked_by = match &row.approval.session {
            Some(session) => Requester::Client { session: session.clone(), about: "approved".to_owned() },
            None => Requester::Operator { about: "approved".to_owned() },
        };
        let begun = Foreground::begin(self, wanted.asked(line, Some(id.clone()))?, &asked_by).await;
        let (foreground, held) = match begun {
            Ok(begun) => begun,
            Err(refusal) => {
                let detail = json!({"why": refusal.detail});
                self.tell_of(&id, row.approval.session.clone(), "approval-failed", detail).await;
                return Err(refusal);
            }
        };
        self.registry.go_background(id).await?;
        foreground.release();
        self.tell_end_of(&held);
        Ok(())
    }
}

/// What is executed must still be what a person was shown.
fn check_unchanged(line: &Line) -> Result<(), Refusal> {
    let checked = block_in_place(|| line.bound.iter().try_for_each(Bound::check));
    checked.map_err(|changed| Refusal::denied(format!("{changed}; deny this first")))
}

fn pending(id: RunId) -> ExecReply {
    let follow_up = format!(
        "A person is asked first: `tenure approvals` shows them the question. If it is allowed, it runs as {id} in the \
         background; process poll waits for that."
    );
    ExecReply { follow_up: Some(follow_up), ..unfinished(Status::ApprovalPending, id) }
}

/// A command without what looks like a secret.
fn shown(command: &str) -> String {
    redact::command(&[command.to_owned()]).concat()
}

fn word(state: ApprovalState) -> String {
    serde_json::to_value(state).ok().and_then(|word| word.as_str().map(str::to_owned)).unwrap_or_default()
}

fn json_of(row: &ApprovalRow) -> Result<Approval, Refusal> {
    let asked: Recorded = serde_json::from_value(row.approval.asked.clone()).map_err(Refusal::internal)?;
    Ok(Approval {
        id: row.approval.id.clone(),
        state: word(row.state),
        command: asked.request.command,
        cwd: asked.cwd,
        session_key: row.approval.session.clone(),
        env_names: asked.env_names,
        why: asked.question.why,
        programs: asked.question.programs.iter().map(|path| path.display().to_string()).collect(),
        once_only: asked.question.always.err(),
        created_at_ms: row.approval.created_at_ms,
        expires_at_ms: row.approval.expires_at_ms,
        answered_at_ms: row.answered_at_ms,
        answered_by: row.answered_by.clone(),
    })
}
