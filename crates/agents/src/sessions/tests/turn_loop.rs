//! Turns run one at a time, each in its own run, whose id is recorded before it starts.

use super::*;
use crate::fixture::{cancelled, command};
use tenure_core::ending::{Reason, Termination};
use tenure_core::ids::RunId;
use tenure_core::problem::Code;
use tenure_core::session::{Backend, SessionState};
use tenure_core::wire::KeeperRequest;
use tenure_os::clock;
use tenure_store::NewTurn;

#[tokio::test(flavor = "multi_thread")]
async fn the_run_of_a_turn_is_noted_before_it_is_recorded_or_launched() {
    let agents = TestAgents::with(|settings| settings.runs.max = Some(1)).await;
    let first = agents.running(command("first")).await;
    agents.spawn_shell(SHELL).await;
    agents.send(SHELL, "echo one").await;
    agents.is_queued(1).await;
    let noted = agents.active(SHELL).await.run.expect("its run's id");
    assert_eq!(agents.supervisor.registry.run(noted.clone()).await.expect("a registry"), None);
    assert!(!agents.has_launch());
    first.end(exited(0));
    assert_eq!(agents.next_keeper().await.ticket.run_id, noted);
}

/// A turn that an earlier daemon began, and whose run it noted.
async fn begun_before(agents: &TestAgents) -> (TurnId, RunId) {
    agents.spawn_shell(SHELL).await;
    let id = TurnId::from_random([1; 12]);
    let (session, at_ms) = (SHELL.parse().expect("a key"), clock::unix_ms());
    let (message, asked_by) = ("echo one".to_owned(), "a test".to_owned());
    let new = NewTurn { id: id.clone(), session, message, asked_by, sent_at_ms: at_ms };
    let run = RunId::from_random([2; 12]);
    agents
        .supervisor
        .registry
        .begin_turn(new, None, agents.supervisor.instance.clone(), at_ms)
        .await
        .expect("begun");
    assert!(agents.supervisor.registry.set_turn_run(id.clone(), run.clone()).await.expect("noted"));
    (id, run)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_that_an_earlier_daemon_noted_is_started_under_the_noted_id() {
    let agents = TestAgents::new().await;
    let (turn, run) = begun_before(&agents).await;
    agents.resume_sessions().await;
    let keeper = agents.next_turn_keeper().await;
    assert_eq!(keeper.ticket.run_id, run);
    keeper.end(exited(0));
    assert_eq!(agents.end_of(SHELL, &turn).await.state, TurnState::Done);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_whose_run_an_earlier_daemon_started_is_not_started_again() {
    let agents = TestAgents::new().await;
    let (turn, run) = begun_before(&agents).await;
    let mut asked = command("begun before");
    (asked.run_id, asked.backend) = (Some(run), Backend::Exec);
    let mut keeper = agents.running(asked).await;
    agents.resume_sessions().await;
    keeper.print("one\n");
    keeper.end(exited(0));
    let turn = agents.end_of(SHELL, &turn).await;
    assert_eq!((turn.state, turn.text.as_deref()), (TurnState::Done, Some("one\n")));
    assert!(!agents.has_launch());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_gets_the_message_on_its_standard_input_from_the_beginning_to_the_end() {
    let agents = TestAgents::new().await;
    agents.spawn_agent().await;
    let (turn, ..) = agents.send(AGENT, "paint the fence").await;
    let mut keeper = agents.next_turn_keeper().await;
    let given = keeper.next_ask().await;
    assert_eq!(given, (KeeperRequest::Stdin { offset: 0, eof: false }, b"paint the fence".to_vec()));
    assert_eq!(keeper.next_ask().await, (KeeperRequest::Stdin { offset: 15, eof: true }, Vec::new()));
    keeper.print(&answer_of_agent("talk-1", "painted"));
    keeper.end(exited(0));
    let turn = agents.end_of(AGENT, &turn).await;
    assert_eq!((turn.state, turn.text.as_deref()), (TurnState::Done, Some("painted")), "{:?}", turn.error);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_next_turn_goes_on_with_the_conversation_in_its_scope() {
    let agents = TestAgents::new().await;
    agents.spawn_agent().await;
    let (first, ..) = agents.send(AGENT, "one").await;
    let mut keeper = agents.next_turn_keeper().await;
    assert_eq!(keeper.ticket.options.scope, None, "there is no conversation yet");
    keeper.print(&answer_of_agent("talk-1", "said"));
    keeper.end(exited(0));
    agents.end_of(AGENT, &first).await;
    assert_eq!(agents.status_of(AGENT).await.agent_session_id.as_deref(), Some("talk-1"));
    agents.send(AGENT, "two").await;
    let keeper = agents.next_turn_keeper().await;
    assert_eq!(keeper.ticket.options.scope.as_deref(), Some("cli:claude:talk-1"));
    let words = &keeper.ticket.command;
    assert!(words.windows(2).any(|pair| pair == ["--resume", "talk-1"]), "{words:?}");
    assert_eq!(
        (keeper.ticket.options.session_id.as_deref(), keeper.ticket.backend_id.as_str()),
        (Some(AGENT), "cli")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_ends_as_its_run_did() {
    let agents = TestAgents::new().await;
    agents.spawn_shell(SHELL).await;
    let ended = |reason| Termination::new(reason, None, None);
    for (termination, state) in [
        (exited(0), Outcome::Done),
        (exited(3), Outcome::Failed),
        (ended(Reason::Signal), Outcome::Failed),
        (ended(Reason::SpawnError), Outcome::Failed),
        (cancelled(), Outcome::Cancelled),
        (ended(Reason::OverallTimeout), Outcome::TimedOut),
        (ended(Reason::NoOutputTimeout), Outcome::TimedOut),
        (ended(Reason::OwnerLost), Outcome::Lost),
        (ended(Reason::ReconciledStale), Outcome::Lost),
    ] {
        let (turn, delivery, _) = agents.send(SHELL, "echo one").await;
        assert_eq!(delivery, "started", "the session is idle");
        let mut keeper = agents.next_turn_keeper().await;
        keeper.print("said\n");
        keeper.end(termination.clone());
        let turn = agents.end_of(SHELL, &turn).await;
        assert_eq!(turn.state, state.into(), "{termination:?}");
        assert_eq!(turn.text.as_deref(), Some("said\n"), "what was said is kept");
        assert_eq!(turn.error.is_none(), state == Outcome::Done, "{:?}", turn.error);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_whose_keeper_is_lost_ends_as_lost_and_the_session_goes_on() {
    let agents = TestAgents::new().await;
    agents.spawn_shell(SHELL).await;
    let (turn, ..) = agents.send(SHELL, "echo one").await;
    let mut keeper = agents.next_turn_keeper().await;
    let run = keeper.ticket.run_id.clone();
    let is_started =
        async || agents.supervisor.runs.get(&run).is_some_and(|held| held.status().note.is_some());
    eventually("that it runs", is_started).await;
    keeper.print("half an answer\n");
    drop(keeper);
    let turn = agents.end_of(SHELL, &turn).await;
    assert_eq!((turn.state, turn.text.as_deref()), (TurnState::Lost, Some("half an answer\n")));
    assert_eq!(agents.send(SHELL, "echo two").await.1, "started");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_whose_command_is_not_allowed_fails_and_launches_nothing() {
    let agents = TestAgents::with(|settings| settings.exec.mode = tenure_core::policy::Mode::Deny).await;
    agents.spawn_shell(SHELL).await;
    let (turn, ..) = agents.send(SHELL, "echo one").await;
    assert_eq!(agents.end_of(SHELL, &turn).await.state, TurnState::Failed);
    assert!(!agents.has_launch());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_for_one_turn_closes_itself_after_it() {
    let agents = TestAgents::new().await;
    let spawn = json!({"action": "spawn", "sessionKey": SHELL, "backend": "exec", "mode": "oneshot"});
    agents.ask(spawn).await.expect("spawned");
    let (turn, ..) = agents.send(SHELL, "echo one").await;
    let keeper = agents.next_turn_keeper().await;
    assert_eq!(agents.status_of(SHELL).await.row.state, SessionState::Busy);
    keeper.end(exited(0));
    agents.end_of(SHELL, &turn).await;
    let is_closed = async || agents.status_of(SHELL).await.row.state == SessionState::Closed;
    eventually("that it is closed", is_closed).await;
    let refusal = agents.send_with(SHELL, "echo two", "queue").await.expect_err("it is over");
    assert_eq!(refusal.code, Code::SessionClosed);
    let history = agents.ask(json!({"action": "history", "sessionKey": SHELL})).await.expect("an answer");
    assert_eq!(history.turns.map(|turns| turns.len()), Some(1), "what was said can be read");
}
