//! Tests of visibility and control of runs, without processes.

use crate::fixture::{FakeKeeper, TestDaemon, client, command, command_of, eventually, operator, soon};
use serde_json::{Value, json};
use tenure_core::api::Selector;
use tenure_core::ids::RunId;
use tenure_core::problem::Code;
use tenure_os::socket::Conn;
use tenure_os::stream::Stream;
use tenure_store::Query;
use tenure_supervisor::{Refusal, Requester};

const MINE: &str = "agent:a:main";
const THEIRS: &str = "agent:b:main";

/// Actions of `process` on one run.
const ACTIONS: [&str; 11] =
    ["poll", "log", "write", "send-keys", "submit", "paste", "screen", "resize", "clear", "kill", "remove"];

fn request(action: &str, run: &str) -> Value {
    let mut request = json!({"action": action, "runId": run});
    let more = match action {
        "poll" => json!({"timeoutMs": 0}),
        "write" => json!({"data": "x\n"}),
        "send-keys" => json!({"keys": ["Enter"]}),
        "paste" => json!({"text": "x"}),
        "resize" => json!({"cols": 80, "rows": 24}),
        _ => json!({}),
    };
    for (name, value) in more.as_object().into_iter().flatten() {
        request[name] = value.clone();
    }
    request
}

impl TestDaemon {
    async fn process_as(&self, who: &Requester, body: Value) -> Result<(), Refusal> {
        let request = serde_json::from_value(body).expect("a request");
        soon(self.process(request, who)).await.map(drop)
    }

    /// Starts a run of each session, and one without a session.
    async fn three_runs(&self) -> [FakeKeeper; 3] {
        [
            self.running(command_of(MINE, "mine")).await,
            self.running(command_of(THEIRS, "theirs")).await,
            self.running(command("nobodys")).await,
        ]
    }

    async fn listed(&self, who: &Requester) -> Vec<RunId> {
        let (rows, _) =
            self.supervisor.list(Query { limit: 100, ..Query::default() }, who).await.expect("a list");
        rows.into_iter().map(|row| row.ticket.run_id).collect()
    }
}

fn member(keeper: &FakeKeeper) -> Requester {
    let (run, session) = (keeper.ticket.run_id.clone(), keeper.ticket.options.session_id.clone());
    Requester::Member { run, session }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_cannot_see_the_runs_of_another_whatever_it_asks() {
    let daemon = TestDaemon::new().await;
    let [mine, mut theirs, mut nobodys] = daemon.three_runs().await;
    for who in [client(MINE), member(&mine), operator().acting_as(Some(MINE)).expect("an operator may")] {
        assert_eq!(daemon.listed(&who).await, std::slice::from_ref(&mine.ticket.run_id), "{who}");
        for other in [&theirs, &nobodys] {
            let run = other.ticket.run_id.as_str();
            for text in [run, &run[..10]] {
                assert_eq!(
                    daemon.supervisor.find(text, &who).await.expect_err("not seen").code,
                    Code::NoSuchRun
                );
                for action in ACTIONS {
                    let refusal = daemon.process_as(&who, request(action, text)).await.expect_err("not seen");
                    assert_eq!(refusal.code, Code::NoSuchRun, "{action} by {who}");
                }
            }
            let which = Selector { run: Some(run.to_owned()), ..Selector::default() };
            assert_eq!(
                daemon.supervisor.cancel_many(&which, true, &who).await.expect_err("not seen").code,
                Code::NoSuchRun
            );
        }
        for which in [
            Selector { session: Some(THEIRS.to_owned()), ..Selector::default() },
            Selector { agent: Some("b".to_owned()), ..Selector::default() },
        ] {
            assert_eq!(daemon.supervisor.cancel_many(&which, false, &who).await, Ok(Vec::new()), "{who}");
        }
    }
    for other in [&mut theirs, &mut nobodys] {
        assert!(other.asked_so_far().is_empty(), "nothing was asked of its keeper");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_sees_and_ends_its_own_runs() {
    let daemon = TestDaemon::new().await;
    let [mut mine, ..] = daemon.three_runs().await;
    let run = mine.ticket.run_id.clone();
    for who in [client(MINE), member(&mine)] {
        assert_eq!(daemon.supervisor.find(run.as_str(), &who).await.expect("its own").ticket.run_id, run);
        let which = Selector { session: Some(MINE.to_owned()), ..Selector::default() };
        assert_eq!(daemon.supervisor.cancel_many(&which, false, &who).await, Ok(vec![run.clone()]));
        mine.is_cancelled().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operator_sees_and_ends_every_run() {
    let daemon = TestDaemon::new().await;
    let runs = daemon.three_runs().await;
    let mut all: Vec<RunId> = runs.iter().map(|keeper| keeper.ticket.run_id.clone()).collect();
    all.reverse();
    assert_eq!(daemon.listed(&operator()).await, all, "the newest first");
    for mut keeper in runs {
        let run = keeper.ticket.run_id.clone();
        assert_eq!(
            daemon.supervisor.find(&run.as_str()[..10], &operator()).await.expect("found").ticket.run_id,
            run
        );
        daemon.process_as(&operator(), request("log", run.as_str())).await.expect("read");
        let which = Selector { run: Some(run.to_string()), ..Selector::default() };
        daemon.supervisor.cancel_many(&which, false, &operator()).await.expect("cancelled");
        keeper.is_cancelled().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_of_a_session_cannot_act_or_start_runs_for_another() {
    let daemon = TestDaemon::new().await;
    let [mine, theirs, _nobodys] = daemon.three_runs().await;
    let theirs = theirs.ticket.run_id.as_str();
    for who in [client(MINE), member(&mine)] {
        assert_eq!(who.acting_as(Some(THEIRS)).expect_err("another").code, Code::Forbidden);
        let mut pretending = request("poll", theirs);
        pretending["sessionKey"] = json!(THEIRS);
        assert_eq!(daemon.process_as(&who, pretending).await.expect_err("another").code, Code::Forbidden);
        let asked = tenure_supervisor::start_request::session_of(Some(&THEIRS.to_owned()), &who);
        assert_eq!(asked.expect_err("another").code, Code::Forbidden);
        let own = tenure_supervisor::start_request::session_of(None, &who).expect("its own");
        assert_eq!(own.as_deref(), Some(MINE), "what it starts belongs to its session");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_below_a_keeper_acts_as_its_runs_session_and_any_other_is_an_operator() {
    let daemon = TestDaemon::new().await;
    let (ours, theirs) = Conn::pair().expect("a connection");
    let peer = Stream::new(ours).expect("a connection").peer().expect("a peer");
    assert!(matches!(daemon.supervisor.requester(&peer), Ok(Requester::Operator { .. })));
    let starting = daemon.start_run(command_of(MINE, "mine"));
    let keeper = daemon.next_keeper().await;
    // As if this test were a process of the run.
    keeper.start_below(std::process::id().cast_signed());
    soon(starting).await.expect("no panic").expect("started");
    assert_eq!(daemon.supervisor.requester(&peer), Ok(member(&keeper)));
    let run = keeper.ticket.run_id.clone();
    keeper.end(crate::fixture::exited(0));
    daemon.is_over(&run).await;
    assert!(matches!(daemon.supervisor.requester(&peer), Ok(Requester::Operator { .. })));
    drop(theirs);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_was_removed_is_seen_by_nobody() {
    let daemon = TestDaemon::new().await;
    let mut keeper = daemon.running(command_of(MINE, "mine")).await;
    let run = keeper.ticket.run_id.clone();
    daemon.supervisor.remove(&daemon.row_of(&run).await, &client(MINE)).await.expect("removed");
    keeper.is_cancelled().await;
    for who in [client(MINE), operator()] {
        assert_eq!(
            daemon.supervisor.find(run.as_str(), &who).await.expect_err("hidden").code,
            Code::NoSuchRun
        );
        assert!(daemon.listed(&who).await.is_empty());
    }
    keeper.end(crate::fixture::cancelled());
    let is_gone = async || daemon.supervisor.registry.run(run.clone()).await == Ok(None);
    eventually("that its record goes when it has ended", is_gone).await;
}
