//! Webhooks that behave badly: each task's notice arrives once by its key, in order, signed; and the delivery status
//! follows the receiver's responses.

use serde_json::{Value, json};
use std::collections::BTreeSet;
use tenure_it::agent::Agent;
use tenure_it::eventually;
use tenure_it::notify_fixture::{NotifyFixture, webhook};
use tenure_it::tasks::notices;
use tenure_it::webhook_receiver::{Answer, Call, WebhookReceiver};

/// The receiver's reaction at each path, which is also the name of its channel.
fn behaviour(path: &str, earlier: usize) -> Answer {
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

/// An installation with a channel for each path, and an owner for each.
fn fixture(receiver: &WebhookReceiver) -> NotifyFixture {
    let channel = |name: &&str| match *name {
        "slow" => webhook(name, receiver, "/slow").replace("'30s'", "'3s'"),
        name => webhook(name, receiver, &format!("/{name}")),
    };
    let fixture = NotifyFixture::new(&PATHS.iter().map(channel).collect::<String>());
    PATHS.iter().for_each(|name| fixture.owner(name, name));
    fixture
}

fn answers(calls: &[Call]) -> Vec<Answer> {
    calls.iter().map(|call| call.answer.clone()).collect()
}

#[test]
fn a_notice_is_sent_under_its_key_until_the_receiver_accepts_it() {
    let receiver = WebhookReceiver::new(behaviour);
    let fixture = fixture(&receiver);
    let names = ["kind", "busy", "slow", "dying"];
    let runs = names.map(|name| fixture.task(name, "echo the last words; exit 3"));
    for (name, run) in names.iter().zip(&runs) {
        let task = fixture.wait_delivery(run, "delivered");
        assert_eq!((&task["status"], &task["ownerSessionKey"]), (&json!("failed"), &json!(name)), "{task}");
        let id = fixture.id_of(run);
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
        assert!(calls.iter().all(|call| call.body == *body), "a repeated notice is unchanged: {calls:?}");
        assert_eq!((&body["id"], &body["type"]), (&json!(key), &json!("task.terminal")), "{body}");
        assert!(body["text"].as_str().is_some_and(|text| text.contains("the last words")), "{body}");
        let data = &body["data"];
        assert_eq!(
            (&data["to"], &data["thread"], &data["runId"]),
            (&json!("#ops"), &json!("7"), &json!(run))
        );
    }
    fixture.check(&receiver, &BTreeSet::from(runs));
    fixture.finish();
}

#[test]
fn a_rejected_notice_fails_if_no_turn_can_read_it() {
    let receiver = WebhookReceiver::new(behaviour);
    let fixture = fixture(&receiver);
    for name in ["gone", "moved"] {
        let run = fixture.task(name, "exit 3");
        fixture.wait_delivery(&run, "failed");
        let id = fixture.id_of(&run);
        assert_eq!(receiver.of_task(&id).len(), 1, "it is not asked again, nor where it points to");
        let audit = fixture.tenure(&["tasks", "audit", "--json"]);
        let found: Value = serde_json::from_slice(&audit.stdout).expect("JSON");
        let findings = found["findings"].as_array().expect("findings");
        let of_it = findings.iter().find(|it| it["taskId"] == id.as_str());
        assert_eq!(of_it.map(|it| &it["channel"]), Some(&json!(name)), "{found}");
        assert_eq!(fixture.task_rows().iter().filter(|one| one.task == id && one.ends.len() == 1).count(), 1);
    }
    assert!(receiver.accepted().is_empty(), "a redirect is not followed");
    fixture.finish();
}

/// A receiver that accepts after some failures.
fn accepts_later(_: &str, earlier: usize) -> Answer {
    Answer::Status(if earlier == 0 { 404 } else { 204 })
}

#[test]
fn a_notice_without_an_open_owner_fails_and_can_be_retried() {
    let receiver = WebhookReceiver::new(accepts_later);
    let fixture = NotifyFixture::new(&webhook("desk", &receiver, "/desk"));
    fixture.owner("leaves", "desk");
    let gate = fixture.dir().join("gate");
    let run = fixture.task_with(
        "leaves",
        &format!("trap '' TERM; echo ready; while [ ! -e {} ]; do sleep 0.02; done; exit 3", gate.display()),
        json!({"graceMs": 60_000}),
    );
    fixture.wait_for_output(&run, "ready");
    let mut closing = fixture.start(&["sessions", "close", "leaves"]);
    eventually("the session closes", || {
        let status = fixture.expect_ok("status", "leaves")["session"]["state"].clone();
        (status == "closing" || status == "closed").then_some(())
    });
    std::fs::write(&gate, "").expect("a gate");
    fixture.wait_delivery(&run, "failed");
    assert_eq!(closing.code(), 0, "{}", closing.err());
    let audit = fixture.tenure(&["tasks", "audit"]);
    assert!(!audit.status.success(), "{}", String::from_utf8_lossy(&audit.stdout));
    let said = fixture.tenure(&["tasks", "retry", &run]);
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    fixture.wait_delivery(&run, "delivered");
    assert_eq!(answers(&receiver.calls()), [Answer::Status(404), Answer::Status(204)]);
    fixture.check(&receiver, &BTreeSet::from([run.clone()]));
    let said = fixture.tenure(&["tasks", "retry", &run]);
    assert!(!said.status.success(), "a delivered notice is not sent again");
    assert_eq!(receiver.calls().len(), 2);
    fixture.finish();
}

#[test]
fn an_unavailable_receiver_is_notified_when_it_returns() {
    let mut receiver = WebhookReceiver::kind();
    let fixture = NotifyFixture::new(&webhook("desk", &receiver, "/desk"));
    fixture.owner("owner", "desk");
    receiver.close();
    let runs: BTreeSet<String> = (0..20).map(|_| fixture.task("owner", "exit 3")).collect();
    eventually("each was tried", || {
        let tried = |run: &String| {
            let task = fixture.show(run);
            task["status"] == "failed" && task["deliveryStatus"] == "pending"
        };
        runs.iter().all(tried).then_some(())
    });
    receiver.reopen();
    fixture.check(&receiver, &runs);
    assert!(receiver.accepted().values().all(|&times| times == 1), "it answered each");
    fixture.finish();
}

#[test]
fn changes_precede_the_end_and_outdated_ones_are_not_sent() {
    let receiver = WebhookReceiver::new(behaviour);
    let fixture = fixture(&receiver);
    let wants = json!({"notify": "state_changes"});
    let gate = fixture.dir().join("gate");
    let script = format!("while [ ! -e {} ]; do sleep 0.02; done; exit 3", gate.display());
    let names = ["kind", "busy", "slow", "dying"];
    let runs = names.map(|name| fixture.task_with(name, &script, wants.clone()));
    eventually("a change is sent on every channel", || {
        let calls = receiver.calls();
        names.iter().all(|name| calls.iter().any(|call| call.path == format!("/{name}"))).then_some(())
    });
    std::fs::write(&gate, "").expect("a gate");
    for run in &runs {
        fixture.wait_delivery(run, "delivered");
        let calls = receiver.of_task(&fixture.id_of(run));
        let purposes: Vec<&str> = calls.iter().map(Call::purpose).collect();
        assert_eq!(purposes[0], "change", "{purposes:?}");
        let first_end = purposes.iter().position(|&purpose| purpose == "terminal").expect("an end");
        assert!(purposes[first_end..].iter().all(|&purpose| purpose == "terminal"), "{purposes:?}");
        let taken = calls.iter().filter(|call| call.accepted() && call.purpose() == "terminal");
        assert_eq!(taken.count(), 1);
    }
    fixture.check(&receiver, &BTreeSet::from(runs));
    fixture.finish();
}

#[test]
fn a_silent_task_sends_no_notice() {
    let receiver = WebhookReceiver::kind();
    let fixture = NotifyFixture::new(&webhook("desk", &receiver, "/desk"));
    fixture.owner("owner", "desk");
    let silent = fixture.task_with("owner", "exit 3", json!({"notify": "silent"}));
    eventually("its end", || (fixture.show(&silent)["status"] == "failed").then_some(()));
    assert_eq!(fixture.show(&silent)["deliveryStatus"], "not_applicable");
    let told_of = fixture.task("owner", "exit 3");
    fixture.wait_delivery(&told_of, "delivered");
    let keys: Vec<Value> = receiver.calls().into_iter().map(|call| json!(call.key)).collect();
    assert_eq!(keys, [json!(format!("task-{}-terminal", fixture.id_of(&told_of)))]);
    fixture.finish();
}

/// The owner has its answer, and the channel is for owners without one.
#[test]
fn an_owner_that_polls_the_end_gets_no_notice_on_its_channel() {
    let receiver = WebhookReceiver::kind();
    let fixture = NotifyFixture::new(&webhook("desk", &receiver, "/desk"));
    fixture.owner("owner", "desk");
    let owner = Agent::of(&fixture).acting_as("owner");
    let run = owner.start("read line; exit 3");
    let mut waits = owner.begin_process("poll", &run, &json!({"timeoutMs": 60_000}));
    eventually("a pending poll", || {
        let reply = owner.process("poll", &run, &json!({"timeoutMs": 0}));
        reply["message"].as_str().is_some_and(|said| said.starts_with("Another poll")).then_some(())
    });
    owner.process("write", &run, &json!({"eof": true}));
    assert_eq!(waits.answer().is(200).json()["exitCode"], 3);
    let task = fixture.wait_delivery(&run, "delivered");
    assert_eq!(notices(&fixture, &task), [("terminal".to_owned(), "acknowledged".to_owned())], "{task}");
    let other = fixture.task("owner", "exit 3");
    fixture.wait_delivery(&other, "delivered");
    let called: BTreeSet<String> = receiver.calls().iter().map(|call| call.task().to_owned()).collect();
    assert_eq!(called, BTreeSet::from([fixture.id_of(&other)]));
    fixture.finish();
}
