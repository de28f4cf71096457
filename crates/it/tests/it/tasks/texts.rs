//! Texts of tasks: few words, in one line, without terminal controls.

use serde_json::{Value, json};
use tenure_it::agent::Agent;
use tenure_it::api::{Api, text};
use tenure_it::daemon_fixture::DaemonFixture;
use tenure_it::eventually;
use tenure_it::install::Install;
use tenure_it::tasks::{show, wait_status};

const MINE: &str = "agent:a:main";

fn fixture() -> (DaemonFixture, Api) {
    let fixture = DaemonFixture::of(Install::new());
    fixture.start_daemon();
    let api = Api::of(&fixture);
    (fixture, api)
}

/// Asserts that a text is one line without terminal controls.
#[track_caller]
fn is_plain(value: &Value) -> String {
    let said = text(value);
    assert!(said.chars().count() <= 240 && !said.chars().any(char::is_control), "{said:?}");
    said
}

#[test]
fn the_progress_of_a_chatty_run_is_one_short_plain_line() {
    let (fixture, api) = fixture();
    let agent = Agent::of(&fixture).acting_as(MINE);
    let chats = r"printf '\033]0;owned\007\033[2J\033[31mred\a\b\t'; head -c 100000 /dev/zero | tr '\0' x; printf '\r\n\n'; read line; exit 3";
    let run = agent.start(chats);
    let goes = eventually("the progress", || {
        Some(show(&api, &run))
            .filter(|task| task["progressSummary"].as_str().is_some_and(|said| said.contains('x')))
    });
    let said = is_plain(&goes["progressSummary"]);
    assert!(!said.contains("owned") && said.chars().count() > 200, "{said:?}");
    assert!(is_plain(&goes["label"]).chars().count() <= 120, "{goes}");
    agent.process("write", &run, &json!({"eof": true}));
    let ended = wait_status(&api, &run, "failed");
    for field in ["progressSummary", "terminalSummary", "error"] {
        is_plain(&ended[field]);
    }
    for event in ended["recentEvents"].as_array().expect("events") {
        if event["summary"].is_string() {
            is_plain(&event["summary"]);
        }
    }
    assert!(ended["recentEvents"].as_array().is_some_and(|events| events.len() <= 20), "{ended}");
    fixture.finish();
}

#[test]
fn a_label_of_a_mebibyte_or_of_several_lines_is_refused_with_its_limit() {
    let (fixture, api) = fixture();
    for label in ["x".repeat(1 << 20), "two\nlines".to_owned(), "\u{1b}[2J".to_owned()] {
        let run = api.post("/v1/runs", &json!({"command": ["true"], "label": label}));
        let exec = api.post("/v1/exec", &json!({"command": "true", "label": label}));
        let spawn = api.post("/v1/sessions", &json!({"backend": "exec", "label": label}));
        for answer in [run, exec, spawn] {
            assert!((400..500).contains(&answer.head.status), "{}", answer.text());
            let why = text(&answer.json()["detail"]);
            assert!(why.contains("label") && why.contains("512") && why.len() < 1000, "{why}");
        }
    }
    assert_eq!(tenure_it::tasks::all(&api), [Value::Null; 0]);
    fixture.finish();
}
