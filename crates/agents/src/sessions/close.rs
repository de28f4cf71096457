//! Closes a session: marks it and everything proven to be below it, so that nothing new begins there, and then ends their
//! runs, children first. The marks are on disk: the next daemon continues where this one was killed.

use super::authorize::Asker;
use super::call::CloseCall;
use crate::Agents;
use crate::acp::adapter_stop;
use crate::sessions::legacy_close;
use crate::sessions::query;
use futures_util::future::join_all;
use std::sync::Arc;
use std::time::Duration;
use tenure_core::api::Selector;
use tenure_core::ids::RunId;
use tenure_core::problem::Code;
use tenure_core::session::{Closing, LeftAlone, SessionKey, SessionRow, SessionState, close_order};
use tenure_core::state::State;
use tenure_core::tools::sessions::{ClosedJson, SessionsReply};
use tenure_os::{clock, pause};
use tenure_store::{Move, Outcome, Query, RunRow, TurnEnd};
use tenure_supervisor::Refusal;
use tenure_supervisor::Requester;
use tokio::time::{Instant, timeout_at};

/// Maximum number of rounds until nothing new begins below a session.
const MARK_ROUNDS: usize = 100;
/// Time limit for the end of a session's runs, beyond their grace.
const END_LIMIT: Duration = Duration::from_secs(30);
/// Delay before a cancel is retried.
const CANCEL_RETRY: Duration = Duration::from_millis(500);
/// Maximum number of runs to read at a time.
const BATCH: usize = 500;

/// The reason of a close, and its extent.
#[derive(Debug, Clone)]
pub struct CloseReason {
    /// The reason, for people.
    pub reason: Option<String>,
    /// True to remove the session's record, too.
    pub discard: bool,
}

impl Agents {
    /// Closes a session and all that it owns.
    pub async fn close_session(
        self: &Arc<Self>,
        key: &SessionKey,
        why: &CloseReason,
    ) -> Result<ClosedJson, Refusal> {
        let (levels, left) = mark(self, key, why).await?;
        pause::point("daemon-sessions-marked");
        let mut closed = ClosedJson { left, ..ClosedJson::default() };
        if levels.is_empty() {
            // A session that was closed before: the second caller gets the same answer.
            closed.unconfirmed = unconfirmed_runs_of(self, key).await?;
        }
        for level in levels {
            // Siblings end together; their parent after all of them.
            for ended in join_all(level.iter().map(|key| end_session(self, key))).await {
                let (runs, unconfirmed) = ended?;
                closed.runs.extend(runs);
                closed.unconfirmed.extend(unconfirmed);
            }
            for key in level {
                closed.processes.extend(legacy_close::end_legacy(self, &key).await?);
                record_closed(self, &key, why).await?;
                pause::point("daemon-session-closed");
                closed.closed.push(key);
            }
        }
        if why.discard {
            self.supervisor.registry.forget_session(key.clone()).await?;
        }
        self.supervisor.events.notify_followers();
        Ok(closed)
    }
}

/// Closes a session for a requester.
pub(crate) async fn close(
    agents: &Arc<Agents>,
    CloseCall { session, reason, discard }: CloseCall,
    asker: &Asker,
) -> Result<SessionsReply, Refusal> {
    let session = agents.owned(&session, asker).await?;
    let reason = reason.unwrap_or_else(|| format!("closed by {}", asker.about));
    let why = CloseReason { reason: Some(reason), discard };
    let closed = agents.close_session(&session.row.key, &why).await?;
    Ok(SessionsReply { closed: Some(closed), ..SessionsReply::default() })
}

/// Marks a session and all sessions below it as closing, from the top: a marked session gets no children, no runs and no
/// messages any more. Returns the sessions by depth, the deepest first, and those that were left alone.
async fn mark(
    agents: &Agents,
    key: &SessionKey,
    why: &CloseReason,
) -> Result<(Vec<Vec<SessionKey>>, Vec<LeftAlone>), Refusal> {
    for _ in 0..MARK_ROUNDS {
        let family = agents.supervisor.registry.descendants(key.clone()).await?;
        for unreadable in &family.unreadable {
            tracing::warn!(session = unreadable.key, why = unreadable.why, "session left alone");
        }
        let Closing { order, left } = close_order(&family.rows, key);
        let row_of = |key: &SessionKey| family.rows.iter().find(|row| row.key == *key);
        let rows: Vec<&SessionRow> = order.iter().filter_map(row_of).collect();
        if !rows.iter().any(|row| row.state.is_open()) {
            let levels = rows.chunk_by(|one, next| one.lineage.len() == next.lineage.len());
            let keys = |level: &[&SessionRow]| level.iter().map(|row| row.key.clone()).collect();
            return Ok((levels.map(keys).collect(), left));
        }
        for row in rows.into_iter().rev().filter(|row| row.state.is_open()) {
            let (at_ms, reason) = (clock::unix_ms(), why.reason.clone());
            let step = Move { from: row.state, to: SessionState::Closing, at_ms, reason };
            // A session that became busy or idle meanwhile is marked in the next round.
            agents.supervisor.registry.advance_session(row.key.clone(), step).await?;
        }
        agents.supervisor.events.notify_followers();
    }
    Err(Refusal::wrong_state(format!("session {key} keeps getting new children: close it again")))
}

/// Ends the turn and the runs of a session, and waits for their end. Returns the runs, and those of which some process is
/// not known to be gone.
async fn end_session(agents: &Arc<Agents>, key: &SessionKey) -> Result<(Vec<RunId>, Vec<RunId>), Refusal> {
    let deadline = Instant::now() + agents.supervisor.settings.run.grace + END_LIMIT;
    adapter_stop::close_conversation(agents, key).await;
    if let Some(turn) = agents.supervisor.registry.active_turn(key.clone()).await? {
        agents.turns.cancel(&turn.asked.id);
    }
    agents.approvals.close_questions(key.as_str(), "its session is closed").await?;
    let who = Requester::Operator { about: format!("session {key} is closed") };
    let which = Selector { session: Some(key.to_string()), ..Selector::default() };
    let (mut ended, mut unconfirmed) = (Vec::new(), Vec::new());
    loop {
        let live = query::live_runs_of(agents, key, BATCH).await?;
        if live.is_empty() {
            break;
        }
        // A run whose keeper was killed cannot be cancelled: reconciliation ends it.
        let refused = agents.supervisor.cancel_many(&which, false, &who).await.err();
        let is_elsewhere = |refusal: &Refusal| refusal.code == Code::HeldByAnotherInstance;
        if let Some(refusal) = refused.as_ref().filter(|refusal| is_elsewhere(refusal)) {
            return Err(refusal.clone());
        }
        let again = if refused.is_some() { deadline.min(Instant::now() + CANCEL_RETRY) } else { deadline };
        for run in live {
            match agents.supervisor.wait(&run, Some(again)).await?.ending {
                Some(ending) if ending.termination.confirmed => ended.push(run),
                Some(_) => {
                    unconfirmed.push(run.clone());
                    ended.push(run);
                }
                None if Instant::now() < deadline => {}
                None => return Err(refused.unwrap_or_else(|| still_ending(key))),
            }
        }
    }
    await_end_of_turn(agents, key, deadline).await?;
    adapter_stop::end_talks(agents, key).await?;
    for run in unconfirmed_runs_of(agents, key).await? {
        if !unconfirmed.contains(&run) {
            unconfirmed.push(run);
        }
    }
    Ok((ended, unconfirmed))
}

/// Returns the last ended runs of a session of which some process is not known to be gone.
async fn unconfirmed_runs_of(agents: &Agents, key: &SessionKey) -> Result<Vec<RunId>, Refusal> {
    let query = Query {
        states: vec![State::Exited],
        session: Some(key.to_string()),
        scope: None,
        agent: None,
        after: None,
        limit: BATCH,
    };
    let page = agents.supervisor.registry.runs(query).await?;
    let is_doubtful = |row: &RunRow| row.ending.as_ref().is_some_and(|ending| !ending.termination.confirmed);
    Ok(page.runs.into_iter().filter(is_doubtful).map(|row| row.ticket.run_id).collect())
}

/// Waits until a session has no running turn. A turn that no task carries out is ended as lost.
async fn await_end_of_turn(agents: &Agents, key: &SessionKey, deadline: Instant) -> Result<(), Refusal> {
    let mut changed = agents.turns.watch();
    loop {
        changed.borrow_and_update();
        let Some(turn) = agents.supervisor.registry.active_turn(key.clone()).await? else { return Ok(()) };
        if !agents.turns.cancel(&turn.asked.id) {
            let outcome = if turn.run.is_some() { Outcome::Lost } else { Outcome::Cancelled };
            let (at_ms, error) = (clock::unix_ms(), Some("its session was closed".to_owned()));
            let end = TurnEnd { outcome, at_ms, stop: None, text: None, error, resume: None };
            agents.supervisor.registry.end_turn(turn.asked.id.clone(), end).await?;
            agents.turns.remove(&turn.asked.id);
            continue;
        }
        if timeout_at(deadline, changed.changed()).await.is_err() {
            return Err(still_ending(key));
        }
    }
}

/// Records that a session is closed, once everything that it owned is gone.
async fn record_closed(agents: &Agents, key: &SessionKey, why: &CloseReason) -> Result<(), Refusal> {
    let (at_ms, reason) = (clock::unix_ms(), why.reason.clone());
    let step = Move { from: SessionState::Closing, to: SessionState::Closed, at_ms, reason };
    // Another close may have been faster.
    agents.supervisor.registry.advance_session(key.clone(), step).await?;
    agents.caller_envs.forget_session(key);
    agents.turns.notify_waiters();
    Ok(())
}

fn still_ending(key: &SessionKey) -> Refusal {
    Refusal::wrong_state(format!(
        "session {key} still has live runs: it stays closing, and Tenure retries; `tenure ps --session {key}` lists \
         them"
    ))
}
