//! `process list`, and the JSON of a run: its records, and its keeper's live data.

use crate::daemon::Daemon;
use std::sync::Arc;
use tenure_core::duration;
use tenure_core::tools::{Listed, ProcessReply, Status, TAIL_CHARS, Waiting, outcome};
use tenure_core::wire::{KeeperMessage, KeeperRequest};
use tenure_os::clock;
use tenure_output::text;
use tenure_store::{Query, RunRow};
use tenure_supervisor::Refusal;
use tenure_supervisor::Requester;
use tenure_supervisor::run_output::command_of;
use tenure_supervisor::run_output::output_of;
use tenure_supervisor::run_output::reading;

/// Default number of listed runs.
const RUNS: u64 = 50;
/// Maximum number of listed runs.
const MAX_RUNS: u64 = 200;
/// Maximum number of characters of a command in a list.
const LIST_COMMAND: usize = 400;
/// Number of characters of output per run in a list.
const LIST_TAIL: usize = 200;

/// Lists the runs that the requester may see, the newest first.
pub(super) async fn list(
    daemon: &Arc<Daemon>,
    limit: Option<u64>,
    who: &Requester,
) -> Result<ProcessReply, Refusal> {
    let limit = limit.unwrap_or(RUNS).clamp(1, MAX_RUNS);
    let query = Query { limit: usize::try_from(limit).unwrap_or(usize::MAX), ..Query::default() };
    let (rows, next) = daemon.supervisor.list(query, who).await?;
    let listing = rows.iter().map(|row| daemon.listed(row, LIST_TAIL));
    let mut runs = daemon.approvals.list_pending(who).await?;
    runs.extend(futures_util::future::join_all(listing).await);
    runs.iter_mut().for_each(|run| run.command = shortened(&run.command));
    let lines: Vec<String> = runs.iter().map(line).collect();
    let truncated = next.is_some().then_some(true);
    let message = match (lines.is_empty(), next) {
        (true, _) => "No runs.".to_owned(),
        (false, None) => lines.join("\n"),
        (false, Some(_)) => {
            format!(
                "{}\nThere are older runs: a greater limit shows up to 200, `tenure ps --all` shows all.",
                lines.join("\n")
            )
        }
    };
    Ok(ProcessReply { runs: Some(runs), truncated, message, ..ProcessReply::default() })
}

/// Returns the beginning of a long command line.
fn shortened(command: &str) -> String {
    match command.char_indices().nth(LIST_COMMAND) {
        Some((end, _)) => format!("{}…", &command[..end]),
        None => command.to_owned(),
    }
}

fn line(run: &Listed) -> String {
    let status = match run.status {
        Status::Running if run.waiting_for_input == Waiting::Yes => "waits for input",
        Status::Running => "running",
        Status::Completed => "completed",
        Status::Failed => "failed",
        Status::ApprovalPending => "waits for approval",
    };
    let how = match (run.exit_code, &run.exit_signal) {
        (Some(code), _) => format!(" (exit {code})"),
        (None, Some(signal)) => format!(" ({signal})"),
        (None, None) => String::new(),
    };
    let took = duration::show(std::time::Duration::from_millis(run.duration_ms));
    let command: String =
        run.command.chars().take(80).map(|c| if c.is_control() { ' ' } else { c }).collect();
    format!("{}  {status}{how}  {took}  {command}", run.run_id)
}

impl Daemon {
    /// Returns a run as `process` shows it.
    pub(super) async fn listed(&self, row: &RunRow, tail_chars: usize) -> Listed {
        let view = self.supervisor.view(row);
        let ended = view.ending.as_ref().map(|ending| (outcome(&ending.termination), ending));
        let live = if ended.is_some() { LiveState::default() } else { self.live_state(row).await };
        let (dir, over) = (output_of(row), ended.is_some());
        // If the output cannot be read, the tail is left out.
        let tail = reading(move || text::last(&dir, tail_chars, over)).await.unwrap_or_default();
        let began = view.note.as_ref().map_or(row.ticket.created_at_ms, |note| note.started_at_ms);
        let until = ended.as_ref().map_or_else(clock::unix_ms, |(_, ending)| ending.ended_at_ms);
        let outcome = ended.map(|(outcome, _)| outcome);
        Listed {
            status: outcome.as_ref().map_or(Status::Running, |outcome| outcome.status),
            run_id: row.ticket.run_id.clone(),
            command: command_of(row),
            cwd: row.ticket.cwd.clone(),
            pty: row.ticket.options.pty_size.is_some(),
            session_key: row.ticket.options.session_id.clone(),
            pid: view.note.as_ref().map(|note| note.root.pid),
            created_at_ms: row.ticket.created_at_ms,
            duration_ms: until.saturating_sub(began),
            last_output_at_ms: live.last_output_at_ms.or(view.last_output_at_ms),
            exit_code: outcome.as_ref().and_then(|outcome| outcome.exit_code),
            exit_signal: outcome.as_ref().and_then(|outcome| outcome.exit_signal.clone()),
            exit_reason: outcome.as_ref().map(|outcome| outcome.exit_reason),
            failure_kind: outcome.as_ref().and_then(|outcome| outcome.failure_kind),
            stdin_writable: live.stdin_open,
            waiting_for_input: live.waiting,
            tail,
        }
    }

    /// Returns a single run, with a longer tail than in a list.
    pub(super) async fn listed_alone(&self, row: &RunRow) -> Listed {
        self.listed(row, TAIL_CHARS).await
    }

    /// Asks the keeper of a live run for its state.
    async fn live_state(&self, row: &RunRow) -> LiveState {
        let mut live = LiveState { waiting: Waiting::Unknown, ..LiveState::default() };
        let Ok(mut link) = self.supervisor.viewer(row).await else { return live };
        if let Ok(KeeperMessage::Status { stdin_open, last_output_at_ms, .. }) =
            link.ask(&KeeperRequest::Status, &[]).await
        {
            (live.stdin_open, live.last_output_at_ms) = (stdin_open, last_output_at_ms);
        }
        if let Ok(KeeperMessage::Blocked { waiting_for_input, .. }) =
            link.ask(&KeeperRequest::Blocked, &[]).await
        {
            live.waiting = waiting_for_input.into();
        }
        live
    }
}

/// The keeper's live data of a run. Empty for an ended run.
struct LiveState {
    stdin_open: bool,
    last_output_at_ms: Option<u64>,
    waiting: Waiting,
}

impl Default for LiveState {
    fn default() -> Self {
        Self { stdin_open: false, last_output_at_ms: None, waiting: Waiting::No }
    }
}
