//! `process` on foreign runs: no session reaches another session's runs.

use serde_json::{Value, json};
use tenure_it::agent::{Agent, daemon};
use tenure_it::api::{Answer, text};
use tenure_it::install::Install;

/// Every action, with its required fields.
fn actions() -> Vec<(&'static str, Value)> {
    vec![
        ("poll", json!({"timeoutMs": 0})),
        ("log", json!({})),
        ("write", json!({"data": "x\n"})),
        ("send-keys", json!({"keys": ["Enter"]})),
        ("submit", json!({})),
        ("paste", json!({"text": "x"})),
        ("screen", json!({})),
        ("resize", json!({"cols": 80, "rows": 24})),
        ("clear", json!({})),
        ("kill", json!({})),
        ("remove", json!({})),
    ]
}

const INSIDE: &str = "INSIDE_A_RUN";

/// The inner process of session A's run in `a_process_of_one_session_cannot_touch_runs_of_another`; without
/// its variables it does nothing.
#[test]
fn the_process_of_session_a() {
    let Ok(told) = std::env::var(INSIDE) else { return };
    let told: Value = serde_json::from_str(&told).expect("JSON");
    let state = std::path::PathBuf::from(text(&told["state"]));
    let agent = Agent::of(&Install::new().with_state(state));
    let theirs = text(&told["theirs"]);
    let code = |answer: Answer| text(&answer.json()["code"]);
    for (action, more) in actions() {
        let plain = code(agent.ask(action, &theirs, &more));
        let pretending = code(agent.acting_as("agent:b:main").ask(action, &theirs, &more));
        println!("{action} {plain} {pretending}");
    }
    let exec = agent.acting_as("agent:b:main").ask_exec(&json!({"command": "true"}));
    println!("exec {0} {0}", code(exec));
    let listed = agent.list();
    assert!(listed.iter().all(|run| run["sessionKey"] == "agent:a:main"), "{listed:?}");
    println!("listed {}", listed.len());
}

#[test]
fn a_process_of_one_session_cannot_touch_runs_of_another() {
    let (fixture, operator) = daemon();
    let [one, other] = ["agent:a:main", "agent:b:main"].map(|session| operator.acting_as(session));
    let theirs = other.start("read line; exit 9");
    let exe = std::env::current_exe().expect("own path");
    let told = json!({"state": fixture.state(), "theirs": theirs}).to_string();
    let command =
        format!("{} --exact tools::foreign_runs::the_process_of_session_a --nocapture", exe.display());
    let reply = one.exec(&json!({"command": command, "env": {INSIDE: told}, "yieldMs": 60_000}));
    assert_eq!(reply["exitCode"], 0, "{reply}");
    let said = text(&reply["output"]);
    let answers: Vec<&str> = said.lines().filter(|line| line.ends_with("no-such-run forbidden")).collect();
    assert_eq!(answers.len(), actions().len(), "{said}");
    assert!(said.contains("exec forbidden") && said.contains("listed 1"), "{said}");
    other.process("write", &theirs, &json!({"eof": true}));
    assert_eq!(other.poll_to_the_end(&theirs).1["exitCode"], 9, "it was left alone");
    fixture.finish();
}
