//! Messages on the agent's standard output, and records in its working directory.

use serde_json::{Value, json};
use std::io::Write;
use std::sync::Mutex;

/// Serialises the writers of records.
static NOTES: Mutex<()> = Mutex::new(());

/// Appends a line to one of the agent's records.
pub(crate) fn note(file: &str, line: &Value) {
    let _whole = NOTES.lock().expect("no writer panics");
    let mut file = std::fs::OpenOptions::new().append(true).create(true).open(file).expect("a note");
    file.write_all(format!("{line}\n").as_bytes()).expect("a note");
}

/// Sends a message. If the client is gone, the error is ignored.
pub(crate) fn say(message: &Value) {
    print(format!("{message}\n").as_bytes());
}

/// Prints bytes unchanged.
pub(crate) fn print(bytes: &[u8]) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(bytes).and_then(|()| out.flush());
}

/// Answers a request.
pub(crate) fn answer(id: &Value, result: &Value) {
    say(&json!({"jsonrpc": "2.0", "id": id, "result": result}));
}

/// Answers a request with an error.
pub(crate) fn fail(id: &Value, code: i64, message: &str) {
    say(&json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}}));
}

/// Sends an update of a session.
pub(crate) fn update(session: &str, update: &Value) {
    let params = json!({"sessionId": session, "update": update});
    say(&json!({"jsonrpc": "2.0", "method": "session/update", "params": params}));
}
