//! Webhooks that behave badly: what each task's owner hears arrives once by its key, in its order, signed; and how it
//! stands with the delivery is what the receiver made of it.

use serde_json::{Value, json};
use std::collections::BTreeSet;
use tenure_it::agent::Agent;
use tenure_it::eventually;
use tenure_it::receiver::{Answer, Call, Receiver};
use tenure_it::tasks::notices;
use tenure_it::told::{Told, webhook};

/// What the receiver does at each path, and its channel is called so too.
fn manners(path: &str, earlier: usize) -> Answer {
    match (path, earlier) {
        ("/busy", 0 | 1) => Answer::Status(500),
        ("/slow", 0) => Answer::Silence,
        ("/dying", 0) => Answer::Death,
        ("/gone", _) => Answer::Status(404),
        ("/moved", _) => Answer::Redirect("/kind".to_owned()),
        _ => Answer::Status(204),
    }
}

const PATHS: [&str; 6] = ["kind", "busy", "slow", "dying", "gone", "moved"];

/// An installation with a channel to each path, and an owner that is told there.
fn told(receiver: &Receiver) -> Told {
    let channel = |name: &&str| match *name {
        "slow" => webhook(name, receiver, "/slow").replace("'30s'", "'3s'"),
        name => webhook(name, receiver, &format!("/{name}")),
    };
    let told = Told::new(&PATHS.iter().map(channel).collect::<String>());
    PATHS.iter().for_each(|name| told.owner(name, name));
    told
}

fn answers(calls: &[Call]) -> Vec<Answer> {
    calls.iter().map(|call| call.answer.clone()).collect()
}

#[test]
fn a_notice_is_sent_under_its_key_until_the_receiver_answers_that_it_took_it() {
    let receiver = Receiver::new(manners);
    let told = told(&receiver);
    let names = ["kind", "busy", "slow", "dying"];
    let runs = names.map(|name| told.task(name, "echo the last words; exit 3"));
    for (name, run) in names.iter().zip(&runs) {
        let task = told.becomes(run, "delivered");
        assert_eq!((&task["status"], &task["ownerSessionKey"]), (&json!("failed"), &json!(name)), "{task}");
        let id = told.id_of(run);
        let calls = receiver.of_task(&id);
        let key = format!("task-{id}-terminal");
        assert!(calls.iter().all(|call| call.key == key && call.signed), "{calls:?}");
        let failed = match *name {
            "busy" => vec![Answer::Status(500), Answer::Status(500)],
            "slow" => vec![Answer::Silence],
            "dying" => vec![Answer::Death],
            _ => Vec::new(),
        };
        assert_eq!(answers(&calls), [failed, vec![Answer::Status(204)]].concat(), "{name}");
        let body = &calls[0].body;
        assert!(calls.iter().all(|call| call.body == *body), "a message does not change: {calls:?}");
        assert_eq!((&body["id"], &body["type"]), (&json!(key), &json!("task.terminal")), "{body}");
        assert!(body["text"].as_str().is_some_and(|text| text.contains("the last words")), "{body}");
        let data = &body["data"];
        assert_eq!(
            (&data["to"], &data["thread"], &data["runId"]),
            (&json!("#ops"), &json!("7"), &json!(run))
        );
    }
    told.check(&receiver, &BTreeSet::from(runs));
    told.finish();
}

#[test]
fn what_a_receiver_does_not_want_has_failed_where_no_turn_reads_it() {
    let receiver = Receiver::new(manners);
    let told = told(&receiver);
    for name in ["gone", "moved"] {
        let run = told.task(name, "exit 3");
        told.becomes(&run, "failed");
        let id = told.id_of(&run);
        assert_eq!(receiver.of_task(&id).len(), 1, "it is not asked again, nor where it points to");
        let audit = told.tenure(&["tasks", "audit", "--json"]);
        let found: Value = serde_json::from_slice(&audit.stdout).expect("JSON");
        let findings = found["findings"].as_array().expect("findings");
        let of_it = findings.iter().find(|it| it["taskId"] == id.as_str());
        assert_eq!(of_it.map(|it| &it["channel"]), Some(&json!(name)), "{found}");
        assert_eq!(told.kept().iter().filter(|one| one.task == id && one.ends.len() == 1).count(), 1);
    }
    assert!(receiver.accepted().is_empty(), "a redirect is not followed");
    told.finish();
}

/// A receiver that comes to its senses.
fn learns(_: &str, earlier: usize) -> Answer {
    Answer::Status(if earlier == 0 { 404 } else { 204 })
}

#[test]
fn without_an_owner_that_is_open_it_has_failed_and_can_be_tried_again() {
    let receiver = Receiver::new(learns);
    let told = Told::new(&webhook("desk", &receiver, "/desk"));
    told.owner("leaves", "desk");
    let gate = told.dir().join("gate");
    let run = told.task_with(
        "leaves",
        &format!("trap '' TERM; echo ready; while [ ! -e {} ]; do sleep 0.02; done; exit 3", gate.display()),
        json!({"graceMs": 60_000}),
    );
    told.wait_for_output(&run, "ready");
    let mut closing = told.start(&["sessions", "close", "leaves"]);
    eventually("that the session closes", || {
        let status = told.does("status", "leaves")["session"]["state"].clone();
        (status == "closing" || status == "closed").then_some(())
    });
    std::fs::write(&gate, "").expect("a gate");
    told.becomes(&run, "failed");
    assert_eq!(closing.code(), 0, "{}", closing.err());
    let audit = told.tenure(&["tasks", "audit"]);
    assert!(!audit.status.success(), "{}", String::from_utf8_lossy(&audit.stdout));
    let said = told.tenure(&["tasks", "retry", &run]);
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    told.becomes(&run, "delivered");
    assert_eq!(answers(&receiver.calls()), [Answer::Status(404), Answer::Status(204)]);
    told.check(&receiver, &BTreeSet::from([run.clone()]));
    let said = told.tenure(&["tasks", "retry", &run]);
    assert!(!said.status.success(), "what was delivered is not told again");
    assert_eq!(receiver.calls().len(), 2);
    told.finish();
}

#[test]
fn a_receiver_that_was_away_is_told_when_it_is_back() {
    let mut receiver = Receiver::kind();
    let told = Told::new(&webhook("desk", &receiver, "/desk"));
    told.owner("owner", "desk");
    receiver.close();
    let runs: BTreeSet<String> = (0..20).map(|_| told.task("owner", "exit 3")).collect();
    eventually("that each was tried", || {
        let tried = |run: &String| {
            let task = told.show(run);
            task["status"] == "failed" && task["deliveryStatus"] == "pending"
        };
        runs.iter().all(tried).then_some(())
    });
    receiver.reopen();
    told.check(&receiver, &runs);
    assert!(receiver.accepted().values().all(|&times| times == 1), "it answered each");
    told.finish();
}

#[test]
fn changes_come_before_the_end_and_what_is_overtaken_is_not_told() {
    let receiver = Receiver::new(manners);
    let told = told(&receiver);
    let wants = json!({"notify": "state_changes"});
    let gate = told.dir().join("gate");
    let script = format!("while [ ! -e {} ]; do sleep 0.02; done; exit 3", gate.display());
    let names = ["kind", "busy", "slow", "dying"];
    let runs = names.map(|name| told.task_with(name, &script, wants.clone()));
    eventually("that a change is told on every channel", || {
        let calls = receiver.calls();
        names.iter().all(|name| calls.iter().any(|call| call.path == format!("/{name}"))).then_some(())
    });
    std::fs::write(&gate, "").expect("a gate");
    for run in &runs {
        told.becomes(run, "delivered");
        let calls = receiver.of_task(&told.id_of(run));
        let purposes: Vec<&str> = calls.iter().map(Call::purpose).collect();
        assert_eq!(purposes[0], "change", "{purposes:?}");
        let first_end = purposes.iter().position(|&purpose| purpose == "terminal").expect("an end");
        assert!(purposes[first_end..].iter().all(|&purpose| purpose == "terminal"), "{purposes:?}");
        let taken = calls.iter().filter(|call| call.accepted() && call.purpose() == "terminal");
        assert_eq!(taken.count(), 1);
    }
    told.check(&receiver, &BTreeSet::from(runs));
    told.finish();
}

#[test]
fn whoever_wants_no_notice_gets_none() {
    let receiver = Receiver::kind();
    let told = Told::new(&webhook("desk", &receiver, "/desk"));
    told.owner("owner", "desk");
    let silent = told.task_with("owner", "exit 3", json!({"notify": "silent"}));
    eventually("its end", || (told.show(&silent)["status"] == "failed").then_some(()));
    assert_eq!(told.show(&silent)["deliveryStatus"], "not_applicable");
    let told_of = told.task("owner", "exit 3");
    told.becomes(&told_of, "delivered");
    let keys: Vec<Value> = receiver.calls().into_iter().map(|call| json!(call.key)).collect();
    assert_eq!(keys, [json!(format!("task-{}-terminal", told.id_of(&told_of)))]);
    told.finish();
}

/// It has its answer, and the channel is for those who have not.
#[test]
fn an_owner_who_sees_the_end_in_its_poll_is_not_told_of_it_on_its_channel() {
    let receiver = Receiver::kind();
    let told = Told::new(&webhook("desk", &receiver, "/desk"));
    told.owner("owner", "desk");
    let owner = Agent::of(&told).acting_as("owner");
    let run = owner.start("read line; exit 3");
    let mut waits = owner.begin_process("poll", &run, &json!({"timeoutMs": 60_000}));
    eventually("a poll that waits", || {
        let reply = owner.process("poll", &run, &json!({"timeoutMs": 0}));
        reply["message"].as_str().is_some_and(|said| said.starts_with("Another poll")).then_some(())
    });
    owner.process("write", &run, &json!({"eof": true}));
    assert_eq!(waits.answer().is(200).json()["exitCode"], 3);
    let task = told.becomes(&run, "delivered");
    assert_eq!(notices(&told, &task), [("terminal".to_owned(), "acknowledged".to_owned())], "{task}");
    let other = told.task("owner", "exit 3");
    told.becomes(&other, "delivered");
    let called: BTreeSet<String> = receiver.calls().iter().map(|call| call.task().to_owned()).collect();
    assert_eq!(called, BTreeSet::from([told.id_of(&other)]));
    told.finish();
}
