//! The operations on one run: find, show, wait, cancel, remove.

use crate::disk_reserve;
use crate::link::{Link, unexpected};
use crate::refusal::Refusal;
use crate::requester::Requester;
use crate::supervisor::Supervisor;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tenure_core::api::Selector;
use tenure_core::ids::{RunId, check_prefix, find_by_prefix};
use tenure_core::record::Ticket;
use tenure_core::state::State;
use tenure_core::wire::{KeeperMessage, KeeperRequest, ProcessView, Role};
use tenure_keeper::rundir::RunDir;
use tenure_os::clock;
use tenure_store::{Cursor, NewEvent, Query, RunRow, kind};
use tokio::task::block_in_place;
use tokio::time::{Instant, timeout_at};

/// Time between two looks at a run of another instance while a client waits for it.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Number of runs read at a time for a selection.
const BATCH: usize = 500;

/// Maximum number of runs that a prefix of an id is matched with; beyond that the number does not matter.
pub(crate) const MAX_MATCHES: usize = 20;

/// The states of a run that has not ended.
pub const LIVE: [State; 3] = [State::Starting, State::Running, State::Exiting];

impl Supervisor {
    /// Finds the run with this id, or a unique prefix of it, among the runs that the requester may see.
    pub async fn find(&self, text: &str, who: &Requester) -> Result<RunRow, Refusal> {
        let unknown = || {
            let shown: String = text.chars().take(64).collect();
            Refusal::no_such_run(format!("no run has the id {shown:?}: `tenure ps --all` lists them"))
        };
        if text.is_empty() || !text.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Err(unknown());
        }
        if let Ok(run) = text.parse() {
            // A whole id can mean only one run.
            let row = self.registry.run(run).await?;
            return row.filter(|row| !row.hidden && who.may_see(row)).ok_or_else(unknown);
        }
        let mut visible = Vec::new();
        for id in self.registry.find(text.to_owned(), MAX_MATCHES).await? {
            if let Some(row) = self.registry.run(id).await?
                && who.may_see(&row)
            {
                visible.push(row);
            }
        }
        let found = find_by_prefix(text, "runs", visible, |row| row.ticket.run_id.as_str());
        found.map_err(Refusal::ambiguous)?.ok_or_else(unknown)
    }

    /// Finds a run to end or remove. Refuses a short prefix.
    pub async fn find_to_end(&self, text: &str, who: &Requester) -> Result<RunRow, Refusal> {
        check_prefix(text).map_err(Refusal::short_id)?;
        self.find(text, who).await
    }

    /// Reads a run's row.
    pub async fn row(&self, run: &RunId) -> Result<RunRow, Refusal> {
        let row = self.registry.run(run.clone()).await?;
        row.ok_or_else(|| Refusal::no_such_run(format!("run {run} was removed")))
    }

    /// Returns a page of the runs that this requester may see.
    pub async fn list(
        &self,
        query: Query,
        who: &Requester,
    ) -> Result<(Vec<RunRow>, Option<Cursor>), Refusal> {
        let query = match who.only_session() {
            Some(session) => {
                if query.session.as_deref().is_some_and(|asked| asked != session) {
                    return Ok((Vec::new(), None));
                }
                Query { session: Some(session.to_owned()), ..query }
            }
            None => query,
        };
        let page = self.registry.runs(query).await?;
        Ok((page.runs, page.next))
    }

    /// Opens a new connection to a run's keeper.
    pub async fn viewer(&self, row: &RunRow) -> Result<Link, Refusal> {
        let run = &row.ticket.run_id;
        if row.ending.is_some() {
            return Err(Refusal::wrong_state(format!("run {run} has ended")));
        }
        refuse_foreign(row)?;
        let dialled = match RunDir::open(Path::new(&row.directory)) {
            Ok(dir) => Link::connect(&dir, Role::Viewer, None).await,
            Err(error) => Err(error),
        };
        dialled.map_err(|error| match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused | io::ErrorKind::UnexpectedEof => {
                Refusal::wrong_state(format!(
                    "run {run} has no keeper now: it is ending, or being cleaned up"
                ))
            }
            _ => Refusal::keeper_silent(format!("the keeper of run {run} does not answer: {error}")),
        })
    }

    /// Sends one request to a run's keeper, and returns the response.
    pub async fn ask(
        &self,
        row: &RunRow,
        ask: &KeeperRequest,
        body: &[u8],
    ) -> Result<KeeperMessage, Refusal> {
        let mut link = self.viewer(row).await?;
        answer(link.ask(ask, body).await)
    }

    /// Lists the live processes of a run.
    pub async fn tree(&self, row: &RunRow) -> Result<Vec<ProcessView>, Refusal> {
        if row.ending.is_some() {
            return Ok(Vec::new());
        }
        match self.ask(row, &KeeperRequest::Tree, &[]).await {
            Ok(KeeperMessage::Tree { processes }) => Ok(processes),
            Ok(other) => Err(Refusal::internal(unexpected(&other))),
            Err(refusal) => {
                if self.is_over(&row.ticket.run_id).await {
                    Ok(Vec::new())
                } else {
                    Err(refusal)
                }
            }
        }
    }

    /// Requests the end of a run; an ended run needs none.
    pub async fn cancel_run(
        self: &Arc<Self>,
        row: &RunRow,
        now: bool,
        who: &Requester,
    ) -> Result<(), Refusal> {
        if row.ending.is_some() {
            return Ok(());
        }
        refuse_foreign(row)?;
        let run = &row.ticket.run_id;
        let asked_at_ms = clock::unix_ms();
        match self.runs.get(run) {
            // First the keeper, without waiting for the registry.
            Some(held) => held.cancel(now),
            None if row.hold.instance != self.instance => {
                return Err(Refusal::held_elsewhere(format!(
                    "run {run} is held by instance {}: ask its daemon",
                    row.hold.instance
                )));
            }
            None => match self.ask(row, &KeeperRequest::Cancel { now }, &[]).await {
                Ok(KeeperMessage::Done | KeeperMessage::Ended { .. }) => {}
                Ok(other) => return Err(Refusal::internal(unexpected(&other))),
                Err(refusal) => return if self.is_over(run).await { Ok(()) } else { Err(refusal) },
            },
        }
        // Queued for the registry in this order, but not awaited.
        let asked = self.cancel_asked(&row.ticket, &who.to_string(), now);
        let telling = self.registry.tell(NewEvent { at_ms: asked_at_ms, ..asked });
        let supervisor = Arc::clone(self);
        tokio::spawn(async move { supervisor.told(telling.await) });
        Ok(())
    }

    /// Returns true if a run has ended by now or was removed. A row that was read before does not show it.
    async fn is_over(&self, run: &RunId) -> bool {
        self.registry.run(run.clone()).await.is_ok_and(|row| row.is_none_or(|row| row.ending.is_some()))
    }

    /// Makes the event that a client requested the end of a run.
    pub fn cancel_asked(&self, ticket: &Ticket, asked_by: &str, now: bool) -> NewEvent {
        NewEvent {
            at_ms: clock::unix_ms(),
            kind: kind::CANCEL_ASKED.to_owned(),
            instance: self.instance.clone(),
            run_id: Some(ticket.run_id.clone()),
            session: ticket.options.session_id.clone(),
            detail: serde_json::json!({"askedBy": asked_by, "now": now}),
        }
    }

    /// Requests the end of every selected live run.
    pub async fn cancel_many(
        self: &Arc<Self>,
        which: &Selector,
        now: bool,
        who: &Requester,
    ) -> Result<Vec<RunId>, Refusal> {
        let named = [&which.run, &which.scope, &which.session, &which.agent];
        if named.into_iter().flatten().count() != 1 {
            return Err(Refusal::invalid("select with exactly one of run, scope, session and agent"));
        }
        if let Some(run) = &which.run {
            let row = self.find_to_end(run, who).await?;
            self.cancel_run(&row, now, who).await?;
            return Ok(vec![row.ticket.run_id]);
        }
        let mut query = Query {
            states: LIVE.to_vec(),
            session: which.session.clone(),
            scope: which.scope.clone(),
            agent: which.agent.clone(),
            after: None,
            limit: BATCH,
        };
        // A run that cannot be reached does not keep the others alive.
        let (mut cancelled, mut failed) = (Vec::new(), None);
        loop {
            let (rows, next) = self.list(query.clone(), who).await?;
            for row in rows {
                match self.cancel_run(&row, now, who).await {
                    Ok(()) => cancelled.push(row.ticket.run_id),
                    Err(refusal) => failed = failed.or(Some(refusal)),
                }
            }
            match (next, failed) {
                (Some(next), so_far) => (query.after, failed) = (Some(next), so_far),
                (None, Some(refusal)) => return Err(refusal),
                (None, None) => return Ok(cancelled),
            }
        }
    }

    /// Waits until a run has ended; returns its row then, or at the deadline.
    pub async fn wait(&self, run: &RunId, deadline: Option<Instant>) -> Result<RunRow, Refusal> {
        loop {
            // Before the row: a run that ends in between is not held any more, and the row does not show it yet.
            let held = self.runs.get(run);
            let row = self.row(run).await?;
            if row.ending.is_some() || deadline.is_some_and(|at| Instant::now() >= at) {
                return Ok(row);
            }
            refuse_foreign(&row)?;
            let settled = async {
                if let Some(held) = held {
                    return held.over().await.ending;
                }
                tokio::time::sleep(POLL_INTERVAL).await;
                None
            };
            let ending = match deadline {
                // At the deadline the row is read a last time.
                Some(at) => timeout_at(at, settled).await.ok().flatten(),
                None => settled.await,
            };
            if let Some(ending) = ending {
                // The ending is recorded. The row may be removed by now, but the caller waited for the ending.
                return Ok(RunRow { state: State::Exited, ending: Some((*ending).clone()), ..row });
            }
        }
    }

    /// Removes a run with its record and its output. A live run is cancelled, hidden at once, and removed when it has
    /// ended.
    pub async fn remove(self: &Arc<Self>, row: &RunRow, who: &Requester) -> Result<(), Refusal> {
        if row.ending.is_none() {
            refuse_foreign(row)?;
        }
        // Only our copy of an ended foreign run can be removed.
        if row.hold.instance != self.instance && !row.foreign {
            return Err(Refusal::held_elsewhere(format!(
                "run {} belongs to instance {}: ask its daemon",
                row.ticket.run_id, row.hold.instance
            )));
        }
        if row.ending.is_none() {
            self.cancel_run(row, false, who).await?;
            self.registry.hide(row.ticket.run_id.clone()).await?;
            let (supervisor, run) = (Arc::clone(self), row.ticket.run_id.clone());
            tokio::spawn(async move {
                if let Ok(row) = supervisor.wait(&run, None).await {
                    supervisor.discard(&row).await;
                }
            });
            return Ok(());
        }
        if !self.discard(row).await {
            let run = &row.ticket.run_id;
            return Err(Refusal::internal(format!("run {run} could not be removed: see the daemon's log")));
        }
        Ok(())
    }

    /// Removes the files and then the record of an ended run, so that files always have a record. Returns true if
    /// both are gone.
    pub async fn discard(&self, row: &RunRow) -> bool {
        if let Err(error) = block_in_place(|| std::fs::remove_dir_all(&row.directory))
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::warn!(run = %row.ticket.run_id, %error, "a run's directory could not be removed");
            return false;
        }
        let forget = || self.registry.forget(vec![row.ticket.run_id.clone()]);
        let forgotten = match forget().await {
            Err(error) if disk_reserve::release_after(self, &error) => forget().await,
            other => other,
        };
        if let Err(error) = forgotten {
            tracing::error!(run = %row.ticket.run_id, %error, "a run's record could not be removed");
            return false;
        }
        self.events.notify_followers();
        true
    }
}

/// Refuses to act on a run of which this registry has only a copy.
fn refuse_foreign(row: &RunRow) -> Result<(), Refusal> {
    if !row.foreign {
        return Ok(());
    }
    Err(Refusal::held_elsewhere(format!(
        "run {} belongs to another installation ({}): this state root or registry is a copy; act on the run \
         where it was started",
        row.ticket.run_id, row.ticket.owner_instance_id
    )))
}

/// Returns a keeper's response, or its refusal.
pub fn answer(told: io::Result<KeeperMessage>) -> Result<KeeperMessage, Refusal> {
    match told {
        Ok(KeeperMessage::Refused { why } | KeeperMessage::StdinRefused { why }) => {
            Err(Refusal::wrong_state(why))
        }
        Ok(KeeperMessage::StdinClosed) => Err(Refusal::wrong_state("the command takes no more input")),
        Ok(message) => Ok(message),
        Err(error) => Err(Refusal::keeper_silent(error)),
    }
}
