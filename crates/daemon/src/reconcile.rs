//! Recorded runs that this daemon does not hold: gathers the evidence, has `core` decide, and carries the verdict out.
//! Nothing is decided here. A steal is committed before anything else is done (I5), and each new verdict is told.

mod act;
mod evidence;

use crate::daemon::{Daemon, lock};
use crate::held::Held;
use crate::refusal::Refusal;
use act::Outcome;
use futures_util::stream::{self, StreamExt};
use std::sync::Arc;
use std::time::Duration;
use tenure_core::api::{ReapLine, Selector};
use tenure_core::ids::RunId;
use tenure_core::reconcile::{Verdict, decide};
use tenure_store::RunRow;

/// The pauses between two looks at a run that could not be settled.
const FIRST_PAUSE: Duration = Duration::from_millis(5);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// How many of our own runs are looked at side by side: a daemon that comes back is waited for.
const AT_ONCE: usize = 64;

impl Daemon {
    /// Settles every run that has not ended: those that are ours, and those whose owner is lost. Those that cannot be
    /// settled now are looked at again until they are.
    pub(crate) async fn reconcile_all(self: &Arc<Self>) {
        match self.registry.unfinished().await {
            Ok(rows) => {
                let rows = rows.into_iter().filter(|row| self.held(&row.ticket.run_id).is_none());
                let (ours, others): (Vec<_>, Vec<_>) =
                    rows.partition(|row| row.hold.instance == self.instance);
                stream::iter(ours).for_each_concurrent(AT_ONCE, |row| self.settle(row)).await;
                // One after the other: the first steal unseats the owner for all of its runs.
                for row in others {
                    self.settle(row).await;
                }
            }
            Err(error) => tracing::error!(%error, "the recorded runs cannot be read"),
        }
    }

    /// Settles one run.
    pub(crate) async fn reconcile_run(self: &Arc<Self>, run: &RunId) {
        if let Ok(Some(row)) = self.registry.run(run.clone()).await {
            self.settle(row).await;
        }
    }

    async fn settle(self: &Arc<Self>, row: RunRow) {
        if self.judge(&row, Mode::Act).await.outcome == Some(Outcome::Unsettled) {
            let daemon = Arc::clone(self);
            tokio::spawn(async move { daemon.keep_looking(&row.ticket.run_id, None).await });
        }
    }

    /// The connection to a held run's keeper is lost without an ending.
    pub(crate) async fn look_after(self: &Arc<Self>, held: &Arc<Held>) {
        self.keep_looking(&held.ticket.run_id, Some(held)).await;
    }

    /// Looks again and again until the run is settled, or this daemon leaves.
    async fn keep_looking(self: &Arc<Self>, run: &RunId, held: Option<&Arc<Held>>) {
        let mut pause = FIRST_PAUSE;
        loop {
            let row = match self.registry.run(run.clone()).await {
                Ok(Some(row)) => row,
                Ok(None) => return,
                Err(error) => {
                    tracing::error!(%run, %error, "a recorded run cannot be read");
                    tokio::time::sleep(LONGEST_PAUSE).await;
                    continue;
                }
            };
            match self.judge(&row, Mode::Act).await.outcome {
                Some(Outcome::Ended(ending)) => {
                    if let Some(held) = held {
                        held.ended(*ending);
                    }
                    return;
                }
                Some(Outcome::Held) => {
                    if let Some(held) = held {
                        held.let_go("its keeper was dialled anew".to_owned());
                    }
                    return;
                }
                Some(Outcome::NotOurs) | None => {
                    if let Some(held) = held {
                        held.let_go("another instance holds it, or it is gone".to_owned());
                    }
                    return;
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
        let mode = if dry_run { Mode::Look } else { Mode::Act };
        for row in self.registry.unfinished().await? {
            if !is_meant(&row, which) || self.held(&row.ticket.run_id).is_some() {
                continue;
            }
            let judged = self.judge(&row, mode).await;
            lines.push(ReapLine {
                run_id: row.ticket.run_id.clone(),
                verdict: judged.verdict.name().to_owned(),
                evidence: judged.verdict.to_string(),
                outcome: judged.outcome.map(|outcome| outcome.to_string()),
            });
        }
        Ok(lines)
    }

    async fn judge(self: &Arc<Self>, row: &RunRow, mode: Mode) -> Judged {
        let looked = self.look(row).await;
        let verdict = decide(&looked.case);
        if mode == Mode::Look {
            return Judged { verdict, outcome: None };
        }
        let outcome = self.act(row, &verdict, looked.link).await;
        self.tell_verdict(row, &verdict, &outcome).await;
        Judged { verdict, outcome: Some(outcome) }
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
                Outcome::Unsettled => last.insert(run.clone(), told.clone()),
                Outcome::Ended(_) | Outcome::Held | Outcome::NotOurs => last.remove(run),
            };
        }
        tracing::info!(%run, verdict = verdict.name(), evidence = told, outcome = happened, "reconciled");
        let detail = serde_json::json!({"verdict": verdict.name(), "evidence": told, "outcome": happened});
        self.tell_run(row, "reconciled", detail).await;
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

/// The agent that a session's key names: `agent:<name>:…`.
pub(crate) fn agent_of(session: &str) -> Option<&str> {
    session.strip_prefix("agent:")?.split(':').next()
}
