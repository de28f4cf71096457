//! Recorded runs that this daemon does not hold: gathers the evidence, has `core` decide, and carries the verdict out.
//! Nothing is decided here. A steal is committed before anything else is done (I5), and each new verdict is told.

mod act;
mod claim;
mod evidence;

use crate::daemon::{Daemon, lock};
use crate::held::Held;
use crate::link::Link;
use crate::refusal::Refusal;
use act::Outcome;
pub(crate) use claim::Claims;
use evidence::Looked;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;
use tenure_core::api::{ReapLine, Selector};
use tenure_core::ids::RunId;
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

impl Daemon {
    /// Settles every run that has not ended: those that are ours, and those whose owner is lost. Those that cannot be
    /// settled now are looked at again until they are.
    pub(crate) async fn reconcile_all(self: &Arc<Self>) -> Result<(), Failed> {
        let rows = self.unfinished().await.inspect_err(|error| {
            tracing::error!(%error, "the recorded runs cannot be read");
        })?;
        let unfinished: HashSet<&RunId> = rows.iter().map(|row| &row.ticket.run_id).collect();
        lock(&self.verdicts).retain(|run, _| unfinished.contains(run));
        self.settle_all(rows).await;
        Ok(())
    }

    /// The runs that have not ended, as a daemon that begins finds them: one that cannot read which there are holds none of
    /// them, so it must not serve.
    pub(crate) async fn recorded_at_start(&self) -> Result<Vec<RunRow>, Failed> {
        for pause in PAUSES_AT_START {
            if let Ok(rows) = self.unfinished().await {
                return Ok(rows);
            }
            tokio::time::sleep(Duration::from_millis(pause)).await;
        }
        self.unfinished().await
    }

    /// The runs that have not ended. Those that cannot be read are left alone (I6).
    pub(crate) async fn unfinished(&self) -> Result<Vec<RunRow>, Failed> {
        let Unfinished { runs, unreadable } = self.registry.unfinished().await?;
        for Unreadable { run, why } in unreadable {
            tracing::warn!(run, why, "a run is left alone");
        }
        Ok(runs)
    }

    /// Settles one run.
    pub(crate) async fn reconcile_run(self: &Arc<Self>, run: &RunId) {
        self.settle(run.clone()).await;
    }

    /// Settles these, and returns when each was looked at once.
    pub(crate) async fn settle_all(self: &Arc<Self>, rows: Vec<RunRow>) {
        let mut settling = JoinSet::new();
        for row in rows {
            while settling.len() >= AT_ONCE {
                settling.join_next().await;
            }
            let daemon = Arc::clone(self);
            settling.spawn(async move { daemon.settle(row.ticket.run_id).await });
        }
        while settling.join_next().await.is_some() {}
    }

    /// Settles one run, unless it is held, or somebody starts or settles it at this moment.
    async fn settle(self: &Arc<Self>, run: RunId) {
        let Some(watch) = self.claim_watch(&run) else { return };
        if self.judge_once(&run).await == Some(Outcome::Unsettled) {
            let daemon = Arc::clone(self);
            tokio::spawn(async move {
                daemon.keep_looking(&run).await;
                drop(watch);
            });
        }
    }

    /// Looks again and again until a run that is not held is settled.
    async fn keep_looking(self: &Arc<Self>, run: &RunId) {
        let mut pause = FIRST_PAUSE;
        loop {
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
            match self.judge_once(run).await {
                Some(Outcome::Unsettled) => {}
                Some(Outcome::Ended(_) | Outcome::Held | Outcome::NotOurs) | None => return,
            }
        }
    }

    /// What came of one look; `None` if it is none of our business now.
    async fn judge_once(self: &Arc<Self>, run: &RunId) -> Option<Outcome> {
        let Some(claim) = self.claim(run) else { return Some(Outcome::Unsettled) };
        if self.held(run).is_some() {
            return None;
        }
        // Read anew: it may have been started, or have ended, since it was listed.
        let row = match self.registry.run(run.clone()).await {
            Ok(row) => row?,
            Err(error) => {
                tracing::error!(%run, %error, "a recorded run cannot be read");
                return Some(Outcome::Unsettled);
            }
        };
        let outcome = self.judge(&row, Mode::Act).await.outcome;
        drop(claim);
        outcome
    }

    /// The connection to a held run's keeper is lost without an ending. Nobody else judges it while it is held. Returns a
    /// new connection if the keeper answers; otherwise the run is over here.
    pub(crate) async fn look_after(self: &Arc<Self>, held: &Arc<Held>) -> Option<Link> {
        let run = &held.ticket.run_id;
        let mut pause = FIRST_PAUSE;
        loop {
            if let Ok(dir) = RunDir::open(&held.directory)
                && let Ok(link) =
                    Link::dial(&dir, Role::Holder { epoch: held.hold.epoch }, Some(self.as_holder())).await
            {
                return Some(link);
            }
            let outcome = match self.registry.run(run.clone()).await {
                Ok(Some(row)) => self.judge(&row, Mode::Act).await.outcome,
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
    pub(crate) async fn reap(
        self: &Arc<Self>,
        which: &Selector,
        dry_run: bool,
    ) -> Result<Vec<ReapLine>, Refusal> {
        let mut lines = Vec::new();
        if let Some(text) = &which.run {
            self.check_unique(text).await?;
        }
        let mode = if dry_run { Mode::Look } else { Mode::Act };
        for row in self.unfinished().await?.into_iter().filter(|row| is_meant(row, which)) {
            let claim = self.claim(&row.ticket.run_id);
            // One that is being settled at this moment is only looked at.
            let mode = if claim.is_some() { mode } else { Mode::Look };
            // Before the row: whoever lets go of a run has recorded its ending.
            if self.held(&row.ticket.run_id).is_some() {
                continue;
            }
            // Read anew: it may have been started, or have ended, since it was listed.
            let Some(row) = self.registry.run(row.ticket.run_id).await? else { continue };
            if row.state == State::Exited {
                continue;
            }
            let judged = self.judge(&row, mode).await;
            drop(claim);
            if judged.outcome == Some(Outcome::Unsettled) {
                let (daemon, run) = (Arc::clone(self), row.ticket.run_id.clone());
                tokio::spawn(async move { daemon.reconcile_run(&run).await });
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
    async fn check_unique(&self, text: &str) -> Result<(), Refusal> {
        match self.registry.find(text.to_owned(), 2).await?.len() {
            1 => Ok(()),
            0 => {
                Err(Refusal::no_such_run(format!("no run has the id {text:?}: `tenure ps --all` lists them")))
            }
            _ => Err(Refusal::ambiguous(format!(
                "several runs have ids that begin with {text}: write more of it"
            ))),
        }
    }

    async fn judge(self: &Arc<Self>, row: &RunRow, mode: Mode) -> Judged {
        let looked = match self.look(row, mode).await {
            // The record was lost or restored, and is older than the lease, so the keeper's epoch counts.
            Looked { ahead: Some(epoch), .. } if self.raise_epoch(row, epoch).await => {
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
        let outcome = self.act(row, &verdict, looked.link).await;
        self.tell_verdict(row, &verdict, &outcome).await;
        Judged { verdict, outcome: Some(outcome) }
    }

    /// Raises a run's epoch above its keeper's, so that the next sweep can take the run on.
    async fn raise_epoch(&self, row: &RunRow, above: u64) -> bool {
        let run = row.ticket.run_id.clone();
        match self.registry.raise_epoch(run, row.hold.clone(), above).await {
            Ok(raised) => raised.is_some(),
            Err(error) => {
                tracing::error!(run = %row.ticket.run_id, %error, "a run's epoch could not be raised");
                false
            }
        }
    }

    /// One event for each decision; the same one again is none.
    async fn tell_verdict(&self, row: &RunRow, verdict: &Verdict, outcome: &Outcome) {
        let run = &row.ticket.run_id;
        let (told, happened) = (verdict.to_string(), outcome.to_string());
        {
            let mut last = lock(&self.verdicts);
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
        self.tell_run(row, kind::RECONCILED, detail).await;
    }
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
    let session = ticket.session_id.as_deref();
    which.run.as_ref().is_none_or(|run| ticket.run_id.as_str().starts_with(run))
        && which.scope.as_ref().is_none_or(|scope| ticket.scope.as_ref() == Some(scope))
        && which.session.as_ref().is_none_or(|key| session == Some(key))
        && which.agent.as_ref().is_none_or(|agent| session.and_then(agent_of) == Some(agent))
}
