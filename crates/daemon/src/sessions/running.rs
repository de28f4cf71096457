//! One turn: its run is started, unless an earlier daemon did, given its input, and waited for.

use super::answer;
use super::job::{Job, Reads};
use crate::daemon::{Daemon, until};
use crate::refusal::Refusal;
use crate::requester::Requester;
use std::sync::Arc;
use std::time::Duration;
use tenure_core::ids::RunId;
use tenure_core::session::Backend;
use tenure_os::{clock, pause, random};
use tenure_store::{Outcome, RunRow, Session, Turn, TurnEnd};
use tokio::sync::watch;
use tokio::time::sleep;

/// The pause before something is tried again.
const PAUSE: Duration = Duration::from_millis(500);

/// Why a turn is not gone on with.
pub(crate) enum Stopped {
    /// It has ended so.
    Ended(TurnEnd),
    /// The daemon leaves; the next one goes on with it.
    Left,
}

impl Stopped {
    /// It could not be carried out.
    pub(crate) fn failed(refusal: &Refusal) -> Self {
        ended(Outcome::Failed, &refusal.detail)
    }
}

impl Daemon {
    /// Starts what carries a turn out, unless an earlier daemon did, and waits for its end.
    pub(super) async fn see_through(
        self: &Arc<Self>,
        turn: &Turn,
        mut cancelled: watch::Receiver<bool>,
    ) -> Result<TurnEnd, Stopped> {
        let session = self.session_of_turn(turn).await?;
        self.caller_envs.begin(&turn.asked.id);
        if session.row.backend == Backend::Acp {
            return Box::pin(self.see_acp_through(session, turn, cancelled)).await;
        }
        let run = self.run_of(turn).await?;
        let begun = self.run_row(&run).await?;
        let job = self.job(&session, turn, run.clone()).await;
        let (stdin, reads) = match (job, &begun) {
            (Ok(Job { stdin, reads, .. }), Some(_)) => (stdin, reads),
            (Ok(job), None) => self.start_turn(job, turn, &mut cancelled).await?,
            // What it was started with cannot be told any more: its output is read as it is.
            (Err(_), Some(_)) => (None, Reads::Command),
            (Err(refusal), None) => return Err(Stopped::failed(&refusal)),
        };
        if let Some(stdin) = stdin {
            let (daemon, run) = (Arc::clone(self), run.clone());
            tokio::spawn(async move { daemon.give_input(&run, &stdin).await });
        }
        let row = self.until_over(&run, &mut cancelled).await?;
        let reading = tokio::task::spawn_blocking(move || answer::read(&row, &reads));
        reading.await.map_err(|error| Stopped::failed(&Refusal::internal(error)))
    }

    async fn session_of_turn(&self, turn: &Turn) -> Result<Session, Stopped> {
        loop {
            match self.registry.session(turn.asked.session.clone()).await {
                Ok(Some(session)) => return Ok(session),
                Ok(None) => {
                    return Err(Stopped::failed(&Refusal::no_such_session("the session was removed")));
                }
                Err(error) => self.try_again(turn, &error).await?,
            }
        }
    }

    /// The id of the run that carries a turn out; it is noted before there is one.
    async fn run_of(&self, turn: &Turn) -> Result<RunId, Stopped> {
        if let Some(run) = &turn.run {
            return Ok(run.clone());
        }
        let bytes = random::bytes().map_err(|error| Stopped::failed(&Refusal::internal(error)))?;
        let run = RunId::from_random(bytes);
        loop {
            match self.registry.set_turn_run(turn.asked.id.clone(), run.clone()).await {
                Ok(true) => return Ok(run),
                // Whoever closed the session was faster.
                Ok(false) => return Err(not_begun()),
                Err(error) => self.try_again(turn, &error).await?,
            }
        }
    }

    async fn run_row(&self, run: &RunId) -> Result<Option<RunRow>, Stopped> {
        loop {
            match self.registry.run(run.clone()).await {
                Ok(row) => return Ok(row),
                Err(_) if self.is_draining() => return Err(Stopped::Left),
                Err(error) => {
                    tracing::error!(%run, %error, "the run of a turn cannot be read");
                    sleep(PAUSE).await;
                }
            }
        }
    }

    pub(crate) async fn try_again(&self, turn: &Turn, error: &tenure_store::Failed) -> Result<(), Stopped> {
        if self.is_draining() {
            return Err(Stopped::Left);
        }
        tracing::error!(turn = %turn.asked.id, %error, "a turn waits for the registry");
        sleep(PAUSE).await;
        Ok(())
    }

    /// Starts the run of a turn, unless the turn is cancelled before.
    async fn start_turn(
        self: &Arc<Self>,
        job: Job,
        turn: &Turn,
        cancelled: &mut watch::Receiver<bool>,
    ) -> Result<(Option<Vec<u8>>, Reads), Stopped> {
        let Job { asked, stdin, reads } = job;
        let began = std::time::Instant::now();
        let entry = tokio::select! {
            biased;
            () = until(cancelled, |is| *is) => return Err(not_begun()),
            entry = self.enter(&asked) => entry,
        };
        pause::point("daemon-before-turn-run");
        let started = match entry {
            Ok(entry) => self.begin(asked, entry, turn.asked.asked_by.clone(), None).await,
            Err(refusal) => Err(refusal),
        };
        pause::point("daemon-after-turn-run");
        match started {
            Ok(run) => {
                // Before that there is nobody to give the input to.
                tokio::select! {
                    () = self.settle_in(&run, began) => {}
                    () = until(cancelled, |is| *is) => {}
                }
                Ok((stdin, reads))
            }
            Err(refusal) if refusal.code == "draining" => Err(Stopped::Left),
            Err(refusal) if refusal.code == "session-closed" => Err(not_begun()),
            Err(refusal) => Err(Stopped::failed(&refusal)),
        }
    }

    /// Gives a run its input, from the beginning: what it has already is not given twice. A command that does not read is
    /// waited for as long as it runs.
    async fn give_input(&self, run: &RunId, bytes: &[u8]) {
        while let Ok(Some(row)) = self.registry.run(run.clone()).await {
            if row.ending.is_some() {
                return;
            }
            match self.type_into(&row, bytes, Some(0), true).await {
                Ok(()) => return,
                Err(refusal) => tracing::debug!(%run, why = refusal.detail, "a turn's input waits"),
            }
            sleep(PAUSE).await;
        }
    }

    /// Waits until the run has ended; ends it, if the turn is cancelled.
    async fn until_over(
        self: &Arc<Self>,
        run: &RunId,
        cancelled: &mut watch::Receiver<bool>,
    ) -> Result<RunRow, Stopped> {
        let over = self.wait(run, None);
        tokio::pin!(over);
        let row = tokio::select! {
            row = &mut over => row,
            () = until(cancelled, |is| *is) => {
                self.end_run(run).await;
                over.await
            }
        };
        match row {
            Ok(row) => Ok(row),
            Err(_) if self.is_draining() => Err(Stopped::Left),
            Err(refusal) => Err(Stopped::failed(&refusal)),
        }
    }

    /// Asks for the end of a turn's run.
    pub(super) async fn end_run(self: &Arc<Self>, run: &RunId) {
        let who = Requester::Operator { about: "the turn was cancelled".to_owned() };
        match self.registry.run(run.clone()).await {
            Ok(Some(row)) => {
                if let Err(refusal) = self.cancel_run(&row, false, &who).await {
                    tracing::warn!(%run, why = refusal.detail, "the run of a cancelled turn is not reached");
                }
            }
            Ok(None) => {}
            Err(error) => tracing::warn!(%run, %error, "the run of a cancelled turn cannot be read"),
        }
    }
}

fn not_begun() -> Stopped {
    ended(Outcome::Cancelled, "it was cancelled before anything was started")
}

fn ended(outcome: Outcome, why: &str) -> Stopped {
    let (at_ms, error) = (clock::unix_ms(), Some(why.to_owned()));
    Stopped::Ended(TurnEnd { outcome, at_ms, stop: None, text: None, error, resume: None })
}
