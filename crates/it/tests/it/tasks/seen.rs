//! What is seen of tasks: few words, in one line, that steer nothing.

use serde_json::{Value, json};
use tenure_it::agent::Agent;
use tenure_it::api::{Api, text};
use tenure_it::eventually;
use tenure_it::home::Home;
use tenure_it::install::Install;
use tenure_it::tasks::{becomes, show};

const MINE: &str = "agent:a:main";

fn home() -> (Home, Api) {
    let home = Home::of(Install::new());
    home.begin();
    let api = Api::of(&home);
    (home, api)
}

/// A text for people: one line, and nothing that steers a terminal.
#[track_caller]
fn is_plain(value: &Value) -> String {
    let said = text(value);
    assert!(said.chars().count() <= 240 && !said.chars().any(char::is_control), "{said:?}");
    said
}

#[test]
fn how_a_chatty_run_goes_is_said_in_one_short_plain_line() {
    let (home, api) = home();
    let agent = Agent::of(&home).acting_as(MINE);
    let chats = r"printf '\033]0;owned\007\033[2J\033[31mred\a\b\t'; head -c 100000 /dev/zero | tr '\0' x; printf '\r\n\n'; read line; exit 3";
    let run = agent.start(chats);
    let goes = eventually("how it goes", || {
        Some(show(&api, &run))
            .filter(|task| task["progressSummary"].as_str().is_some_and(|said| said.contains('x')))
    });
    let said = is_plain(&goes["progressSummary"]);
    assert!(!said.contains("owned") && said.chars().count() > 200, "{said:?}");
    assert!(is_plain(&goes["label"]).chars().count() <= 120, "{goes}");
    agent.process("write", &run, &json!({"eof": true}));
    let ended = becomes(&api, &run, "failed");
    for field in ["progressSummary", "terminalSummary", "error"] {
        is_plain(&ended[field]);
    }
    for event in ended["recentEvents"].as_array().expect("events") {
        if event["summary"].is_string() {
            is_plain(&event["summary"]);
        }
    }
    assert!(ended["recentEvents"].as_array().is_some_and(|events| events.len() <= 20), "{ended}");
    home.finish();
}

#[test]
fn a_label_of_a_mebibyte_or_of_several_lines_is_refused_with_its_limit() {
    let (home, api) = home();
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
    home.finish();
}
