//! A cancelled turn ends its run, or never gets one, and the next message comes after it.

use super::*;
use crate::fixture::{cancelled, command};
use crate::sessions::CloseReason;
use tenure_core::problem::Code;

async fn cancel(agents: &TestAgents, key: &str) -> Result<TurnId, Refusal> {
    let reply = agents.ask(json!({"action": "cancel", "sessionKey": key})).await?;
    Ok(reply.turn.expect("a turn").turn_id)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_turn_ends_its_run_and_the_next_message_comes_when_that_is_gone() {
    let agents = TestAgents::new().await;
    for key in [SHELL, "other"] {
        agents.spawn_shell(key).await;
    }
    agents.send("other", "echo other").await;
    let mut other = agents.next_turn_keeper().await;
    let (first, ..) = agents.send(SHELL, "echo one").await;
    let mut keeper = agents.next_turn_keeper().await;
    agents.send(SHELL, "echo two").await;
    assert_eq!(cancel(&agents, SHELL).await.expect("cancelled"), first);
    keeper.is_cancelled().await;
    agents.assert_nothing_launched().await;
    keeper.print("here\n");
    keeper.end(cancelled());
    let turn = agents.end_of(SHELL, &first).await;
    assert_eq!((turn.state, turn.text.as_deref()), (TurnState::Cancelled, Some("here\n")));
    assert_eq!(line_of(&agents.next_turn_keeper().await), "echo two");
    assert!(other.asked_so_far().is_empty(), "another session's turn is left alone");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_that_is_cancelled_while_it_waits_for_a_place_starts_nothing() {
    let agents = TestAgents::with(|settings| settings.runs.max = Some(1)).await;
    let first = agents.running(command("first")).await;
    agents.spawn_shell(SHELL).await;
    let (turn, ..) = agents.send(SHELL, "echo one").await;
    agents.is_queued(1).await;
    cancel(&agents, SHELL).await.expect("cancelled");
    let turn = agents.end_of(SHELL, &turn).await;
    assert_eq!((turn.state, turn.text), (TurnState::Cancelled, None));
    assert!(turn.error.is_some_and(|error| error.contains("before anything was started")));
    agents.send(SHELL, "echo two").await;
    first.end(exited(0));
    assert_eq!(line_of(&agents.next_turn_keeper().await), "echo two");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_that_waits_for_a_place_ends_with_its_closed_session_and_starts_nothing() {
    let agents = TestAgents::with(|settings| settings.runs.max = Some(1)).await;
    let first = agents.running(command("first")).await;
    agents.spawn_shell(SHELL).await;
    let (turn, ..) = agents.send(SHELL, "echo one").await;
    agents.is_queued(1).await;
    let why = CloseReason { reason: None, discard: false };
    let closed = soon(agents.close_session(&SHELL.parse().expect("a key"), &why)).await.expect("closed");
    assert!(closed.runs.is_empty(), "{closed:?}");
    assert_eq!(agents.end_of(SHELL, &turn).await.state, TurnState::Cancelled);
    first.end(exited(0));
    agents.assert_nothing_launched().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_is_closed_cancels_its_turn_and_withdraws_what_waits() {
    let agents = TestAgents::new().await;
    agents.spawn_shell(SHELL).await;
    let (first, ..) = agents.send(SHELL, "echo one").await;
    let mut keeper = agents.next_turn_keeper().await;
    agents.send(SHELL, "echo two").await;
    let (closing, why) = (std::sync::Arc::clone(&agents), CloseReason { reason: None, discard: false });
    let key = SHELL.parse().expect("a key");
    let closing = tokio::spawn(async move { closing.close_session(&key, &why).await });
    keeper.is_cancelled().await;
    keeper.end(cancelled());
    soon(closing).await.expect("no panic").expect("closed");
    assert_eq!(agents.end_of(SHELL, &first).await.state, TurnState::Cancelled);
    assert_eq!(agents.status_of(SHELL).await.queued, 0);
    agents.assert_nothing_launched().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_session_has_nothing_to_cancel() {
    let agents = TestAgents::new().await;
    agents.spawn_shell(SHELL).await;
    let refusal = cancel(&agents, SHELL).await.expect_err("nothing is under way");
    assert_eq!(refusal.code, Code::WrongState);
    assert!(refusal.detail.contains("nothing to cancel"), "{}", refusal.detail);
}
