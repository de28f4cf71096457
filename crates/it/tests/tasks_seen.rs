//! What is seen of tasks: few words, in one line, that steer nothing, and only by whom they concern.

use serde_json::{Value, json};
use tenure_it::agent::Agent;
use tenure_it::api::{Api, text};
use tenure_it::eventually;
use tenure_it::home::Home;
use tenure_it::install::Install;
use tenure_it::tasks::{ask, becomes, show};

const MINE: &str = "agent:a:main";
const THEIRS: &str = "agent:b:main";

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

#[test]
fn a_session_neither_sees_nor_ends_the_tasks_of_another() {
    let (home, api) = home();
    let run = Agent::of(&home).acting_as(MINE).start("sleep 600");
    let other = Agent::of(&home).acting_as(THEIRS).start("sleep 600");
    let seen = |who: &str| {
        let reply = api.post("/v1/tasks", &json!({"action": "list", "as": who})).is(200).json();
        let tasks = reply["tasks"].as_array().expect("tasks").clone();
        tasks.iter().map(|task| text(&task["runId"])).collect::<Vec<_>>()
    };
    assert_eq!((seen(MINE), seen(THEIRS)), (vec![run.clone()], vec![other.clone()]));
    let id = text(&show(&api, &run)["taskId"]);
    for lookup in [&id, &run, MINE] {
        for (action, more) in [
            ("show", json!({})),
            ("cancel", json!({})),
            ("notify", json!({"policy": "silent"})),
            ("retry", json!({})),
            ("acknowledge", json!({})),
        ] {
            let mut more = more;
            more["as"] = THEIRS.into();
            let why = ask(&api, action, lookup, &more).refused(403, "forbidden");
            assert!(why.contains(THEIRS) && !why.contains("sleep"), "{action} {lookup}: {why}");
        }
    }
    let asked = json!({"action": "list", "owner": MINE, "as": THEIRS});
    let _ = api.post("/v1/tasks", &asked).refused(403, "forbidden");
    let task = show(&api, &run);
    let is = (&task["status"], &task["notifyPolicy"], &task["cancelAskedAtMs"]);
    assert_eq!(is, (&json!("running"), &json!("done_only"), &Value::Null), "{task}");
    let _ = ask(&api, "cancel", &run, &json!({"as": MINE})).is(200);
    becomes(&api, &run, "cancelled");
    home.cancel(&other);
    home.finish();
}

#[test]
fn to_see_a_task_is_not_to_decide_on_it() {
    let (home, api) = home();
    let run = Agent::of(&home).acting_as(MINE).start("sleep 600");
    let beside = json!({"as": "agent:a:beside", "visibility": "agent", "policy": "silent"});
    assert_eq!(ask(&api, "show", &run, &beside).is(200).json()["task"]["runId"], run);
    for action in ["cancel", "notify", "retry", "acknowledge"] {
        let why = ask(&api, action, &run, &beside).refused(403, "forbidden");
        assert!(why.contains("agent:a:beside"), "{action}: {why}");
    }
    let task = show(&api, &run);
    let is = (&task["status"], &task["notifyPolicy"], &task["cancelAskedAtMs"]);
    assert_eq!(is, (&json!("running"), &json!("done_only"), &Value::Null), "{task}");
    home.cancel(&run);
    home.finish();
}
