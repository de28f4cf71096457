//! Actions of `process` on a command that waits for approval. It has a run id before its run exists.

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

/// Default wait of a poll.
const DEFAULT_WAIT: Duration = Duration::from_secs(10);
/// Time until the next poll is worthwhile: a person must answer.
const RETRY_MS: u64 = 10_000;

/// Maximum number of listed commands.
const MAX_LISTED: usize = 200;

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

/// State of a command that may wait for approval.
pub enum Pending {
    /// No command has this id.
    Unknown,
    /// The reply for a command that waits or was withdrawn.
    Answer(Box<ProcessReply>),
    /// The command was approved, and its run exists.
    Started,
}

impl Approvals {
    /// Executes an action of `process` on a command that waits for approval.
    pub async fn process_pending(
        self: &Arc<Self>,
        text: &str,
        action: PendingAction,
        who: &Requester,
    ) -> Result<Pending, Refusal> {
        let Some(row) = self.find_approval(text, who).await? else { return Ok(Pending::Unknown) };
        let id = row.approval.id.clone();
        match action {
            PendingAction::Poll { timeout_ms } => {
                let wait = timeout_ms.map_or(DEFAULT_WAIT, |ms| Duration::from_millis(ms.min(POLL_MS)));
                self.poll_pending(text, who, Instant::now() + wait).await
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
                let waits_for =
                    if row.state == ApprovalState::Pending { "its approval" } else { "its start" };
                let waits =
                    || Refusal::wrong_state(format!("{id} waits for {waits_for}: use poll to wait for it"));
                Err(final_refusal(&row, starts).unwrap_or_else(waits))
            }
        }
    }

    /// Denies the request, or withdraws an approved command that has not started.
    async fn withdraw(self: &Arc<Self>, row: &ApprovalRow, who: &Requester) -> Result<Pending, Refusal> {
        let id = &row.approval.id;
        match self.answer(id.as_str(), ApprovalState::Denied, who).await {
            Ok(_) => {}
            Err(answered) if answered.code == Code::WrongState => {
                if !self.withdraw_start(id) {
                    let run = self.supervisor.registry.run(id.clone()).await?;
                    return run.map(|_| Pending::Started).ok_or(answered);
                }
            }
            Err(refusal) => return Err(refusal),
        }
        let message = format!("{id} was withdrawn: it will not run.");
        Ok(Pending::Answer(Box::new(ProcessReply { message, ..ProcessReply::default() })))
    }

    /// Returns true if an approved command may still start. Commands that another instance starts are only in the memory of that
    /// instance.
    fn may_start(&self, row: &ApprovalRow) -> bool {
        let now = clock::unix_ms();
        let is_recent = || now.saturating_sub(row.answered_at_ms.unwrap_or(now)) <= POLL_MS;
        self.is_starting(&row.approval.id)
            || (row.approval.instance != self.supervisor.instance && is_recent())
    }

    /// Waits until the command runs, or will never run.
    async fn poll_pending(
        self: &Arc<Self>,
        text: &str,
        who: &Requester,
        deadline: Instant,
    ) -> Result<Pending, Refusal> {
        let mut changes = self.supervisor.events.changes();
        loop {
            changes.mark_unchanged();
            let Some(row) = self.find_approval(text, who).await? else { return Ok(Pending::Unknown) };
            // In this order: a command that is no longer about to start has a run, or will never have one.
            let starts = self.may_start(&row);
            if self.supervisor.registry.run(row.approval.id.clone()).await?.is_some() {
                return Ok(Pending::Started);
            }
            if let Some(refusal) = final_refusal(&row, starts) {
                return Err(refusal);
            }
            let until = if row.state == ApprovalState::Pending {
                // The expiry causes no event.
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

/// Returns the reason why a command will never run, if that is certain.
fn final_refusal(row: &ApprovalRow, starts: bool) -> Option<Refusal> {
    let id = &row.approval.id;
    match row.state {
        ApprovalState::Pending => None,
        ApprovalState::Denied => {
            Some(Refusal::denied(format!("{id} was denied: do not try to run it another way")))
        }
        ApprovalState::Expired => Some(Refusal::denied(format!(
            "nobody answered the request for {id} in time: exec it again if it is still needed"
        ))),
        ApprovalState::AllowedOnce | ApprovalState::AllowedAlways => (!starts).then(|| {
            Refusal::wrong_state(format!(
                "{id} was approved, but then withdrawn or not started: exec it again if it is still needed"
            ))
        }),
    }
}

impl Approvals {
    /// Lists the requester's commands that wait for approval, the newest first.
    pub async fn list_pending(&self, who: &Requester) -> Result<Vec<Listed>, Refusal> {
        self.expire().await?;
        let rows = self.supervisor.registry.approvals(true, MAX_LISTED).await?;
        Ok(rows.iter().filter(|row| is_visible(row, who)).map(listed).collect())
    }
}

/// Refuses to withdraw a command of another session, except for operators.
fn may_withdraw(row: &ApprovalRow, who: &Requester) -> Result<(), Refusal> {
    match who {
        Requester::Operator { .. } => Ok(()),
        _ if row.approval.session.as_deref() == who.only_session() => Ok(()),
        _ => Err(Refusal::forbidden(format!(
            "{who} cannot withdraw {}: only the session that asked for it, or an operator, can",
            row.approval.id
        ))),
    }
}

/// Returns true if a requester may see an approval request.
pub(crate) fn is_visible(row: &ApprovalRow, who: &Requester) -> bool {
    who.only_session().is_none_or(|own| row.approval.session.as_deref() == Some(own))
}

fn waiting(row: &ApprovalRow) -> ProcessReply {
    let message = match row.state {
        ApprovalState::AllowedOnce | ApprovalState::AllowedAlways => {
            "It is approved, and starts when a place is free."
        }
        ApprovalState::Pending | ApprovalState::Denied | ApprovalState::Expired => {
            "It waits for an approval: nobody has answered yet."
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
