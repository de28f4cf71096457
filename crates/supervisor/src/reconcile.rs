//! Recorded runs that this daemon does not hold: gathers the evidence, has `core` decide, and carries the verdict out.
//! Nothing is decided here. A steal is committed before anything else is done (I5), and each new verdict is told.
//!
//! # A recorded run that nobody holds
//!
//! At its start, when a keeper's connection breaks, and when another daemon's heartbeat stops, the daemon examines recorded runs: files, locks,
//! keeper and process table give the evidence, `core` gives one verdict, and `act` carries it out, the steal first. A run that
//! cannot be settled is examined again. A run of neither this instance nor this registry is **foreign**: its row came with a
//! copy, and the daemon leaves it alone before it looks at any lock, socket or pid. A keeper hands its run over only to the run's own
//! instance or registry, after it has asked the present holder. Runs that the registry has lost are recorded again. Decision 0026
//! gives the reasons.

mod act;
mod claim;
mod evidence;

use crate::link::Link;
use crate::refusal::Refusal;
use crate::run_handle::RunHandle;
use crate::runs::MOST_FOUND;
use crate::supervisor::Supervisor;
use crate::sync::lock;
use act::Outcome;
pub(crate) use claim::Claims;
use evidence::Looked;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;
use tenure_core::api::{ReapLine, Selector};
use tenure_core::ids::{RunId, find_by_prefix};
use tenure_core::reconcile::{Doubt, Verdict, decide};
use tenure_core::session::agent_of;
use tenure_core::state::State;
use tenure_core::wire::Role;
use tenure_keeper::rundir::RunDir;
use tenure_store::{Failed, RunRow, Unfinished, Unreadable, kind};
use tokio::task::JoinSet;

/// The pauses between two looks at a run that could not be settled.
const FIRST_PAUSE: Duration = Duration::from_millis(5);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// The pauses between the tries of a daemon that begins, in milliseconds: shorter than a service manager's patience.
const PAUSES_AT_START: [u64; 4] = [100, 300, 900, 2700];
/// How many runs are settled at once: one whose keeper is silent must not keep the others waiting.
const AT_ONCE: usize = 64;

/// Settles every run that has not ended: those that are ours, and those whose owner is lost. Those that cannot be
/// settled now are looked at again until they are.
pub(crate) async fn reconcile_all(supervisor: &Arc<Supervisor>) -> Result<(), Failed> {
    let rows = unfinished(supervisor).await.inspect_err(|error| {
        tracing::error!(%error, "the recorded runs cannot be read");
    })?;
    let unfinished: HashSet<&RunId> = rows.iter().map(|row| &row.ticket.run_id).collect();
    lock(&supervisor.runs.verdicts).retain(|run, _| unfinished.contains(run));
    settle_all(supervisor, rows).await;
    Ok(())
}

/// The runs that have not ended, as a daemon that begins finds them: one that cannot read which there are holds none of
/// them, so it must not serve.
pub async fn recorded_at_start(supervisor: &Supervisor) -> Result<Vec<RunRow>, Failed> {
    for pause in PAUSES_AT_START {
        if let Ok(rows) = unfinished(supervisor).await {
            return Ok(rows);
        }
        tokio::time::sleep(Duration::from_millis(pause)).await;
    }
    unfinished(supervisor).await
}

/// The runs that have not ended. Those that cannot be read are left alone (I6).
pub async fn unfinished(supervisor: &Supervisor) -> Result<Vec<RunRow>, Failed> {
    let Unfinished { runs, unreadable } = supervisor.registry.unfinished().await?;
    for Unreadable { run, why } in unreadable {
        tracing::warn!(run, why, "a run is left alone");
    }
    Ok(runs)
}

/// Settles one run.
pub async fn reconcile_run(supervisor: &Arc<Supervisor>, run: &RunId) {
    settle(supervisor, run.clone()).await;
}

/// Settles these, and returns when each was looked at once.
pub async fn settle_all(supervisor: &Arc<Supervisor>, rows: Vec<RunRow>) {
    let mut settling = JoinSet::new();
    for row in rows {
        while settling.len() >= AT_ONCE {
            settling.join_next().await;
        }
        let supervisor = Arc::clone(supervisor);
        settling.spawn(async move { settle(&supervisor, row.ticket.run_id).await });
    }
    while settling.join_next().await.is_some() {}
}

/// Settles one run, unless it is held, or somebody starts or settles it at this moment.
async fn settle(supervisor: &Arc<Supervisor>, run: RunId) {
    let Some(watch) = supervisor.runs.watched.claim(&run) else { return };
    if judge_once(supervisor, &run).await == Some(Outcome::Unsettled) {
        let supervisor = Arc::clone(supervisor);
        tokio::spawn(async move {
            keep_looking(&supervisor, &run).await;
            drop(watch);
        });
    }
}

/// Looks again and again until a run that is not held is settled.
async fn keep_looking(supervisor: &Arc<Supervisor>, run: &RunId) {
    let mut pause = FIRST_PAUSE;
    loop {
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
        match judge_once(supervisor, run).await {
            Some(Outcome::Unsettled) => {}
            Some(Outcome::Ended(_) | Outcome::Held | Outcome::NotOurs) | None => return,
        }
    }
}

/// What came of one look; `None` if it is none of our business now.
async fn judge_once(supervisor: &Arc<Supervisor>, run: &RunId) -> Option<Outcome> {
    let Some(claim) = supervisor.runs.claims.claim(run) else { return Some(Outcome::Unsettled) };
    if supervisor.runs.get(run).is_some() {
        return None;
    }
    // Read anew: it may have been started, or have ended, since it was listed.
    let row = match supervisor.registry.run(run.clone()).await {
        Ok(row) => row?,
        Err(error) => {
            tracing::error!(%run, %error, "a recorded run cannot be read");
            return Some(Outcome::Unsettled);
        }
    };
    let outcome = judge(supervisor, &row, Mode::Act).await.outcome;
    drop(claim);
    outcome
}

/// The connection to a held run's keeper is lost without an ending. Nobody else judges it while it is held. Returns a
/// new connection if the keeper answers; otherwise the run is over here.
pub async fn look_after(supervisor: &Arc<Supervisor>, held: &Arc<RunHandle>) -> Option<Link> {
    let run = &held.ticket.run_id;
    let mut pause = FIRST_PAUSE;
    loop {
        if let Ok(dir) = RunDir::open(&held.directory)
            && let Ok(link) =
                Link::dial(&dir, Role::Holder { epoch: held.hold.epoch }, Some(supervisor.as_holder())).await
        {
            return Some(link);
        }
        let outcome = match supervisor.registry.run(run.clone()).await {
            Ok(Some(row)) => judge(supervisor, &row, Mode::Act).await.outcome,
            Ok(None) => None,
            Err(error) => {
                tracing::error!(%run, %error, "a recorded run cannot be read");
                Some(Outcome::Unsettled)
            }
        };
        match outcome {
            Some(Outcome::Ended(ending)) => {
                held.ended(*ending);
                return None;
            }
            Some(Outcome::Held) => {
                held.let_go("its keeper was dialled anew".to_owned());
                return None;
            }
            Some(Outcome::NotOurs) | None => {
                held.let_go("another instance holds it, or it is gone".to_owned());
                return None;
            }
            Some(Outcome::Unsettled) => {}
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// What the evidence asks for, for each recorded run that is meant; carried out unless it is a dry run.
pub async fn reap(
    supervisor: &Arc<Supervisor>,
    which: &Selector,
    dry_run: bool,
) -> Result<Vec<ReapLine>, Refusal> {
    let mut lines = Vec::new();
    if let Some(text) = &which.run {
        check_unique(supervisor, text).await?;
    }
    let mode = if dry_run { Mode::Look } else { Mode::Act };
    for row in unfinished(supervisor).await?.into_iter().filter(|row| is_meant(row, which)) {
        let claim = supervisor.runs.claims.claim(&row.ticket.run_id);
        // One that is being settled at this moment is only looked at.
        let mode = if claim.is_some() { mode } else { Mode::Look };
        // Before the row: whoever lets go of a run has recorded its ending.
        if supervisor.runs.get(&row.ticket.run_id).is_some() {
            continue;
        }
        // Read anew: it may have been started, or have ended, since it was listed.
        let Some(row) = supervisor.registry.run(row.ticket.run_id).await? else { continue };
        if row.state == State::Exited {
            continue;
        }
        let judged = judge(supervisor, &row, mode).await;
        drop(claim);
        if judged.outcome == Some(Outcome::Unsettled) {
            let (supervisor, run) = (Arc::clone(supervisor), row.ticket.run_id.clone());
            tokio::spawn(async move { reconcile_run(&supervisor, &run).await });
        }
        lines.push(ReapLine {
            run_id: row.ticket.run_id.clone(),
            verdict: judged.verdict.name().to_owned(),
            evidence: judged.verdict.to_string(),
            outcome: judged.outcome.map(|outcome| outcome.to_string()),
        });
    }
    Ok(lines)
}

/// An id that is to be reaped means one run.
async fn check_unique(supervisor: &Supervisor, text: &str) -> Result<(), Refusal> {
    let ids = supervisor.registry.find(text.to_owned(), MOST_FOUND).await?;
    let unknown =
        || Refusal::no_such_run(format!("no run has the id {text:?}: `tenure ps --all` lists them"));
    let found = find_by_prefix(text, "runs", ids, RunId::as_str).map_err(Refusal::ambiguous)?;
    found.map(drop).ok_or_else(unknown)
}

async fn judge(supervisor: &Arc<Supervisor>, row: &RunRow, mode: Mode) -> Judged {
    let looked = match evidence::look(supervisor, row, mode).await {
        // The record was lost or restored, and is older than the lease, so the keeper's epoch counts.
        Looked { ahead: Some(epoch), .. } if raise_epoch(supervisor, row, epoch).await => {
            return Judged {
                verdict: Verdict::RetryLater { why: Doubt::KeeperRefuses },
                outcome: Some(Outcome::Unsettled),
            };
        }
        looked => looked,
    };
    let verdict = decide(&looked.case);
    if mode == Mode::Look {
        return Judged { verdict, outcome: None };
    }
    let outcome = act::act(supervisor, row, &verdict, looked.link).await;
    tell_verdict(supervisor, row, &verdict, &outcome).await;
    Judged { verdict, outcome: Some(outcome) }
}

/// Raises a run's epoch above its keeper's, so that the next sweep can take the run on.
async fn raise_epoch(supervisor: &Supervisor, row: &RunRow, above: u64) -> bool {
    let run = row.ticket.run_id.clone();
    match supervisor.registry.raise_epoch(run, row.hold.clone(), above).await {
        Ok(raised) => raised.is_some(),
        Err(error) => {
            tracing::error!(run = %row.ticket.run_id, %error, "a run's epoch could not be raised");
            false
        }
    }
}

/// One event for each decision; the same one again is none.
async fn tell_verdict(supervisor: &Supervisor, row: &RunRow, verdict: &Verdict, outcome: &Outcome) {
    let run = &row.ticket.run_id;
    let (told, happened) = (verdict.to_string(), outcome.to_string());
    {
        let mut last = lock(&supervisor.runs.verdicts);
        if last.get(run) == Some(&told) {
            return;
        }
        match outcome {
            Outcome::Unsettled | Outcome::NotOurs => last.insert(run.clone(), told.clone()),
            Outcome::Ended(_) | Outcome::Held => last.remove(run),
        };
    }
    tracing::info!(%run, verdict = verdict.name(), evidence = told, outcome = happened, "reconciled");
    let detail = serde_json::json!({"verdict": verdict.name(), "evidence": told, "outcome": happened});
    supervisor.tell_run(row, kind::RECONCILED, detail).await;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Look,
    Act,
}

struct Judged {
    verdict: Verdict,
    outcome: Option<Outcome>,
}

fn is_meant(row: &RunRow, which: &Selector) -> bool {
    let ticket = &row.ticket;
    let session = ticket.options.session_id.as_deref();
    which.run.as_ref().is_none_or(|run| ticket.run_id.as_str().starts_with(run))
        && which.scope.as_ref().is_none_or(|scope| ticket.options.scope.as_ref() == Some(scope))
        && which.session.as_ref().is_none_or(|key| session == Some(key))
        && which.agent.as_ref().is_none_or(|agent| session.and_then(agent_of) == Some(agent))
}
