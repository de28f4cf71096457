//! The agent's sessions, each a file in the directory where it works: one update a line. So another process of it can go
//! on with them.

use serde_json::Value;
use std::path::PathBuf;

fn path(session: &str) -> PathBuf {
    PathBuf::from(format!("{session}.talk"))
}

/// Makes a session.
pub(crate) fn make(session: &str) {
    std::fs::write(path(session), "").expect("a session");
}

/// Adds what happened in a session.
pub(crate) fn keep(session: &str, update: &Value) {
    crate::wire::note(path(session).to_str().expect("UTF-8"), update);
}

/// What happened in a session; none, if there is no such session.
pub(crate) fn kept(session: &str) -> Option<Vec<Value>> {
    let text = std::fs::read_to_string(path(session)).ok()?;
    Some(text.lines().map(|line| serde_json::from_str(line).expect("an update")).collect())
}

/// The sessions there are.
pub(crate) fn all() -> Vec<String> {
    let entries = std::fs::read_dir(".").expect("a directory").flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names.filter_map(|name| Some(name.strip_suffix(".talk")?.to_owned())).collect()
}
