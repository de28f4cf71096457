//! Snapshots of one refusal of each code. A request provokes the refusal where that needs no process; otherwise the
//! test calls the code that creates it. The CLI's tests print the snapshots.

use super::album;
use super::history::{CHILD, CLOSED};
use super::samples::run_id;
use super::served::{Served, operator};
use crate::http::{MAX_BODY, Token, too_many_connections};
use axum::body::Body;
use axum::http::{HeaderMap, Request, Uri, header};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use tenure_core::lease::Tenancy;
use tenure_core::problem::Code;
use tenure_os::exec_limits;
use tenure_supervisor::Phase;
use tenure_supervisor::Refusal;
use tenure_supervisor::Requester;

/// Refusals by code.
struct Problems(BTreeMap<String, Value>);

impl Problems {
    fn add(&mut self, problem: Value) {
        let code = problem["code"].as_str().unwrap_or_else(|| panic!("{problem} is no problem")).to_owned();
        assert!(self.0.insert(code.clone(), problem).is_none(), "{code} has two cases");
    }

    async fn ask(&mut self, served: &Served, method: &str, path: &str, body: Option<Value>) {
        self.add(served.ask(method, path, body).await.1);
    }

    fn refusal(&mut self, refusal: &Refusal) {
        self.add(serde_json::to_value(refusal.problem()).unwrap());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_code_has_a_refusal_that_is_as_it_was() {
    let mut problems = Problems(BTreeMap::new());
    requests(&mut problems).await;
    states(&mut problems).await;
    settings(&mut problems).await;
    let known: BTreeSet<String> = Code::ALL.iter().map(|code| code.as_str().to_owned()).collect();
    assert_eq!(problems.0.keys().cloned().collect::<BTreeSet<_>>(), known, "each code has its case here");
    let mut album = album("problems");
    for code in Code::ALL {
        let problem = &problems.0[code.as_str()];
        assert_eq!(problem["status"], code.status());
        album.check(code.as_str(), &serde_json::to_string_pretty(problem).unwrap());
    }
    album.close();
}

/// Collects refusals of wrong requests.
async fn requests(problems: &mut Problems) {
    let served = Served::with_history(&[]).await;
    let run = |number: u8, verb: &str| format!("/v1/runs/{}{verb}", run_id(number));
    let looks = [
        ("GET", "/v1/runs/0000ffff".to_owned()),
        ("GET", "/v1/sessions/nobody".to_owned()),
        ("GET", "/v1/tasks/0000ffff".to_owned()),
        ("DELETE", "/v1/allowlist/99".to_owned()),
        ("GET", "/v1/nothing".to_owned()),
        ("PUT", "/v1/runs".to_owned()),
        ("GET", "/v1/runs/a1".to_owned()),
        ("POST", "/v1/runs/a1/cancel".to_owned()),
        ("POST", run(20, "/cancel")),
        ("POST", run(10, "/submit")),
        ("POST", "/v1/cancel".to_owned()),
    ];
    for (method, path) in looks {
        problems.ask(&served, method, &path, None).await;
    }
    problems.ask(&served, "POST", "/v1/runs", Some(json!({"program": ["make"]}))).await;
    let model = json!({"action": "spawn", "backend": "exec", "model": "giant"});
    problems.ask(&served, "POST", "/v1/sessions", Some(model)).await;
    let long = json!({"cwd": "/", "command": ["x".repeat(16 << 20)]});
    let (_, mut problem) = served.ask("POST", "/v1/runs", Some(long)).await;
    // Systems with larger pages accept longer arguments.
    let most = exec_limits::current().word.to_string();
    problem["detail"] = problem["detail"].as_str().unwrap().replace(&most, "131072").into();
    problems.add(problem);
    let scoped = json!({"cwd": "/", "command": ["make"], "scope": "dev-server"});
    problems.ask(&served, "POST", "/v1/runs", Some(scoped)).await;
    let said = Some(json!({"text": "hello"}));
    problems.ask(&served, "POST", &format!("/v1/sessions/{CLOSED}/send"), said).await;
    let deny = format!("/v1/approvals/{}/deny", run_id(1));
    let agent = Requester::client("agent:coder:main".to_owned(), "uid 1000".to_owned());
    problems.add(served.ask_as(&agent, "POST", &deny, None).await.1);
    let large = Request::post("/v1/runs").body(Body::from(vec![b' '; MAX_BODY + 1])).unwrap();
    problems.add(served.send(large, &operator()).await.1);
    let unknown = Request::get("/v1/runs").body(Body::empty()).unwrap();
    problems.add(served.send_bare(unknown).await.1);
    let token = Token::open(&served.daemon.supervisor.state.path().join("token")).unwrap();
    let mut headers = HeaderMap::new();
    headers.insert(header::HOST, "127.0.0.1:7070".parse().unwrap());
    problems.refusal(&token.check(&Uri::from_static("/v1/runs"), &headers).unwrap_err());
}

/// Collects refusals that depend on the daemon's state.
async fn states(problems: &mut Problems) {
    let served = Served::with_history(&[]).await;
    let make = || Some(json!({"cwd": "/", "command": ["make"]}));
    problems.refusal(&too_many_connections());
    let followers: Vec<_> = std::iter::from_fn(|| served.daemon.supervisor.events.follow().ok()).collect();
    problems.refusal(&served.daemon.supervisor.events.follow().unwrap_err());
    drop(followers);
    // A file in place of the run's directory: its keeper cannot be found.
    std::fs::write(served.daemon.supervisor.state.run_path(&run_id(1)), "").unwrap();
    problems.ask(&served, "POST", &format!("/v1/runs/{}/submit", run_id(1)), None).await;
    *served.daemon.supervisor.leases.tenancy() =
        Tenancy::begin(1, served.daemon.supervisor.settings.rhythm());
    problems.ask(&served, "POST", "/v1/runs", make()).await;
    served.daemon.supervisor.lifecycle.phase.send_replace(Phase::Draining { cancel_runs: false });
    problems.ask(&served, "POST", "/v1/runs", make()).await;
}

/// Collects refusals that depend on the settings.
async fn settings(problems: &mut Problems) {
    let flags = [("exec.mode", "deny"), ("runs.max", "1"), ("runs.queue", "0"), ("sessions.queue", "1")];
    let served = Served::with_history(&flags).await;
    problems.ask(&served, "POST", "/v1/exec", Some(json!({"command": "ls"}))).await;
    let _place = served.daemon.supervisor.starts.admission.enter().await.unwrap();
    problems.ask(&served, "POST", "/v1/runs", Some(json!({"cwd": "/", "command": ["make"]}))).await;
    let said = Some(json!({"text": "hello"}));
    problems.ask(&served, "POST", &format!("/v1/sessions/{CHILD}/send"), said).await;
}
