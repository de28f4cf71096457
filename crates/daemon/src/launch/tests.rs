//! Admission and scopes, without processes: the test plays the keepers.

use crate::asked::Asked;
use crate::daemon::Daemon;
use crate::fixture::{FakeKeeper, TestDaemon, cancelled, command, command_of, eventually, exited, soon};
use crate::refusal::Refusal;
use crate::sessions::Why;
use std::sync::Arc;
use tenure_core::ending::{Reason, SpawnError, Termination};
use tenure_core::ids::RunId;
use tenure_core::lease::Tenancy;
use tenure_core::state::State;
use tenure_core::wire::Tell;
use tokio::task::JoinSet;

fn in_scope(word: &str) -> Asked {
    let mut asked = command(word);
    asked.spec.scope = Some("build".to_owned());
    asked
}

fn replacing(word: &str) -> Asked {
    Asked { replace: true, ..in_scope(word) }
}

async fn refused(daemon: &Arc<Daemon>, asked: Asked) -> Refusal {
    soon(daemon.start(asked, "a test".to_owned(), None)).await.expect_err("it is refused")
}

async fn queue_is(daemon: &Daemon, length: usize) {
    eventually("the length of the queue", async || daemon.admission.queued() == length).await;
}

/// Tells what a keeper tells whose command is not there.
fn not_started(keeper: FakeKeeper) {
    let error = SpawnError { detail: "no such file".to_owned(), not_found: true };
    keeper.tell(Tell::NotStarted { error: error.clone() });
    keeper.end(Termination::not_started(&error));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_the_registry_refuses_is_never_launched() {
    let daemon = TestDaemon::new().await;
    let first = daemon.running(command_of("agent:a:main", "first")).await;
    let run = first.ticket.run_id.clone();
    first.end(exited(0));
    daemon.is_over(&run).await;
    let key = "agent:a:main".parse().expect("a key");
    let why = Why { reason: None, discard: false };
    soon(daemon.close_session(&key, &why)).await.expect("closed");
    let refusal = refused(&daemon, command_of("agent:a:main", "second")).await;
    assert_eq!(refusal.code, "session-closed", "{refusal:?}");
    assert!(!daemon.has_launch(), "recorded before executed (I2)");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_is_recorded_and_held_before_its_keeper_says_anything() {
    let daemon = TestDaemon::new().await;
    let starting = daemon.start_run(command("first"));
    let keeper = daemon.next_keeper().await;
    let run = &keeper.ticket.run_id;
    assert_eq!(daemon.row_of(run).await.state, State::Starting);
    assert!(daemon.held(run).is_some());
    keeper.start();
    soon(starting).await.expect("no panic").expect("started");
    assert_eq!(daemon.row_of(run).await.state, State::Running);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_run_in_a_scope_is_refused_until_the_first_has_ended() {
    let daemon = TestDaemon::new().await;
    let first = daemon.running(in_scope("first")).await;
    let run = first.ticket.run_id.clone();
    let refusal = refused(&daemon, in_scope("second")).await;
    assert_eq!(refusal.code, "scope-taken");
    assert!(refusal.detail.contains(run.as_str()), "{}", refusal.detail);
    assert!(!daemon.has_launch());
    first.end(exited(0));
    daemon.is_over(&run).await;
    assert_eq!(daemon.running(in_scope("second")).await.ticket.command, ["second"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_scope_is_taken_while_its_removed_run_still_ends() {
    let daemon = TestDaemon::new().await;
    let mut first = daemon.running(in_scope("first")).await;
    let run = first.ticket.run_id.clone();
    daemon.registry.hide(run.clone()).await.expect("hidden");
    assert_eq!(refused(&daemon, in_scope("second")).await.code, "scope-taken");
    let second = daemon.start_run(replacing("second"));
    first.is_cancelled().await;
    first.end(cancelled());
    let keeper = daemon.next_keeper().await;
    keeper.start();
    soon(second).await.expect("no panic").expect("started");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replacement_ends_the_first_run_and_starts_only_when_that_is_gone() {
    let daemon = TestDaemon::new().await;
    let mut first = daemon.running(in_scope("first")).await;
    let run = first.ticket.run_id.clone();
    let second = daemon.start_run(replacing("second"));
    first.is_cancelled().await;
    first.tell(Tell::Leaving { cause: None, detail: None });
    eventually("that it leaves", async || daemon.row_of(&run).await.state == State::Exiting).await;
    daemon.assert_nothing_launched().await;
    first.end(cancelled());
    let keeper = daemon.next_keeper().await;
    assert_eq!(keeper.ticket.command, ["second"]);
    assert_eq!(daemon.row_of(&run).await.state, State::Exited);
    keeper.start();
    soon(second).await.expect("no panic").expect("started");
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_replaces_a_run_whose_tree_is_not_known_to_be_gone() {
    let daemon = TestDaemon::new().await;
    let mut first = daemon.running(in_scope("first")).await;
    let second = daemon.start_run(replacing("second"));
    first.is_cancelled().await;
    first.end(Termination { confirmed: false, ..cancelled() });
    let refusal = soon(second).await.expect("no panic").expect_err("its tree may live");
    assert_eq!(refusal.code, "wrong-state", "{}", refusal.detail);
    assert!(!daemon.has_launch());
}

#[tokio::test(flavor = "multi_thread")]
async fn replacements_are_made_one_after_the_other() {
    let daemon = TestDaemon::new().await;
    let all: Vec<_> = ["a", "b", "c", "d"].map(|word| daemon.start_run(replacing(word))).into();
    let mut live = daemon.next_keeper().await;
    live.start();
    for _ in 1..all.len() {
        live.is_cancelled().await;
        assert!(!daemon.has_launch(), "the one before it lives");
        let ended = live.ticket.run_id.clone();
        live.end(cancelled());
        live = daemon.next_keeper().await;
        assert_eq!(daemon.row_of(&ended).await.state, State::Exited);
        live.start();
    }
    for one in all {
        soon(one).await.expect("no panic").expect("started");
    }
    assert!(live.asked_so_far().is_empty(), "the last one is left alone");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_neither_replaces_nor_learns_of_another_sessions_run() {
    let daemon = TestDaemon::new().await;
    let theirs = |session: &str, word: &str| {
        let mut asked = command_of(session, word);
        asked.spec.scope = Some("build".to_owned());
        Asked { replace: true, ..asked }
    };
    let mut first = daemon.running(theirs("agent:a:main", "first")).await;
    let refusal = refused(&daemon, theirs("agent:b:main", "second")).await;
    assert_eq!(refusal.code, "scope-taken");
    assert!(!refusal.detail.contains(first.ticket.run_id.as_str()), "{}", refusal.detail);
    assert!(first.asked_so_far().is_empty(), "it is not cancelled");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_beyond_the_most_waits_and_one_beyond_the_queue_is_refused() {
    let daemon = TestDaemon::with(|settings| (settings.runs.max, settings.runs.queue) = (Some(1), 1)).await;
    let first = daemon.running(command("first")).await;
    let second = daemon.start_run(command("second"));
    queue_is(&daemon, 1).await;
    let refusal = refused(&daemon, command("third")).await;
    assert_eq!(refusal.code, "too-many-runs");
    assert!(refusal.detail.contains("runs.max"), "{}", refusal.detail);
    assert!(!daemon.has_launch());
    first.end(exited(0));
    let keeper = daemon.next_keeper().await;
    assert_eq!(keeper.ticket.command, ["second"]);
    keeper.start();
    soon(second).await.expect("no panic").expect("started");
    queue_is(&daemon, 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_that_wait_for_a_place_start_in_the_order_of_asking() {
    let daemon = TestDaemon::with(|settings| settings.runs.max = Some(1)).await;
    let mut live = daemon.running(command("first")).await;
    let words = ["second", "third", "fourth"];
    for (ahead, word) in words.into_iter().enumerate() {
        drop(daemon.start_run(command(word)));
        queue_is(&daemon, ahead + 1).await;
    }
    for word in words {
        live.end(exited(0));
        live = daemon.next_keeper().await;
        assert_eq!(live.ticket.command, [word]);
        live.start();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_runs_that_are_asked_for_at_once_no_more_live_and_wait_than_may() {
    let daemon = TestDaemon::with(|settings| (settings.runs.max, settings.runs.queue) = (Some(3), 2)).await;
    let mut all: JoinSet<_> = (0..12).map(|_| daemon.start_run(command("one"))).map(soon).collect();
    let mut refused = Vec::new();
    for _ in 0..7 {
        let answer = all.join_next().await.expect("an answer").expect("no panic").expect("no panic");
        refused.push(answer.expect_err("three places, and two wait").code);
    }
    assert_eq!(refused, ["too-many-runs"; 7]);
    let mut live = Vec::new();
    for _ in 0..3 {
        live.push(daemon.next_keeper().await);
    }
    queue_is(&daemon, 2).await;
    assert!(!daemon.has_launch());
    live.iter().for_each(FakeKeeper::start);
    live.into_iter().take(2).for_each(|keeper| keeper.end(exited(0)));
    for _ in 0..2 {
        daemon.next_keeper().await.start();
    }
    while let Some(answer) = all.join_next().await {
        answer.expect("no panic").expect("no panic").expect("started");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_stops_waiting_leaves_the_queue_and_has_started_nothing() {
    let daemon = TestDaemon::with(|settings| (settings.runs.max, settings.runs.queue) = (Some(1), 1)).await;
    let first = daemon.running(command("first")).await;
    let second = daemon.start_run(command("second"));
    queue_is(&daemon, 1).await;
    second.abort();
    queue_is(&daemon, 0).await;
    first.end(exited(0));
    daemon.assert_nothing_launched().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replacement_takes_the_only_place_from_the_run_that_it_ends() {
    let daemon = TestDaemon::with(|settings| (settings.runs.max, settings.runs.queue) = (Some(1), 1)).await;
    let mut first = daemon.running(replacing("first")).await;
    let second = daemon.start_run(replacing("second"));
    first.is_cancelled().await;
    first.end(cancelled());
    let keeper = daemon.next_keeper().await;
    keeper.start();
    soon(second).await.expect("no panic").expect("started");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_could_not_be_executed_gives_its_place_back() {
    let daemon = TestDaemon::with(|settings| (settings.runs.max, settings.runs.queue) = (Some(1), 0)).await;
    for _ in 0..3 {
        let starting = daemon.start_run(command("nowhere"));
        let keeper = daemon.next_keeper().await;
        let run = keeper.ticket.run_id.clone();
        not_started(keeper);
        soon(starting).await.expect("no panic").expect("it was asked for");
        daemon.is_over(&run).await;
        assert_eq!(reason(&daemon, &run).await, Reason::SpawnError);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_whose_keeper_is_lost_ends_as_lost_and_frees_its_scope_and_its_place() {
    let daemon = TestDaemon::with(|settings| (settings.runs.max, settings.runs.queue) = (Some(1), 0)).await;
    let first = daemon.running(in_scope("first")).await;
    let run = first.ticket.run_id.clone();
    drop(first);
    daemon.is_over(&run).await;
    assert_eq!(reason(&daemon, &run).await, Reason::ReconciledStale);
    daemon.running(in_scope("second")).await;
}

async fn reason(daemon: &TestDaemon, run: &RunId) -> Reason {
    daemon.row_of(run).await.ending.expect("an ending").termination.reason
}

#[tokio::test(flavor = "multi_thread")]
async fn a_daemon_that_leaves_starts_nothing() {
    let daemon = TestDaemon::new().await;
    daemon.drain(false);
    assert_eq!(refused(&daemon, command("late")).await.code, "draining");
    assert!(!daemon.has_launch());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_daemon_whose_heartbeat_is_not_taken_starts_nothing() {
    let daemon = TestDaemon::new().await;
    let rhythm = daemon.settings.rhythm();
    *daemon.tenancy() = Tenancy::begin(1, rhythm);
    assert_eq!(refused(&daemon, command("late")).await.code, "registry-unavailable");
    assert!(!daemon.has_launch());
}
