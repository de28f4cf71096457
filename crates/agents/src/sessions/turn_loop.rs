//! Runs the turns of a session one after another: the running one, then the queued messages. The id of a turn's run is
//! recorded before the run starts, so that the next daemon continues the same turn.

use super::cli_turn::TurnStop;
use crate::Agents;
use crate::acp::acp_turn;
use crate::sessions::cli_turn;
use crate::sessions::pending_closes;
use std::sync::Arc;
use std::time::Duration;
use tenure_core::session::SessionKey;
use tenure_os::{clock, pause};
use tenure_store::{Outcome, Side, Turn, TurnEnd};
use tokio::sync::watch;
use tokio::time::sleep;

/// Delay before a write that the registry refused is retried.
const RETRY_DELAY: Duration = Duration::from_millis(500);
/// Maximum number of earlier turns to search for an answer.
const SEARCHED_TURNS: usize = 50;

impl Agents {
    /// Continues the work of an earlier daemon: running turns, queued messages, and closes.
    pub async fn resume_sessions(self: &Arc<Self>) {
        match self.supervisor.registry.running_turns(self.supervisor.instance.clone()).await {
            Ok(turns) => turns.into_iter().for_each(|turn| start_turns(self, turn)),
            Err(error) => tracing::error!(%error, "running turns not readable"),
        }
        match self.supervisor.registry.waiting_sessions(self.supervisor.instance.clone()).await {
            Ok(sessions) => {
                for key in sessions {
                    start_next_turn(self, &key).await;
                }
            }
            Err(error) => tracing::error!(%error, "sessions with queued messages not readable"),
        }
        pending_closes::end_oneshots(self).await;
        self.resume_closes().await;
    }
}

/// Runs a turn that has begun, and the queued messages after it.
pub(crate) fn start_turns(agents: &Arc<Agents>, turn: Turn) {
    let agents = Arc::clone(agents);
    // A close from now on sees that a task carries it out.
    let cancelled = agents.turns.register(&turn.asked.id);
    agents.turns.notify_waiters();
    tokio::spawn(async move { run_turns(&agents, turn, cancelled).await });
}

async fn run_turns(agents: &Arc<Agents>, first: Turn, cancelled: watch::Receiver<bool>) {
    let key = first.asked.session.clone();
    let mut next = Some((first, cancelled));
    while let Some((turn, cancelled)) = next.take() {
        let ended = run_and_record(agents, &turn, cancelled).await;
        agents.turns.remove(&turn.asked.id);
        if !ended || agents.supervisor.lifecycle.is_draining() {
            return;
        }
        pause::point("daemon-turn-ended");
        let following = next_turn(agents, &key).await;
        next = following.map(|turn| {
            let cancelled = agents.turns.register(&turn.asked.id);
            (turn, cancelled)
        });
    }
    pending_closes::end_oneshot(agents, &key).await;
}

/// Begins a turn with the next message of a session.
pub(crate) async fn next_turn(agents: &Agents, key: &SessionKey) -> Option<Turn> {
    loop {
        // A message that is queued after this query begins its turn itself.
        match agents.supervisor.registry.messages(key.clone()).await {
            Ok(waiting) if waiting.is_empty() => return None,
            Ok(_) | Err(_) => {}
        }
        match agents
            .supervisor
            .registry
            .take_message(key.clone(), agents.supervisor.instance.clone(), clock::unix_ms())
            .await
        {
            Ok(turn) => return turn,
            Err(tenure_store::Failed::Unavailable(error)) if !agents.supervisor.lifecycle.is_draining() => {
                tracing::error!(session = %key, error, "queued messages not readable, retrying");
                sleep(RETRY_DELAY).await;
            }
            Err(_) => return None,
        }
    }
}

/// Runs one turn. Returns false if it has not ended, because the daemon exits.
async fn run_and_record(agents: &Arc<Agents>, turn: &Turn, cancelled: watch::Receiver<bool>) -> bool {
    let mut end = match cli_turn::run_turn(agents, turn, cancelled).await {
        Ok(end) | Err(TurnStop::Ended(end)) => end,
        Err(TurnStop::DaemonExits) => return false,
    };
    advise_after_failed_resume(agents, turn, &mut end).await;
    pause::point("daemon-before-turn-end");
    loop {
        match agents.supervisor.registry.end_turn(turn.asked.id.clone(), end.clone()).await {
            Ok(_) => break,
            Err(error) => {
                tracing::error!(turn = %turn.asked.id, %error, "end of a turn not recorded, retrying");
                sleep(RETRY_DELAY).await;
            }
        }
    }
    agents.supervisor.events.notify_followers();
    acp_turn::notify_turn_change(agents, &turn.asked.session);
    true
}

/// Adds advice to a turn that failed without any output while resuming the agent's session: the agent may not know that
/// session any more. If nothing was ever answered in it, the next turn creates a new one.
async fn advise_after_failed_resume(agents: &Agents, turn: &Turn, end: &mut TurnEnd) {
    // An agent that resumes its session reports its id.
    let says_nothing = end.stop.is_none() && end.resume.is_none() && end.text.is_none();
    let key = &turn.asked.session;
    let (true, Ok(Some(session))) = (
        says_nothing && end.outcome == Outcome::Failed,
        agents.supervisor.registry.session(key.clone()).await,
    ) else {
        return;
    };
    if session.resume.is_some() {
        let advice = resume_advice(agents, key).await;
        let error = end.error.get_or_insert_default();
        *error = format!("{error}; {advice}");
    }
}

/// Forgets an agent session without any answer; returns the advice.
async fn resume_advice(agents: &Agents, key: &SessionKey) -> &'static str {
    let newest = Side::Before(u64::MAX);
    let page = agents.supervisor.registry.turns(key.clone(), newest, SEARCHED_TURNS, u64::MAX).await;
    let was_answered =
        page.map_or(true, |page| page.next.is_some() || page.turns.iter().any(|turn| turn.text.is_some()));
    if !was_answered && agents.supervisor.registry.set_resume(key.clone(), None).await.is_ok() {
        "the agent has answered nothing in this conversation, so the next turn begins a new one"
    } else {
        "if the agent has lost its conversation, spawn a new session"
    }
}

/// Begins the next turn of a session, if it is idle and a message is queued.
pub(crate) async fn start_next_turn(agents: &Arc<Agents>, key: &SessionKey) {
    if let Some(turn) = next_turn(agents, key).await {
        start_turns(agents, turn);
    }
}
