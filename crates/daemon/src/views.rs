//! What clients are shown of a run, put together from its record, this daemon's own knowledge and its keeper's.

use crate::daemon::Daemon;
use crate::held::{Held, Status};
use crate::refusal::Refusal;
use std::path::Path;
use std::time::Duration;
use tenure_core::ending::Cause;
use tenure_core::output::Totals;
use tenure_core::record::{Ending, KeeperNote, Ticket};
use tenure_core::run_json::RunView;
use tenure_core::spec::Size;
use tenure_core::state::State;
use tenure_core::wire::{Ask, Tell};
use tenure_keeper::rundir::RunDir;
use tenure_os::clock;
use tenure_store::RunRow;
use tokio::time::{Instant, timeout_at};

/// How long an ending that is on disk may take to be recorded before the run is shown without it.
const RECORDING: Duration = Duration::from_secs(2);

impl Daemon {
    /// What is known of a run now, from the records.
    pub(crate) fn view(&self, row: &RunRow) -> RunView {
        let status = self.held(&row.ticket.run_id).map(|held| held.status());
        let read =
            Known { state: row.state, cause: row.cause, note: row.note.clone(), ending: row.ending.clone() };
        let mut known = read.and(status.unwrap_or_default());
        let directory = Path::new(&row.directory);
        if known.ending.is_none() && !row.foreign {
            known = known.with_overdue(overdue_ending(directory));
        }
        let Known { state, cause, note, ending } = known;
        let (output, last_output_at_ms) = output_of(directory, ending.as_ref());
        RunView {
            pty_size: size_of(&row.ticket, directory),
            ticket: row.ticket.clone(),
            // A lease that was put to rest does not expire.
            lease_expires_at_ms: Some(row.expires_at_ms).filter(|&at| ending.is_none() && at < u64::MAX),
            note,
            ending,
            state,
            cause,
            hold: row.hold.clone(),
            // One that nobody keeps is being looked after; it is lost when that says so.
            kept: true,
            output,
            last_output_at_ms,
            directory: row.directory.clone(),
            foreign: row.foreign,
        }
    }

    /// The same of a run that this daemon holds, without a look at the registry: what is known here is recorded.
    pub(crate) fn view_held(&self, held: &Held) -> RunView {
        let status = held.status();
        let known = Known { state: status.state(), cause: None, note: None, ending: None }.and(status);
        let overdue = if known.ending.is_none() { overdue_ending(&held.directory) } else { None };
        let Known { state, cause, note, ending } = known.with_overdue(overdue);
        let (output, last_output_at_ms) = output_of(&held.directory, ending.as_ref());
        let expires_at_ms = self.tenancy().expires_at_ms();
        RunView {
            pty_size: size_of(&held.ticket, &held.directory),
            ticket: held.ticket.clone(),
            note,
            lease_expires_at_ms: expires_at_ms.filter(|_| ending.is_none()),
            ending,
            state,
            cause,
            hold: held.hold.clone(),
            kept: true,
            output,
            last_output_at_ms,
            directory: held.directory.to_string_lossy().into_owned(),
            foreign: false,
        }
    }

    /// A run's row, with its ending if that is on disk already: it is about to be recorded, and that is waited for.
    pub(crate) async fn settled(&self, row: RunRow) -> Result<RunRow, Refusal> {
        let written =
            || RunDir::open(Path::new(&row.directory)).is_ok_and(|dir| matches!(dir.ending(), Ok(Some(_))));
        match self.held(&row.ticket.run_id) {
            Some(held) if row.ending.is_none() && written() => {
                let _ = tokio::time::timeout(RECORDING, held.over()).await;
                self.row(&row.ticket.run_id).await
            }
            _ => Ok(row),
        }
    }

    /// The same, and what its keeper says while it lives.
    pub(crate) async fn view_closely(&self, row: &RunRow) -> RunView {
        let mut view = self.view(row);
        if view.ending.is_none()
            && let Ok(mut link) = self.viewer(row).await
            && let Ok(Tell::Status { state, output, last_output_at_ms, cause, .. }) =
                link.ask(&Ask::Status, &[]).await
        {
            view.output = output;
            view.last_output_at_ms = last_output_at_ms;
            view.cause = view.cause.or(cause);
            // It has ended for others when that is recorded, and runs when that is.
            let most = if view.note.is_some() { State::Exiting } else { view.state };
            view.state = view.state.max(state.min(State::Exiting)).min(most);
        }
        view
    }

    /// Waits until a run has ended, as it was found a moment ago; shows it as it is then, or as it is at the deadline.
    pub(crate) async fn view_at_end(
        &self,
        row: RunRow,
        deadline: Option<Instant>,
    ) -> Result<RunView, Refusal> {
        if row.ending.is_some() {
            return Ok(self.view(&row));
        }
        let run = &row.ticket.run_id;
        if let Some(held) = self.held(run) {
            wait_until_over(&held, deadline).await;
            if let Status { let_go: None, .. } = held.status() {
                return Ok(self.view_held(&held));
            }
        }
        Ok(self.view(&self.wait(run, deadline).await?))
    }
}

/// Waits until the end of a run is recorded, or is on disk and cannot be recorded, or until the deadline.
async fn wait_until_over(held: &Held, deadline: Option<Instant>) {
    loop {
        let look = Instant::now() + RECORDING;
        let until = deadline.map_or(look, |at| at.min(look));
        let is_over = timeout_at(until, held.over()).await.is_ok();
        if is_over || overdue_ending(&held.directory).is_some() || deadline.is_some_and(|at| at <= look) {
            return;
        }
    }
}

/// The ending that is on disk and should have been recorded by now: the registry's disk is full, or it cannot write for
/// another reason. Clients are shown it, because its file is a record (I4); events and notices follow the registry.
fn overdue_ending(run: &Path) -> Option<Ending> {
    let ending = RunDir::open(run).ok()?.ending().ok()??;
    let recorded_by = Duration::from_millis(ending.ended_at_ms) + RECORDING;
    (Duration::from_millis(clock::unix_ms()) >= recorded_by).then_some(ending)
}

/// The present size of a run's terminal.
fn size_of(ticket: &Ticket, run: &Path) -> Option<Size> {
    ticket.pty_size.and_then(|_| tenure_output::present_size(&run.join("output")))
}

/// How far a run has come.
struct Known {
    state: State,
    cause: Option<Cause>,
    note: Option<KeeperNote>,
    ending: Option<Ending>,
}

impl Known {
    /// What was read, and what was recorded since: whoever is shown that a run has ended is shown how.
    fn and(self, since: Status) -> Self {
        Self {
            state: self.state.max(since.state()),
            cause: self.cause.or(since.cause),
            note: self.note.or(since.note),
            ending: self.ending.or_else(|| since.ending.as_deref().cloned()),
        }
    }

    /// The same, with an ending that the registry could not record.
    fn with_overdue(self, overdue: Option<Ending>) -> Self {
        match overdue {
            Some(ending) => Self { state: State::Exited, ending: Some(ending), ..self },
            None => self,
        }
    }
}

/// How much output a run has, and when the last of it came.
fn output_of(run: &Path, ending: Option<&Ending>) -> (Totals, Option<u64>) {
    if let Some(ending) = ending {
        return (ending.output, ending.last_output_at_ms);
    }
    let dir = run.join("output");
    let last = tenure_output::last_at_ms(&dir).ok().flatten();
    (tenure_output::totals(&dir).unwrap_or_default(), last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use tenure_core::ending::{Reason, Termination};
    use tenure_core::ids::RunId;

    #[test]
    fn a_run_that_ends_after_its_row_was_read_is_shown_with_its_ending() {
        let ending =
            Ending::unseen(RunId::from_random([1; 12]), Termination::new(Reason::Exit, None, None), 5);
        let since = Status { ending: Some(Arc::new(ending.clone())), ..Status::default() };
        let known = Known { state: State::Running, cause: None, note: None, ending: None }.and(since);
        assert_eq!((known.state, known.ending), (State::Exited, Some(ending)));
    }

    /// Its keeper has left, and its ending is not recorded yet.
    #[test]
    fn the_time_of_the_last_output_is_known_without_a_keeper() {
        let run = tempfile::tempdir().expect("a directory");
        let keep = tenure_core::output::Keep { head: 1 << 10, tail: 1 << 10 };
        let mut log = tenure_output::Writer::create(&run.path().join("output"), keep);
        assert_eq!(output_of(run.path(), None).1, None);
        log.append(tenure_core::output::Stream::Stdout, b"hello", 7_000);
        let (totals, last) = output_of(run.path(), None);
        assert_eq!((totals.bytes, last), (5, Some(7_000)));
    }

    #[test]
    fn a_row_that_is_ahead_of_what_is_known_here_is_believed() {
        let cause = Some(Cause::OverallTimeout);
        let read = Known { state: State::Exiting, cause, note: None, ending: None };
        let known = read.and(Status::default());
        assert_eq!((known.state, known.cause), (State::Exiting, cause));
    }
}
