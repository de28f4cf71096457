//! One turn: its run is started, unless an earlier daemon did, given its input, and waited for.

use super::answer;
use super::turn_spec::{Job, Reads};
use crate::Agents;
use crate::acp::turn;
use crate::sessions::turn_spec;
use std::sync::Arc;
use std::time::Duration;
use tenure_core::ids::RunId;
use tenure_core::problem::Code;
use tenure_core::session::Backend;
use tenure_os::{clock, pause, random};
use tenure_store::{Outcome, RunRow, Session, Turn, TurnEnd};
use tenure_supervisor::Refusal;
use tenure_supervisor::Requester;
use tenure_supervisor::sync::until;
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

/// Starts what carries a turn out, unless an earlier daemon did, and waits for its end.
pub(crate) async fn see_through(
    agents: &Arc<Agents>,
    turn: &Turn,
    mut cancelled: watch::Receiver<bool>,
) -> Result<TurnEnd, Stopped> {
    let session = session_of_turn(agents, turn).await?;
    agents.caller_envs.begin(&turn.asked.id);
    if session.row.backend == Backend::Acp {
        return Box::pin(turn::run_acp_turn(agents, session, turn, cancelled)).await;
    }
    let run = run_of(agents, turn).await?;
    let begun = run_row(agents, &run).await?;
    let job = turn_spec::job(agents, &session, turn, run.clone()).await;
    let (stdin, reads) = match (job, &begun) {
        (Ok(Job { stdin, reads, .. }), Some(_)) => (stdin, reads),
        (Ok(job), None) => start_turn(agents, job, turn, &mut cancelled).await?,
        // What it was started with cannot be told any more: its output is read as it is.
        (Err(_), Some(_)) => (None, Reads::Command),
        (Err(refusal), None) => return Err(Stopped::failed(&refusal)),
    };
    if let Some(stdin) = stdin {
        let (agents, run) = (Arc::clone(agents), run.clone());
        tokio::spawn(async move { give_input(&agents, &run, &stdin).await });
    }
    let row = until_over(agents, &run, &mut cancelled).await?;
    let reading = tokio::task::spawn_blocking(move || answer::read(&row, &reads));
    reading.await.map_err(|error| Stopped::failed(&Refusal::internal(error)))
}

async fn session_of_turn(agents: &Agents, turn: &Turn) -> Result<Session, Stopped> {
    loop {
        match agents.supervisor.registry.session(turn.asked.session.clone()).await {
            Ok(Some(session)) => return Ok(session),
            Ok(None) => {
                return Err(Stopped::failed(&Refusal::no_such_session("the session was removed")));
            }
            Err(error) => try_again(agents, turn, &error).await?,
        }
    }
}

/// The id of the run that carries a turn out; it is noted before there is one.
async fn run_of(agents: &Agents, turn: &Turn) -> Result<RunId, Stopped> {
    if let Some(run) = &turn.run {
        return Ok(run.clone());
    }
    let bytes = random::bytes().map_err(|error| Stopped::failed(&Refusal::internal(error)))?;
    let run = RunId::from_random(bytes);
    loop {
        match agents.supervisor.registry.set_turn_run(turn.asked.id.clone(), run.clone()).await {
            Ok(true) => return Ok(run),
            // Whoever closed the session was faster.
            Ok(false) => return Err(not_begun()),
            Err(error) => try_again(agents, turn, &error).await?,
        }
    }
}

async fn run_row(agents: &Agents, run: &RunId) -> Result<Option<RunRow>, Stopped> {
    loop {
        match agents.supervisor.registry.run(run.clone()).await {
            Ok(row) => return Ok(row),
            Err(_) if agents.supervisor.lifecycle.is_draining() => return Err(Stopped::Left),
            Err(error) => {
                tracing::error!(%run, %error, "the run of a turn cannot be read");
                sleep(PAUSE).await;
            }
        }
    }
}

pub(crate) async fn try_again(
    agents: &Agents,
    turn: &Turn,
    error: &tenure_store::Failed,
) -> Result<(), Stopped> {
    if agents.supervisor.lifecycle.is_draining() {
        return Err(Stopped::Left);
    }
    tracing::error!(turn = %turn.asked.id, %error, "a turn waits for the registry");
    sleep(PAUSE).await;
    Ok(())
}

/// Starts the run of a turn, unless the turn is cancelled before.
async fn start_turn(
    agents: &Arc<Agents>,
    job: Job,
    turn: &Turn,
    cancelled: &mut watch::Receiver<bool>,
) -> Result<(Option<Vec<u8>>, Reads), Stopped> {
    let Job { request, stdin, reads } = job;
    let began = std::time::Instant::now();
    let admitted = tokio::select! {
        biased;
        () = until(cancelled, |is| *is) => return Err(not_begun()),
        admitted = agents.supervisor.enter(&request) => admitted,
    };
    pause::point("daemon-before-turn-run");
    let started = match admitted {
        Ok(admitted) => agents.supervisor.begin(request, admitted, turn.asked.asked_by.clone(), None).await,
        Err(refusal) => Err(refusal),
    };
    pause::point("daemon-after-turn-run");
    match started {
        Ok(run) => {
            // Before that there is nobody to give the input to.
            tokio::select! {
                () = agents.supervisor.settle_in(&run, began) => {}
                () = until(cancelled, |is| *is) => {}
            }
            Ok((stdin, reads))
        }
        Err(refusal) if refusal.code == Code::Draining => Err(Stopped::Left),
        Err(refusal) if refusal.code == Code::SessionClosed => Err(not_begun()),
        Err(refusal) => Err(Stopped::failed(&refusal)),
    }
}

/// Gives a run its input, from the beginning: what it has already is not given twice. A command that does not read is
/// waited for as long as it runs.
async fn give_input(agents: &Agents, run: &RunId, bytes: &[u8]) {
    while let Ok(Some(row)) = agents.supervisor.registry.run(run.clone()).await {
        if row.ending.is_some() {
            return;
        }
        match agents.supervisor.type_into(&row, bytes, Some(0), true).await {
            Ok(()) => return,
            Err(refusal) => tracing::debug!(%run, why = refusal.detail, "a turn's input waits"),
        }
        sleep(PAUSE).await;
    }
}

/// Waits until the run has ended; ends it, if the turn is cancelled.
async fn until_over(
    agents: &Arc<Agents>,
    run: &RunId,
    cancelled: &mut watch::Receiver<bool>,
) -> Result<RunRow, Stopped> {
    let over = agents.supervisor.wait(run, None);
    tokio::pin!(over);
    let row = tokio::select! {
        row = &mut over => row,
        () = until(cancelled, |is| *is) => {
            end_run(agents, run).await;
            over.await
        }
    };
    match row {
        Ok(row) => Ok(row),
        Err(_) if agents.supervisor.lifecycle.is_draining() => Err(Stopped::Left),
        Err(refusal) => Err(Stopped::failed(&refusal)),
    }
}

/// Asks for the end of a turn's run.
pub(crate) async fn end_run(agents: &Arc<Agents>, run: &RunId) {
    let who = Requester::Operator { about: "the turn was cancelled".to_owned() };
    match agents.supervisor.registry.run(run.clone()).await {
        Ok(Some(row)) => {
            if let Err(refusal) = agents.supervisor.cancel_run(&row, false, &who).await {
                tracing::warn!(%run, why = refusal.detail, "the run of a cancelled turn is not reached");
            }
        }
        Ok(None) => {}
        Err(error) => tracing::warn!(%run, %error, "the run of a cancelled turn cannot be read"),
    }
}

fn not_begun() -> Stopped {
    ended(Outcome::Cancelled, "it was cancelled before anything was started")
}

fn ended(outcome: Outcome, why: &str) -> Stopped {
    let (at_ms, error) = (clock::unix_ms(), Some(why.to_owned()));
    Stopped::Ended(TurnEnd { outcome, at_ms, stop: None, text: None, error, resume: None })
}
