//! Whoever hangs up before its answer was written has not seen it: what the answer would have told still waits.

use serde_json::{Value, json};
use tenure_it::agent::Agent;
use tenure_it::api::text;
use tenure_it::conversation::Talks;
use tenure_it::eventually;
use tenure_it::tasks::{becomes, notices, of_turn, show, stands};

const PARENT: &str = "agent:fake:main";
const CHILD: &str = "agent:fake:sub";

fn family() -> Talks {
    let talks = Talks::new();
    talks.spawn(PARENT);
    talks.spawn_with(CHILD, json!({"agent": "fake", "parent": PARENT}));
    talks
}

/// Its end waits for its owner, who then gets it.
#[track_caller]
fn still_waits(talks: &Talks, task: &Value) {
    assert_eq!(notices(talks, task), [("terminal".to_owned(), "queued".to_owned())], "{task}");
    assert_eq!(show(&talks.api, &text(&task["taskId"]))["deliveryStatus"], "session_queued");
    let got = talks.does("history", PARENT, &json!({"as": PARENT}))["notices"].clone();
    assert_eq!((&got[0]["taskId"], got.as_array().map(Vec::len)), (&task["taskId"], Some(1)), "{got}");
}

#[test]
fn an_owner_who_hung_up_on_its_poll_has_not_seen_the_end() {
    let talks = family();
    let owner = Agent::of(&talks).acting_as(PARENT);
    let run = owner.start("read line; exit 3");
    let waits = owner.begin_process("poll", &run, &json!({"timeoutMs": 60_000}));
    eventually("a poll that waits", || {
        let reply = owner.process("poll", &run, &json!({"timeoutMs": 0}));
        reply["message"].as_str().is_some_and(|said| said.starts_with("Another poll")).then_some(())
    });
    drop(waits);
    owner.process("write", &run, &json!({"eof": true}));
    still_waits(&talks, &becomes(&talks.api, &run, "failed"));
    talks.finish();
}

#[test]
fn an_owner_who_hung_up_on_its_wait_has_not_heard_the_answer() {
    let talks = family();
    let sent = talks.send(CHILD, "!await go");
    talks.wait_starts(1);
    let asked = json!({"turnId": sent["turnId"], "timeoutMs": 60_000, "as": PARENT});
    let waits = talks.begin_asking("wait", CHILD, &asked);
    // It is asked after, and answered before: so that one waits.
    let _ = talks.does("wait", CHILD, &json!({"turnId": sent["turnId"], "timeoutMs": 0}));
    drop(waits);
    talks.let_go("go");
    let _ = talks.end_of(CHILD, &sent["turnId"]);
    still_waits(&talks, &of_turn(&talks.api, &sent["turnId"]));
    talks.finish();
}

/// More than a socket takes from one side before the other has read.
#[test]
fn a_history_that_was_not_written_whole_has_handed_nothing_over() {
    let talks = Talks::new();
    talks.spawn_exec(PARENT);
    talks.spawn_with(CHILD, json!({"agent": "fake", "parent": PARENT}));
    for _ in 0..12 {
        let _ = talks.turn(PARENT, "head -c 60000 /dev/zero | tr '\\0' x");
    }
    let turns = talks.does("history", PARENT, &json!({"maxBytes": 4 << 20}));
    assert!(turns.to_string().len() > 600_000, "{} bytes", turns.to_string().len());
    let _ = talks.answer(CHILD, "paint the fence");
    let task = stands(&talks.api, CHILD, "deliveryStatus", "session_queued");
    let wire = talks.begin_asking("history", PARENT, &json!({"maxBytes": 4 << 20, "as": PARENT}));
    eventually("an answer that was begun", || (wire.unread() > 50_000).then_some(()));
    assert_eq!(notices(&talks, &task), [("terminal".to_owned(), "queued".to_owned())], "it is under way");
    drop(wire);
    still_waits(&talks, &task);
    eventually("that it is taken", || {
        (notices(&talks, &task) == [("terminal".to_owned(), "taken".to_owned())]).then_some(())
    });
    talks.finish();
}
