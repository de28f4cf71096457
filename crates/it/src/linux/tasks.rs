//! Tasks through the daemon's API, and their notices in the registry's file.

use crate::api::{Answer, Api};
use crate::eventually;
use crate::install::Install;
use rusqlite::{Connection, OpenFlags};
use serde_json::{Value, json};

/// Sends a tasks request and returns any response.
#[track_caller]
pub fn ask(api: &Api, action: &str, lookup: &str, more: &Value) -> Answer {
    let mut request = json!({"action": action, "lookup": lookup});
    for (name, value) in more.as_object().into_iter().flatten() {
        request[name] = value.clone();
    }
    api.post("/v1/tasks", &request)
}

/// A task.
#[track_caller]
pub fn show(api: &Api, lookup: &str) -> Value {
    ask(api, "show", lookup, &json!({})).is(200).json()["task"].clone()
}

/// All tasks, the newest first.
#[track_caller]
pub fn all(api: &Api) -> Vec<Value> {
    let reply = api.post("/v1/tasks", &json!({"action": "list", "limit": 500})).is(200).json();
    reply["tasks"].as_array().expect("tasks").clone()
}

/// The task of a turn.
#[track_caller]
pub fn of_turn(api: &Api, turn: &Value) -> Value {
    let found = all(api).into_iter().find(|task| task["turnId"] == *turn);
    found.unwrap_or_else(|| panic!("no task of turn {turn}"))
}

/// Waits until a task has this status.
#[track_caller]
pub fn wait_status(api: &Api, lookup: &str, status: &str) -> Value {
    wait_field(api, lookup, "status", status)
}

/// Waits until a field of a task has this value.
#[track_caller]
pub fn wait_field(api: &Api, lookup: &str, field: &str, word: &str) -> Value {
    eventually(&format!("{lookup} has {field} {word}"), || {
        Some(show(api, lookup)).filter(|task| task[field] == word)
    })
}

fn registry(install: &Install) -> Connection {
    let path = install.state().join("tenure.db");
    let db = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY).expect("a registry");
    db.busy_timeout(crate::WAIT_LIMIT).expect("a registry");
    db
}

/// The notices in the events of a task on an `events` channel, in order.
#[track_caller]
pub fn events_channel_notices(install: &Install, task: &str) -> Vec<Value> {
    let db = registry(install);
    let mut statement = db
        .prepare("SELECT detail FROM events WHERE kind = 'task-notice' ORDER BY seq")
        .expect("a table of events");
    let rows = statement.query_map([], |row| row.get::<_, String>(0));
    let told: Vec<String> = rows.and_then(Iterator::collect).expect("events that can be read");
    let told = told.iter().map(|detail| serde_json::from_str::<Value>(detail).expect("JSON"));
    told.filter(|detail| detail["taskId"] == task).collect()
}

/// The purpose and state of each notice of a task, the oldest first.
#[track_caller]
pub fn notices(install: &Install, task: &Value) -> Vec<(String, String)> {
    let db = registry(install);
    let mut statement = db
        .prepare(
            "SELECT purpose, state FROM outbox WHERE task_id = ?1 AND purpose <> 'exec-ended' ORDER BY seq",
        )
        .expect("an outbox");
    let rows = statement.query_map([task["taskId"].as_str()], |row| Ok((row.get(0)?, row.get(1)?)));
    rows.and_then(Iterator::collect).expect("an outbox that can be read")
}
