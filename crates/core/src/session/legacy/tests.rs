//! The seed's cases of records from before leases, and similar ones.

mod processes;
mod reading;
mod rows;

use super::*;

fn one(text: &str) -> Result<LegacyRecord, BadLegacy> {
    let mut records = read("file", text.as_bytes())?;
    assert_eq!(records.len(), 1, "{text}");
    records.remove(0)
}

fn plain(more: &str) -> LegacyRecord {
    one(&format!(r#"{{"key": "k"{more}}}"#)).unwrap()
}
