//! The rules of sessions, without processes: the tests act as the keepers of the turns' runs.

mod cancelling;
mod queue;
mod turn_loop;
mod visibility;

use crate::fixture::{DEADLINE, FakeKeeper, TestAgents, eventually, exited, soon};
use serde_json::{Value, json};
use tenure_core::ids::TurnId;
use tenure_core::tools::sessions::{SessionJson, TurnJson};
use tenure_store::{Outcome, Turn, TurnState};
use tenure_supervisor::Refusal;

/// A session of commands.
const SHELL: &str = "shell";
/// A session of an agent that is given its prompt on standard input.
const AGENT: &str = "agent:claude:main";

impl TestAgents {
    /// Makes a session of commands.
    async fn spawn_shell(&self, key: &str) {
        self.ask(json!({"action": "spawn", "sessionKey": key, "backend": "exec"})).await.expect("spawned");
    }

    /// Makes a session of the agent.
    async fn spawn_agent(&self) {
        let spawn = json!({"action": "spawn", "sessionKey": AGENT, "agent": "claude", "backend": "cli"});
        self.ask(spawn).await.expect("spawned");
    }

    /// Sends a message, and returns its turn's id, how it is delivered and how many are ahead of it.
    async fn send(&self, key: &str, text: &str) -> (TurnId, String, u64) {
        self.send_with(key, text, "queue").await.expect("sent")
    }

    async fn send_with(
        &self,
        key: &str,
        text: &str,
        when_busy: &str,
    ) -> Result<(TurnId, String, u64), Refusal> {
        let message = json!({"action": "send", "sessionKey": key, "text": text, "whenBusy": when_busy});
        let sent = self.ask(message).await?.sent.expect("what became of it");
        let delivery = serde_json::to_value(sent.delivery).expect("a word");
        Ok((sent.turn_id, delivery.as_str().expect("a word").to_owned(), sent.ahead))
    }

    /// Waits for the end of a turn.
    async fn end_of(&self, key: &str, turn: &TurnId) -> TurnJson {
        let wait = u64::try_from(DEADLINE.as_millis()).expect("a time");
        let wait = json!({"action": "wait", "sessionKey": key, "turnId": turn, "timeoutMs": wait});
        let turn = self.ask(wait).await.expect("an answer").turn.expect("a turn that has begun");
        assert_ne!(turn.state, TurnState::Running, "it ends before the deadline");
        turn
    }

    async fn status_of(&self, key: &str) -> SessionJson {
        let asked = json!({"action": "status", "sessionKey": key});
        self.ask(asked).await.expect("an answer").session.expect("a session")
    }

    /// The turn of a session that is under way, as the registry has it.
    async fn active(&self, key: &str) -> Turn {
        let active =
            self.supervisor.registry.active_turn(key.parse().expect("a key")).await.expect("a registry");
        active.expect("a turn under way")
    }

    /// The keeper of the next turn's run, whose command executes.
    async fn next_turn_keeper(&self) -> FakeKeeper {
        let keeper = self.next_keeper().await;
        keeper.start();
        keeper
    }

    async fn is_queued(&self, length: usize) {
        eventually("that it waits for a place", async || self.supervisor.starts.admission.queued() == length)
            .await;
    }
}

/// The command line of a keeper's run.
fn line_of(keeper: &FakeKeeper) -> &str {
    keeper.ticket.command.last().map(String::as_str).unwrap_or_default()
}

/// Returns the output of an agent that answers.
fn answer_of_agent(session: &str, text: &str) -> String {
    let lines = [
        json!({"type": "system", "subtype": "init", "session_id": session}),
        json!({"type": "result", "is_error": false, "result": text}),
    ];
    lines.iter().map(|line| format!("{line}\n")).collect()
}
