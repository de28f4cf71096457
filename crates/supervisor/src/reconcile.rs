//! Settles recorded runs that this daemon does not hold: gathers the evidence, has `core` decide, and applies the
//! verdict. Nothing is decided here. A steal is committed before anything else is done (I5), and each new verdict is
//! recorded as an event.
//!
//! # A recorded run without a holder
//!
//! At its start, when a keeper's connection breaks, and when another daemon's heartbeat stops, the daemon examines
//! recorded runs: files, locks, keeper and process table give the evidence, `core` gives one verdict, and `apply`
//! carries it out, the steal first. A run that cannot be settled is examined again. A run of neither this instance
//! nor this registry is **foreign**: its row came with a copy, and the daemon leaves it alone before it looks at any
//! lock, socket or pid. A keeper hands its run over only to the run's own instance or registry, after it has asked
//! the present holder. Runs that the registry has lost are recorded again. Decision 0026 gives the reasons.

mod apply;
mod claims;
mod evidence;

use crate::link::Link;
use crate::refusal::Refusal;
use crate::run_handle::RunHandle;
use crate::runs::MAX_MATCHES;
use crate::supervisor::Supervisor;
use crate::sync::lock;
use apply::Outcome;
pub(crate) use claims::Claims;
use evidence::Findings;
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

/// The first and the longest pause between two attempts to settle a run.
const FIRST_PAUSE: Duration = Duration::from_millis(5);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// The pauses between the attempts of a starting daemon, in milliseconds: in total less than a service manager's
/// timeout.
const PAUSES_AT_START: [u64; 4] = [100, 300, 900, 2700];
/// Maximum number of runs settled at once: a silent keeper must not delay the others.
const MAX_CONCURRENT: usize = 64;

/// Settles every run that has not ended and is ours, or whose owner is lost. A run that cannot be settled now is
/// retried until it is.
pub(crate) async fn reconcile_all(supervisor: &Arc<Supervisor>) -> Result<(), Failed> {
    let rows = unfinished(supervisor).await.inspect_err(|error| {
        tracing::error!(%error, "the recorded runs cannot be read");
    })?;
    let unfinished: HashSet<&RunId> = rows.iter().map(|row| &row.ticket.run_id).collect();
    lock(&supervisor.runs.verdicts).retain(|run, _| unfinished.contains(run));
    settle_all(supervisor, rows).await;
    Ok(())
}

/// Reads the unfinished runs for a starting daemon. A daemon that cannot read them would hold none of them, so it
/// must not serve.
pub async fn recorded_at_start(supervisor: &Supervisor) -> Result<Vec<RunRow>, Failed> {
    for pause in PAUSES_AT_START {
        if let Ok(rows) = unfinished(supervisor).await {
            return Ok(rows);
        }
        tokio::time::sleep(Duration::from_millis(pause)).await;
    }
    unfinished(supervisor).await
}

/// Reads the unfinished runs. Rows that cannot be read are left alone (I6).
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

/// Settles these runs, and returns when each was judged once.
pub async fn settle_all(supervisor: &Arc<Supervisor>, rows: Vec<RunRow>) {
    let mut settling = JoinSet::new();
    for row in rows {
        while settling.len() >= MAX_CONCURRENT {
            settling.join_next().await;
        }
        let supervisor = Arc::clone(supervisor);
        settling.spawn(async move { settle(&supervisor, row.ticket.run_id).await });
    }
    while settling.join_next().await.is_some() {}
}

/// Settles one run, unless it is held, or another task settles it at this moment.
async fn settle(supervisor: &Arc<Supervisor>, run: RunId) {
    let Some(watch) = supervisor.runs.watched.claim(&run) else { return };
    if judge_once(supervisor, &run).await == Some(Outcome::Unsettled) {
        let supervisor = Arc::clone(supervisor);
        tokio::spawn(async move {
            retry_until_settled(&supervisor, &run).await;
            drop(watch);
        });
    }
}

/// Judges a run again and again until it is settled.
async fn retry_until_settled(supervisor: &Arc<Supervisor>, run: &RunId) {
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

/// Judges a run once; `None` if it is none of our business now.
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

/// Handles a lost connection to a held run's keeper without an ending. No other task judges the run while it is held.
/// Returns a new connection if the keeper answers; otherwise the run is over here.
pub async fn reconnect_or_settle(supervisor: &Arc<Supervisor>, held: &Arc<RunHandle>) -> Option<Link> {
    let run = &held.ticket.run_id;
    let mut pause = FIRST_PAUSE;
    loop {
        if let Ok(dir) = RunDir::open(&held.directory)
            && let Ok(link) =
                Link::connect(&dir, Role::Holder { epoch: held.hold.epoch }, Some(supervisor.as_holder()))
                    .await
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
                held.let_go("another task reconnected to its keeper".to_owned());
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

/// Judges each selected run and, unless this is a dry run, applies the verdict.
pub async fn reap(
    supervisor: &Arc<Supervisor>,
    which: &Selector,
    dry_run: bool,
) -> Result<Vec<ReapLine>, Refusal> {
    let mut lines = Vec::new();
    if let Some(text) = &which.run {
        check_unique(supervisor, text).await?;
    }
    let mode = if dry_run { Mode::DryRun } else { Mode::Act };
    for row in unfinished(supervisor).await?.into_iter().filter(|row| is_selected(row, which)) {
        let claim = supervisor.runs.claims.claim(&row.ticket.run_id);
        // If another task settles the run at this moment, only report the verdict.
        let mode = if claim.is_some() { mode } else { Mode::DryRun };
        // Before the row: a holder records the ending before it lets go.
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

/// Refuses an id that does not mean exactly one run.
async fn check_unique(supervisor: &Supervisor, text: &str) -> Result<(), Refusal> {
    let ids = supervisor.registry.find(text.to_owned(), MAX_MATCHES).await?;
    let unknown =
        || Refusal::no_such_run(format!("no run has the id {text:?}: `tenure ps --all` lists them"));
    let found = find_by_prefix(text, "runs", ids, RunId::as_str).map_err(Refusal::ambiguous)?;
    found.map(drop).ok_or_else(unknown)
}

async fn judge(supervisor: &Arc<Supervisor>, row: &RunRow, mode: Mode) -> Judgement {
    let findings = match evidence::gather(supervisor, row, mode).await {
        // The record was lost or restored, and is older than the lease, so the keeper's epoch counts.
        Findings { ahead: Some(epoch), .. } if raise_epoch(supervisor, row, epoch).await => {
            return Judgement {
                verdict: Verdict::RetryLater { why: Doubt::KeeperRefuses },
                outcome: Some(Outcome::Unsettled),
            };
        }
        findings => findings,
    };
    let verdict = decide(&findings.case);
    if mode == Mode::DryRun {
        return Judgement { verdict, outcome: None };
    }
    let outcome = apply::apply(supervisor, row, &verdict, findings.link).await;
    record_verdict(supervisor, row, &verdict, &outcome).await;
    Judgement { verdict, outcome: Some(outcome) }
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

/// Records one event per new verdict.
async fn record_verdict(supervisor: &Supervisor, row: &RunRow, verdict: &Verdict, outcome: &Outcome) {
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
    DryRun,
    Act,
}

struct Judgement {
    verdict: Verdict,
    outcome: Option<Outcome>,
}

fn is_selected(row: &RunRow, which: &Selector) -> bool {
    let ticket = &row.ticket;
    let session = ticket.options.session_id.as_deref();
    which.run.as_ref().is_none_or(|run| ticket.run_id.as_str().starts_with(run))
        && which.scope.as_ref().is_none_or(|scope| ticket.options.scope.as_ref() == Some(scope))
        && which.session.as_ref().is_none_or(|key| session == Some(key))
        && which.agent.as_ref().is_none_or(|agent| session.and_then(agent_of) == Some(agent))
}
