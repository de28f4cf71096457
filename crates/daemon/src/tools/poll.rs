//! `process poll`: waits for new output or the end. Output is delivered once: it counts as read, and the end as seen, when
//! the reply was written to the client. A lost reply is delivered again.

use super::process::FoundRun;
use crate::daemon::Daemon;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Duration;
use tenure_core::ids::RunId;
use tenure_core::receipt::{Receipt, ToolReply};
use tenure_core::tools::{Listed, POLL_MS, ProcessReply, Status, UNREAD_CHARS, Waiting};
use tenure_os::clock;
use tenure_output::text::{self, TextCursor, Unread};
use tenure_store::RunRow;
use tenure_supervisor::OutputFollower;
use tenure_supervisor::Refusal;
use tenure_supervisor::notice_suppression::SeenGuard;
use tenure_supervisor::run_output::output_of;
use tenure_supervisor::run_output::reading;
use tenure_supervisor::scope_locks::ScopeLocks;
use tokio::sync::OwnedMutexGuard;
use tokio::time::{Instant, sleep, timeout_at};

/// Default wait of a poll.
const DEFAULT_WAIT: Duration = Duration::from_secs(10);
/// Interval between two reads of a run that another daemon holds.
const REREAD_INTERVAL: Duration = Duration::from_millis(250);

pub(super) async fn poll(run: FoundRun, timeout_ms: Option<u64>) -> Result<ToolReply<ProcessReply>, Refusal> {
    let FoundRun { daemon, row, who } = run;
    let asked = timeout_ms.map_or(DEFAULT_WAIT, |ms| Duration::from_millis(ms.min(POLL_MS)));
    let deadline = Instant::now() + asked;
    let run = row.ticket.run_id.clone();
    let sight = daemon.supervisor.watch_run_end(&row, &who).await;
    let Some((waiting, turn)) = daemon.readers.turn(&run, deadline).await else {
        let row = daemon.supervisor.row(&run).await?;
        let listed = daemon.listed_alone(&row).await;
        let mut reply = reply(listed, None, "Another poll of this run is waiting for its output.");
        reply.message = add_wait_limit(reply.message, timeout_ms);
        return Ok(ToolReply::plain(reply));
    };
    let mut marks = Marks::read(&daemon, &run).await?;
    let mark = marks.of(who.owns(&row));
    let (row, unread) = wait(&daemon, *mark, row, deadline).await?;
    drop(waiting);
    *mark = unread.to;
    let listed = daemon.listed_alone(&row).await;
    let sight = row.ending.is_some().then_some(sight);
    let poll = FinishedPoll { daemon, run, marks, turn, sight };
    let mut reply = reply(listed, Some(unread), "");
    reply.message = add_wait_limit(reply.message, timeout_ms);
    Ok(ToolReply { reply, receipt: Receipt::new(move || poll.record()) })
}

/// Turns of polls. A run has one reader at a time, because output is delivered once.
#[derive(Debug, Default)]
pub(crate) struct Readers {
    waiting: ScopeLocks,
    replying: ScopeLocks,
}

impl Readers {
    /// Waits for this poll's turn. Returns `None` if another poll still waits for output at the deadline. A poll that already has
    /// its output is awaited longer: a client that polls again at once may come before the receipt of its last reply.
    async fn turn(
        &self,
        run: &RunId,
        deadline: Instant,
    ) -> Option<(OwnedMutexGuard<()>, OwnedMutexGuard<()>)> {
        let waiting = timeout_at(deadline, self.waiting.turn(run.as_str())).await.ok()?;
        let receipt_deadline = deadline.max(Instant::now() + DEFAULT_WAIT);
        let replying = timeout_at(receipt_deadline, self.replying.turn(run.as_str())).await.ok()?;
        Some((waiting, replying))
    }
}

/// Read positions of a run. Output that others read is still unread for its owner.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
#[serde(default)]
struct Marks {
    owner: TextCursor,
    others: TextCursor,
}

impl Marks {
    async fn read(daemon: &Daemon, run: &RunId) -> Result<Self, Refusal> {
        let read_to = daemon.supervisor.registry.exec_run(run.clone()).await?.and_then(|exec| exec.read_to);
        Ok(read_to.and_then(|marks| serde_json::from_str(&marks).ok()).unwrap_or_default())
    }

    fn of(&mut self, owner: bool) -> &mut TextCursor {
        if owner { &mut self.owner } else { &mut self.others }
    }
}

/// A poll whose reply was written: records how far the run was read.
struct FinishedPoll {
    daemon: Arc<Daemon>,
    run: RunId,
    marks: Marks,
    turn: OwnedMutexGuard<()>,
    /// Marks the run's end as seen.
    sight: Option<SeenGuard>,
}

impl FinishedPoll {
    fn record(self) {
        tokio::spawn(async move {
            let Self { daemon, run, marks, turn, sight } = self;
            let marks = serde_json::to_string(&marks).unwrap_or_default();
            if let Err(error) = daemon.supervisor.registry.read_to(run.clone(), marks).await {
                tracing::error!(%run, %error, "cannot record the read position");
            }
            if let Some(sight) = sight {
                sight.seen().await;
            }
            drop(turn);
        });
    }
}

/// Waits until there is unread output, the run has ended, or the time is up.
async fn wait(
    daemon: &Arc<Daemon>,
    from: TextCursor,
    row: RunRow,
    deadline: Instant,
) -> Result<(RunRow, Unread), Refusal> {
    let run = row.ticket.run_id.clone();
    let mut follower = daemon.supervisor.runs.get(&run).map(OutputFollower::new);
    loop {
        // Before the files, so that they contain everything that was printed before the end.
        let row = daemon.supervisor.row(&run).await?;
        let (dir, over) = (output_of(&row), row.ending.is_some());
        let unread = reading(move || text::unread(&dir, from, UNREAD_CHARS, over)).await?;
        if !unread.text.is_empty() || over || Instant::now() >= deadline {
            return Ok((row, unread));
        }
        let more = async {
            match &mut follower {
                Some(follower) if !follower.is_over() => follower.grown_beyond(unread.to.offset()).await,
                _ => sleep(REREAD_INTERVAL).await,
            }
        };
        // After the deadline the output is read a last time.
        let _ = timeout_at(deadline, more).await;
    }
}

/// Adds a note if the requested wait exceeds the limit.
fn add_wait_limit(message: String, asked_ms: Option<u64>) -> String {
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
            "It waits for input: use write, send-keys, paste or submit.".to_owned()
        }
        Status::Running if text.is_empty() => "It is running; there is no new output.".to_owned(),
        Status::Running => "It is running.".to_owned(),
        Status::Completed => format!("It has exited with code {}.", run.exit_code.unwrap_or_default()),
        Status::Failed | Status::ApprovalPending => "It ended before it was done.".to_owned(),
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

/// Returns when to poll again: the longer a run has been silent, the later.
fn retry(silent_since_ms: u64) -> u64 {
    match clock::unix_ms().saturating_sub(silent_since_ms) / 1000 {
        0..15 => 5_000,
        15..60 => 10_000,
        60..300 => 30_000,
        _ => 60_000,
    }
}

#[cfg(test)]
mod tests {
    use super::{Duration, Instant, Readers, RunId};

    fn run() -> RunId {
        "0123456789abcdef01234567".parse().expect("a run id")
    }

    #[tokio::test(start_paused = true)]
    async fn a_poll_gives_up_at_its_deadline_while_another_waits_for_output() {
        let readers = Readers::default();
        let _first = readers.turn(&run(), Instant::now()).await.expect("the first turn");
        assert!(readers.turn(&run(), Instant::now() + Duration::from_secs(1)).await.is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn a_poll_without_time_waits_for_the_receipt_of_the_last_reply() {
        let readers = Readers::default();
        let (waiting, replying) = readers.turn(&run(), Instant::now()).await.expect("the first turn");
        drop(waiting);
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_secs(1)).await;
            drop(replying);
        });
        assert!(readers.turn(&run(), Instant::now()).await.is_some());
    }
}
