//! Tasks by kind and their outcomes: everything that runs in the background, with the end of the tracked run or turn.

use rustix::process::Signal;
use serde_json::json;
use tenure_it::agent::Agent;
use tenure_it::api::{Api, text};
use tenure_it::cli_agent_fixture::CliAgentFixture;
use tenure_it::daemon_fixture::DaemonFixture;
use tenure_it::held_process::HeldProcess;
use tenure_it::install::Install;
use tenure_it::tasks::{all, notices, of_turn, show, wait_status};
use tenure_it::{WAIT_LIMIT, eventually, proc};

const KEY: &str = "agent:fake:main";
const OWNER: &str = "agent:a:main";

fn fixture() -> (DaemonFixture, Api) {
    let fixture = DaemonFixture::of(Install::new());
    fixture.start_daemon();
    let api = Api::of(&fixture);
    (fixture, api)
}

#[test]
fn a_command_with_a_waiting_caller_is_no_task() {
    let (fixture, api) = fixture();
    assert!(fixture.tenure(&["run", "--", "true"]).status.success());
    let agent = Agent::of(&fixture).acting_as(OWNER);
    let reply = agent.run("echo done");
    assert_eq!(reply["status"], "completed", "{reply}");
    assert_eq!(all(&api), [json!(null); 0]);
    fixture.finish();
}

#[test]
fn an_exec_command_becomes_a_task_when_it_goes_to_the_background() {
    let (fixture, api) = fixture();
    let agent = Agent::of(&fixture).acting_as(OWNER);
    let waits = "echo here; read line; exit 3";
    let asked = [json!({"command": waits, "background": true}), json!({"command": waits, "yieldMs": 50})];
    for request in asked {
        let reply = agent.exec(&request);
        assert_eq!(reply["status"], "running", "{reply}");
        let run = text(&reply["runId"]);
        let task = show(&api, &run);
        let is = (&task["kind"], &task["status"], &task["runId"], &task["ownerSessionKey"]);
        assert_eq!(is, (&json!("run"), &json!("running"), &json!(run), &json!(OWNER)), "{task}");
        agent.process("write", &run, &json!({"eof": true}));
        let task = wait_status(&api, &run, "failed");
        assert_eq!(task["outcome"]["exitCode"], 3, "{task}");
        assert_eq!(task["progressSummary"], "here", "{task}");
    }
    assert_eq!(all(&api).len(), 2);
    fixture.finish();
}

/// Its caller is gone, so it continues as if it had yielded: even if it ends before the next daemon starts.
#[test]
fn a_command_becomes_a_task_when_its_caller_loses_the_daemon() {
    let (fixture, api) = fixture();
    let agent = Agent::of(&fixture).acting_as(OWNER);
    for ends_meanwhile in [false, true] {
        let gate = fixture.dir().join(format!("gate-{ends_meanwhile}"));
        let waits = format!("while [ ! -e {} ]; do sleep 0.02; done; exit 3", gate.display());
        let mut wire = agent.begin_exec(json!({"command": waits, "yieldMs": 120_000}));
        let live = eventually("the run", || {
            agent.list().iter().find(|run| run["status"] == "running").map(|run| text(&run["runId"]))
        });
        fixture.kill();
        assert!(wire.is_closed());
        if ends_meanwhile {
            std::fs::write(&gate, "").expect("a gate");
            eventually("its ending", || fixture.run_path(&live).join("ending").exists().then_some(()));
        }
        fixture.start_daemon();
        let task = show(&api, &live);
        assert_eq!(task["ownerSessionKey"], OWNER, "{task}");
        std::fs::write(&gate, "").expect("a gate");
        let task = wait_status(&api, &live, "failed");
        assert_eq!(notices(&fixture, &task), [("terminal".to_owned(), "queued".to_owned())], "{task}");
    }
    fixture.finish();
}

#[test]
fn an_agents_turn_is_a_task_and_a_waiting_one_is_queued() {
    let agent_fixture = CliAgentFixture::new();
    agent_fixture.spawn_with(KEY, json!({"agent": "fake", "label": "the painter"}));
    let first = agent_fixture.send(KEY, "!say painting\n!await go");
    agent_fixture.wait_starts(1);
    let second = agent_fixture.send(KEY, "!error no paint\n!exit 4 gone");
    let task = of_turn(&agent_fixture.api, &first["turnId"]);
    let is = (&task["kind"], &task["status"], &task["childSessionKey"]);
    assert_eq!(is, (&json!("cli"), &json!("running"), &json!(KEY)), "{task}");
    let waits = of_turn(&agent_fixture.api, &second["turnId"]);
    assert_eq!((&waits["kind"], &waits["status"]), (&json!("cli"), &json!("queued")), "{waits}");
    assert_eq!(show(&agent_fixture.api, KEY)["taskId"], task["taskId"], "by its session: the current one");
    let run = eventually("its run", || {
        show(&agent_fixture.api, &text(&task["taskId"]))["runId"].as_str().map(str::to_owned)
    });
    assert_eq!(show(&agent_fixture.api, &run)["taskId"], task["taskId"], "by its run");
    let goes = eventually("its message", || {
        Some(show(&agent_fixture.api, &run)).filter(|task| task["progressSummary"].is_string())
    });
    assert_eq!(goes["progressSummary"], "painting", "{goes}");
    agent_fixture.release("go");
    let done = wait_status(&agent_fixture.api, &run, "succeeded");
    assert!(text(&done["terminalSummary"]).contains("prompt"), "its answer: {done}");
    let failed = wait_status(&agent_fixture.api, &text(&waits["taskId"]), "failed");
    assert!(failed["error"].is_string(), "{failed}");
    agent_fixture.finish();
}

#[test]
fn a_task_ends_with_the_outcome_of_its_turn() {
    let agent_fixture = CliAgentFixture::with("no-output-timeout = '5s'", "");
    agent_fixture.spawn(KEY);
    let sent = agent_fixture.send(KEY, "!silent");
    let id = text(&of_turn(&agent_fixture.api, &sent["turnId"])["taskId"]);
    let late = wait_status(&agent_fixture.api, &id, "timed_out");
    assert!(text(&late["error"]).contains("no output"), "{late}");
    let sent = agent_fixture.send(KEY, "!chatter");
    let id = text(&of_turn(&agent_fixture.api, &sent["turnId"])["taskId"]);
    agent_fixture.wait_agent_text(KEY, "delta");
    let _ = agent_fixture.expect_ok("cancel", KEY, &json!({}));
    wait_status(&agent_fixture.api, &id, "cancelled");
    agent_fixture.finish();
}

#[test]
fn a_turn_sent_by_another_session_is_a_subagent_task() {
    let agent_fixture = CliAgentFixture::new();
    agent_fixture.spawn(KEY);
    let child = "agent:fake:sub";
    agent_fixture.spawn_with(child, json!({"agent": "fake", "parent": KEY, "kind": "subagent"}));
    let sent = agent_fixture.send(child, "hello");
    let task = of_turn(&agent_fixture.api, &sent["turnId"]);
    let is = (&task["kind"], &task["ownerSessionKey"], &task["childSessionKey"]);
    assert_eq!(is, (&json!("subagent"), &json!(KEY), &json!(child)), "{task}");
    let task = wait_status(&agent_fixture.api, child, "succeeded");
    assert_eq!(task["deliveryStatus"], "session_queued", "{task}");
    agent_fixture.finish();
}

#[test]
fn a_run_with_an_unseen_end_is_lost_and_notified_once() {
    let fixture = DaemonFixture::without_warden();
    let api = Api::of(&fixture);
    let id = fixture.act(&["--session", OWNER], &["sleep"]);
    fixture.wait_ready(&id);
    let keeper = HeldProcess::hold(
        i32::try_from(fixture.show(&id)["keeperPid"].as_i64().expect("a keeper")).expect("a pid"),
    )
    .expect("a keeper");
    let (_, nursery, ..) = proc::stat(keeper.pid).expect("a keeper");
    let nursery = HeldProcess::hold(nursery).expect("a nursery");
    let root = fixture.root(&id);
    let daemon = fixture.daemon();
    let all = [&daemon, &nursery, &keeper];
    all.iter().for_each(|one| one.stop());
    all.iter().for_each(|one| one.send(Signal::KILL));
    all.into_iter().chain([&root]).for_each(|one| one.wait_dead(WAIT_LIMIT));
    fixture.start_daemon();
    let task = wait_status(&api, &id, "lost");
    assert_eq!(task["outcome"]["reason"], "reconciled-stale", "{task}");
    assert!(task["error"].is_string(), "{task}");
    assert_eq!(notices(&fixture, &task), [("terminal".to_owned(), "queued".to_owned())], "{task}");
    fixture.finish();
}
