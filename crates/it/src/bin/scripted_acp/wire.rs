//! What the agent says on its standard output, and what it notes in the directory where it works.

use serde_json::{Value, json};
use std::io::Write;
use std::sync::Mutex;

/// Notes are written whole, whoever writes them.
static NOTES: Mutex<()> = Mutex::new(());

/// Adds a line to one of the agent's notes.
pub(crate) fn note(file: &str, line: &Value) {
    let _whole = NOTES.lock().expect("no writer panics");
    let mut file = std::fs::OpenOptions::new().append(true).create(true).open(file).expect("a note");
    file.write_all(format!("{line}\n").as_bytes()).expect("a note");
}

/// Says a message. One whom nobody hears any more says it all the same.
pub(crate) fn say(message: &Value) {
    print(format!("{message}\n").as_bytes());
}

/// Prints bytes as they are.
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

/// Tells how a session goes.
pub(crate) fn update(session: &str, update: &Value) {
    let params = json!({"sessionId": session, "update": update});
    say(&json!({"jsonrpc": "2.0", "method": "session/update", "params": params}));
}
