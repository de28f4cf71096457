//! Recipients of a task's notice: its owner, once, on its channel or by its next turn; or nobody, if the owner has seen
//! the end.

use serde_json::{Value, json};
use std::path::PathBuf;
use std::time::Instant;
use tenure_core::defaults::TASK_CHANGES;
use tenure_it::agent::Agent;
use tenure_it::api::text;
use tenure_it::cli_agent_fixture::CliAgentFixture;
use tenure_it::cli_output::run_cli;
use tenure_it::eventually;
use tenure_it::install::Install;
use tenure_it::tasks::{all, ask, notices, of_turn, show, wait_field, wait_status};

const PARENT: &str = "agent:fake:main";
const CHILD: &str = "agent:fake:sub";

/// An installation with a channel `desk` that writes its notices to a file.
fn with_desk() -> (CliAgentFixture, PathBuf) {
    let install = Install::new();
    let desk = install.dir().join("desk");
    let channel = format!("[channels.desk]\ncommand = ['sh', '-c', 'cat >> \"$0\"', '{}']\n", desk.display());
    (CliAgentFixture::of(install, "", &channel), desk)
}

fn told_on(desk: &PathBuf) -> Vec<Value> {
    let said = std::fs::read_to_string(desk).unwrap_or_default();
    said.lines().map(|line| serde_json::from_str(line).expect("a notice")).collect()
}

fn family(fixture: &CliAgentFixture) {
    fixture.spawn(PARENT);
    fixture.spawn_with(CHILD, json!({"agent": "fake", "parent": PARENT}));
}

fn outbox(states: &[(&str, &str)]) -> Vec<(String, String)> {
    states.iter().map(|(purpose, state)| ((*purpose).to_owned(), (*state).to_owned())).collect()
}

#[test]
fn the_next_turn_of_a_parent_begins_with_the_outcome_of_its_child() {
    let fixture = CliAgentFixture::new();
    family(&fixture);
    let _ = fixture.answer(CHILD, "paint the fence");
    let task = wait_field(&fixture.api, CHILD, "deliveryStatus", "session_queued");
    let short = text(&task["taskId"])[..8].to_owned();
    let turn = fixture.turn(PARENT, "and now?");
    let prompt = String::from_utf8(fixture.prompt()).expect("text");
    assert!(
        prompt.starts_with("While you were away:\n- Task ") && prompt.ends_with("\n\nand now?"),
        "{prompt}"
    );
    assert!(prompt.contains(&short) && prompt.contains(CHILD) && prompt.contains("is done"), "{prompt}");
    assert_eq!(turn["state"], "done", "{turn}");
    assert_eq!(notices(&fixture, &task), outbox(&[("terminal", "taken")]));
    let _ = fixture.answer(PARENT, "and then?");
    assert_eq!(String::from_utf8(fixture.prompt()).expect("text"), "and then?", "it is notified once");
    fixture.finish();
}

#[test]
fn a_history_read_delivers_notices_to_its_session_and_only_shows_them_to_others() {
    let fixture = CliAgentFixture::new();
    family(&fixture);
    let _ = fixture.answer(CHILD, "paint the fence");
    let task = wait_field(&fixture.api, CHILD, "deliveryStatus", "session_queued");
    let of = |who: &Value| fixture.expect_ok("history", PARENT, who)["notices"].clone();
    for _ in 0..3 {
        let shown = of(&json!({}));
        assert_eq!(shown[0]["taskId"], task["taskId"], "an operator only reads: {shown}");
    }
    let (out, _) = run_cli(&fixture, &["sessions", "history", PARENT], 0);
    assert!(out.contains("notices for the next turn") && out.contains("is done"), "{out}");
    assert_eq!(notices(&fixture, &task), outbox(&[("terminal", "queued")]));
    let got = of(&json!({"as": PARENT}));
    assert_eq!((&got[0]["taskId"], got.as_array().map(Vec::len)), (&task["taskId"], Some(1)), "{got}");
    eventually("it is accepted", || {
        (notices(&fixture, &task) == outbox(&[("terminal", "taken")])).then_some(())
    });
    assert_eq!(of(&json!({"as": PARENT})), Value::Null);
    let _ = fixture.answer(PARENT, "and now?");
    assert_eq!(String::from_utf8(fixture.prompt()).expect("text"), "and now?");
    fixture.finish();
}

/// Starts a command that reads a line first, and sends that line once it is in the background.
#[track_caller]
fn in_background(owner: &Agent, request: Value) -> String {
    let run = owner.start_with(request);
    owner.process("write", &run, &json!({"eof": true}));
    run
}

#[test]
fn only_a_poll_or_a_wait_by_the_owner_is_a_delivery() {
    let fixture = CliAgentFixture::new();
    family(&fixture);
    let operator = Agent::of(&fixture);
    let owner = operator.acting_as(PARENT);
    let run = in_background(&owner, json!({"command": "read line; echo built; exit 3"}));
    let task = wait_status(&fixture.api, &run, "failed");
    let id = text(&task["taskId"]);
    for lookup in [&id, &run] {
        let _ = show(&fixture.api, lookup);
        let _ = ask(&fixture.api, "show", lookup, &json!({"as": PARENT})).is(200);
    }
    let _ = all(&fixture.api);
    let _ = operator.poll(&run);
    let _ = owner.process("log", &run, &json!({}));
    let _ = owner.list();
    let sent = fixture.send(CHILD, "hello");
    let _ = fixture.end_of(CHILD, &sent["turnId"]);
    let turn = text(&of_turn(&fixture.api, &sent["turnId"])["taskId"]);
    for id in [&id, &turn] {
        let task = show(&fixture.api, id);
        assert_eq!(task["deliveryStatus"], "session_queued", "{task}");
        assert_eq!(notices(&fixture, &task), outbox(&[("terminal", "queued")]));
    }
    let _ = owner.poll(&run);
    let asked = json!({"turnId": sent["turnId"], "timeoutMs": 0, "as": PARENT});
    assert_eq!(fixture.expect_ok("wait", CHILD, &asked)["turn"]["state"], "done");
    for id in [&id, &turn] {
        let task = wait_field(&fixture.api, id, "deliveryStatus", "delivered");
        assert_eq!(notices(&fixture, &task), outbox(&[("terminal", "acknowledged")]));
    }
    let _ = fixture.answer(PARENT, "and now?");
    assert_eq!(String::from_utf8(fixture.prompt()).expect("text"), "and now?", "it has seen both");
    fixture.finish();
}

#[test]
fn a_silent_task_notifies_nobody() {
    let fixture = CliAgentFixture::new();
    family(&fixture);
    let owner = Agent::of(&fixture).acting_as(PARENT);
    let never = in_background(&owner, json!({"command": "read line; echo no; exit 3", "notify": "never"}));
    let later = owner.start("read line; exit 3");
    let policy = json!({"policy": "silent"});
    let _ = ask(&fixture.api, "notify", &later, &policy).is(200);
    owner.process("write", &later, &json!({"eof": true}));
    let ended = in_background(&owner, json!({"command": "read line; exit 3"}));
    wait_status(&fixture.api, &ended, "failed");
    let _ = ask(&fixture.api, "notify", &ended, &policy).is(200);
    for (run, left) in
        [(&never, outbox(&[])), (&later, outbox(&[])), (&ended, outbox(&[("terminal", "dropped")]))]
    {
        let task = wait_status(&fixture.api, run, "failed");
        assert_eq!(task["deliveryStatus"], "not_applicable", "{task}");
        assert_eq!(notices(&fixture, &task), left, "{task}");
    }
    let _ = fixture.answer(PARENT, "and now?");
    assert_eq!(String::from_utf8(fixture.prompt()).expect("text"), "and now?");
    fixture.finish();
}

/// Output in bursts is one change at a time, and an end overtakes them all.
#[test]
fn changes_are_batched_and_an_end_replaces_them() {
    let fixture = CliAgentFixture::new();
    family(&fixture);
    let owner = Agent::of(&fixture).acting_as(PARENT);
    let run = owner
        .start("read line; i=0; while [ $i -lt 200 ]; do echo step $i; i=$((i+1)); done; read line; echo more; read line; exit 3");
    let began = Instant::now();
    let _ = ask(&fixture.api, "notify", &run, &json!({"policy": "state_changes"})).is(200);
    owner.process("write", &run, &json!({"data": "go\n"}));
    let task = wait_field(&fixture.api, &run, "progressSummary", "step 199");
    let waiting =
        |task: &Value| notices(&fixture, task).iter().filter(|(_, state)| state == "queued").count();
    assert_eq!(waiting(&task), 1, "{:?}", notices(&fixture, &task));
    owner.process("write", &run, &json!({"data": "go\n"}));
    let task = wait_field(&fixture.api, &run, "progressSummary", "more");
    let told = notices(&fixture, &task).len() as u64;
    let most = 1 + began.elapsed().as_secs() / TASK_CHANGES.as_secs();
    assert!((1..=most).contains(&told), "{told} of {most}: {:?}", notices(&fixture, &task));
    owner.process("write", &run, &json!({"eof": true}));
    let task = wait_status(&fixture.api, &run, "failed");
    assert_eq!(notices(&fixture, &task).last(), outbox(&[("terminal", "queued")]).last());
    assert_eq!(waiting(&task), 1, "the end only: {:?}", notices(&fixture, &task));
    fixture.finish();
}

#[test]
fn a_background_child_reaches_the_users_channel_only_through_its_owners_notice() {
    let (fixture, desk) = with_desk();
    let origin = json!({"channel": "desk", "to": "#user"});
    fixture.spawn_with(PARENT, json!({"agent": "fake", "origin": origin}));
    fixture.spawn_with(CHILD, json!({"agent": "fake", "parent": PARENT, "origin": origin}));
    let grandchild = "agent:fake:subsub";
    fixture.spawn_with(grandchild, json!({"agent": "fake", "parent": CHILD, "origin": origin}));
    // The child gets notices of its own tasks, by its queue.
    let _ = fixture.answer(grandchild, "below");
    let below = wait_field(&fixture.api, grandchild, "deliveryStatus", "session_queued");
    let _ = fixture.answer(CHILD, "!say chatter\nhello");
    let task = wait_field(&fixture.api, CHILD, "deliveryStatus", "delivered");
    let told = told_on(&desk);
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!(told[0]["id"], format!("task-{}-terminal", text(&task["taskId"])));
    assert_eq!((&told[0]["data"]["to"], &told[0]["type"]), (&json!("#user"), &json!("task.terminal")));
    assert_eq!(notices(&fixture, &below), outbox(&[("terminal", "taken")]), "by the child's turn");
    let prompt = String::from_utf8(fixture.prompt()).expect("text");
    assert!(prompt.contains(grandchild), "{prompt}");
    fixture.finish();
}

/// The task has no owner, so no waiting client is one.
#[test]
fn a_waiting_operator_does_not_suppress_the_channel_notice() {
    let (fixture, desk) = with_desk();
    fixture.spawn_with(PARENT, json!({"agent": "fake", "origin": {"channel": "desk"}}));
    let turn = fixture.turn(PARENT, "hello");
    let task = wait_field(&fixture.api, PARENT, "deliveryStatus", "delivered");
    assert_eq!(task["turnId"], turn["turnId"]);
    assert_eq!(notices(&fixture, &task), outbox(&[("terminal", "delivered")]));
    assert_eq!(told_on(&desk).len(), 1);
    fixture.finish();
}

/// The answer of a turn with a waiting caller is no notice: not on a channel, and not for a parent.
#[test]
fn a_foreground_callers_answer_sends_no_notice() {
    let (fixture, desk) = with_desk();
    fixture.spawn_with(PARENT, json!({"agent": "fake", "origin": {"channel": "desk"}}));
    fixture.spawn_with(CHILD, json!({"agent": "fake", "parent": PARENT}));
    for key in [PARENT, CHILD] {
        let (out, _) = run_cli(&fixture, &["sessions", "send", key, "hello", "--wait"], 0);
        assert!(out.contains("hello"), "{out}");
        let task = wait_field(&fixture.api, key, "deliveryStatus", "delivered");
        assert_eq!(notices(&fixture, &task), outbox(&[("terminal", "acknowledged")]), "{task}");
    }
    // An unattended message is notified on the same channel, so the others would have been by now.
    let sent = fixture.send(PARENT, "in the background");
    let id = text(&of_turn(&fixture.api, &sent["turnId"])["taskId"]);
    let _ = wait_field(&fixture.api, &id, "deliveryStatus", "delivered");
    let told = told_on(&desk);
    assert_eq!((told.len(), &told[0]["id"]), (1, &json!(format!("task-{id}-terminal"))), "{told:?}");
    fixture.finish();
}

/// Its work continued in the background, so its end is notified.
#[test]
fn a_foreground_caller_that_leaves_early_gets_a_notice() {
    let (fixture, desk) = with_desk();
    fixture.spawn_with(PARENT, json!({"agent": "fake", "origin": {"channel": "desk"}}));
    let sent = fixture.send(PARENT, "!await go");
    let waits = json!({"turnId": sent["turnId"], "timeoutMs": 30_000, "foreground": true});
    drop(fixture.begin_asking("wait", PARENT, &waits));
    fixture.wait_starts(1);
    fixture.release("go");
    let task = wait_field(&fixture.api, PARENT, "deliveryStatus", "delivered");
    assert_eq!(notices(&fixture, &task), outbox(&[("terminal", "delivered")]), "{task}");
    assert_eq!(told_on(&desk).len(), 1);
    fixture.finish();
}

#[test]
fn an_owner_that_polls_just_after_the_end_gets_no_notice_on_its_channel() {
    let (fixture, desk) = with_desk();
    fixture.spawn_with(PARENT, json!({"agent": "fake", "origin": {"channel": "desk"}}));
    let owner = Agent::of(&fixture).acting_as(PARENT);
    // On a busy machine a poll may come after the moment, which breaks no promise.
    let task = eventually("a poll in time", || {
        let run = in_background(&owner, json!({"command": "read line; echo built; exit 3"}));
        let ended = wait_status(&fixture.api, &run, "failed");
        let _ = owner.poll(&run);
        let took = tenure_os::clock::unix_ms() - ended["endedAtMs"].as_u64().expect("a time");
        (took < 700).then_some(ended)
    });
    let task = wait_field(&fixture.api, &text(&task["taskId"]), "deliveryStatus", "delivered");
    assert_eq!(notices(&fixture, &task), outbox(&[("terminal", "acknowledged")]), "{task}");
    let key = format!("task-{}-terminal", text(&task["taskId"]));
    assert!(told_on(&desk).iter().all(|told| told["id"] != key), "{:?}", told_on(&desk));
    fixture.finish();
}

#[test]
fn an_undeliverable_notice_waits_for_the_owners_next_turn() {
    let refuses = "[channels.desk]\ncommand = ['sh', '-c', 'echo no such room >&2; exit 1']\n";
    let fixture = CliAgentFixture::of(Install::new(), "", refuses);
    fixture.spawn_with(PARENT, json!({"agent": "fake", "origin": {"channel": "desk"}}));
    fixture.spawn_with(CHILD, json!({"agent": "fake", "parent": PARENT}));
    let _ = fixture.answer(CHILD, "hello");
    let task = wait_field(&fixture.api, CHILD, "deliveryStatus", "session_queued");
    assert_eq!(notices(&fixture, &task), outbox(&[("terminal", "queued")]));
    let (out, _) = run_cli(&fixture, &["tasks", "audit"], 1);
    assert!(out.contains("channel_refuses") && out.contains("no such room"), "{out}");
    let _ = fixture.turn(PARENT, "and now?");
    let _ = run_cli(&fixture, &["tasks", "audit"], 0);
    let prompt = String::from_utf8(fixture.prompt()).expect("text");
    assert!(prompt.contains(CHILD), "{prompt}");
    fixture.finish();
}

/// The run ended without a holder; the daemon that records the end reads its output.
#[test]
fn the_notice_of_a_run_that_ended_without_a_daemon_quotes_its_last_output() {
    let fixture = CliAgentFixture::of(Install::new(), "", "");
    family(&fixture);
    let owner = Agent::of(&fixture).acting_as(PARENT);
    let go = fixture.dir().join("go");
    let script =
        format!("while [ ! -e '{}' ]; do sleep 0.05; done; echo the very last line; exit 3", go.display());
    let run = owner.start(&script);
    fixture.kill();
    std::fs::write(&go, "").expect("a file");
    let ending = fixture.state().join("runs").join(&run).join("ending");
    eventually("its ending", || ending.exists().then_some(()));
    fixture.start_daemon();
    let task = wait_status(&fixture.api, &run, "failed");
    let waiting = fixture.expect_ok("history", PARENT, &json!({}))["notices"].clone();
    assert!(text(&waiting[0]["text"]).ends_with("Last output: the very last line"), "{waiting} {task}");
    fixture.finish();
}

#[test]
fn a_quiet_success_is_notified_only_on_request() {
    let fixture = CliAgentFixture::new();
    family(&fixture);
    let owner = Agent::of(&fixture).acting_as(PARENT);
    let quiet = in_background(&owner, json!({"command": "read line; true"}));
    let heard = in_background(&owner, json!({"command": "read line; true", "notify": "always"}));
    let loud = in_background(&owner, json!({"command": "read line; echo built"}));
    for (run, delivery) in [(&quiet, "not_applicable"), (&heard, "session_queued"), (&loud, "session_queued")]
    {
        let task = wait_status(&fixture.api, run, "succeeded");
        assert_eq!(task["deliveryStatus"], delivery, "{task}");
    }
    fixture.finish();
}
