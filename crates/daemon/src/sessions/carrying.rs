//! Carrying out turns. A session has one turn at a time, each a run of its own, and what waits comes after it. The id of
//! the run is noted before there is a run, so that the next daemon goes on with the same turn, whatever happened.

use super::running::Stopped;
use crate::daemon::Daemon;
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

impl Daemon {
    /// Carries out a turn that has begun, and those that wait after it.
    pub(super) fn carry_on(self: &Arc<Self>, turn: Turn) {
        let daemon = Arc::clone(self);
        // Whoever closes the session from now on sees that somebody carries it out.
        let cancelled = self.turns.take_on(&turn.asked.id);
        self.turns.something_changed();
        tokio::spawn(async move { daemon.carry(turn, cancelled).await });
    }

    async fn carry(self: &Arc<Self>, first: Turn, cancelled: watch::Receiver<bool>) {
        let key = first.asked.session.clone();
        let mut next = Some((first, cancelled));
        while let Some((turn, cancelled)) = next.take() {
            let ended = self.carry_out(&turn, cancelled).await;
            self.turns.put_down(&turn.asked.id);
            if !ended || self.is_draining() {
                return;
            }
            pause::point("daemon-turn-ended");
            let following = self.next_turn(&key).await;
            next = following.map(|turn| {
                let cancelled = self.turns.take_on(&turn.asked.id);
                (turn, cancelled)
            });
        }
        self.end_oneshot(&key).await;
    }

    /// The next message of a session, as its turn.
    pub(super) async fn next_turn(&self, key: &SessionKey) -> Option<Turn> {
        loop {
            // Whoever has a message wait after this look takes it up.
            match self.registry.messages(key.clone()).await {
                Ok(waiting) if waiting.is_empty() => return None,
                Ok(_) | Err(_) => {}
            }
            match self.registry.take_message(key.clone(), self.instance.clone(), clock::unix_ms()).await {
                Ok(turn) => return turn,
                Err(tenure_store::Failed::Unavailable(error)) if !self.is_draining() => {
                    tracing::error!(session = %key, error, "what waits for a session cannot be read");
                    sleep(PAUSE).await;
                }
                Err(_) => return None,
            }
        }
    }

    /// Carries out one turn; says whether it has ended.
    async fn carry_out(self: &Arc<Self>, turn: &Turn, cancelled: watch::Receiver<bool>) -> bool {
        let mut end = match self.see_through(turn, cancelled).await {
            Ok(end) | Err(Stopped::Ended(end)) => end,
            Err(Stopped::Left) => return false,
        };
        self.doubt_conversation(turn, &mut end).await;
        pause::point("daemon-before-turn-end");
        loop {
            match self.registry.end_turn(turn.asked.id.clone(), end.clone()).await {
                Ok(_) => break,
                Err(error) => {
                    tracing::error!(turn = %turn.asked.id, %error, "the registry did not take the end of a turn");
                    sleep(PAUSE).await;
                }
            }
        }
        self.something_happened();
        self.a_turn_changed(&turn.asked.session);
        true
    }

    /// An agent that was to go on with a conversation and said nothing at all may not know it any more. One in which nothing
    /// was ever answered is begun anew; of any other, somebody has to decide.
    async fn doubt_conversation(&self, turn: &Turn, end: &mut TurnEnd) {
        // One that goes on says so itself.
        let says_nothing = end.stop.is_none() && end.resume.is_none() && end.text.is_none();
        let key = &turn.asked.session;
        let (true, Ok(Some(session))) =
            (says_nothing && end.outcome == Outcome::Failed, self.registry.session(key.clone()).await)
        else {
            return;
        };
        if session.resume.is_some() {
            let advice = self.doubted(key).await;
            let error = end.error.get_or_insert_default();
            *error = format!("{error}; {advice}");
        }
    }

    /// What is to be done about a conversation that an agent may not know any more.
    async fn doubted(&self, key: &SessionKey) -> &'static str {
        let newest = Side::Before(u64::MAX);
        let page = self.registry.turns(key.clone(), newest, EARLIER, u64::MAX).await;
        let was_answered = page
            .map_or(true, |page| page.next.is_some() || page.turns.iter().any(|turn| turn.text.is_some()));
        if !was_answered && self.registry.set_resume(key.clone(), None).await.is_ok() {
            "nothing was answered in its conversation before, so the next turn begins a new one"
        } else {
            "if the agent does not know its conversation any more, spawn a new session"
        }
    }

    /// Goes on with what an earlier daemon left: turns under way, messages that wait, and sessions that were being closed or
    /// are over.
    pub(crate) async fn go_on_with_sessions(self: &Arc<Self>) {
        match self.registry.running_turns(self.instance.clone()).await {
            Ok(turns) => turns.into_iter().for_each(|turn| self.carry_on(turn)),
            Err(error) => tracing::error!(%error, "the turns under way cannot be read"),
        }
        match self.registry.waiting_sessions(self.instance.clone()).await {
            Ok(sessions) => {
                for key in sessions {
                    self.take_up(&key).await;
                }
            }
            Err(error) => tracing::error!(%error, "the sessions that wait cannot be read"),
        }
        self.end_oneshots().await;
        self.go_on_closing().await;
    }

    /// Begins the next turn of a session, if it is idle and something waits for it.
    pub(super) async fn take_up(self: &Arc<Self>, key: &SessionKey) {
        if let Some(turn) = self.next_turn(key).await {
            self.carry_on(turn);
        }
    }
}
