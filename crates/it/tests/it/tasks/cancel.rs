//! Cancelling a task ends the run or turn that it tracks, by any of its ids; an ended one stays unchanged.

use rustix::process::Signal;
use serde_json::{Value, json};
use tenure_it::agent::Agent;
use tenure_it::api::{Api, text};
use tenure_it::child_program::ChildProgram;
use tenure_it::cli_agent_fixture::{CliAgentFixture, answer_of};
use tenure_it::daemon_fixture::DaemonFixture;
use tenure_it::install::Install;
use tenure_it::tasks::{ask, notices, of_turn, show, wait_status};
use tenure_it::{WAIT_LIMIT, eventually, proc};

const KEY: &str = "agent:fake:main";
const OWNER: &str = "agent:a:main";

#[track_caller]
fn cancel(api: &Api, lookup: &str) -> Value {
    ask(api, "cancel", lookup, &json!({})).is(200).json()["task"].clone()
}

#[track_caller]
fn is_refused(api: &Api, lookup: &str, status: &str) {
    let why = ask(api, "cancel", lookup, &json!({})).refused(409, "wrong-state");
    assert!(why.contains(status), "{why}");
}

#[test]
fn a_cancel_by_task_id_or_run_id_ends_the_whole_tree() {
    let fixture = DaemonFixture::of(Install::new().with_env("TENURE_RUN_GRACE", "200ms"));
    fixture.start_daemon();
    let api = Api::of(&fixture);
    for by_task in [true, false] {
        let run = fixture.act(&["--session", OWNER], &["ignore-term", "tree"]);
        fixture.wait_ready(&run);
        let id = text(&show(&api, &run)["taskId"]);
        let asked = cancel(&api, if by_task { &id } else { &run });
        assert!(asked["cancelAskedAtMs"].is_u64(), "{asked}");
        let task = wait_status(&api, &id, "cancelled");
        assert_eq!(task["outcome"]["reason"], "manual-cancel", "{task}");
        assert_eq!(notices(&fixture, &task), [("terminal".to_owned(), "queued".to_owned())]);
        is_refused(&api, &id, "cancelled");
        is_refused(&api, &run, "cancelled");
    }
    let done = fixture.start_in_background(&[], &["true"]);
    wait_status(&api, &done, "succeeded");
    is_refused(&api, &done, "succeeded");
    assert_eq!(show(&api, &done)["cancelAskedAtMs"], Value::Null, "that had no effect");
    fixture.finish();
}

#[test]
fn an_exec_command_can_be_cancelled_after_a_daemon_restart() {
    let fixture = DaemonFixture::of(Install::new().with_env("TENURE_RUN_GRACE", "200ms"));
    fixture.start_daemon();
    let (api, agent) = (Api::of(&fixture), Agent::of(&fixture).acting_as(OWNER));
    let run = agent.start("sleep 600");
    fixture.kill();
    fixture.start_daemon();
    cancel(&api, &run);
    let task = wait_status(&api, &run, "cancelled");
    fixture.kill();
    fixture.start_daemon();
    is_refused(&api, &run, "cancelled");
    assert_eq!(notices(&fixture, &task), [("terminal".to_owned(), "queued".to_owned())]);
    fixture.finish();
}

/// Pauses a daemon when it has recorded that a task must end, kills it there, and starts the next one.
#[track_caller]
fn die_cancelling(fixture: &DaemonFixture, lookup: &str) {
    fixture.kill();
    let daemon = fixture.start_daemon_paused("daemon-cancel-asked");
    let asking = ChildProgram::new(fixture.command(&["tasks", "cancel", lookup]));
    eventually("a stopped daemon", || proc::is_stopped(daemon.pid).then_some(()));
    daemon.send(Signal::KILL);
    daemon.wait_dead(WAIT_LIMIT);
    drop(asking);
    fixture.start_daemon();
}

#[test]
fn a_cancel_pending_at_a_daemon_crash_is_carried_out() {
    let fixture = DaemonFixture::of(Install::new().with_env("TENURE_RUN_GRACE", "200ms"));
    fixture.start_daemon();
    let run = fixture.start_in_background(&["--session", OWNER], &["sleep", "600"]);
    die_cancelling(&fixture, &run);
    wait_status(&Api::of(&fixture), &run, "cancelled");
    fixture.finish();

    let agent_fixture = CliAgentFixture::of(Install::new(), "", "");
    agent_fixture.spawn(KEY);
    let sent = agent_fixture.send(KEY, "!chatter");
    agent_fixture.wait_agent_text(KEY, "delta");
    let task = text(&of_turn(&agent_fixture.api, &sent["turnId"])["taskId"]);
    die_cancelling(&agent_fixture, &task);
    assert_eq!(agent_fixture.end_of(KEY, &sent["turnId"])["state"], "cancelled");
    wait_status(&agent_fixture.api, &task, "cancelled");
    agent_fixture.finish();
}

#[test]
fn a_turn_can_be_cancelled_by_its_task_its_run_or_its_session() {
    let agent_fixture = CliAgentFixture::new();
    agent_fixture.spawn(KEY);
    for by in ["taskId", "runId", "childSessionKey"] {
        let sent = agent_fixture.send(KEY, "!chatter");
        agent_fixture.wait_agent_text(KEY, "delta");
        let task = of_turn(&agent_fixture.api, &sent["turnId"]);
        cancel(&agent_fixture.api, &text(&task[by]));
        assert_eq!(agent_fixture.end_of(KEY, &sent["turnId"])["state"], "cancelled", "by {by}");
        wait_status(&agent_fixture.api, &text(&task["taskId"]), "cancelled");
        is_refused(&agent_fixture.api, &text(&task[by]), "cancelled");
    }
    agent_fixture.finish();
}

#[test]
fn a_cancelled_queued_message_never_becomes_a_turn() {
    for restarts in [false, true] {
        let agent_fixture = CliAgentFixture::of(Install::new(), "", "");
        agent_fixture.spawn(KEY);
        let first = agent_fixture.send(KEY, "!await go");
        agent_fixture.wait_starts(1);
        let second = agent_fixture.send(KEY, "no");
        let third = agent_fixture.send(KEY, "yes");
        let waits = text(&of_turn(&agent_fixture.api, &second["turnId"])["taskId"]);
        if restarts {
            agent_fixture.kill();
            agent_fixture.start_daemon();
        }
        assert_eq!(show(&agent_fixture.api, &waits)["status"], "queued");
        assert_eq!(cancel(&agent_fixture.api, &waits)["status"], "cancelled");
        is_refused(&agent_fixture.api, &waits, "cancelled");
        agent_fixture.release("go");
        let _ = answer_of(&agent_fixture.end_of(KEY, &first["turnId"]));
        assert_eq!(answer_of(&agent_fixture.end_of(KEY, &third["turnId"]))["prompt"], "yes");
        let said: Vec<String> =
            agent_fixture.history(KEY).iter().map(|turn| text(&turn["message"])).collect();
        assert_eq!(said, ["!await go", "yes"]);
        agent_fixture.finish();
    }
}

#[test]
fn a_turn_resumed_by_the_next_daemon_can_be_cancelled_by_its_task() {
    let agent_fixture = CliAgentFixture::of(Install::new(), "", "");
    agent_fixture.spawn(KEY);
    let sent = agent_fixture.send(KEY, "!say painting\n!chatter");
    agent_fixture.wait_agent_text(KEY, "delta");
    let id = text(&of_turn(&agent_fixture.api, &sent["turnId"])["taskId"]);
    agent_fixture.kill();
    agent_fixture.start_daemon();
    assert_eq!(show(&agent_fixture.api, &id)["status"], "running");
    cancel(&agent_fixture.api, &id);
    assert_eq!(agent_fixture.end_of(KEY, &sent["turnId"])["state"], "cancelled");
    let task = wait_status(&agent_fixture.api, &id, "cancelled");
    let goes = task["progressSummary"].as_str().unwrap_or_default();
    assert!(!goes.contains('{'), "what the agent said, not what it printed: {goes}");
    agent_fixture.finish();
}
