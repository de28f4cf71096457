//! Tests of visibility and control of tasks, without processes.

use super::*;
use crate::fixture::{FakeKeeper, TestDaemon, client, command_of, exited, operator, soon};
use serde_json::{Value, json};
use tenure_core::ids::TaskId;
use tenure_core::problem::Code;
use tenure_core::session::SessionKey;
use tenure_core::task::{DeliveryStatus, Status};
use tenure_core::tools::ProcessRequest;
use tenure_supervisor::start_request::StartRequest;

const MINE: &str = "agent:a:main";
const THEIRS: &str = "agent:b:main";
/// Actions for the owner of a task or the session that does the work.
const DECISIONS: [&str; 4] = ["cancel", "notify", "retry", "acknowledge"];

impl TestDaemon {
    async fn tasks_as(&self, who: &Requester, mut body: Value) -> Result<TasksReply, Refusal> {
        if body["action"] == "notify" {
            body["policy"] = json!("silent");
        }
        soon(self.tasks(serde_json::from_value(body).expect("a request"), who)).await
    }

    /// A live run of a session, which is its task.
    async fn task_run(&self, session: &str) -> FakeKeeper {
        let asked = StartRequest { policy: Some(NotifyPolicy::DoneOnly), ..command_of(session, "work") };
        self.running(asked).await
    }

    async fn task_of(&self, keeper: &FakeKeeper) -> TaskRow {
        let tracked = Tracked::Run(keeper.ticket.run_id.clone());
        self.supervisor.registry.task(tracked).await.expect("a registry").expect("a task")
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_neither_sees_nor_ends_the_tasks_of_another() {
    let daemon = TestDaemon::new().await;
    let mut mine = daemon.task_run(MINE).await;
    let theirs = daemon.task_run(THEIRS).await;
    for (session, keeper) in [(MINE, &mine), (THEIRS, &theirs)] {
        let listed = daemon.tasks_as(&client(session), json!({"action": "list"})).await.expect("a list");
        let listed: Vec<_> = listed.tasks.expect("tasks").into_iter().map(|task| task.id).collect();
        assert_eq!(listed, [daemon.task_of(keeper).await.id], "{session}");
    }
    let task = daemon.task_of(&mine).await;
    for lookup in [task.id.as_str(), mine.ticket.run_id.as_str(), MINE] {
        for action in DECISIONS.into_iter().chain(["show"]) {
            let asked = json!({"action": action, "lookup": lookup});
            let refusal = daemon.tasks_as(&client(THEIRS), asked).await.expect_err("another's");
            assert_eq!(refusal.code, Code::Forbidden, "{action} {lookup}");
            assert!(!refusal.detail.contains("work"), "{}", refusal.detail);
        }
    }
    let asked = json!({"action": "list", "owner": MINE});
    assert_eq!(daemon.tasks_as(&client(THEIRS), asked).await.expect_err("another's").code, Code::Forbidden);
    assert_eq!(daemon.task_of(&mine).await, task, "nothing was done to it");
    assert!(mine.asked_so_far().is_empty());
    let cancel = json!({"action": "cancel", "lookup": task.id});
    daemon.tasks_as(&client(MINE), cancel).await.expect("its own");
    mine.is_cancelled().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn visibility_of_a_task_gives_no_control_over_it() {
    let daemon = TestDaemon::new().await;
    let mut mine = daemon.task_run(MINE).await;
    let task = daemon.task_of(&mine).await;
    let beside = |action: &str| json!({"action": action, "lookup": task.id, "as": "agent:a:beside", "visibility": "agent"});
    let shown = daemon.tasks_as(&operator(), beside("show")).await.expect("it is seen");
    assert_eq!(shown.task.expect("a task").id, task.id);
    for action in DECISIONS {
        let refusal = daemon.tasks_as(&operator(), beside(action)).await.expect_err("not its own");
        assert_eq!(refusal.code, Code::Forbidden, "{action}");
    }
    assert_eq!(daemon.task_of(&mine).await, task);
    assert!(mine.asked_so_far().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_receiver_of_a_turns_notices_changes_their_policy() {
    let daemon = TestDaemon::new().await;
    let spawn = |key: &str| json!({"action": "spawn", "sessionKey": key, "backend": "exec"});
    daemon.ask(spawn("owner")).await.expect("spawned");
    let mut worker = spawn("worker");
    (worker["parent"], worker["task"]) = (json!("owner"), json!("echo one"));
    daemon.ask(worker).await.expect("spawned");
    let mut keeper = daemon.next_keeper().await;
    keeper.start();
    let ask = |who: &str, action: &str| {
        let (who, body) = (client(who), json!({"action": action, "lookup": "worker"}));
        let daemon = &daemon;
        async move { daemon.tasks_as(&who, body).await }
    };
    assert_eq!(ask("worker", "notify").await.expect_err("its owner is told").code, Code::Forbidden);
    let task = ask("worker", "cancel").await.expect("its own work").task.expect("a task");
    keeper.is_cancelled().await;
    keeper.end(crate::fixture::cancelled());
    let now =
        async || daemon.supervisor.registry.task(Tracked::Task(task.id.clone())).await.expect("a registry");
    let is_over = async || now().await.is_some_and(|task| task.status == Status::Cancelled);
    crate::fixture::eventually("the end of the task", is_over).await;
    for action in ["acknowledge", "retry", "notify"] {
        assert_eq!(
            ask("worker", action).await.expect_err("its owner is told").code,
            Code::Forbidden,
            "{action}"
        );
    }
    let ended = now().await.expect("a task");
    assert_eq!(
        (ended.owner.as_ref().map(SessionKey::as_str), ended.policy),
        (Some("owner"), NotifyPolicy::DoneOnly)
    );
    assert_eq!(ended.delivery, DeliveryStatus::SessionQueued, "the work does not hide its own end");
    ask("owner", "acknowledge").await.expect("it is told");
    assert_eq!(now().await.expect("a task").delivery, DeliveryStatus::Delivered);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operator_sees_and_cancels_every_task() {
    let daemon = TestDaemon::new().await;
    for mut keeper in [daemon.task_run(MINE).await, daemon.task_run(THEIRS).await] {
        let lookup = keeper.ticket.run_id.clone();
        daemon.tasks_as(&operator(), json!({"action": "show", "lookup": lookup})).await.expect("shown");
        daemon.tasks_as(&operator(), json!({"action": "cancel", "lookup": lookup})).await.expect("asked");
        keeper.is_cancelled().await;
    }
    let listed = daemon.tasks_as(&operator(), json!({"action": "list"})).await.expect("a list");
    assert_eq!(listed.tasks.expect("tasks").len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn audit_and_maintenance_are_the_operators() {
    let daemon = TestDaemon::new().await;
    for action in ["audit", "maintenance"] {
        let refusal = daemon.tasks_as(&client(MINE), json!({"action": action})).await.expect_err("a session");
        assert_eq!(refusal.code, Code::Forbidden, "{action}");
        daemon.tasks_as(&operator(), json!({"action": action})).await.expect("an operator");
    }
}

/// A task of this session that has failed.
async fn failed_task(daemon: &TestDaemon) -> (String, TaskId) {
    let keeper = daemon.task_run(MINE).await;
    let (run, task) = (keeper.ticket.run_id.clone(), daemon.task_of(&keeper).await.id);
    keeper.end(exited(3));
    daemon.is_over(&run).await;
    (run.to_string(), task)
}

async fn delivery(daemon: &TestDaemon, task: &TaskId) -> DeliveryStatus {
    let task = daemon
        .supervisor
        .registry
        .task(Tracked::Task(task.clone()))
        .await
        .expect("a registry")
        .expect("a task");
    assert_eq!(task.status, Status::Failed);
    task.delivery
}

#[tokio::test(flavor = "multi_thread")]
async fn an_end_that_is_to_come_cannot_be_acknowledged() {
    let daemon = TestDaemon::new().await;
    let keeper = daemon.task_run(MINE).await;
    let asked = json!({"action": "acknowledge", "lookup": keeper.ticket.run_id});
    let refusal = daemon.tasks_as(&client(MINE), asked).await.expect_err("it runs");
    assert_eq!(refusal.code, Code::WrongState);
}

#[tokio::test(flavor = "multi_thread")]
async fn only_a_poll_by_the_owner_whose_reply_was_written_is_a_delivery() {
    let daemon = TestDaemon::new().await;
    let (run, task) = failed_task(&daemon).await;
    let request = |action: &str| -> ProcessRequest {
        serde_json::from_value(json!({"action": action, "runId": run})).expect("a request")
    };
    for (who, action) in [(operator(), "poll"), (client(MINE), "log")] {
        soon(daemon.process(request(action), &who)).await.expect("an answer").receipt.written();
    }
    for who in [operator(), client(MINE)] {
        daemon.tasks_as(&who, json!({"action": "show", "lookup": task})).await.expect("shown");
        daemon.tasks_as(&who, json!({"action": "list"})).await.expect("a list");
    }
    // A client that hung up did not get its reply.
    drop(soon(daemon.process(request("poll"), &client(MINE))).await.expect("an answer"));
    // A late record would come after the reply.
    for _ in 0..100 {
        assert_eq!(delivery(&daemon, &task).await, DeliveryStatus::SessionQueued);
    }
    soon(daemon.process(request("poll"), &client(MINE))).await.expect("an answer").receipt.written();
    let is_seen = async || delivery(&daemon, &task).await == DeliveryStatus::Delivered;
    crate::fixture::eventually("that its owner has seen it", is_seen).await;
}
