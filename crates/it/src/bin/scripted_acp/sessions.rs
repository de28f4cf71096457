//! The agent's sessions, each a file in its working directory with one update a line, so that another process of it can
//! continue them.

use serde_json::Value;
use std::path::PathBuf;

fn path(session: &str) -> PathBuf {
    PathBuf::from(format!("{session}.talk"))
}

/// Makes a session.
pub(crate) fn make(session: &str) {
    std::fs::write(path(session), "").expect("a session");
}

/// Appends an update to a session.
pub(crate) fn append(session: &str, update: &Value) {
    crate::wire::note(path(session).to_str().expect("UTF-8"), update);
}

/// The updates of a session; `None` if it does not exist.
pub(crate) fn updates(session: &str) -> Option<Vec<Value>> {
    let text = std::fs::read_to_string(path(session)).ok()?;
    Some(text.lines().map(|line| serde_json::from_str(line).expect("an update")).collect())
}

/// All sessions.
pub(crate) fn all() -> Vec<String> {
    let entries = std::fs::read_dir(".").expect("a directory").flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names.filter_map(|name| Some(name.strip_suffix(".talk")?.to_owned())).collect()
}
