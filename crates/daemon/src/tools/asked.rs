//! `process` of a command that a person is asked about: it has its run's id before there is a run.

use crate::daemon::Daemon;
use crate::refusal::Refusal;
use crate::requester::Requester;
use std::sync::Arc;
use std::time::Duration;
use tenure_core::tools::{Action, Listed, POLL_MS, ProcessReply, ProcessRequest, Status, Waiting};
use tenure_os::clock;
use tenure_store::{ApprovalRow, ApprovalState};
use tokio::time::{Instant, timeout_at};

/// How long a poll waits that does not say.
const USUAL: Duration = Duration::from_secs(10);
/// When the next poll is worth it: a person answers.
const RETRY_MS: u64 = 10_000;

/// How many are listed.
const MOST_LISTED: usize = 200;

/// What is known of an id that is no run's.
pub(super) enum Asked {
    /// Nothing.
    Unknown,
    /// It waits, and this is the answer.
    Answer(Box<ProcessReply>),
    /// It was allowed, and runs by now.
    Started,
}

impl Daemon {
    /// What is asked of a command that a person is asked about.
    pub(super) async fn about_asked(
        self: &Arc<Self>,
        text: &str,
        request: &ProcessRequest,
        who: &Requester,
    ) -> Result<Asked, Refusal> {
        let Some(row) = self.find_approval(text, who).await? else { return Ok(Asked::Unknown) };
        let id = row.approval.id.clone();
        match request.action {
            Action::Poll => {
                let wait = request.timeout_ms.map_or(USUAL, |ms| Duration::from_millis(ms.min(POLL_MS)));
                self.poll_asked(text, who, Instant::now() + wait).await
            }
            Action::Kill | Action::Remove => {
                may_withdraw(&row, who)?;
                self.answer(id.as_str(), ApprovalState::Denied, who).await?;
                let message = format!("{id} is withdrawn: it will not run.");
                Ok(Asked::Answer(Box::new(ProcessReply { message, ..ProcessReply::default() })))
            }
            _ => match settled(&row) {
                None => Err(Refusal::wrong_state(format!("{id} waits for a person: poll waits for that"))),
                Some(refusal) => Err(refusal),
            },
        }
    }

    /// Waits until the command runs, or will not.
    async fn poll_asked(
        self: &Arc<Self>,
        text: &str,
        who: &Requester,
        deadline: Instant,
    ) -> Result<Asked, Refusal> {
        let mut changes = self.changes();
        loop {
            changes.mark_unchanged();
            let Some(row) = self.find_approval(text, who).await? else { return Ok(Asked::Unknown) };
            if self.registry.run(row.approval.id.clone()).await?.is_some() {
                return Ok(Asked::Started);
            }
            if let Some(refusal) = settled(&row) {
                return Err(refusal);
            }
            // It expires without anybody saying so.
            let until_ms = row.approval.expires_at_ms.saturating_sub(clock::unix_ms()) + 1;
            let until = deadline.min(Instant::now() + Duration::from_millis(until_ms));
            if timeout_at(until, changes.changed()).await.is_err() && Instant::now() >= deadline {
                return Ok(Asked::Answer(Box::new(waiting(&row))));
            }
        }
    }
}

/// Why it will not run, if it will not. One that was allowed is about to.
fn settled(row: &ApprovalRow) -> Option<Refusal> {
    let id = &row.approval.id;
    match row.state {
        ApprovalState::Pending => None,
        ApprovalState::Denied => Some(Refusal::denied(format!("{id} was denied: do not run it another way"))),
        ApprovalState::Expired => {
            Some(Refusal::denied(format!("nobody answered {id} in time: ask again if it is still needed")))
        }
        ApprovalState::AllowedOnce | ApprovalState::AllowedAlways => {
            let now = clock::unix_ms();
            let since = now.saturating_sub(row.answered_at_ms.unwrap_or(now));
            (since > POLL_MS).then(|| {
                Refusal::wrong_state(format!("{id} was allowed but could not be started: exec it again"))
            })
        }
    }
}

impl Daemon {
    /// The commands of this requester that wait for a person, the newest first.
    pub(super) async fn listed_asked(&self, who: &Requester) -> Result<Vec<Listed>, Refusal> {
        self.expire().await?;
        let rows = self.registry.approvals(true, MOST_LISTED).await?;
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
pub(super) fn is_visible(row: &ApprovalRow, who: &Requester) -> bool {
    who.only_session().is_none_or(|own| row.approval.session.as_deref() == Some(own))
}

fn waiting(row: &ApprovalRow) -> ProcessReply {
    let message = "A person is asked first, and has not answered yet.".to_owned();
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
