//! A cancelled turn ends its run, or never gets one, and the next message comes after it.

use super::*;
use crate::fixture::{cancelled, command};
use crate::sessions::Why;

async fn cancel(daemon: &TestDaemon, key: &str) -> Result<TurnId, Refusal> {
    let reply = daemon.ask(json!({"action": "cancel", "sessionKey": key})).await?;
    Ok(reply.turn.expect("a turn").turn_id)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_turn_ends_its_run_and_the_next_message_comes_when_that_is_gone() {
    let daemon = TestDaemon::new().await;
    for key in [SHELL, "other"] {
        daemon.spawn_shell(key).await;
    }
    daemon.send("other", "echo other").await;
    let mut other = daemon.next_turn_keeper().await;
    let (first, ..) = daemon.send(SHELL, "echo one").await;
    let mut keeper = daemon.next_turn_keeper().await;
    daemon.send(SHELL, "echo two").await;
    assert_eq!(cancel(&daemon, SHELL).await.expect("cancelled"), first);
    keeper.is_cancelled().await;
    daemon.assert_nothing_launched().await;
    keeper.print("here\n");
    keeper.end(cancelled());
    let turn = daemon.end_of(SHELL, &first).await;
    assert_eq!((turn.state, turn.text.as_deref()), (TurnState::Cancelled, Some("here\n")));
    assert_eq!(line_of(&daemon.next_turn_keeper().await), "echo two");
    assert!(other.asked_so_far().is_empty(), "another session's turn is left alone");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_that_is_cancelled_while_it_waits_for_a_place_starts_nothing() {
    let daemon = TestDaemon::with(|settings| settings.runs.max = Some(1)).await;
    let first = daemon.running(command("first")).await;
    daemon.spawn_shell(SHELL).await;
    let (turn, ..) = daemon.send(SHELL, "echo one").await;
    daemon.is_queued(1).await;
    cancel(&daemon, SHELL).await.expect("cancelled");
    let turn = daemon.end_of(SHELL, &turn).await;
    assert_eq!((turn.state, turn.text), (TurnState::Cancelled, None));
    assert!(turn.error.is_some_and(|error| error.contains("before anything was started")));
    daemon.send(SHELL, "echo two").await;
    first.end(exited(0));
    assert_eq!(line_of(&daemon.next_turn_keeper().await), "echo two");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_that_waits_for_a_place_ends_with_its_closed_session_and_starts_nothing() {
    let daemon = TestDaemon::with(|settings| settings.runs.max = Some(1)).await;
    let first = daemon.running(command("first")).await;
    daemon.spawn_shell(SHELL).await;
    let (turn, ..) = daemon.send(SHELL, "echo one").await;
    daemon.is_queued(1).await;
    let why = Why { reason: None, discard: false };
    let closed = soon(daemon.close_session(&SHELL.parse().expect("a key"), &why)).await.expect("closed");
    assert!(closed.runs.is_empty(), "{closed:?}");
    assert_eq!(daemon.end_of(SHELL, &turn).await.state, TurnState::Cancelled);
    first.end(exited(0));
    daemon.assert_nothing_launched().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_is_closed_cancels_its_turn_and_withdraws_what_waits() {
    let daemon = TestDaemon::new().await;
    daemon.spawn_shell(SHELL).await;
    let (first, ..) = daemon.send(SHELL, "echo one").await;
    let mut keeper = daemon.next_turn_keeper().await;
    daemon.send(SHELL, "echo two").await;
    let (closing, why) = (std::sync::Arc::clone(&daemon), Why { reason: None, discard: false });
    let key = SHELL.parse().expect("a key");
    let closing = tokio::spawn(async move { closing.close_session(&key, &why).await });
    keeper.is_cancelled().await;
    keeper.end(cancelled());
    soon(closing).await.expect("no panic").expect("closed");
    assert_eq!(daemon.end_of(SHELL, &first).await.state, TurnState::Cancelled);
    assert_eq!(daemon.status_of(SHELL).await.queued, 0);
    daemon.assert_nothing_launched().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_session_has_nothing_to_cancel() {
    let daemon = TestDaemon::new().await;
    daemon.spawn_shell(SHELL).await;
    let refusal = cancel(&daemon, SHELL).await.expect_err("nothing is under way");
    assert_eq!(refusal.code, "wrong-state");
    assert!(refusal.detail.contains("nothing to cancel"), "{}", refusal.detail);
}
