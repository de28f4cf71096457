//! `process poll`: waits for output or the end. What is unread is given once: it counts as read, and the end as seen,
//! when the reply was written; one that was lost on the way is given again.

use super::process::Call;
use super::witness::Sight;
use super::{output_of, reading};
use crate::daemon::Daemon;
use crate::follower::Follower;
use crate::refusal::Refusal;
use std::sync::Arc;
use std::time::Duration;
use tenure_core::ids::RunId;
use tenure_core::tools::{Listed, POLL_MS, ProcessReply, Status, UNREAD_CHARS, Waiting};
use tenure_mcp::{Answered, Written};
use tenure_os::clock;
use tenure_output::text::{self, Mark, Unread};
use tenure_store::RunRow;
use tokio::sync::OwnedMutexGuard;
use tokio::time::{Instant, sleep, timeout_at};

/// How long a poll waits that does not say.
const USUAL: Duration = Duration::from_secs(10);
/// How often a run is looked at that another daemon holds.
const LOOK: Duration = Duration::from_millis(250);

pub(super) async fn poll(call: Call) -> Result<Answered<ProcessReply>, Refusal> {
    let Call { daemon, row, request, who } = call;
    let asked = request.timeout_ms.map_or(USUAL, |ms| Duration::from_millis(ms.min(POLL_MS)));
    let deadline = Instant::now() + asked;
    let run = row.ticket.run_id.clone();
    let sight = daemon.about_to_see(&row, &who).await;
    // One reader at a time: what is unread is one reader's.
    let Ok(turn) = timeout_at(deadline, daemon.readers.turn(run.as_str())).await else {
        let row = daemon.row(&run).await?;
        let listed = daemon.listed_alone(&row).await;
        let mut reply = reply(listed, None, "Another poll of this run is waiting for its output.");
        reply.message = say_cut(reply.message, request.timeout_ms);
        return Ok(Answered::plain(reply));
    };
    let (row, unread) = wait(&daemon, row, deadline).await?;
    let listed = daemon.listed_alone(&row).await;
    let sight = row.ending.is_some().then_some(sight);
    let receipt = Receipt { daemon, run, read_to: unread.to, turn, sight };
    let mut reply = reply(listed, Some(unread), "");
    reply.message = say_cut(reply.message, request.timeout_ms);
    Ok(Answered { reply, written: Written::then(move || receipt.redeem()) })
}

/// What is done once the reply was written.
struct Receipt {
    daemon: Arc<Daemon>,
    run: RunId,
    read_to: Mark,
    turn: OwnedMutexGuard<()>,
    /// Of the run's end.
    sight: Option<Sight>,
}

impl Receipt {
    fn redeem(self) {
        tokio::spawn(async move {
            let Self { daemon, run, read_to, turn, sight } = self;
            let mark = serde_json::to_string(&read_to).unwrap_or_default();
            if let Err(error) = daemon.registry.read_to(run.clone(), mark).await {
                tracing::error!(%run, %error, "up to where a run was read is not recorded");
            }
            if let Some(sight) = sight {
                sight.seen().await;
            }
            drop(turn);
        });
    }
}

/// Waits until there is something unread, the run has ended, or the time is up.
async fn wait(daemon: &Arc<Daemon>, row: RunRow, deadline: Instant) -> Result<(RunRow, Unread), Refusal> {
    let run = row.ticket.run_id.clone();
    let read_to = daemon.registry.exec_run(run.clone()).await?.and_then(|exec| exec.read_to);
    let from: Mark = read_to.and_then(|mark| serde_json::from_str(&mark).ok()).unwrap_or_default();
    let mut follower = daemon.held(&run).map(Follower::new);
    loop {
        // Before the files: what it printed before its end is there.
        let row = daemon.row(&run).await?;
        let (dir, over) = (output_of(&row), row.ending.is_some());
        let unread = reading(move || text::unread(&dir, from, UNREAD_CHARS, over)).await?;
        if !unread.text.is_empty() || over || Instant::now() >= deadline {
            return Ok((row, unread));
        }
        let more = async {
            match &mut follower {
                Some(follower) if !follower.is_over() => follower.grown_beyond(unread.to.offset()).await,
                _ => sleep(LOOK).await,
            }
        };
        // At the deadline it is looked at a last time.
        let _ = timeout_at(deadline, more).await;
    }
}

/// Says that less was waited for than was asked.
fn say_cut(message: String, asked_ms: Option<u64>) -> String {
    match asked_ms {
        Some(ms) if ms > POLL_MS => format!("{message} (A poll waits at most {POLL_MS} ms, not {ms}.)"),
        Some(_) | None => message,
    }
}

fn reply(run: Listed, unread: Option<Unread>, note: &str) -> ProcessReply {
    let (text, cut) = unread.map(|unread| (unread.text, unread.cut)).unwrap_or_default();
    let running = run.status == Status::Running;
    let message = match run.status {
        _ if !note.is_empty() => note.to_owned(),
        Status::Running if run.waiting_for_input == Waiting::Yes => {
            "It waits for input: write, send-keys, paste or submit give it some.".to_owned()
        }
        Status::Running if text.is_empty() => "It runs; there is no new output.".to_owned(),
        Status::Running => "It runs.".to_owned(),
        Status::Completed => format!("It has exited with code {}.", run.exit_code.unwrap_or_default()),
        Status::Failed | Status::ApprovalPending => "It has ended before it was done.".to_owned(),
    };
    let retry_in_ms =
        (running && text.is_empty()).then(|| retry(run.last_output_at_ms.unwrap_or(run.created_at_ms)));
    ProcessReply {
        output: Some(text),
        truncated: Some(cut.is_some()),
        next_line: cut.map(|cut| cut.from_line),
        next_offset: cut.map(|cut| cut.from_offset),
        retry_in_ms,
        message,
        run: Some(run),
        ..ProcessReply::default()
    }
}

/// The longer a run has been silent, the longer the next poll can wait.
fn retry(silent_since_ms: u64) -> u64 {
    match clock::unix_ms().saturating_sub(silent_since_ms) / 1000 {
        0..15 => 5_000,
        15..60 => 10_000,
        60..300 => 30_000,
        _ => 60_000,
    }
}
