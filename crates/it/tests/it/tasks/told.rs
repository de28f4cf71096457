//! Who is told of a task: its owner, once, on its channel or by its next turn; or nobody, if it has seen it.

use serde_json::{Value, json};
use std::path::PathBuf;
use std::time::Instant;
use tenure_core::defaults::TASK_CHANGES;
use tenure_it::agent::Agent;
use tenure_it::api::text;
use tenure_it::conversation::Talks;
use tenure_it::eventually;
use tenure_it::install::Install;
use tenure_it::says::says;
use tenure_it::tasks::{all, ask, becomes, notices, of_turn, show, stands};

const PARENT: &str = "agent:fake:main";
const CHILD: &str = "agent:fake:sub";

/// With a channel `desk` that writes what it gets in a file.
fn with_desk() -> (Talks, PathBuf) {
    let install = Install::new();
    let desk = install.dir().join("desk");
    let channel = format!("[channels.desk]\ncommand = ['sh', '-c', 'cat >> \"$0\"', '{}']\n", desk.display());
    (Talks::of(install, "", &channel), desk)
}

fn told_on(desk: &PathBuf) -> Vec<Value> {
    let said = std::fs::read_to_string(desk).unwrap_or_default();
    said.lines().map(|line| serde_json::from_str(line).expect("a notice")).collect()
}

fn family(talks: &Talks) {
    talks.spawn(PARENT);
    talks.spawn_with(CHILD, json!({"agent": "fake", "parent": PARENT}));
}

fn outbox(states: &[(&str, &str)]) -> Vec<(String, String)> {
    states.iter().map(|(purpose, state)| ((*purpose).to_owned(), (*state).to_owned())).collect()
}

#[test]
fn the_next_turn_of_an_agent_begins_with_what_became_of_the_work_of_its_child() {
    let talks = Talks::new();
    family(&talks);
    let _ = talks.answer(CHILD, "paint the fence");
    let task = stands(&talks.api, CHILD, "deliveryStatus", "session_queued");
    let short = text(&task["taskId"])[..8].to_owned();
    let turn = talks.turn(PARENT, "and now?");
    let prompt = String::from_utf8(talks.prompt()).expect("text");
    assert!(
        prompt.starts_with("While you were away:\n- Task ") && prompt.ends_with("\n\nand now?"),
        "{prompt}"
    );
    assert!(prompt.contains(&short) && prompt.contains(CHILD) && prompt.contains("is done"), "{prompt}");
    assert_eq!(turn["state"], "done", "{turn}");
    assert_eq!(notices(&talks, &task), outbox(&[("terminal", "taken")]));
    let _ = talks.answer(PARENT, "and then?");
    assert_eq!(String::from_utf8(talks.prompt()).expect("text"), "and then?", "it is told once");
    talks.finish();
}

#[test]
fn a_history_hands_its_session_what_waits_and_shows_it_to_others() {
    let talks = Talks::new();
    family(&talks);
    let _ = talks.answer(CHILD, "paint the fence");
    let task = stands(&talks.api, CHILD, "deliveryStatus", "session_queued");
    let of = |who: &Value| talks.does("history", PARENT, who)["notices"].clone();
    for _ in 0..3 {
        let shown = of(&json!({}));
        assert_eq!(shown[0]["taskId"], task["taskId"], "an operator only looks: {shown}");
    }
    let (out, _) = says(&talks, &["sessions", "history", PARENT], 0);
    assert!(out.contains("waits for the next turn") && out.contains("is done"), "{out}");
    assert_eq!(notices(&talks, &task), outbox(&[("terminal", "queued")]));
    let got = of(&json!({"as": PARENT}));
    assert_eq!((&got[0]["taskId"], got.as_array().map(Vec::len)), (&task["taskId"], Some(1)), "{got}");
    eventually("that it is taken", || {
        (notices(&talks, &task) == outbox(&[("terminal", "taken")])).then_some(())
    });
    assert_eq!(of(&json!({"as": PARENT})), Value::Null);
    let _ = talks.answer(PARENT, "and now?");
    assert_eq!(String::from_utf8(talks.prompt()).expect("text"), "and now?");
    talks.finish();
}

/// Starts a command that reads a line first, and lets it go on once it is in the background.
#[track_caller]
fn in_background(owner: &Agent, request: Value) -> String {
    let run = owner.start_with(request);
    owner.process("write", &run, &json!({"eof": true}));
    run
}

#[test]
fn only_a_poll_or_a_wait_by_the_owner_is_a_delivery() {
    let talks = Talks::new();
    family(&talks);
    let operator = Agent::of(&talks);
    let owner = operator.acting_as(PARENT);
    let run = in_background(&owner, json!({"command": "read line; echo built; exit 3"}));
    let task = becomes(&talks.api, &run, "failed");
    let id = text(&task["taskId"]);
    for lookup in [&id, &run] {
        let _ = show(&talks.api, lookup);
        let _ = ask(&talks.api, "show", lookup, &json!({"as": PARENT})).is(200);
    }
    let _ = all(&talks.api);
    let _ = operator.poll(&run);
    let _ = owner.process("log", &run, &json!({}));
    let _ = owner.list();
    let sent = talks.send(CHILD, "hello");
    let _ = talks.end_of(CHILD, &sent["turnId"]);
    let turn = text(&of_turn(&talks.api, &sent["turnId"])["taskId"]);
    for id in [&id, &turn] {
        let task = show(&talks.api, id);
        assert_eq!(task["deliveryStatus"], "session_queued", "{task}");
        assert_eq!(notices(&talks, &task), outbox(&[("terminal", "queued")]));
    }
    let _ = owner.poll(&run);
    let asked = json!({"turnId": sent["turnId"], "timeoutMs": 0, "as": PARENT});
    assert_eq!(talks.does("wait", CHILD, &asked)["turn"]["state"], "done");
    for id in [&id, &turn] {
        let task = stands(&talks.api, id, "deliveryStatus", "delivered");
        assert_eq!(notices(&talks, &task), outbox(&[("terminal", "acknowledged")]));
    }
    let _ = talks.answer(PARENT, "and now?");
    assert_eq!(String::from_utf8(talks.prompt()).expect("text"), "and now?", "it has seen both");
    talks.finish();
}

#[test]
fn who_wants_to_hear_nothing_is_told_nothing() {
    let talks = Talks::new();
    family(&talks);
    let owner = Agent::of(&talks).acting_as(PARENT);
    let never = in_background(&owner, json!({"command": "read line; echo no; exit 3", "notify": "never"}));
    let later = owner.start("read line; exit 3");
    let policy = json!({"policy": "silent"});
    let _ = ask(&talks.api, "notify", &later, &policy).is(200);
    owner.process("write", &later, &json!({"eof": true}));
    let ended = in_background(&owner, json!({"command": "read line; exit 3"}));
    becomes(&talks.api, &ended, "failed");
    let _ = ask(&talks.api, "notify", &ended, &policy).is(200);
    for (run, left) in
        [(&never, outbox(&[])), (&later, outbox(&[])), (&ended, outbox(&[("terminal", "dropped")]))]
    {
        let task = becomes(&talks.api, run, "failed");
        assert_eq!(task["deliveryStatus"], "not_applicable", "{task}");
        assert_eq!(notices(&talks, &task), left, "{task}");
    }
    let _ = talks.answer(PARENT, "and now?");
    assert_eq!(String::from_utf8(talks.prompt()).expect("text"), "and now?");
    talks.finish();
}

/// What is printed in bursts is one change at a time, and an end overtakes them all.
#[test]
fn changes_are_told_together_and_an_end_takes_their_place() {
    let talks = Talks::new();
    family(&talks);
    let owner = Agent::of(&talks).acting_as(PARENT);
    let run = owner
        .start("read line; i=0; while [ $i -lt 200 ]; do echo step $i; i=$((i+1)); done; read line; echo more; read line; exit 3");
    let began = Instant::now();
    let _ = ask(&talks.api, "notify", &run, &json!({"policy": "state_changes"})).is(200);
    owner.process("write", &run, &json!({"data": "go\n"}));
    let task = stands(&talks.api, &run, "progressSummary", "step 199");
    let waiting = |task: &Value| notices(&talks, task).iter().filter(|(_, state)| state == "queued").count();
    assert_eq!(waiting(&task), 1, "{:?}", notices(&talks, &task));
    owner.process("write", &run, &json!({"data": "go\n"}));
    let task = stands(&talks.api, &run, "progressSummary", "more");
    let told = notices(&talks, &task).len() as u64;
    let most = 1 + began.elapsed().as_secs() / TASK_CHANGES.as_secs();
    assert!((1..=most).contains(&told), "{told} of {most}: {:?}", notices(&talks, &task));
    owner.process("write", &run, &json!({"eof": true}));
    let task = becomes(&talks.api, &run, "failed");
    assert_eq!(notices(&talks, &task).last(), outbox(&[("terminal", "queued")]).last());
    assert_eq!(waiting(&task), 1, "the end only: {:?}", notices(&talks, &task));
    talks.finish();
}

#[test]
fn a_child_in_the_background_reaches_the_users_channel_by_its_owners_notice_only() {
    let (talks, desk) = with_desk();
    let origin = json!({"channel": "desk", "to": "#user"});
    talks.spawn_with(PARENT, json!({"agent": "fake", "origin": origin}));
    talks.spawn_with(CHILD, json!({"agent": "fake", "parent": PARENT, "origin": origin}));
    let grandchild = "agent:fake:subsub";
    talks.spawn_with(grandchild, json!({"agent": "fake", "parent": CHILD, "origin": origin}));
    // What the child owns is told to it, by its queue.
    let _ = talks.answer(grandchild, "below");
    let below = stands(&talks.api, grandchild, "deliveryStatus", "session_queued");
    let _ = talks.answer(CHILD, "!say chatter\nhello");
    let task = stands(&talks.api, CHILD, "deliveryStatus", "delivered");
    let told = told_on(&desk);
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!(told[0]["id"], format!("task-{}-terminal", text(&task["taskId"])));
    assert_eq!((&told[0]["data"]["to"], &told[0]["type"]), (&json!("#user"), &json!("task.terminal")));
    assert_eq!(notices(&talks, &below), outbox(&[("terminal", "taken")]), "by the child's turn");
    let prompt = String::from_utf8(talks.prompt()).expect("text");
    assert!(prompt.contains(grandchild), "{prompt}");
    talks.finish();
}

/// Nobody owns it, so whoever looks at it is no owner.
#[test]
fn an_operator_who_waits_keeps_nothing_from_the_channel() {
    let (talks, desk) = with_desk();
    talks.spawn_with(PARENT, json!({"agent": "fake", "origin": {"channel": "desk"}}));
    let turn = talks.turn(PARENT, "hello");
    let task = stands(&talks.api, PARENT, "deliveryStatus", "delivered");
    assert_eq!(task["turnId"], turn["turnId"]);
    assert_eq!(notices(&talks, &task), outbox(&[("terminal", "delivered")]));
    assert_eq!(told_on(&desk).len(), 1);
    talks.finish();
}

/// The answer of a turn that its caller waits for is no notice: not on a channel, and not for a parent.
#[test]
fn a_caller_in_the_foreground_has_its_answer_and_nobody_else_is_told() {
    let (talks, desk) = with_desk();
    talks.spawn_with(PARENT, json!({"agent": "fake", "origin": {"channel": "desk"}}));
    talks.spawn_with(CHILD, json!({"agent": "fake", "parent": PARENT}));
    for key in [PARENT, CHILD] {
        let (out, _) = says(&talks, &["sessions", "send", key, "hello", "--wait"], 0);
        assert!(out.contains("hello"), "{out}");
        let task = stands(&talks.api, key, "deliveryStatus", "delivered");
        assert_eq!(notices(&talks, &task), outbox(&[("terminal", "acknowledged")]), "{task}");
    }
    // What is sent and left alone is told on the same channel, so the others would have been by now.
    let sent = talks.send(PARENT, "in the background");
    let id = text(&of_turn(&talks.api, &sent["turnId"])["taskId"]);
    let _ = stands(&talks.api, &id, "deliveryStatus", "delivered");
    let told = told_on(&desk);
    assert_eq!((told.len(), &told[0]["id"]), (1, &json!(format!("task-{id}-terminal"))), "{told:?}");
    talks.finish();
}

/// Its work went on in the background, so it is told as such.
#[test]
fn a_caller_in_the_foreground_who_goes_away_before_the_answer_has_it_told() {
    let (talks, desk) = with_desk();
    talks.spawn_with(PARENT, json!({"agent": "fake", "origin": {"channel": "desk"}}));
    let sent = talks.send(PARENT, "!await go");
    let waits = json!({"turnId": sent["turnId"], "timeoutMs": 30_000, "foreground": true});
    drop(talks.begin_asking("wait", PARENT, &waits));
    talks.wait_starts(1);
    talks.let_go("go");
    let task = stands(&talks.api, PARENT, "deliveryStatus", "delivered");
    assert_eq!(notices(&talks, &task), outbox(&[("terminal", "delivered")]), "{task}");
    assert_eq!(told_on(&desk).len(), 1);
    talks.finish();
}

#[test]
fn an_owner_who_polls_a_moment_after_the_end_is_not_told_of_it_on_its_channel() {
    let (talks, desk) = with_desk();
    talks.spawn_with(PARENT, json!({"agent": "fake", "origin": {"channel": "desk"}}));
    let owner = Agent::of(&talks).acting_as(PARENT);
    // On a busy machine a poll may come after the moment, which is no promise broken.
    let task = eventually("a poll in time", || {
        let run = in_background(&owner, json!({"command": "read line; echo built; exit 3"}));
        let ended = becomes(&talks.api, &run, "failed");
        let _ = owner.poll(&run);
        let took = tenure_os::clock::unix_ms() - ended["endedAtMs"].as_u64().expect("a time");
        (took < 700).then_some(ended)
    });
    let task = stands(&talks.api, &text(&task["taskId"]), "deliveryStatus", "delivered");
    assert_eq!(notices(&talks, &task), outbox(&[("terminal", "acknowledged")]), "{task}");
    let key = format!("task-{}-terminal", text(&task["taskId"]));
    assert!(told_on(&desk).iter().all(|told| told["id"] != key), "{:?}", told_on(&desk));
    talks.finish();
}

#[test]
fn a_channel_that_takes_nothing_leaves_it_to_the_owners_next_turn() {
    let refuses = "[channels.desk]\ncommand = ['sh', '-c', 'echo no such room >&2; exit 1']\n";
    let talks = Talks::of(Install::new(), "", refuses);
    talks.spawn_with(PARENT, json!({"agent": "fake", "origin": {"channel": "desk"}}));
    talks.spawn_with(CHILD, json!({"agent": "fake", "parent": PARENT}));
    let _ = talks.answer(CHILD, "hello");
    let task = stands(&talks.api, CHILD, "deliveryStatus", "session_queued");
    assert_eq!(notices(&talks, &task), outbox(&[("terminal", "queued")]));
    let (out, _) = says(&talks, &["tasks", "audit"], 1);
    assert!(out.contains("channel_refuses") && out.contains("no such room"), "{out}");
    let _ = talks.turn(PARENT, "and now?");
    let _ = says(&talks, &["tasks", "audit"], 0);
    let prompt = String::from_utf8(talks.prompt()).expect("text");
    assert!(prompt.contains(CHILD), "{prompt}");
    talks.finish();
}

/// Nobody held it when it ended; whoever records that reads what it printed.
#[test]
fn the_notice_of_a_run_that_ended_without_a_daemon_names_its_last_output() {
    let talks = Talks::of(Install::new(), "", "");
    family(&talks);
    let owner = Agent::of(&talks).acting_as(PARENT);
    let go = talks.dir().join("go");
    let script =
        format!("while [ ! -e '{}' ]; do sleep 0.05; done; echo the very last line; exit 3", go.display());
    let run = owner.start(&script);
    talks.kill();
    std::fs::write(&go, "").expect("a file");
    let ending = talks.state().join("runs").join(&run).join("ending");
    eventually("its ending", || ending.exists().then_some(()));
    talks.begin();
    let task = becomes(&talks.api, &run, "failed");
    let waiting = talks.does("history", PARENT, &json!({}))["notices"].clone();
    assert!(text(&waiting[0]["text"]).ends_with("Last output: the very last line"), "{waiting} {task}");
    talks.finish();
}

#[test]
fn a_quiet_success_is_told_only_to_who_asked_for_that() {
    let talks = Talks::new();
    family(&talks);
    let owner = Agent::of(&talks).acting_as(PARENT);
    let quiet = in_background(&owner, json!({"command": "read line; true"}));
    let heard = in_background(&owner, json!({"command": "read line; true", "notify": "always"}));
    let loud = in_background(&owner, json!({"command": "read line; echo built"}));
    for (run, delivery) in [(&quiet, "not_applicable"), (&heard, "session_queued"), (&loud, "session_queued")]
    {
        let task = becomes(&talks.api, run, "succeeded");
        assert_eq!(task["deliveryStatus"], delivery, "{task}");
    }
    talks.finish();
}
