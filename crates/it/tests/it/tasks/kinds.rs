//! What has a task and how that ends: everything that goes on by itself, with the end of what it tracks.

use rustix::process::Signal;
use serde_json::json;
use tenure_it::agent::Agent;
use tenure_it::api::{Api, text};
use tenure_it::conversation::Talks;
use tenure_it::home::Home;
use tenure_it::install::Install;
use tenure_it::known::Known;
use tenure_it::tasks::{all, becomes, notices, of_turn, show};
use tenure_it::{PATIENCE, eventually, proc};

const KEY: &str = "agent:fake:main";
const OWNER: &str = "agent:a:main";

fn home() -> (Home, Api) {
    let home = Home::of(Install::new());
    home.begin();
    let api = Api::of(&home);
    (home, api)
}

#[test]
fn what_somebody_waits_for_is_no_task() {
    let (home, api) = home();
    assert!(home.tenure(&["run", "--", "true"]).status.success());
    let agent = Agent::of(&home).acting_as(OWNER);
    let reply = agent.run("echo done");
    assert_eq!(reply["status"], "completed", "{reply}");
    assert_eq!(all(&api), [json!(null); 0]);
    home.finish();
}

#[test]
fn a_command_of_exec_is_a_task_from_when_it_goes_to_the_background() {
    let (home, api) = home();
    let agent = Agent::of(&home).acting_as(OWNER);
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
        let task = becomes(&api, &run, "failed");
        assert_eq!(task["outcome"]["exitCode"], 3, "{task}");
        assert_eq!(task["progressSummary"], "here", "{task}");
    }
    assert_eq!(all(&api).len(), 2);
    home.finish();
}

/// Its caller is gone, so it goes on as if it had yielded: also what ends before the next daemon comes.
#[test]
fn a_command_whose_caller_lost_the_daemon_is_a_task_from_then_on() {
    let (home, api) = home();
    let agent = Agent::of(&home).acting_as(OWNER);
    for ends_meanwhile in [false, true] {
        let gate = home.dir().join(format!("gate-{ends_meanwhile}"));
        let waits = format!("while [ ! -e {} ]; do sleep 0.02; done; exit 3", gate.display());
        let mut wire = agent.begin_exec(json!({"command": waits, "yieldMs": 120_000}));
        let live = eventually("the run", || {
            agent.list().iter().find(|run| run["status"] == "running").map(|run| text(&run["runId"]))
        });
        home.kill();
        assert!(wire.is_closed());
        if ends_meanwhile {
            std::fs::write(&gate, "").expect("a gate");
            eventually("its ending", || home.run_path(&live).join("ending").exists().then_some(()));
        }
        home.begin();
        let task = show(&api, &live);
        assert_eq!(task["ownerSessionKey"], OWNER, "{task}");
        std::fs::write(&gate, "").expect("a gate");
        let task = becomes(&api, &live, "failed");
        assert_eq!(notices(&home, &task), [("terminal".to_owned(), "queued".to_owned())], "{task}");
    }
    home.finish();
}

#[test]
fn a_turn_of_an_agent_is_a_task_and_one_that_waits_is_queued() {
    let talks = Talks::new();
    talks.spawn_with(KEY, json!({"agent": "fake", "label": "the painter"}));
    let first = talks.send(KEY, "!say painting\n!await go");
    talks.wait_starts(1);
    let second = talks.send(KEY, "!error no paint\n!exit 4 gone");
    let task = of_turn(&talks.api, &first["turnId"]);
    let is = (&task["kind"], &task["status"], &task["childSessionKey"]);
    assert_eq!(is, (&json!("cli"), &json!("running"), &json!(KEY)), "{task}");
    let waits = of_turn(&talks.api, &second["turnId"]);
    assert_eq!((&waits["kind"], &waits["status"]), (&json!("cli"), &json!("queued")), "{waits}");
    assert_eq!(show(&talks.api, KEY)["taskId"], task["taskId"], "by its session: the one under way");
    let run = eventually("its run", || {
        show(&talks.api, &text(&task["taskId"]))["runId"].as_str().map(str::to_owned)
    });
    assert_eq!(show(&talks.api, &run)["taskId"], task["taskId"], "by its run");
    let goes = eventually("what it says", || {
        Some(show(&talks.api, &run)).filter(|task| task["progressSummary"].is_string())
    });
    assert_eq!(goes["progressSummary"], "painting", "{goes}");
    talks.let_go("go");
    let done = becomes(&talks.api, &run, "succeeded");
    assert!(text(&done["terminalSummary"]).contains("prompt"), "what it said: {done}");
    let failed = becomes(&talks.api, &text(&waits["taskId"]), "failed");
    assert!(failed["error"].is_string(), "{failed}");
    talks.finish();
}

#[test]
fn how_a_turn_ends_is_how_its_task_does() {
    let talks = Talks::with("no-output-timeout = '5s'", "");
    talks.spawn(KEY);
    let sent = talks.send(KEY, "!silent");
    let id = text(&of_turn(&talks.api, &sent["turnId"])["taskId"]);
    let late = becomes(&talks.api, &id, "timed_out");
    assert!(text(&late["error"]).contains("no output"), "{late}");
    let sent = talks.send(KEY, "!chatter");
    let id = text(&of_turn(&talks.api, &sent["turnId"])["taskId"]);
    talks.wait_said(KEY, "delta");
    let _ = talks.does("cancel", KEY, &json!({}));
    becomes(&talks.api, &id, "cancelled");
    talks.finish();
}

#[test]
fn a_turn_of_a_session_that_another_handed_work_is_a_subagents_task() {
    let talks = Talks::new();
    talks.spawn(KEY);
    let child = "agent:fake:sub";
    talks.spawn_with(child, json!({"agent": "fake", "parent": KEY, "kind": "subagent"}));
    let sent = talks.send(child, "hello");
    let task = of_turn(&talks.api, &sent["turnId"]);
    let is = (&task["kind"], &task["ownerSessionKey"], &task["childSessionKey"]);
    assert_eq!(is, (&json!("subagent"), &json!(KEY), &json!(child)), "{task}");
    let task = becomes(&talks.api, child, "succeeded");
    assert_eq!(task["deliveryStatus"], "session_queued", "{task}");
    talks.finish();
}

#[test]
fn a_run_whose_end_nobody_saw_is_lost_and_told_so_once() {
    let home = Home::unwatched();
    let api = Api::of(&home);
    let id = home.act(&["--session", OWNER], &["sleep"]);
    home.wait_ready(&id);
    let keeper =
        Known::hold(i32::try_from(home.show(&id)["keeperPid"].as_i64().expect("a keeper")).expect("a pid"))
            .expect("a keeper");
    let (_, nursery, ..) = proc::stat(keeper.pid).expect("a keeper");
    let nursery = Known::hold(nursery).expect("a nursery");
    let root = home.root(&id);
    let daemon = home.daemon();
    let all = [&daemon, &nursery, &keeper];
    all.iter().for_each(|one| one.stop());
    all.iter().for_each(|one| one.send(Signal::KILL));
    all.into_iter().chain([&root]).for_each(|one| one.wait_dead(PATIENCE));
    home.begin();
    let task = becomes(&api, &id, "lost");
    assert_eq!(task["outcome"]["reason"], "reconciled-stale", "{task}");
    assert!(task["error"].is_string(), "{task}");
    assert_eq!(notices(&home, &task), [("terminal".to_owned(), "queued".to_owned())], "{task}");
    home.finish();
}
