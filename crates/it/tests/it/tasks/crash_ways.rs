//! kill -9 of the daemon on every other way from an end to whoever is told: turns, commands as channels, the queue of a
//! session, and owners who look for themselves. Each end is told, and under one key (I10).

use rustix::process::Signal;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use tenure_it::agent::Agent;
use tenure_it::api::text;
use tenure_it::conversation::{Talks, answered};
use tenure_it::home::Home;
use tenure_it::install::Install;
use tenure_it::known::Known;
use tenure_it::receiver::Receiver;
use tenure_it::tasks::{becomes, notices, of_turn, stands};
use tenure_it::told::{self, Gate, Told, webhook};
use tenure_it::{PATIENCE, eventually, proc};

const PARENT: &str = "agent:fake:main";
const CHILD: &str = "agent:fake:sub";

/// Kills a daemon that stands still at this point, and starts the next.
#[track_caller]
fn kill_at(point: &str, daemon: &Known, home: &Home) {
    eventually(&format!("a daemon at {point}\n{}", home.log()), || {
        proc::is_stopped(daemon.pid).then_some(())
    });
    daemon.send(Signal::KILL);
    daemon.wait_dead(PATIENCE);
    home.begin();
}

/// An agent whose work its parent is told of, on the parent's channel if there is one.
fn family(channels: &str, parent: Value) -> Talks {
    let talks = Talks::without_daemon(Install::new(), "", &format!("[run]\ngrace = '200ms'\n{channels}"));
    talks.begin();
    talks.spawn_with(PARENT, parent);
    talks.spawn_with(CHILD, json!({"agent": "fake", "parent": PARENT}));
    talks
}

fn with_desk(receiver: &Receiver) -> Talks {
    let origin = json!({"channel": "desk", "to": "#ops"});
    family(&webhook("desk", receiver, "/desk"), json!({"agent": "fake", "origin": origin}))
}

fn outbox(state: &str) -> Vec<(String, String)> {
    vec![("terminal".to_owned(), state.to_owned())]
}

#[test]
fn a_turn_whose_daemon_dies_at_any_point_is_told_under_one_key() {
    let receiver = Receiver::kind();
    let talks = with_desk(&receiver);
    let points =
        ["daemon-before-turn-end", "daemon-turn-ended", "daemon-before-delivery", "daemon-after-delivery"];
    for (earlier, point) in points.into_iter().enumerate() {
        talks.kill();
        let daemon = talks.begin_paused(point);
        let _unanswered = talks.begin_asking("send", CHILD, &json!({"text": point}));
        kill_at(point, &daemon, &talks);
        told::check(&talks, &receiver, &BTreeSet::new());
        assert_eq!((told::kept(&talks).len(), talks.starts().len()), (earlier + 1, earlier + 1), "{point}");
    }
    talks.finish();
}

/// The points are those of the child's turn, which puts the notice into the queue, or of the parent's, which takes it.
#[test]
fn what_waits_for_a_session_is_handed_to_one_turn_whenever_its_daemon_dies() {
    let ends = ["daemon-before-turn-end", "daemon-turn-ended"];
    let begins = ["daemon-before-turn-run", "daemon-after-turn-run", "daemon-before-turn-end"];
    let talks = family("", json!({"agent": "fake"}));
    let mut asked = 0;
    for (whose, point) in ends.map(|end| (CHILD, end)).into_iter().chain(begins.map(|begin| (PARENT, begin)))
    {
        let ask = |key: &str| {
            if key != whose {
                return drop(talks.answer(key, point));
            }
            talks.kill();
            let daemon = talks.begin_paused(point);
            let _unanswered = talks.begin_asking("send", key, &json!({"text": point}));
            kill_at(point, &daemon, &talks);
        };
        ask(CHILD);
        let task = stands(&talks.api, CHILD, "deliveryStatus", "session_queued");
        ask(PARENT);
        let _ = talks.answer(PARENT, "and then?");
        asked += 2;
        let turns = eventually("the end of each turn", || {
            let turns = talks.history(PARENT);
            (turns.len() == asked && turns.iter().all(|turn| turn["state"] == "done")).then_some(turns)
        });
        let short = text(&task["taskId"])[..8].to_owned();
        let tells = |turn: &&Value| text(&answered(turn)["prompt"]).contains(&short);
        let told: Vec<String> = turns.iter().filter(tells).map(|turn| text(&turn["turnId"])).collect();
        assert_eq!(told, [text(&turns[asked - 2]["turnId"])], "{whose} {point}");
        assert_eq!(notices(&talks, &task), outbox("taken"), "{whose} {point}");
    }
    talks.finish();
}

/// Whoever was answered and not recorded as answered is told again; who was is not.
#[test]
fn a_history_that_was_read_is_taken_once_it_is_recorded() {
    let talks = family("", json!({"agent": "fake"}));
    for (point, left) in [("daemon-before-seen", "queued"), ("daemon-after-seen", "taken")] {
        let _ = talks.answer(CHILD, "paint the fence");
        let task = stands(&talks.api, CHILD, "deliveryStatus", "session_queued");
        talks.kill();
        let daemon = talks.begin_paused(point);
        let _read = talks.begin_asking("history", PARENT, &json!({"as": PARENT}));
        kill_at(point, &daemon, &talks);
        assert_eq!(notices(&talks, &task), outbox(left), "{point}");
        let _ = talks.answer(PARENT, "and now?");
        assert_eq!(notices(&talks, &task), outbox("taken"), "{point}");
        let prompt = String::from_utf8(talks.prompt()).expect("text");
        assert_eq!(prompt.contains(&text(&task["taskId"])[..8]), left == "queued", "{point}: {prompt}");
    }
    talks.finish();
}

/// The receiver is away, so the notice waits until its owner has looked.
#[test]
fn an_end_that_its_owner_polled_is_told_until_that_is_recorded() {
    let mut receiver = Receiver::kind();
    let told = Told::new(&webhook("desk", &receiver, "/desk"));
    told.owner("owner", "desk");
    for (point, state) in [("daemon-before-seen", "delivered"), ("daemon-after-seen", "acknowledged")] {
        receiver.close();
        told.kill();
        let daemon = told.begin_paused(point);
        let owner = Agent::of(&told).acting_as("owner");
        let run = owner.start("echo word; exit 3");
        let task = becomes(&told.api, &run, "failed");
        let _read = owner.begin_process("poll", &run, &json!({"timeoutMs": 30_000}));
        kill_at(point, &daemon, &told);
        receiver.reopen();
        told.becomes(&run, "delivered");
        assert_eq!(notices(&told, &task), outbox(state), "{point}");
        let times = receiver.of_task(&text(&task["taskId"])).len();
        assert_eq!(times, usize::from(state == "delivered"), "{point}");
    }
    told.finish();
}

#[test]
fn a_turn_that_its_owner_waited_for_is_told_until_that_is_recorded() {
    let mut receiver = Receiver::kind();
    let talks = with_desk(&receiver);
    for (point, state) in [("daemon-before-seen", "delivered"), ("daemon-after-seen", "acknowledged")] {
        receiver.close();
        talks.kill();
        let daemon = talks.begin_paused(point);
        let sent = talks.send(CHILD, "hello");
        let _ = talks.end_of(CHILD, &sent["turnId"]);
        let task = of_turn(&talks.api, &sent["turnId"]);
        let asked = json!({"turnId": sent["turnId"], "timeoutMs": 0, "as": PARENT});
        let _read = talks.begin_asking("wait", CHILD, &asked);
        kill_at(point, &daemon, &talks);
        receiver.reopen();
        let id = text(&task["taskId"]);
        stands(&talks.api, &id, "deliveryStatus", "delivered");
        assert_eq!(notices(&talks, &task), outbox(state), "{point}");
        assert_eq!(receiver.of_task(&id).len(), usize::from(state == "delivered"), "{point}");
    }
    talks.finish();
}

/// The command is a run like others, and the daemon may die on the way to that, too.
#[test]
fn a_command_whose_daemon_dies_at_any_point_gets_the_notice_under_one_key() {
    let told = Told::without_daemon("");
    let desk = told.dir().join("desk");
    let channel = format!(
        "[channels.desk]\ncommand = ['sh', '-c', 'cat >> \"$0\"', '{}']\ntimeout = '5s'\n",
        desk.display()
    );
    std::fs::write(told.config(), channel).expect("a configuration");
    told.begin();
    told.owner("owner", "desk");
    for point in ["daemon-before-delivery", "daemon-row-written", "daemon-launched", "daemon-after-delivery"]
    {
        let gate = Gate::new(told.dir(), point);
        let run = told.task("owner", &gate.script());
        told.kill();
        let daemon = told.begin_paused(point);
        gate.open();
        kill_at(point, &daemon, &told);
        told.becomes(&run, "delivered");
        let said = std::fs::read_to_string(&desk).expect("notices");
        let read: Vec<Value> = said.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        let own = read.iter().filter(|notice| notice["data"]["runId"] == run.as_str());
        let keys: BTreeSet<String> = own.map(|notice| text(&notice["id"])).collect();
        assert_eq!(keys, BTreeSet::from([format!("task-{}-terminal", told.id_of(&run))]), "{point}");
    }
    told.finish();
}
