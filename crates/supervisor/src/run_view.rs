//! The view of a run for clients, made from its record, this daemon's state and its keeper's.

use crate::refusal::Refusal;
use crate::run_handle::{RunHandle, Status};
use crate::supervisor::Supervisor;
use std::path::Path;
use std::time::Duration;
use tenure_core::output::Totals;
use tenure_core::record::Ending;
use tenure_core::run_json::RunView;
use tenure_core::state::State;
use tenure_core::wire::{KeeperMessage, KeeperRequest};
use tenure_keeper::rundir::RunDir;
use tenure_os::clock;
use tenure_store::RunRow;
use tokio::time::{Instant, timeout_at};

/// Maximum time to record an ending that is on disk, before clients see it without the record.
const RECORD_TIMEOUT: Duration = Duration::from_secs(2);

impl Supervisor {
    /// Returns the view of a run as its records are now.
    pub fn view(&self, row: &RunRow) -> RunView {
        let status = self.runs.get(&row.ticket.run_id).map(|held| held.status());
        let view = RunView {
            note: row.note.clone(),
            ending: row.ending.clone(),
            state: row.state,
            cause: row.cause,
            hold: row.hold.clone(),
            // The leases of an instance that shut down do not expire.
            lease_expires_at_ms: Some(row.expires_at_ms).filter(|&at| at < u64::MAX),
            foreign: row.foreign,
            ..RunView::new(row.ticket.clone(), row.directory.clone())
        };
        complete(view, status.unwrap_or_default())
    }

    /// Returns the view of a run that this daemon holds, without reading the registry: everything known here is
    /// recorded.
    pub fn view_held(&self, held: &RunHandle) -> RunView {
        let view = RunView {
            hold: held.hold.clone(),
            lease_expires_at_ms: self.leases.tenancy().expires_at_ms(),
            ..RunView::new(held.ticket.clone(), held.directory.to_string_lossy().into_owned())
        };
        complete(view, held.status())
    }

    /// Returns a run's row. If its ending is on disk but not recorded yet, waits for the record.
    pub async fn settled(&self, row: RunRow) -> Result<RunRow, Refusal> {
        let written =
            || RunDir::open(Path::new(&row.directory)).is_ok_and(|dir| matches!(dir.ending(), Ok(Some(_))));
        match self.runs.get(&row.ticket.run_id) {
            Some(held) if row.ending.is_none() && written() => {
                let _ = tokio::time::timeout(RECORD_TIMEOUT, held.over()).await;
                self.row(&row.ticket.run_id).await
            }
            _ => Ok(row),
        }
    }

    /// Returns the view with the keeper's status, while the keeper lives.
    pub async fn view_closely(&self, row: &RunRow) -> RunView {
        let mut view = self.view(row);
        if view.ending.is_none()
            && let Ok(mut link) = self.viewer(row).await
            && let Ok(KeeperMessage::Status { state, output, last_output_at_ms, cause, .. }) =
                link.ask(&KeeperRequest::Status, &[]).await
        {
            view.output = output;
            view.last_output_at_ms = last_output_at_ms;
            view.cause = view.cause.or(cause);
            // For clients, a run has ended once the ending is recorded, and runs once the start is.
            let most = if view.note.is_some() { State::Exiting } else { view.state };
            view.state = view.state.max(state.min(State::Exiting)).min(most);
        }
        view
    }

    /// Waits until a run has ended; returns its view then, or at the deadline.
    pub async fn view_at_end(&self, row: RunRow, deadline: Option<Instant>) -> Result<RunView, Refusal> {
        if row.ending.is_some() {
            return Ok(self.view(&row));
        }
        let run = &row.ticket.run_id;
        if let Some(held) = self.runs.get(run) {
            wait_until_over(&held, deadline).await;
            if let Status { let_go: None, .. } = held.status() {
                return Ok(self.view_held(&held));
            }
        }
        Ok(self.view(&self.wait(run, deadline).await?))
    }
}

/// Waits until the end of a run is recorded, or is on disk and cannot be recorded, or until the deadline.
async fn wait_until_over(held: &RunHandle, deadline: Option<Instant>) {
    loop {
        let look = Instant::now() + RECORD_TIMEOUT;
        let until = deadline.map_or(look, |at| at.min(look));
        let is_over = timeout_at(until, held.over()).await.is_ok();
        if is_over || overdue_ending(&held.directory).is_some() || deadline.is_some_and(|at| at <= look) {
            return;
        }
    }
}

/// Returns an ending on disk that should have been recorded by now: the disk is full, or the registry cannot write
/// for another reason. Clients see it, because its file is a record (I4); events and notices follow the registry.
fn overdue_ending(run: &Path) -> Option<Ending> {
    let ending = RunDir::open(run).ok()?.ending().ok()??;
    let recorded_by = Duration::from_millis(ending.ended_at_ms) + RECORD_TIMEOUT;
    (Duration::from_millis(clock::unix_ms()) >= recorded_by).then_some(ending)
}

/// Completes a view with changes since the row was read, with an ending that the registry could not record, and with
/// the run's files. A run that is shown as ended always has its ending.
fn complete(mut view: RunView, since: Status) -> RunView {
    view.state = view.state.max(since.state());
    view.cause = view.cause.or(since.cause);
    view.ending = view.ending.or_else(|| since.ending.as_deref().cloned());
    view.note = view.note.or(since.note);
    let directory = Path::new(&view.directory);
    if view.ending.is_none() && !view.foreign {
        view.ending = overdue_ending(directory);
    }
    if view.ending.is_some() {
        (view.state, view.lease_expires_at_ms) = (State::Exited, None);
    }
    let present_size = |_| tenure_output::present_size(&directory.join("output"));
    view.pty_size = view.ticket.options.pty_size.and_then(present_size);
    (view.output, view.last_output_at_ms) = output_of(directory, view.ending.as_ref());
    view
}

/// Returns the size of a run's output, and the time of the last output.
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
    use tenure_core::ending::{Cause, Reason, Termination};
    use tenure_core::ids::{InstanceId, RunId};
    use tenure_core::session::Backend;
    use tenure_core::spec::Spec;
    use tenure_keeper::launch::new_ticket;

    fn view() -> RunView {
        let owner = InstanceId::from_random([2; 12]);
        let ticket = new_ticket(owner, Backend::Run, &Spec::default()).expect("ids");
        RunView::new(ticket, "/nowhere".to_owned())
    }

    #[test]
    fn a_run_that_ends_after_its_row_was_read_is_shown_with_its_ending() {
        let ending =
            Ending::unseen(RunId::from_random([1; 12]), Termination::new(Reason::Exit, None, None), 5);
        let since = Status { ending: Some(Arc::new(ending.clone())), ..Status::default() };
        let shown = complete(RunView { state: State::Running, ..view() }, since);
        assert_eq!((shown.state, shown.ending), (State::Exited, Some(ending)));
    }

    /// The keeper has exited, and the ending is not recorded yet.
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
    fn a_row_that_is_ahead_of_our_state_counts() {
        let cause = Some(Cause::OverallTimeout);
        let shown = complete(RunView { state: State::Exiting, cause, ..view() }, Status::default());
        assert_eq!((shown.state, shown.cause), (State::Exiting, cause));
    }
}
