//! `process` of a command that a person is asked about: it has its run's id before there is a run.

use crate::Approvals;
use std::sync::Arc;
use std::time::Duration;
use tenure_core::problem::Code;
use tenure_core::tools::{Listed, POLL_MS, ProcessReply, Status, Waiting};
use tenure_os::clock;
use tenure_store::{ApprovalRow, ApprovalState};
use tenure_supervisor::Refusal;
use tenure_supervisor::Requester;
use tokio::time::{Instant, timeout_at};

/// How long a poll waits that does not say.
const USUAL: Duration = Duration::from_secs(10);
/// When the next poll is worth it: a person answers.
const RETRY_MS: u64 = 10_000;

/// How many are listed.
const MOST_LISTED: usize = 200;

/// An action of `process` on a command that waits for approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PendingAction {
    /// Wait for its start.
    Poll {
        /// The longest wait.
        timeout_ms: Option<u64>,
    },
    /// Withdraw it.
    Withdraw,
    /// Anything else, which needs a run.
    Other,
}

/// What is known of an id that is no run's.
pub enum Pending {
    /// Nothing.
    Unknown,
    /// It waits, and this is the answer.
    Answer(Box<ProcessReply>),
    /// It was allowed, and runs by now.
    Started,
}

impl Approvals {
    /// What is asked of a command that a person is asked about.
    pub async fn about_question(
        self: &Arc<Self>,
        text: &str,
        action: PendingAction,
        who: &Requester,
    ) -> Result<Pending, Refusal> {
        let Some(row) = self.find_approval(text, who).await? else { return Ok(Pending::Unknown) };
        let id = row.approval.id.clone();
        match action {
            PendingAction::Poll { timeout_ms } => {
                let wait = timeout_ms.map_or(USUAL, |ms| Duration::from_millis(ms.min(POLL_MS)));
                self.poll_question(text, who, Instant::now() + wait).await
            }
            PendingAction::Withdraw => {
                may_withdraw(&row, who)?;
                self.withdraw(&row, who).await
            }
            PendingAction::Other => {
                let starts = self.may_start(&row);
                if self.supervisor.registry.run(id.clone()).await?.is_some() {
                    return Ok(Pending::Started);
                }
                let waits_for = if row.state == ApprovalState::Pending { "a person" } else { "its start" };
                let waits =
                    || Refusal::wrong_state(format!("{id} waits for {waits_for}: poll waits for that"));
                Err(settled(&row, starts).unwrap_or_else(waits))
            }
        }
    }

    /// Closes the question; what was allowed is withdrawn if it has not begun.
    async fn withdraw(self: &Arc<Self>, row: &ApprovalRow, who: &Requester) -> Result<Pending, Refusal> {
        let id = &row.approval.id;
        match self.answer(id.as_str(), ApprovalState::Denied, who).await {
            Ok(_) => {}
            Err(answered) if answered.code == Code::WrongState => {
                if !self.withdraw_allowed(id) {
                    let run = self.supervisor.registry.run(id.clone()).await?;
                    return run.map(|_| Pending::Started).ok_or(answered);
                }
            }
            Err(refusal) => return Err(refusal),
        }
        let message = format!("{id} is withdrawn: it will not run.");
        Ok(Pending::Answer(Box::new(ProcessReply { message, ..ProcessReply::default() })))
    }

    /// Whether something that was allowed may still be started. What another instance starts is in its memory, not in
    /// ours.
    fn may_start(&self, row: &ApprovalRow) -> bool {
        let now = clock::unix_ms();
        let is_recent = || now.saturating_sub(row.answered_at_ms.unwrap_or(now)) <= POLL_MS;
        self.is_starting(&row.approval.id)
            || (row.approval.instance != self.supervisor.instance && is_recent())
    }

    /// Waits until the command runs, or will not.
    async fn poll_question(
        self: &Arc<Self>,
        text: &str,
        who: &Requester,
        deadline: Instant,
    ) -> Result<Pending, Refusal> {
        let mut changes = self.supervisor.events.changes();
        loop {
            changes.mark_unchanged();
            let Some(row) = self.find_approval(text, who).await? else { return Ok(Pending::Unknown) };
            // In this order: what is not about to start any more has a run, or will have none.
            let starts = self.may_start(&row);
            if self.supervisor.registry.run(row.approval.id.clone()).await?.is_some() {
                return Ok(Pending::Started);
            }
            if let Some(refusal) = settled(&row, starts) {
                return Err(refusal);
            }
            let until = if row.state == ApprovalState::Pending {
                // It expires without anybody saying so.
                let until_ms = row.approval.expires_at_ms.saturating_sub(clock::unix_ms()) + 1;
                deadline.min(Instant::now() + Duration::from_millis(until_ms))
            } else {
                deadline
            };
            if timeout_at(until, changes.changed()).await.is_err() && Instant::now() >= deadline {
                return Ok(Pending::Answer(Box::new(waiting(&row))));
            }
        }
    }
}

/// Why it will not run, if it will not. One that was allowed is about to, or was withdrawn or could not be started.
fn settled(row: &ApprovalRow, starts: bool) -> Option<Refusal> {
    let id = &row.approval.id;
    match row.state {
        ApprovalState::Pending => None,
        ApprovalState::Denied => Some(Refusal::denied(format!("{id} was denied: do not run it another way"))),
        ApprovalState::Expired => {
            Some(Refusal::denied(format!("nobody answered {id} in time: ask again if it is still needed")))
        }
        ApprovalState::AllowedOnce | ApprovalState::AllowedAlways => (!starts).then(|| {
            Refusal::wrong_state(format!(
                "{id} was allowed but withdrawn, or could not be started: exec it again if it is still needed"
            ))
        }),
    }
}

impl Approvals {
    /// The commands of this requester that wait for a person, the newest first.
    pub async fn listed_asked(&self, who: &Requester) -> Result<Vec<Listed>, Refusal> {
        self.expire().await?;
        let rows = self.supervisor.registry.approvals(true, MOST_LISTED).await?;
        Ok(rows.iter().filter(|row| is_visible(row, who)).map(listed).collect())
    }
}

/// An operator can withdraw everything, whoever else only what is its session's own.
fn may_withdraw(row: &ApprovalRow, who: &Requester) -> Result<(), Refusal> {
    match who {
        Requester::Operator { .. } => Ok(()),
        _ if row.approval.session.as_deref() == who.only_session() => Ok(()),
        _ => Err(Refusal::forbidden(format!(
            "{who} did not ask for {}: whoever did can withdraw it",
            row.approval.id
        ))),
    }
}

/// Whether a requester may know of a question.
pub(crate) fn is_visible(row: &ApprovalRow, who: &Requester) -> bool {
    who.only_session().is_none_or(|own| row.approval.session.as_deref() == Some(own))
}

fn waiting(row: &ApprovalRow) -> ProcessReply {
    let message = match row.state {
        ApprovalState::AllowedOnce | ApprovalState::AllowedAlways => {
            "It is allowed, and starts when there is a place for it."
        }
        ApprovalState::Pending | ApprovalState::Denied | ApprovalState::Expired => {
            "A person is asked first, and has not answered yet."
        }
    };
    let message = message.to_owned();
    let (run, output) = (Some(listed(row)), Some(String::new()));
    ProcessReply { run, output, retry_in_ms: Some(RETRY_MS), message, ..ProcessReply::default() }
}

fn listed(row: &ApprovalRow) -> Listed {
    let asked = &row.approval.asked["request"];
    let text = |name: &str| asked[name].as_str().unwrap_or_default().to_owned();
    Listed {
        status: Status::ApprovalPending,
        run_id: row.approval.id.clone(),
        command: text("command"),
        cwd: text("workdir"),
        pty: asked["pty"].as_bool().unwrap_or_default(),
        session_key: row.approval.session.clone(),
        pid: None,
        created_at_ms: row.approval.created_at_ms,
        duration_ms: 0,
        last_output_at_ms: None,
        exit_code: None,
        exit_signal: None,
        exit_reason: None,
        failure_kind: None,
        stdin_writable: false,
        waiting_for_input: Waiting::No,
        tail: String::new(),
    }
}
