//! kill -9 of the daemon on every other way from an end to its owner: turns, commands as channels, the queue of a
//! session, and owners that look for themselves. Each end is notified, and under one key (I10).

use rustix::process::Signal;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use tenure_it::agent::Agent;
use tenure_it::api::text;
use tenure_it::cli_agent_fixture::{CliAgentFixture, answer_of};
use tenure_it::daemon_fixture::DaemonFixture;
use tenure_it::held_process::HeldProcess;
use tenure_it::install::Install;
use tenure_it::notify_fixture::{self, Gate, NotifyFixture, webhook};
use tenure_it::tasks::{notices, of_turn, wait_field, wait_status};
use tenure_it::webhook_receiver::WebhookReceiver;
use tenure_it::{WAIT_LIMIT, eventually, proc};

const PARENT: &str = "agent:fake:main";
const CHILD: &str = "agent:fake:sub";

/// Kills a daemon that is paused at this point, and starts the next.
#[track_caller]
fn kill_at(point: &str, daemon: &HeldProcess, fixture: &DaemonFixture) {
    eventually(&format!("a daemon at {point}\n{}", fixture.log()), || {
        proc::is_stopped(daemon.pid).then_some(())
    });
    daemon.send(Signal::KILL);
    daemon.wait_dead(WAIT_LIMIT);
    fixture.start_daemon();
}

/// A child agent whose parent is notified of its work, on the parent's channel if there is one.
fn family(channels: &str, parent: Value) -> CliAgentFixture {
    let agent_fixture =
        CliAgentFixture::without_daemon(Install::new(), "", &format!("[run]\ngrace = '200ms'\n{channels}"));
    agent_fixture.start_daemon();
    agent_fixture.spawn_with(PARENT, parent);
    agent_fixture.spawn_with(CHILD, json!({"agent": "fake", "parent": PARENT}));
    agent_fixture
}

fn with_desk(receiver: &WebhookReceiver) -> CliAgentFixture {
    let origin = json!({"channel": "desk", "to": "#ops"});
    family(&webhook("desk", receiver, "/desk"), json!({"agent": "fake", "origin": origin}))
}

fn outbox(state: &str) -> Vec<(String, String)> {
    vec![("terminal".to_owned(), state.to_owned())]
}

#[test]
fn a_turn_whose_daemon_dies_at_any_point_is_notified_under_one_key() {
    let receiver = WebhookReceiver::kind();
    let agent_fixture = with_desk(&receiver);
    let points =
        ["daemon-before-turn-end", "daemon-turn-ended", "daemon-before-delivery", "daemon-after-delivery"];
    for (earlier, point) in points.into_iter().enumerate() {
        agent_fixture.kill();
        let daemon = agent_fixture.start_daemon_paused(point);
        let _unanswered = agent_fixture.begin_asking("send", CHILD, &json!({"text": point}));
        kill_at(point, &daemon, &agent_fixture);
        notify_fixture::check(&agent_fixture, &receiver, &BTreeSet::new());
        assert_eq!(
            (notify_fixture::task_rows(&agent_fixture).len(), agent_fixture.starts().len()),
            (earlier + 1, earlier + 1),
            "{point}"
        );
    }
    agent_fixture.finish();
}

/// The points are those of the child's turn, which queues the notice, or of the parent's, which takes it.
#[test]
fn notices_of_a_session_reach_exactly_one_turn_whenever_its_daemon_dies() {
    let ends = ["daemon-before-turn-end", "daemon-turn-ended"];
    let begins = ["daemon-before-turn-run", "daemon-after-turn-run", "daemon-before-turn-end"];
    let agent_fixture = family("", json!({"agent": "fake"}));
    let mut asked = 0;
    for (whose, point) in ends.map(|end| (CHILD, end)).into_iter().chain(begins.map(|begin| (PARENT, begin)))
    {
        let ask = |key: &str| {
            if key != whose {
                return drop(agent_fixture.answer(key, point));
            }
            agent_fixture.kill();
            let daemon = agent_fixture.start_daemon_paused(point);
            let _unanswered = agent_fixture.begin_asking("send", key, &json!({"text": point}));
            kill_at(point, &daemon, &agent_fixture);
        };
        ask(CHILD);
        let task = wait_field(&agent_fixture.api, CHILD, "deliveryStatus", "session_queued");
        ask(PARENT);
        let _ = agent_fixture.answer(PARENT, "and then?");
        asked += 2;
        let turns = eventually("the end of each turn", || {
            let turns = agent_fixture.history(PARENT);
            (turns.len() == asked && turns.iter().all(|turn| turn["state"] == "done")).then_some(turns)
        });
        let short = text(&task["taskId"])[..8].to_owned();
        let tells = |turn: &&Value| text(&answer_of(turn)["prompt"]).contains(&short);
        let told: Vec<String> = turns.iter().filter(tells).map(|turn| text(&turn["turnId"])).collect();
        assert_eq!(told, [text(&turns[asked - 2]["turnId"])], "{whose} {point}");
        assert_eq!(notices(&agent_fixture, &task), outbox("taken"), "{whose} {point}");
    }
    agent_fixture.finish();
}

/// An unrecorded answer is notified again; a recorded one is not.
#[test]
fn a_history_read_delivers_its_notices_once_it_is_recorded() {
    let agent_fixture = family("", json!({"agent": "fake"}));
    for (point, left) in [("daemon-before-seen", "queued"), ("daemon-after-seen", "taken")] {
        let _ = agent_fixture.answer(CHILD, "paint the fence");
        let task = wait_field(&agent_fixture.api, CHILD, "deliveryStatus", "session_queued");
        agent_fixture.kill();
        let daemon = agent_fixture.start_daemon_paused(point);
        let _read = agent_fixture.begin_asking("history", PARENT, &json!({"as": PARENT}));
        kill_at(point, &daemon, &agent_fixture);
        assert_eq!(notices(&agent_fixture, &task), outbox(left), "{point}");
        let _ = agent_fixture.answer(PARENT, "and now?");
        assert_eq!(notices(&agent_fixture, &task), outbox("taken"), "{point}");
        let prompt = String::from_utf8(agent_fixture.prompt()).expect("text");
        assert_eq!(prompt.contains(&text(&task["taskId"])[..8]), left == "queued", "{point}: {prompt}");
    }
    agent_fixture.finish();
}

/// The receiver is away, so the notice waits until its owner has polled.
#[test]
fn an_end_polled_by_its_owner_is_notified_until_the_poll_is_recorded() {
    let mut receiver = WebhookReceiver::kind();
    let told = NotifyFixture::new(&webhook("desk", &receiver, "/desk"));
    told.owner("owner", "desk");
    for (point, state) in [("daemon-before-seen", "delivered"), ("daemon-after-seen", "acknowledged")] {
        receiver.close();
        told.kill();
        let daemon = told.start_daemon_paused(point);
        let owner = Agent::of(&told).acting_as("owner");
        let gate = Gate::new(told.dir(), point);
        let run = owner.start(&gate.script());
        gate.open();
        let task = wait_status(&told.api, &run, "failed");
        let _read = owner.begin_process("poll", &run, &json!({"timeoutMs": 30_000}));
        kill_at(point, &daemon, &told);
        receiver.reopen();
        told.wait_delivery(&run, "delivered");
        assert_eq!(notices(&told, &task), outbox(state), "{point}");
        let times = receiver.of_task(&text(&task["taskId"])).len();
        assert_eq!(times, usize::from(state == "delivered"), "{point}");
    }
    told.finish();
}

#[test]
fn a_turn_awaited_by_its_owner_is_notified_until_the_wait_is_recorded() {
    let mut receiver = WebhookReceiver::kind();
    let agent_fixture = with_desk(&receiver);
    for (point, state) in [("daemon-before-seen", "delivered"), ("daemon-after-seen", "acknowledged")] {
        receiver.close();
        agent_fixture.kill();
        let daemon = agent_fixture.start_daemon_paused(point);
        let sent = agent_fixture.send(CHILD, "hello");
        let _ = agent_fixture.end_of(CHILD, &sent["turnId"]);
        let task = of_turn(&agent_fixture.api, &sent["turnId"]);
        let asked = json!({"turnId": sent["turnId"], "timeoutMs": 0, "as": PARENT});
        let _read = agent_fixture.begin_asking("wait", CHILD, &asked);
        kill_at(point, &daemon, &agent_fixture);
        receiver.reopen();
        let id = text(&task["taskId"]);
        wait_field(&agent_fixture.api, &id, "deliveryStatus", "delivered");
        assert_eq!(notices(&agent_fixture, &task), outbox(state), "{point}");
        assert_eq!(receiver.of_task(&id).len(), usize::from(state == "delivered"), "{point}");
    }
    agent_fixture.finish();
}

/// The command is an ordinary run, and the daemon may die on the way to that, too.
#[test]
fn a_command_whose_daemon_dies_at_any_point_gets_the_notice_under_one_key() {
    let told = NotifyFixture::without_daemon("");
    let desk = told.dir().join("desk");
    let channel = format!(
        "[channels.desk]\ncommand = ['sh', '-c', 'cat >> \"$0\"', '{}']\ntimeout = '5s'\n",
        desk.display()
    );
    std::fs::write(told.config(), channel).expect("a configuration");
    told.start_daemon();
    told.owner("owner", "desk");
    for point in ["daemon-before-delivery", "daemon-row-written", "daemon-launched", "daemon-after-delivery"]
    {
        let gate = Gate::new(told.dir(), point);
        let run = told.task("owner", &gate.script());
        told.kill();
        let daemon = told.start_daemon_paused(point);
        gate.open();
        kill_at(point, &daemon, &told);
        told.wait_delivery(&run, "delivered");
        let said = std::fs::read_to_string(&desk).expect("notices");
        let read: Vec<Value> = said.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        let own = read.iter().filter(|notice| notice["data"]["runId"] == run.as_str());
        let keys: BTreeSet<String> = own.map(|notice| text(&notice["id"])).collect();
        assert_eq!(keys, BTreeSet::from([format!("task-{}-terminal", told.id_of(&run))]), "{point}");
    }
    told.finish();
}
