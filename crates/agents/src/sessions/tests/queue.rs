//! Messages to a busy session: they wait in their order, are refused, or reach the turn's input.

use super::*;
use crate::fixture::command;
use tenure_core::problem::Code;
use tenure_core::wire::KeeperRequest;

#[tokio::test(flavor = "multi_thread")]
async fn messages_to_a_busy_session_wait_and_come_in_their_order() {
    let agents = TestAgents::new().await;
    agents.spawn_shell(SHELL).await;
    let (first, delivery, ahead) = agents.send(SHELL, "echo first").await;
    assert_eq!((delivery.as_str(), ahead), ("started", 0));
    let mut turns = vec![first];
    let mut keeper = agents.next_turn_keeper().await;
    for ahead in 0..3 {
        let (turn, delivery, before) = agents.send(SHELL, &format!("echo message {ahead}")).await;
        assert_eq!((delivery.as_str(), before), ("queued", ahead));
        turns.push(turn);
    }
    let status = agents.status_of(SHELL).await;
    assert_eq!((status.queued, status.active_turn.expect("a turn").turn_id), (3, turns[0].clone()));
    let wait = json!({"action": "wait", "sessionKey": SHELL, "turnId": turns[2], "timeoutMs": 0});
    assert_eq!(agents.ask(wait).await.expect("an answer").turn, None, "it waits");
    for number in 0..3 {
        assert!(!agents.has_launch(), "one turn at a time");
        keeper.end(exited(0));
        keeper = agents.next_turn_keeper().await;
        assert_eq!(line_of(&keeper), format!("echo message {number}"));
    }
    keeper.end(exited(0));
    for pair in turns.windows(2) {
        let [before, after] = [&pair[0], &pair[1]].map(|turn| agents.end_of(SHELL, turn));
        let (before, after) = (before.await, after.await);
        assert!(before.ended_at_ms <= Some(after.began_at_ms));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_messages_that_come_at_once_none_is_lost_and_none_comes_twice() {
    let agents = TestAgents::new().await;
    agents.spawn_shell(SHELL).await;
    let lines: Vec<String> = (0..20).map(|number| format!("echo message {number}")).collect();
    let sent = futures_util::future::join_all(lines.iter().map(|line| agents.send(SHELL, line))).await;
    let mut carried_out = Vec::new();
    for _ in 0..lines.len() {
        let keeper = agents.next_turn_keeper().await;
        assert!(!agents.has_launch(), "one turn at a time");
        carried_out.push(line_of(&keeper).to_owned());
        keeper.end(exited(0));
    }
    for (turn, ..) in &sent {
        assert_eq!(agents.end_of(SHELL, turn).await.state, TurnState::Done);
    }
    carried_out.sort();
    let mut lines = lines;
    lines.sort();
    assert_eq!(carried_out, lines);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_busy_session_refuses_a_message_that_is_not_to_wait() {
    let agents = TestAgents::new().await;
    agents.spawn_shell(SHELL).await;
    agents.send(SHELL, "echo one").await;
    let refusal = agents.send_with(SHELL, "echo two", "refuse").await.expect_err("it is busy");
    assert_eq!(refusal.code, Code::WrongState);
    assert!(refusal.detail.contains("busy"), "{}", refusal.detail);
    assert_eq!(agents.status_of(SHELL).await.queued, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_queue_takes_no_more_and_keeps_what_it_has() {
    let agents = TestAgents::with(|settings| settings.sessions.queue = 2).await;
    agents.spawn_shell(SHELL).await;
    agents.send(SHELL, "echo zero").await;
    let zero = agents.next_turn_keeper().await;
    agents.send(SHELL, "echo one").await;
    agents.send(SHELL, "echo two").await;
    let refusal = agents.send_with(SHELL, "echo three", "queue").await.expect_err("the queue is full");
    assert_eq!(refusal.code, Code::QueueFull);
    assert!(refusal.detail.contains(SHELL) && refusal.detail.contains('2'), "{}", refusal.detail);
    zero.end(exited(0));
    let one = agents.next_turn_keeper().await;
    assert_eq!(line_of(&one), "echo one");
    agents.send(SHELL, "echo four").await;
    one.end(exited(0));
    assert_eq!(line_of(&agents.next_turn_keeper().await), "echo two");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_steers_a_command_reaches_its_standard_input() {
    let agents = TestAgents::new().await;
    agents.spawn_shell(SHELL).await;
    let (first, ..) = agents.send(SHELL, "read line").await;
    let mut keeper = agents.next_turn_keeper().await;
    let (turn, delivery, _) = agents.send_with(SHELL, "some words", "steer").await.expect("sent");
    assert_eq!((turn, delivery.as_str()), (first, "steered"));
    assert_eq!(keeper.next_ask().await, (KeeperRequest::Type, b"some words\n".to_vec()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_is_to_steer_an_agent_waits_and_says_so() {
    let agents = TestAgents::new().await;
    agents.spawn_agent().await;
    agents.send(AGENT, "one").await;
    let mut keeper = agents.next_turn_keeper().await;
    for _ in ["the message", "the end of the input"] {
        keeper.next_ask().await;
    }
    let steer = json!({"action": "send", "sessionKey": AGENT, "text": "two", "whenBusy": "steer"});
    let sent = agents.ask(steer).await.expect("sent").sent.expect("what became of it");
    assert!(sent.note.is_some_and(|note| note.contains("takes no input during a turn")));
    assert!(keeper.asked_so_far().is_empty(), "nothing of it is given to the agent");
    keeper.print(&answer_of_agent("talk-1", "said"));
    keeper.end(exited(0));
    let mut keeper = agents.next_turn_keeper().await;
    assert_eq!(keeper.next_ask().await.1, b"two");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_queue_takes_no_message_that_is_to_steer_an_agent() {
    let agents = TestAgents::with(|settings| settings.sessions.queue = 0).await;
    agents.spawn_agent().await;
    agents.send(AGENT, "one").await;
    let refusal = agents.send_with(AGENT, "two", "steer").await.expect_err("the queue is full");
    assert_eq!(refusal.code, Code::QueueFull);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_is_to_steer_a_command_that_has_not_begun_waits_and_says_so() {
    let agents = TestAgents::with(|settings| settings.runs.max = Some(1)).await;
    let first = agents.running(command("first")).await;
    agents.spawn_shell(SHELL).await;
    agents.send(SHELL, "echo one").await;
    agents.is_queued(1).await;
    let steer = json!({"action": "send", "sessionKey": SHELL, "text": "echo two", "whenBusy": "steer"});
    let sent = agents.ask(steer).await.expect("sent").sent.expect("what became of it");
    assert!(sent.note.is_some_and(|note| note.contains("has not started")));
    first.end(exited(0));
    for line in ["echo one", "echo two"] {
        let keeper = agents.next_turn_keeper().await;
        assert_eq!(line_of(&keeper), line);
        keeper.end(exited(0));
    }
}
