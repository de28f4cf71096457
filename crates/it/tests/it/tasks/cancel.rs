//! Cancelling a task ends what it tracks, whatever that is and however it is called; what is over is left as it is.

use rustix::process::Signal;
use serde_json::{Value, json};
use tenure_it::agent::Agent;
use tenure_it::api::{Api, text};
use tenure_it::conversation::{Talks, answered};
use tenure_it::home::Home;
use tenure_it::install::Install;
use tenure_it::started::Started;
use tenure_it::tasks::{ask, becomes, notices, of_turn, show};
use tenure_it::{PATIENCE, eventually, proc};

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
fn a_run_ends_with_its_tree_by_the_id_of_its_task_or_its_own() {
    let home = Home::of(Install::new().with_env("TENURE_RUN_GRACE", "200ms"));
    home.begin();
    let api = Api::of(&home);
    for by_task in [true, false] {
        let run = home.act(&["--session", OWNER], &["ignore-term", "tree"]);
        home.wait_ready(&run);
        let id = text(&show(&api, &run)["taskId"]);
        let asked = cancel(&api, if by_task { &id } else { &run });
        assert!(asked["cancelAskedAtMs"].is_u64(), "{asked}");
        let task = becomes(&api, &id, "cancelled");
        assert_eq!(task["outcome"]["reason"], "manual-cancel", "{task}");
        assert_eq!(notices(&home, &task), [("terminal".to_owned(), "queued".to_owned())]);
        is_refused(&api, &id, "cancelled");
        is_refused(&api, &run, "cancelled");
    }
    let done = home.start_in_background(&[], &["true"]);
    becomes(&api, &done, "succeeded");
    is_refused(&api, &done, "succeeded");
    assert_eq!(show(&api, &done)["cancelAskedAtMs"], Value::Null, "nothing has come of that");
    home.finish();
}

#[test]
fn a_command_of_exec_ends_after_a_restart_of_the_daemon_too() {
    let home = Home::of(Install::new().with_env("TENURE_RUN_GRACE", "200ms"));
    home.begin();
    let (api, agent) = (Api::of(&home), Agent::of(&home).acting_as(OWNER));
    let run = agent.start("sleep 600");
    home.kill();
    home.begin();
    cancel(&api, &run);
    let task = becomes(&api, &run, "cancelled");
    home.kill();
    home.begin();
    is_refused(&api, &run, "cancelled");
    assert_eq!(notices(&home, &task), [("terminal".to_owned(), "queued".to_owned())]);
    home.finish();
}

/// Has a daemon stand still when it has noted that a task is to end, kills it there, and begins the next one.
#[track_caller]
fn die_cancelling(home: &Home, lookup: &str) {
    home.kill();
    let daemon = home.begin_paused("daemon-cancel-asked");
    let asking = Started::new(home.command(&["tasks", "cancel", lookup]));
    eventually("a daemon that stands still", || proc::is_stopped(daemon.pid).then_some(()));
    daemon.send(Signal::KILL);
    daemon.wait_dead(PATIENCE);
    drop(asking);
    home.begin();
}

#[test]
fn who_was_to_be_cancelled_when_the_daemon_died_is() {
    let home = Home::of(Install::new().with_env("TENURE_RUN_GRACE", "200ms"));
    home.begin();
    let run = home.start_in_background(&["--session", OWNER], &["sleep", "600"]);
    die_cancelling(&home, &run);
    becomes(&Api::of(&home), &run, "cancelled");
    home.finish();

    let talks = Talks::of(Install::new(), "", "");
    talks.spawn(KEY);
    let sent = talks.send(KEY, "!chatter");
    talks.wait_said(KEY, "delta");
    let task = text(&of_turn(&talks.api, &sent["turnId"])["taskId"]);
    die_cancelling(&talks, &task);
    assert_eq!(talks.end_of(KEY, &sent["turnId"])["state"], "cancelled");
    becomes(&talks.api, &task, "cancelled");
    talks.finish();
}

#[test]
fn a_turn_ends_by_its_task_its_run_or_its_session() {
    let talks = Talks::new();
    talks.spawn(KEY);
    for by in ["taskId", "runId", "childSessionKey"] {
        let sent = talks.send(KEY, "!chatter");
        talks.wait_said(KEY, "delta");
        let task = of_turn(&talks.api, &sent["turnId"]);
        cancel(&talks.api, &text(&task[by]));
        assert_eq!(talks.end_of(KEY, &sent["turnId"])["state"], "cancelled", "by {by}");
        becomes(&talks.api, &text(&task["taskId"]), "cancelled");
        is_refused(&talks.api, &text(&task[by]), "cancelled");
    }
    talks.finish();
}

#[test]
fn a_message_that_waits_never_becomes_a_turn() {
    for restarts in [false, true] {
        let talks = Talks::of(Install::new(), "", "");
        talks.spawn(KEY);
        let first = talks.send(KEY, "!await go");
        talks.wait_starts(1);
        let second = talks.send(KEY, "no");
        let third = talks.send(KEY, "yes");
        let waits = text(&of_turn(&talks.api, &second["turnId"])["taskId"]);
        if restarts {
            talks.kill();
            talks.begin();
        }
        assert_eq!(show(&talks.api, &waits)["status"], "queued");
        assert_eq!(cancel(&talks.api, &waits)["status"], "cancelled");
        is_refused(&talks.api, &waits, "cancelled");
        talks.let_go("go");
        let _ = answered(&talks.end_of(KEY, &first["turnId"]));
        assert_eq!(answered(&talks.end_of(KEY, &third["turnId"]))["prompt"], "yes");
        let said: Vec<String> = talks.history(KEY).iter().map(|turn| text(&turn["message"])).collect();
        assert_eq!(said, ["!await go", "yes"]);
        talks.finish();
    }
}

#[test]
fn a_turn_that_the_next_daemon_goes_on_with_is_cancelled_by_its_task() {
    let talks = Talks::of(Install::new(), "", "");
    talks.spawn(KEY);
    let sent = talks.send(KEY, "!say painting\n!chatter");
    talks.wait_said(KEY, "delta");
    let id = text(&of_turn(&talks.api, &sent["turnId"])["taskId"]);
    talks.kill();
    talks.begin();
    assert_eq!(show(&talks.api, &id)["status"], "running");
    cancel(&talks.api, &id);
    assert_eq!(talks.end_of(KEY, &sent["turnId"])["state"], "cancelled");
    let task = becomes(&talks.api, &id, "cancelled");
    let goes = task["progressSummary"].as_str().unwrap_or_default();
    assert!(!goes.contains('{'), "what the agent said, not what it printed: {goes}");
    talks.finish();
}
