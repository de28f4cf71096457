//! The sessions of runs: each start records its session, and a closed session starts nothing.

use serde_json::json;
use tenure_it::agent::Agent;
use tenure_it::eventually;
use tenure_it::install::Install;
use tenure_it::owned_daemon::OwnedDaemon;

fn registry(install: &Install) -> rusqlite::Connection {
    let db = rusqlite::Connection::open(install.state().join("tenure.db")).expect("the registry");
    db.busy_timeout(tenure_it::WAIT_LIMIT).expect("a deadline");
    db
}

/// The sessions with their backends.
fn sessions(install: &Install) -> Vec<(String, String)> {
    let db = registry(install);
    let mut statement = db.prepare("SELECT key, backend FROM sessions ORDER BY key").expect("a query");
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).expect("rows");
    rows.collect::<Result<_, _>>().expect("sessions")
}

/// Closes a session in the registry file, without the daemon.
fn close(install: &Install, key: &str) {
    let sql = "UPDATE sessions SET state = 'closed', closed_at_ms = 1 WHERE key = ?1";
    assert_eq!(registry(install).execute(sql, [key]).expect("closed"), 1);
}

#[test]
fn every_start_of_a_sessions_run_records_the_session() {
    let (install, agent) = Agent::new();
    let run = install.start_in_background(&["--session", "agent:a:1"], &["true"]);
    install.wait(&run);
    let _ = agent.acting_as("agent:a:2").run("true");
    let _ = agent.acting_as("agent:a:1").run("true");
    let _ = agent.run("true");
    let expected = [("agent:a:1", "run"), ("agent:a:2", "exec")].map(|(a, b)| (a.to_owned(), b.to_owned()));
    assert_eq!(sessions(&install), expected);
    close(&install, "agent:a:1");
    let started = install.runs().len();
    let request = json!({"command": ["true"], "session": "agent:a:1"});
    let why = agent.api.post("/v1/runs", &request).refused(409, "session-closed");
    assert!(why.contains("agent:a:1 is closed"), "{why}");
    let asked = agent.acting_as("agent:a:1").ask_exec(&json!({"command": "true"}));
    let _ = asked.refused(409, "session-closed");
    assert_eq!(install.runs().len(), started, "nothing was started");
    let listed = agent.api.get("/v1/runs?session=agent:a:1&all=true").is(200).json();
    assert_eq!(listed["runs"].as_array().map(Vec::len), Some(2), "its runs can be read");
}

#[test]
fn a_live_run_of_a_closed_session_is_registered() {
    let mut served = OwnedDaemon::start(Install::new());
    let first = served.install.start_in_background(&["--session", "agent:a:1"], &["true"]);
    served.install.wait(&first);
    close(&served.install, "agent:a:1");
    served.kill();
    let lives = served.install.start_in_background(&["--session", "agent:a:1"], &["sleep", "600"]);
    let new = served.install.start_in_background(&["--session", "agent:a:2"], &["sleep", "600"]);
    served.restart();
    for run in [&lives, &new] {
        served.assert_judged(run, &["resume"]);
        served.install.cancel(run);
        assert_eq!(served.ending(run)["reason"], "manual-cancel");
    }
    assert_eq!(sessions(&served.install).len(), 2);
}

#[test]
fn closed_sessions_are_pruned_by_age_and_their_runs_stay() {
    let install = Install::new()
        .with_daemon()
        .with_env("TENURE_SESSIONS_AGE", "1s")
        .with_env("TENURE_RETENTION_EVERY", "200ms");
    let runs = ["old", "open"].map(|key| install.start_in_background(&["--session", key], &["true"]));
    for run in &runs {
        install.wait(run);
    }
    close(&install, "old");
    eventually("it is gone", || (sessions(&install).len() == 1).then_some(()));
    assert_eq!(sessions(&install)[0].0, "open");
    assert_eq!(install.show(&runs[0])["sessionId"], "old");
}
