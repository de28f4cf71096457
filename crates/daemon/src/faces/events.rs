//! Snapshots of one event of each kind. The registry records most events together with the change that they describe;
//! the daemon records the rest.

use super::album;
use super::history::{CHILD, CLOSED, MAIN};
use super::samples::{
    ending, exec_ticket, hold, journal, key, new_run, new_task, new_turn, other_instance, run_id, task_id,
    turn_id,
};
use super::served::{BEGAN, NOW, Served, own_instance};
use axum::http::StatusCode;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use tenure_core::ending::{Exit, Reason, Termination};
use tenure_core::record::Boundary;
use tenure_core::session::SessionState;
use tenure_core::task::NotifyPolicy;
use tenure_core::tools::Notify;
use tenure_store::{
    ApprovalState, Change, FinalText, Hold, Move, NewApproval, NewRun, Outcome, Sweep, TurnEnd, kind,
};
use tenure_supervisor::events;
use tenure_supervisor::events::shown;
use tenure_supervisor::exec_notice;
use tenure_supervisor::heartbeats::heartbeat;

const DAY: u64 = 86_400_000;

#[tokio::test(flavor = "multi_thread")]
async fn each_kind_has_an_event_that_is_as_it_was() {
    let served = Served::with_history(&[("exec.ask", "always")]).await;
    let asked = served.approvals().await;
    served.exec_ends().await;
    served.told_by_the_daemon().await;
    served.owners().await;
    served.task_events().await;
    served.removals().await;

    let rows = served.registry.events(0, None, 10_000).await.unwrap();
    let mut events: BTreeMap<String, Value> = BTreeMap::new();
    for row in rows {
        let mut event = serde_json::to_value(shown(row)).unwrap();
        // The number depends on all earlier events.
        event["seq"] = json!(1);
        events.entry(event["kind"].as_str().unwrap().to_owned()).or_insert(event);
    }
    let row = served.registry.run(run_id(1)).await.unwrap().unwrap();
    let beat = serde_json::to_value(heartbeat(&row.ticket, own_instance(), 4096, NOW)).unwrap();
    events.insert(kind::RUN_OUTPUT.to_owned(), beat);
    let known: BTreeSet<String> = kind::ALL.iter().map(|&kind| kind.to_owned()).collect();
    assert_eq!(events.keys().cloned().collect::<BTreeSet<_>>(), known, "each kind has its case here");
    let mut album = album("events");
    for (kind, event) in events {
        let text = served.text(event);
        let text = asked.iter().fold(text, |text, id| text.replace(id, run_id(60).as_str()));
        album.check(&kind, &text.replace(tenure_supervisor::VERSION, "VERSION"));
    }
    album.close();
}

impl Served {
    /// Creates approval requests: one is denied, one is approved but its run cannot start, and one expires. Returns the
    /// ids of the first two.
    async fn approvals(&self) -> Vec<String> {
        let mut ids = Vec::new();
        // The test creates its own program: installed programs have different paths on each machine.
        let program = self.daemon.supervisor.state.path().join("deploy");
        std::fs::write(&program, "#!/bin/sh\n").unwrap();
        std::fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
        for place in ["staging", "production"] {
            let command = format!("{} {place}", program.display());
            let request = json!({"command": command, "sessionKey": "shell", "workdir": "/"});
            let (status, reply) = self.ask("POST", "/v1/exec", Some(request)).await;
            assert_eq!(status, StatusCode::OK, "{reply}");
            ids.push(reply["runId"].as_str().unwrap().to_owned());
        }
        let (status, answer) = self.ask("POST", &format!("/v1/approvals/{}/deny", ids[0]), None).await;
        assert_eq!(status, StatusCode::OK, "{answer}");
        // Another daemon that shares the registry closes the session.
        for (from, to) in
            [(SessionState::Idle, SessionState::Closing), (SessionState::Closing, SessionState::Closed)]
        {
            let step = Move { from, to, at_ms: NOW, reason: None };
            assert!(self.registry.advance_session(key("shell"), step).await.unwrap().is_some());
        }
        let (status, answer) = self.ask("POST", &format!("/v1/approvals/{}/allow-once", ids[1]), None).await;
        assert_eq!(status, StatusCode::CONFLICT, "{answer}");
        let forgotten = NewApproval {
            id: run_id(61),
            created_at_ms: BEGAN,
            expires_at_ms: BEGAN + 1,
            instance: own_instance(),
            session: Some(MAIN.to_owned()),
            asked: json!({}),
        };
        self.registry.ask_person(forgotten).await.unwrap();
        self.ask("GET", "/v1/approvals", None).await;
        let expired = self.registry.approval(run_id(61)).await.unwrap().unwrap();
        assert_eq!(expired.state, ApprovalState::Expired);
        ids
    }

    /// Records a command of the exec tool that ends in the background.
    async fn exec_ends(&self) {
        let run = new_run(exec_ticket(40, MAIN, "npm test"));
        self.create(NewRun { exec: Some(Notify::Always), ..run }).await;
        self.started(40, &Boundary::Subreaper { why: None }, "/bin/sh").await;
        let task = new_task(40, NotifyPolicy::DoneOnly, None);
        self.registry.go_background(run_id(40), task).await.unwrap();
        self.change(40, Change::Noted(journal()), BEGAN + 40 * 60_000 + 20).await;
        self.ended(ending(40, Termination::new(Reason::Exit, Some(Exit::Code(1)), None), 20, 900)).await;
        let event = exec_notice::exec_ended(&self.daemon.supervisor, &run_id(40)).await.unwrap().unwrap();
        self.registry.tell(event).await.unwrap();
    }

    async fn told_by_the_daemon(&self) {
        events::tell_started(&self.daemon.supervisor, 4_242).await;
        let row = self.registry.run(run_id(1)).await.unwrap().unwrap();
        self.daemon.supervisor.tell(self.daemon.supervisor.cancel_asked(&row.ticket, "uid 1000", true)).await;
        let waiting = self.registry.queued_notices(key(MAIN), 1).await.unwrap();
        self.daemon.notifier.send_event(&waiting[0].notice).await.unwrap();
        let which = json!({"which": {"run": run_id(2)}});
        let (status, lines) = self.ask("POST", "/v1/reap", Some(which)).await;
        assert_eq!(status, StatusCode::OK, "{lines}");
        events::tell_stopped(&self.daemon.supervisor, true).await;
    }

    /// Records a lost lease: an instance is unseated, and this instance steals its run.
    async fn owners(&self) {
        let instances = self.registry.instances().await.unwrap();
        let other = instances.into_iter().find(|row| row.instance == other_instance()).unwrap();
        let unseated = self.registry.unseat(other.instance, other.beat, NOW).await.unwrap().unwrap();
        let from = Hold { instance: other_instance(), epoch: 1 };
        let stolen = self.registry.steal(run_id(20), from, unseated, own_instance(), NOW);
        assert_eq!(stolen.await.unwrap(), Some(Hold { epoch: 2, ..hold() }));
    }

    /// Records a task that is marked lost, and whose turn ends later all the same.
    async fn task_events(&self) {
        self.registry.set_policy(task_id(1), NotifyPolicy::Silent, NOW).await.unwrap();
        let turn = new_turn(7, MAIN, "Count the tests.", NOW);
        let task = Some(new_task(37, NotifyPolicy::DoneOnly, None));
        self.registry.begin_turn(turn, task, own_instance(), NOW).await.unwrap();
        let why = "nobody carries its turn out any more".to_owned();
        let lost = self.registry.lose_task(task_id(37), why, NOW + DAY);
        assert!(lost.await.unwrap());
        let end = TurnEnd {
            outcome: Outcome::Done,
            stop: None,
            at_ms: NOW + DAY + 1,
            text: Some(FinalText::whole("There are 12 tests now.")),
            error: None,
            resume: None,
        };
        assert!(self.registry.end_turn(turn_id(7), end).await.unwrap());
        let sweep = Sweep { now_ms: NOW + 30 * DAY, grace_ms: DAY, limit: 99, removes: true };
        assert!(!self.registry.sweep_tasks(sweep).await.unwrap().removed.is_empty());
        self.registry.reset_tasks(own_instance(), NOW + 30 * DAY).await.unwrap();
    }

    async fn removals(&self) {
        self.registry.hide(run_id(3)).await.unwrap();
        self.registry.forget(vec![run_id(11)]).await.unwrap();
        assert!(self.registry.withdraw_message(key(CHILD), turn_id(6), NOW).await.unwrap());
        assert!(self.registry.forget_session(key(CLOSED)).await.unwrap());
    }
}
