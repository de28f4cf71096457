//! Replies as JSON for a model. Many hosts show their model the structured content instead of the text, so it has
//! no useless fields: no nulls, nothing empty, and no echo of the client's own request or identity.

use serde::Serialize;
use serde_json::{Map, Value};
use tenure_core::tools::{Action, sessions};

/// The fields of the answer itself, which are present even if empty.
const ANSWERS: [&str; 7] = ["output", "runs", "sessions", "turns", "entries", "tasks", "closed"];
/// JSON of others (an agent's tool calls, a terminal), which is never changed.
const FOREIGN: [&str; 3] = ["body", "details", "screen"];
/// A field of every reply: the one daemon that a client talks to.
const INSTANCE: &str = "instanceId";
/// Fields about a run that its client already knows: `list` has all but the session, which is the client's own.
const OF_ONE_RUN: [&str; 6] = ["command", "cwd", "pty", "pid", "createdAtMs", "sessionKey"];

/// Converts a reply of `exec`.
pub(crate) fn exec(reply: &impl Serialize) -> Value {
    compact(reply, &[])
}

/// Converts a reply of `process`.
pub(crate) fn process(action: Action, reply: &impl Serialize) -> Value {
    match action {
        // The message repeats the runs in words.
        Action::List => compact(reply, &["message", "sessionKey"]),
        // The tail is part of `output`.
        Action::Poll | Action::Log => compact(reply, &[&OF_ONE_RUN[..], &["tail"]].concat()),
        Action::Write
        | Action::SendKeys
        | Action::Submit
        | Action::Paste
        | Action::Screen
        | Action::Resize
        | Action::Kill
        | Action::Clear
        | Action::Remove => compact(reply, &OF_ONE_RUN),
    }
}

/// Converts a reply of `sessions`.
pub(crate) fn sessions(action: sessions::Action, reply: &impl Serialize) -> Value {
    match action {
        // The client that waits for the answer knows its message; `history` has it.
        sessions::Action::Wait | sessions::Action::Cancel => compact(reply, &["message", "askedBy"]),
        sessions::Action::Spawn
        | sessions::Action::List
        | sessions::Action::History
        | sessions::Action::Entries
        | sessions::Action::Send
        | sessions::Action::Status
        | sessions::Action::Close
        | sessions::Action::SetMode
        | sessions::Action::SetOption
        | sessions::Action::Answer => compact(reply, &[]),
    }
}

/// Converts a reply of `tasks`.
pub(crate) fn tasks(reply: &impl Serialize) -> Value {
    compact(reply, &[])
}

fn compact(reply: &impl Serialize, echoes: &[&str]) -> Value {
    let mut reply = serde_json::to_value(reply).unwrap_or_default();
    trim(&mut reply, echoes);
    reply
}

fn trim(value: &mut Value, echoes: &[&str]) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| trim(item, echoes)),
        Value::Object(fields) => {
            fields.retain(|name, _| name != INSTANCE && !echoes.contains(&&**name));
            let own = fields.iter_mut().filter(|(name, _)| !FOREIGN.contains(&&***name));
            own.for_each(|(_, value)| trim(value, echoes));
            fields.retain(|name, value| ANSWERS.contains(&&**name) && !value.is_null() || says(name, value));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Returns true if a field is useful.
fn says(name: &str, value: &Value) -> bool {
    match (name, value) {
        // An exit code and a signal speak for themselves.
        ("exitReason", Value::String(reason)) => reason != "exit" && reason != "signal",
        ("truncated", Value::Bool(cut)) => *cut,
        (_, Value::Null) => false,
        (_, Value::String(text)) => !text.is_empty(),
        (_, Value::Array(items)) => !items.is_empty(),
        (_, Value::Object(fields)) => !Map::is_empty(fields),
        (_, Value::Bool(_) | Value::Number(_)) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_reply_of_exec_says_only_what_became_of_the_command() {
        let reply = json!({"status": "completed", "runId": "a", "exitCode": 0, "exitSignal": null, "exitReason": "exit",
            "failureKind": null, "durationMs": 4, "output": "", "truncated": false, "nextLine": null,
            "nextOffset": null, "tail": "", "followUp": null, "warnings": []});
        let compact =
            json!({"status": "completed", "runId": "a", "exitCode": 0, "durationMs": 4, "output": ""});
        assert_eq!(exec(&reply), compact);
        let failed = json!({"status": "failed", "exitReason": "overall-timeout", "truncated": true, "warnings": ["w"]});
        assert_eq!(exec(&failed), failed);
    }

    #[test]
    fn an_empty_list_is_an_answer() {
        assert_eq!(process(Action::List, &json!({"runs": [], "message": "none"})), json!({"runs": []}));
    }

    #[test]
    fn whoever_polls_a_run_knows_its_command() {
        let run = json!({"runId": "a", "command": "make", "cwd": "/", "pty": false, "pid": 7, "createdAtMs": 1,
            "sessionKey": "mcp:1", "tail": "x\n", "waitingForInput": false, "output": "x\n", "message": "It is running."});
        let polled =
            json!({"runId": "a", "waitingForInput": false, "output": "x\n", "message": "It is running."});
        assert_eq!(process(Action::Poll, &run), polled);
        let listed = process(Action::List, &json!({"runs": [run]}));
        assert_eq!(listed["runs"][0]["command"], "make");
    }

    #[test]
    fn the_json_of_others_stays_as_it_is() {
        let body = json!({"rawInput": {"old": "", "new": null}, "content": []});
        let reply = json!({"entries": [{"number": 1, "turnId": null, "body": body}]});
        let compact = sessions(sessions::Action::Entries, &reply);
        assert_eq!(compact, json!({"entries": [{"number": 1, "body": body}]}));
    }

    #[test]
    fn what_is_false_or_nothing_is_said() {
        let task = json!({"task": {"outcome": {"confirmed": false, "exitCode": null}, "changesTold": 0}});
        assert_eq!(tasks(&task), json!({"task": {"outcome": {"confirmed": false}, "changesTold": 0}}));
    }
}
