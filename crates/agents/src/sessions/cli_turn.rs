//! Runs a turn: starts its run, unless an earlier daemon did, writes its input and waits for its end.

use super::cli_turn_result;
use super::turn_spec::{TurnOutput, TurnSpec};
use crate::Agents;
use crate::acp::acp_turn;
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

/// Delay before a retry.
const RETRY_DELAY: Duration = Duration::from_millis(500);

/// The reason why a turn does not continue.
pub(crate) enum TurnStop {
    /// The turn has ended.
    Ended(TurnEnd),
    /// The daemon exits; the next one continues the turn.
    DaemonExits,
}

impl TurnStop {
    /// Returns the end of a turn that could not be carried out.
    pub(crate) fn failed(refusal: &Refusal) -> Self {
        ended(Outcome::Failed, &refusal.detail)
    }
}

/// Starts the run of a turn, unless an earlier daemon did, and waits for its end.
pub(crate) async fn run_turn(
    agents: &Arc<Agents>,
    turn: &Turn,
    mut cancelled: watch::Receiver<bool>,
) -> Result<TurnEnd, TurnStop> {
    let session = session_of_turn(agents, turn).await?;
    agents.caller_envs.begin(&turn.asked.id);
    if session.row.backend == Backend::Acp {
        return Box::pin(acp_turn::run_acp_turn(agents, session, turn, cancelled)).await;
    }
    let run = run_of(agents, turn).await?;
    let begun = run_row(agents, &run).await?;
    let job = turn_spec::job(agents, &session, turn, run.clone()).await;
    let (stdin, reads) = match (job, &begun) {
        (Ok(TurnSpec { stdin, reads, .. }), Some(_)) => (stdin, reads),
        (Ok(job), None) => start_turn(agents, job, turn, &mut cancelled).await?,
        // The agent's description is gone: read the output as a command's.
        (Err(_), Some(_)) => (None, TurnOutput::Command),
        (Err(refusal), None) => return Err(TurnStop::failed(&refusal)),
    };
    if let Some(stdin) = stdin {
        let (agents, run) = (Arc::clone(agents), run.clone());
        tokio::spawn(async move { give_input(&agents, &run, &stdin).await });
    }
    let row = until_over(agents, &run, &mut cancelled).await?;
    let reading = tokio::task::spawn_blocking(move || cli_turn_result::read(&row, &reads));
    reading.await.map_err(|error| TurnStop::failed(&Refusal::internal(error)))
}

async fn session_of_turn(agents: &Agents, turn: &Turn) -> Result<Session, TurnStop> {
    loop {
        match agents.supervisor.registry.session(turn.asked.session.clone()).await {
            Ok(Some(session)) => return Ok(session),
            Ok(None) => {
                return Err(TurnStop::failed(&Refusal::no_such_session("the session was removed")));
            }
            Err(error) => try_again(agents, turn, &error).await?,
        }
    }
}

/// Returns the id of the turn's run. It is recorded before the run starts.
async fn run_of(agents: &Agents, turn: &Turn) -> Result<RunId, TurnStop> {
    if let Some(run) = &turn.run {
        return Ok(run.clone());
    }
    let bytes = random::bytes().map_err(|error| TurnStop::failed(&Refusal::internal(error)))?;
    let run = RunId::from_random(bytes);
    loop {
        match agents.supervisor.registry.set_turn_run(turn.asked.id.clone(), run.clone()).await {
            Ok(true) => return Ok(run),
            // The session was closed meanwhile.
            Ok(false) => return Err(not_begun()),
            Err(error) => try_again(agents, turn, &error).await?,
        }
    }
}

async fn run_row(agents: &Agents, run: &RunId) -> Result<Option<RunRow>, TurnStop> {
    loop {
        match agents.supervisor.registry.run(run.clone()).await {
            Ok(row) => return Ok(row),
            Err(_) if agents.supervisor.lifecycle.is_draining() => return Err(TurnStop::DaemonExits),
            Err(error) => {
                tracing::error!(%run, %error, "turn's run not readable, retrying");
                sleep(RETRY_DELAY).await;
            }
        }
    }
}

pub(crate) async fn try_again(
    agents: &Agents,
    turn: &Turn,
    error: &tenure_store::Failed,
) -> Result<(), TurnStop> {
    if agents.supervisor.lifecycle.is_draining() {
        return Err(TurnStop::DaemonExits);
    }
    tracing::error!(turn = %turn.asked.id, %error, "registry unavailable, retrying turn");
    sleep(RETRY_DELAY).await;
    Ok(())
}

/// Starts the run of a turn, unless the turn is cancelled before.
async fn start_turn(
    agents: &Arc<Agents>,
    job: TurnSpec,
    turn: &Turn,
    cancelled: &mut watch::Receiver<bool>,
) -> Result<(Option<Vec<u8>>, TurnOutput), TurnStop> {
    let TurnSpec { request, stdin, reads } = job;
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
            // Only then is there a keeper to write the input to.
            tokio::select! {
                () = agents.supervisor.wait_until_started(&run, began) => {}
                () = until(cancelled, |is| *is) => {}
            }
            Ok((stdin, reads))
        }
        Err(refusal) if refusal.code == Code::Draining => Err(TurnStop::DaemonExits),
        Err(refusal) if refusal.code == Code::SessionClosed => Err(not_begun()),
        Err(refusal) => Err(TurnStop::failed(&refusal)),
    }
}

/// Writes the input of a run, from offset 0: the keeper skips bytes that it has. Retries as long as the run lives if the
/// command does not read.
async fn give_input(agents: &Agents, run: &RunId, bytes: &[u8]) {
    while let Ok(Some(row)) = agents.supervisor.registry.run(run.clone()).await {
        if row.ending.is_some() {
            return;
        }
        match agents.supervisor.type_into(&row, bytes, Some(0), true).await {
            Ok(()) => return,
            Err(refusal) => {
                tracing::debug!(%run, why = refusal.detail, "turn stdin not accepted yet, retrying");
            }
        }
        sleep(RETRY_DELAY).await;
    }
}

/// Waits until the run has ended; cancels it if the turn is cancelled.
async fn until_over(
    agents: &Arc<Agents>,
    run: &RunId,
    cancelled: &mut watch::Receiver<bool>,
) -> Result<RunRow, TurnStop> {
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
        Err(_) if agents.supervisor.lifecycle.is_draining() => Err(TurnStop::DaemonExits),
        Err(refusal) => Err(TurnStop::failed(&refusal)),
    }
}

/// Cancels a turn's run.
pub(crate) async fn end_run(agents: &Arc<Agents>, run: &RunId) {
    let who = Requester::Operator { about: "the turn was cancelled".to_owned() };
    match agents.supervisor.registry.run(run.clone()).await {
        Ok(Some(row)) => {
            if let Err(refusal) = agents.supervisor.cancel_run(&row, false, &who).await {
                tracing::warn!(%run, why = refusal.detail, "run of a cancelled turn not cancelled");
            }
        }
        Ok(None) => {}
        Err(error) => tracing::warn!(%run, %error, "run of a cancelled turn not readable"),
    }
}

fn not_begun() -> TurnStop {
    ended(Outcome::Cancelled, "it was cancelled before anything was started")
}

fn ended(outcome: Outcome, why: &str) -> TurnStop {
    let (at_ms, error) = (clock::unix_ms(), Some(why.to_owned()));
    TurnStop::Ended(TurnEnd { outcome, at_ms, stop: None, text: None, error, resume: None })
}
