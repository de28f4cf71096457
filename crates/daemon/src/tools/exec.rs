//! `exec`: runs a command line, and waits for its end until it continues in the background.

use crate::daemon::Daemon;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tenure_core::ending::{NO_PTY, Reason};
use tenure_core::ids::RunId;
use tenure_core::receipt::ToolReply;
use tenure_core::record::Ending;
use tenure_core::tools::{ExecReply, ExecRequest, FailureKind, REPLY_CHARS, Status, TAIL_CHARS, outcome};
use tenure_mcp::Progress;
use tenure_os::clock;
use tenure_output::text;
use tenure_policy::approvals::unfinished;
use tenure_policy::authorize::{Authorization, CommandLine};
use tenure_policy::exec_spec::{self, ExecSpec};
use tenure_supervisor::OutputFollower;
use tenure_supervisor::Refusal;
use tenure_supervisor::Requester;
use tenure_supervisor::RunHandle;
use tenure_supervisor::foreground::Foreground;
use tenure_supervisor::run_output::reading;
use tenure_supervisor::start_request::CallerProcess;
use tenure_supervisor::task::task_of_exec;
use tokio::time::{Instant, sleep, timeout_at};

/// Interval between two progress messages to a waiting caller.
const PROGRESS_EVERY: Duration = Duration::from_secs(1);

impl Daemon {
    /// Runs a command line. `caller` is the process that our own command line sends, if any.
    pub(crate) async fn exec(
        self: &Arc<Self>,
        request: ExecRequest,
        (caller, who): (Option<CallerProcess>, &Requester),
        progress: impl Fn(Progress) + Send + Sync,
    ) -> Result<ToolReply<ExecReply>, Refusal> {
        self.exec_as(None, request, (caller, who), progress).await
    }

    /// Runs a command line as the run with this id. If the run exists, an earlier daemon started it for the same call, and the
    /// call resumes.
    pub(crate) async fn exec_as(
        self: &Arc<Self>,
        run: Option<RunId>,
        request: ExecRequest,
        (caller, who): (Option<CallerProcess>, &Requester),
        progress: impl Fn(Progress) + Send + Sync,
    ) -> Result<ToolReply<ExecReply>, Refusal> {
        let mut spec = exec_spec::read(&self.approvals, &request, caller, who)?;
        if let Some(run) = &run
            && let Some(row) = self.supervisor.registry.run(run.clone()).await?
        {
            return self.resume_exec(row, spec, who).await;
        }
        let reply = match self.approvals.authorize_command(&mut spec).await? {
            Authorization::Run(line) => self.start_and_wait(spec, (line, run), who, progress).await?,
            Authorization::Ask(question) => {
                self.approvals.request_approval(&request, spec, *question).await?
            }
        };
        Ok(ToolReply::plain(reply))
    }

    /// Starts the command and waits for its end, at most for the request's window.
    async fn start_and_wait(
        self: &Arc<Self>,
        mut spec: ExecSpec,
        (line, run): (CommandLine, Option<RunId>),
        who: &Requester,
        progress: impl Fn(Progress) + Send + Sync,
    ) -> Result<ExecReply, Refusal> {
        let mut begun =
            Foreground::begin(&self.supervisor, spec.start_request(line.clone(), run)?, who).await?;
        if spec.has_terminal() && lacked_pty(&begun.1) {
            spec.spec.options.pty_size = None;
            spec.warnings.push("no terminal is available: the command runs on pipes".to_owned());
            // The command never ran, so there is nothing to end.
            begun.0.release();
            begun = Foreground::begin(&self.supervisor, spec.start_request(line, None)?, who).await?;
        }
        let (foreground, held) = begun;
        let deadline = Instant::now() + spec.window;
        watch(&held, deadline, progress).await;
        if let Some(ending) = held.status().ending {
            foreground.release();
            return ended(ExecRun::of(&held), &ending, spec.warnings).await;
        }
        let task = task_of_exec(spec.notify)?;
        held.set_tracked(true);
        self.supervisor.registry.go_background(held.ticket.run_id.clone(), task).await?;
        foreground.release();
        running(ExecRun::of(&held), spec.warnings).await
    }
}

/// Waits for the end of a run until the deadline, and reports progress.
async fn watch(held: &Arc<RunHandle>, deadline: Instant, progress: impl Fn(Progress) + Send + Sync) {
    let reporting = async {
        let mut follower = OutputFollower::new(Arc::clone(held));
        let mut at = 0;
        loop {
            follower.grown_beyond(at).await;
            let dir = held.directory.join("output");
            let read =
                reading(move || Ok((tenure_output::totals(&dir)?.bytes, text::last(&dir, 200, false)?)));
            if let Ok((bytes, last)) = read.await
                && bytes > at
            {
                at = bytes;
                let line = last.trim_end().lines().next_back().unwrap_or_default().to_owned();
                progress(Progress { bytes, line });
            }
            sleep(PROGRESS_EVERY).await;
        }
    };
    let over = async {
        tokio::select! {
            _ = held.over() => {}
            () = reporting => {}
        }
    };
    // After the deadline the run continues in the background.
    let _ = timeout_at(deadline, over).await;
}

/// Returns true if a run failed because no terminal is available.
fn lacked_pty(held: &RunHandle) -> bool {
    let ending = held.status().ending;
    ending.is_some_and(|ending| {
        let termination = &ending.termination;
        termination.reason == Reason::SpawnError
            && termination.detail.as_deref().is_some_and(|detail| detail.contains(NO_PTY))
    })
}

/// The data of a run that a reply needs beside its ending.
pub(super) struct ExecRun {
    pub(super) run_id: RunId,
    pub(super) output: PathBuf,
    /// Time of the command's execution, or of the request if it was not executed.
    pub(super) began_at_ms: u64,
}

impl ExecRun {
    fn of(held: &RunHandle) -> Self {
        Self {
            run_id: held.ticket.run_id.clone(),
            output: held.directory.join("output"),
            began_at_ms: held.status().note.map_or(held.ticket.created_at_ms, |note| note.started_at_ms),
        }
    }
}

/// Returns the reply for an ended command.
pub(super) async fn ended(
    run: ExecRun,
    ending: &Ending,
    warnings: Vec<String>,
) -> Result<ExecReply, Refusal> {
    let ExecRun { run_id, output: dir, began_at_ms } = run;
    let (first, tail) = reading(move || {
        let first = text::head(&dir, REPLY_CHARS, true)?;
        let tail = if first.truncated { text::last(&dir, TAIL_CHARS, true)? } else { String::new() };
        Ok((first, tail))
    })
    .await?;
    let outcome = outcome(&ending.termination);
    let mut follow_up: Vec<String> =
        outcome.failure_kind.map(|kind| advice(kind, ending)).into_iter().collect();
    match (first.next_line, first.next_offset) {
        (_, Some(byte)) if first.in_line => {
            follow_up.push(format!("The line continues: process log with byteOffset {byte}."));
        }
        (Some(line), _) => follow_up.push(format!("There is more output: process log with offset {line}.")),
        (None, _) => {}
    }
    Ok(ExecReply {
        status: outcome.status,
        run_id,
        exit_code: outcome.exit_code,
        exit_signal: outcome.exit_signal,
        exit_reason: Some(outcome.exit_reason),
        failure_kind: outcome.failure_kind,
        duration_ms: ending.ended_at_ms.saturating_sub(began_at_ms),
        output: first.text,
        truncated: first.truncated,
        next_line: first.next_line,
        next_offset: first.next_offset,
        tail,
        follow_up: (!follow_up.is_empty()).then(|| follow_up.join(" ")),
        warnings,
    })
}

/// Returns what failed and what to do.
fn advice(kind: FailureKind, ending: &Ending) -> String {
    let sentence = ending.termination.sentence();
    let what = match kind {
        FailureKind::ShellCommandNotFound => {
            "The shell did not find the command: check its name, or install it."
        }
        FailureKind::ShellNotExecutable => "The shell could not execute the command: check its permissions.",
        FailureKind::OverallTimeout => {
            "The command exceeded its time limit. Part of its work may be done: check before you run it again. For more \
             time, give a greater timeoutSeconds or background: true."
        }
        FailureKind::NoOutputTimeout => {
            "The command printed nothing for too long. Check whether it waited for input: give it some with pty and \
             process write."
        }
        FailureKind::Signal => "A signal that Tenure did not send killed the command.",
        FailureKind::Aborted => "The command was stopped before it was done.",
        FailureKind::SpawnError => "The command could not be started.",
        FailureKind::OwnershipEscape => {
            "A process escaped from the run and outlived it, and was stopped. Start long-lived processes with background: true."
        }
    };
    format!("{what} ({sentence})")
}

/// Returns the reply for a command that continues in the background.
pub(super) async fn running(run: ExecRun, warnings: Vec<String>) -> Result<ExecReply, Refusal> {
    let ExecRun { run_id, output: dir, began_at_ms } = run;
    let tail = reading(move || text::last(&dir, TAIL_CHARS, false)).await?;
    Ok(ExecReply {
        follow_up: Some(background_hint(&run_id)),
        tail,
        duration_ms: clock::unix_ms().saturating_sub(began_at_ms),
        warnings,
        ..unfinished(Status::Running, run_id)
    })
}

fn background_hint(run: &RunId) -> String {
    format!(
        "It continues as run {run}. With process: poll waits for output and the end, log pages the output, write and \
         send-keys give it input, kill ends it."
    )
}

// The tests parse lines of POSIX shells; other systems parse none.
#[cfg(test)]
#[cfg(unix)]
mod tests;
