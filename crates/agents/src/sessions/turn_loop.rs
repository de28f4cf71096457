//! Carrying out turns. A session has one turn at a time, each a run of its own, and what waits comes after it. The id of
//! the run is noted before there is a run, so that the next daemon goes on with the same turn, whatever happened.

use super::cli_turn::Stopped;
use crate::Agents;
use crate::acp::turn;
use crate::sessions::cli_turn;
use crate::sessions::pending_closes;
use std::sync::Arc;
use std::time::Duration;
use tenure_core::session::SessionKey;
use tenure_os::{clock, pause};
use tenure_store::{Outcome, Side, Turn, TurnEnd};
use tokio::sync::watch;
use tokio::time::sleep;

/// The pause before something is tried again that the registry did not take.
const PAUSE: Duration = Duration::from_millis(500);
/// How many earlier turns are looked at for an answer.
const EARLIER: usize = 50;

impl Agents {
    /// Goes on with what an earlier daemon left: turns under way, messages that wait, and sessions that were being closed or
    /// are over.
    pub async fn go_on_with_sessions(self: &Arc<Self>) {
        match self.supervisor.registry.running_turns(self.supervisor.instance.clone()).await {
            Ok(turns) => turns.into_iter().for_each(|turn| carry_on(self, turn)),
            Err(error) => tracing::error!(%error, "the turns under way cannot be read"),
        }
        match self.supervisor.registry.waiting_sessions(self.supervisor.instance.clone()).await {
            Ok(sessions) => {
                for key in sessions {
                    take_up(self, &key).await;
                }
            }
            Err(error) => tracing::error!(%error, "the sessions that wait cannot be read"),
        }
        pending_closes::end_oneshots(self).await;
        self.go_on_closing().await;
    }
}

/// Carries out a turn that has begun, and those that wait after it.
pub(crate) fn carry_on(agents: &Arc<Agents>, turn: Turn) {
    let agents = Arc::clone(agents);
    // Whoever closes the session from now on sees that somebody carries it out.
    let cancelled = agents.turns.take_on(&turn.asked.id);
    agents.turns.something_changed();
    tokio::spawn(async move { carry(&agents, turn, cancelled).await });
}

async fn carry(agents: &Arc<Agents>, first: Turn, cancelled: watch::Receiver<bool>) {
    let key = first.asked.session.clone();
    let mut next = Some((first, cancelled));
    while let Some((turn, cancelled)) = next.take() {
        let ended = carry_out(agents, &turn, cancelled).await;
        agents.turns.put_down(&turn.asked.id);
        if !ended || agents.supervisor.lifecycle.is_draining() {
            return;
        }
        pause::point("daemon-turn-ended");
        let following = next_turn(agents, &key).await;
        next = following.map(|turn| {
            let cancelled = agents.turns.take_on(&turn.asked.id);
            (turn, cancelled)
        });
    }
    pending_closes::end_oneshot(agents, &key).await;
}

/// The next message of a session, as its turn.
pub(crate) async fn next_turn(agents: &Agents, key: &SessionKey) -> Option<Turn> {
    loop {
        // Whoever has a message wait after this look takes it up.
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
                tracing::error!(session = %key, error, "what waits for a session cannot be read");
                sleep(PAUSE).await;
            }
            Err(_) => return None,
        }
    }
}

/// Carries out one turn; says whether it has ended.
async fn carry_out(agents: &Arc<Agents>, turn: &Turn, cancelled: watch::Receiver<bool>) -> bool {
    let mut end = match cli_turn::see_through(agents, turn, cancelled).await {
        Ok(end) | Err(Stopped::Ended(end)) => end,
        Err(Stopped::Left) => return false,
    };
    doubt_conversation(agents, turn, &mut end).await;
    pause::point("daemon-before-turn-end");
    loop {
        match agents.supervisor.registry.end_turn(turn.asked.id.clone(), end.clone()).await {
            Ok(_) => break,
            Err(error) => {
                tracing::error!(turn = %turn.asked.id, %error, "the registry did not take the end of a turn");
                sleep(PAUSE).await;
            }
        }
    }
    agents.supervisor.events.notify_followers();
    turn::a_turn_changed(agents, &turn.asked.session);
    true
}

/// An agent that was to go on with a conversation and said nothing at all may not know it any more. One in which nothing
/// was ever answered is begun anew; of any other, somebody has to decide.
async fn doubt_conversation(agents: &Agents, turn: &Turn, end: &mut TurnEnd) {
    // One that goes on says so itself.
    let says_nothing = end.stop.is_none() && end.resume.is_none() && end.text.is_none();
    let key = &turn.asked.session;
    let (true, Ok(Some(session))) = (
        says_nothing && end.outcome == Outcome::Failed,
        agents.supervisor.registry.session(key.clone()).await,
    ) else {
        return;
    };
    if session.resume.is_some() {
        let advice = doubted(agents, key).await;
        let error = end.error.get_or_insert_default();
        *error = format!("{error}; {advice}");
    }
}

/// What is to be done about a conversation that an agent may not know any more.
async fn doubted(agents: &Agents, key: &SessionKey) -> &'static str {
    let newest = Side::Before(u64::MAX);
    let page = agents.supervisor.registry.turns(key.clone(), newest, EARLIER, u64::MAX).await;
    let was_answered =
        page.map_or(true, |page| page.next.is_some() || page.turns.iter().any(|turn| turn.text.is_some()));
    if !was_answered && agents.supervisor.registry.set_resume(key.clone(), None).await.is_ok() {
        "nothing was answered in its conversation before, so the next turn begins a new one"
    } else {
        "if the agent does not know its conversation any more, spawn a new session"
    }
}

/// Begins the next turn of a session, if it is idle and something waits for it.
pub(crate) async fn take_up(agents: &Arc<Agents>, key: &SessionKey) {
    if let Some(turn) = next_turn(agents, key).await {
        carry_on(agents, turn);
    }
}
