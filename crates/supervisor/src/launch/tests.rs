//! Admission and scopes, without processes: the test plays the keepers.

use crate::fixture::{FakeKeeper, TestSupervisor, cancelled, command, command_of, eventually, exited, soon};
use crate::refusal::Refusal;
use crate::start_request::StartRequest;
use crate::supervisor::Supervisor;
use std::sync::Arc;
use tenure_core::ending::{Reason, SpawnError, Termination};
use tenure_core::ids::RunId;
use tenure_core::lease::Tenancy;
use tenure_core::problem::Code;
use tenure_core::session::{SessionKey, SessionState};
use tenure_core::state::State;
use tenure_core::wire::KeeperMessage;
use tenure_store::Move;
use tokio::task::JoinSet;

fn in_scope(word: &str) -> StartRequest {
    let mut request = command(word);
    request.spec.options.scope = Some("build".to_owned());
    request
}

fn replacing(word: &str) -> StartRequest {
    StartRequest { replace: true, ..in_scope(word) }
}

async fn refused(supervisor: &Arc<Supervisor>, request: StartRequest) -> Refusal {
    soon(supervisor.start(request, "a test".to_owned(), None)).await.expect_err("it is refused")
}

async fn queue_is(supervisor: &Supervisor, length: usize) {
    eventually("the length of the queue", async || supervisor.starts.admission.queued() == length).await;
}

/// Reports a command that does not exist, like a keeper.
fn not_started(keeper: FakeKeeper) {
    let error = SpawnError { detail: "no such file".to_owned(), not_found: true };
    keeper.tell(KeeperMessage::NotStarted { error: error.clone() });
    keeper.end(Termination::not_started(&error));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_the_registry_refuses_is_never_launched() {
    let supervisor = TestSupervisor::new().await;
    let first = supervisor.running(command_of("agent:a:main", "first")).await;
    let run = first.ticket.run_id.clone();
    first.end(exited(0));
    supervisor.is_over(&run).await;
    let key: SessionKey = "agent:a:main".parse().expect("a key");
    for (from, to) in
        [(SessionState::Idle, SessionState::Closing), (SessionState::Closing, SessionState::Closed)]
    {
        let step = Move { from, to, at_ms: 1, reason: None };
        supervisor.registry.advance_session(key.clone(), step).await.expect("a registry");
    }
    let refusal = refused(&supervisor, command_of("agent:a:main", "second")).await;
    assert_eq!(refusal.code, Code::SessionClosed, "{refusal:?}");
    assert!(!supervisor.has_launch(), "recorded before executed (I2)");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_is_recorded_and_held_before_its_keeper_says_anything() {
    let supervisor = TestSupervisor::new().await;
    let starting = supervisor.start_run(command("first"));
    let keeper = supervisor.next_keeper().await;
    let run = &keeper.ticket.run_id;
    assert_eq!(supervisor.row_of(run).await.state, State::Starting);
    assert!(supervisor.runs.get(run).is_some());
    keeper.start();
    soon(starting).await.expect("no panic").expect("started");
    assert_eq!(supervisor.row_of(run).await.state, State::Running);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_run_in_a_scope_is_refused_until_the_first_has_ended() {
    let supervisor = TestSupervisor::new().await;
    let first = supervisor.running(in_scope("first")).await;
    let run = first.ticket.run_id.clone();
    let refusal = refused(&supervisor, in_scope("second")).await;
    assert_eq!(refusal.code, Code::ScopeTaken);
    assert!(refusal.detail.contains(run.as_str()), "{}", refusal.detail);
    assert!(!supervisor.has_launch());
    first.end(exited(0));
    supervisor.is_over(&run).await;
    assert_eq!(supervisor.running(in_scope("second")).await.ticket.command, ["second"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_scope_is_taken_while_its_removed_run_still_ends() {
    let supervisor = TestSupervisor::new().await;
    let mut first = supervisor.running(in_scope("first")).await;
    let run = first.ticket.run_id.clone();
    supervisor.registry.hide(run.clone()).await.expect("hidden");
    assert_eq!(refused(&supervisor, in_scope("second")).await.code, Code::ScopeTaken);
    let second = supervisor.start_run(replacing("second"));
    first.is_cancelled().await;
    first.end(cancelled());
    let keeper = supervisor.next_keeper().await;
    keeper.start();
    soon(second).await.expect("no panic").expect("started");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replacement_ends_the_first_run_and_starts_only_when_that_is_gone() {
    let supervisor = TestSupervisor::new().await;
    let mut first = supervisor.running(in_scope("first")).await;
    let run = first.ticket.run_id.clone();
    let second = supervisor.start_run(replacing("second"));
    first.is_cancelled().await;
    first.tell(KeeperMessage::Leaving { cause: None, detail: None });
    eventually("that it leaves", async || supervisor.row_of(&run).await.state == State::Exiting).await;
    supervisor.assert_nothing_launched().await;
    first.end(cancelled());
    let keeper = supervisor.next_keeper().await;
    assert_eq!(keeper.ticket.command, ["second"]);
    assert_eq!(supervisor.row_of(&run).await.state, State::Exited);
    keeper.start();
    soon(second).await.expect("no panic").expect("started");
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_replaces_a_run_whose_tree_is_not_known_to_be_gone() {
    let supervisor = TestSupervisor::new().await;
    let mut first = supervisor.running(in_scope("first")).await;
    let second = supervisor.start_run(replacing("second"));
    first.is_cancelled().await;
    first.end(Termination { confirmed: false, ..cancelled() });
    let refusal = soon(second).await.expect("no panic").expect_err("its tree may live");
    assert_eq!(refusal.code, Code::WrongState, "{}", refusal.detail);
    assert!(!supervisor.has_launch());
}

#[tokio::test(flavor = "multi_thread")]
async fn replacements_are_made_one_after_the_other() {
    let supervisor = TestSupervisor::new().await;
    let all: Vec<_> = ["a", "b", "c", "d"].map(|word| supervisor.start_run(replacing(word))).into();
    let mut live = supervisor.next_keeper().await;
    live.start();
    for _ in 1..all.len() {
        live.is_cancelled().await;
        assert!(!supervisor.has_launch(), "the one before it lives");
        let ended = live.ticket.run_id.clone();
        live.end(cancelled());
        live = supervisor.next_keeper().await;
        assert_eq!(supervisor.row_of(&ended).await.state, State::Exited);
        live.start();
    }
    for one in all {
        soon(one).await.expect("no panic").expect("started");
    }
    assert!(live.asked_so_far().is_empty(), "the last one is left alone");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_neither_replaces_nor_learns_of_another_sessions_run() {
    let supervisor = TestSupervisor::new().await;
    let theirs = |session: &str, word: &str| {
        let mut request = command_of(session, word);
        request.spec.options.scope = Some("build".to_owned());
        StartRequest { replace: true, ..request }
    };
    let mut first = supervisor.running(theirs("agent:a:main", "first")).await;
    let refusal = refused(&supervisor, theirs("agent:b:main", "second")).await;
    assert_eq!(refusal.code, Code::ScopeTaken);
    assert!(!refusal.detail.contains(first.ticket.run_id.as_str()), "{}", refusal.detail);
    assert!(first.asked_so_far().is_empty(), "it is not cancelled");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_beyond_the_most_waits_and_one_beyond_the_queue_is_refused() {
    let supervisor =
        TestSupervisor::with(|settings| (settings.runs.max, settings.runs.queue) = (Some(1), 1)).await;
    let first = supervisor.running(command("first")).await;
    let second = supervisor.start_run(command("second"));
    queue_is(&supervisor, 1).await;
    let refusal = refused(&supervisor, command("third")).await;
    assert_eq!(refusal.code, Code::TooManyRuns);
    assert!(refusal.detail.contains("runs.max"), "{}", refusal.detail);
    assert!(!supervisor.has_launch());
    first.end(exited(0));
    let keeper = supervisor.next_keeper().await;
    assert_eq!(keeper.ticket.command, ["second"]);
    keeper.start();
    soon(second).await.expect("no panic").expect("started");
    queue_is(&supervisor, 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_that_wait_for_a_place_start_in_the_order_of_asking() {
    let supervisor = TestSupervisor::with(|settings| settings.runs.max = Some(1)).await;
    let mut live = supervisor.running(command("first")).await;
    let words = ["second", "third", "fourth"];
    for (ahead, word) in words.into_iter().enumerate() {
        drop(supervisor.start_run(command(word)));
        queue_is(&supervisor, ahead + 1).await;
    }
    for word in words {
        live.end(exited(0));
        live = supervisor.next_keeper().await;
        assert_eq!(live.ticket.command, [word]);
        live.start();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_runs_that_are_asked_for_at_once_no_more_live_and_wait_than_may() {
    let supervisor =
        TestSupervisor::with(|settings| (settings.runs.max, settings.runs.queue) = (Some(3), 2)).await;
    let mut all: JoinSet<_> = (0..12).map(|_| supervisor.start_run(command("one"))).map(soon).collect();
    let mut refused = Vec::new();
    for _ in 0..7 {
        let answer = all.join_next().await.expect("an answer").expect("no panic").expect("no panic");
        refused.push(answer.expect_err("three places, and two wait").code);
    }
    assert_eq!(refused, [Code::TooManyRuns; 7]);
    let mut live = Vec::new();
    for _ in 0..3 {
        live.push(supervisor.next_keeper().await);
    }
    queue_is(&supervisor, 2).await;
    assert!(!supervisor.has_launch());
    live.iter().for_each(FakeKeeper::start);
    live.into_iter().take(2).for_each(|keeper| keeper.end(exited(0)));
    for _ in 0..2 {
        supervisor.next_keeper().await.start();
    }
    while let Some(answer) = all.join_next().await {
        answer.expect("no panic").expect("no panic").expect("started");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_stops_waiting_leaves_the_queue_and_has_started_nothing() {
    let supervisor =
        TestSupervisor::with(|settings| (settings.runs.max, settings.runs.queue) = (Some(1), 1)).await;
    let first = supervisor.running(command("first")).await;
    let second = supervisor.start_run(command("second"));
    queue_is(&supervisor, 1).await;
    second.abort();
    queue_is(&supervisor, 0).await;
    first.end(exited(0));
    supervisor.assert_nothing_launched().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replacement_takes_the_only_place_from_the_run_that_it_ends() {
    let supervisor =
        TestSupervisor::with(|settings| (settings.runs.max, settings.runs.queue) = (Some(1), 1)).await;
    let mut first = supervisor.running(replacing("first")).await;
    let second = supervisor.start_run(replacing("second"));
    first.is_cancelled().await;
    first.end(cancelled());
    let keeper = supervisor.next_keeper().await;
    keeper.start();
    soon(second).await.expect("no panic").expect("started");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_could_not_be_executed_gives_its_place_back() {
    let supervisor =
        TestSupervisor::with(|settings| (settings.runs.max, settings.runs.queue) = (Some(1), 0)).await;
    for _ in 0..3 {
        let starting = supervisor.start_run(command("nowhere"));
        let keeper = supervisor.next_keeper().await;
        let run = keeper.ticket.run_id.clone();
        not_started(keeper);
        soon(starting).await.expect("no panic").expect("it was request for");
        supervisor.is_over(&run).await;
        assert_eq!(reason(&supervisor, &run).await, Reason::SpawnError);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_whose_keeper_is_lost_ends_as_lost_and_frees_its_scope_and_its_place() {
    let supervisor =
        TestSupervisor::with(|settings| (settings.runs.max, settings.runs.queue) = (Some(1), 0)).await;
    let first = supervisor.running(in_scope("first")).await;
    let run = first.ticket.run_id.clone();
    drop(first);
    supervisor.is_over(&run).await;
    assert_eq!(reason(&supervisor, &run).await, Reason::ReconciledStale);
    supervisor.running(in_scope("second")).await;
}

async fn reason(supervisor: &TestSupervisor, run: &RunId) -> Reason {
    supervisor.row_of(run).await.ending.expect("an ending").termination.reason
}

#[tokio::test(flavor = "multi_thread")]
async fn a_daemon_that_leaves_starts_nothing() {
    let supervisor = TestSupervisor::new().await;
    supervisor.lifecycle.drain(false);
    assert_eq!(refused(&supervisor, command("late")).await.code, Code::Draining);
    assert!(!supervisor.has_launch());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_daemon_whose_heartbeat_is_not_taken_starts_nothing() {
    let supervisor = TestSupervisor::new().await;
    let rhythm = supervisor.settings.rhythm();
    *supervisor.leases.tenancy() = Tenancy::begin(1, rhythm);
    assert_eq!(refused(&supervisor, command("late")).await.code, Code::RegistryUnavailable);
    assert!(!supervisor.has_launch());
}
