//! Conversion between rows of the database and values: numbers, words, and records stored as JSON.

use super::Trouble;
use crate::Failed;
use crate::rows::{Count, Hold, RunRow, Unreadable};
use rusqlite::Row;
use serde::de::IntoDeserializer;
use serde::de::value::{Error as BadWord, StrDeserializer};
use serde::{Deserialize, Serialize};
use std::str::FromStr;
use tenure_core::ending::Reason;
use tenure_core::hash;
use tenure_core::record;

/// Converts a number to `SQLite`'s type. A number beyond its maximum means "never" here and stays that.
pub(super) fn stored(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Converts a stored number.
pub(super) fn number(stored: i64) -> u64 {
    if stored == i64::MAX { u64::MAX } else { u64::try_from(stored).unwrap_or(0) }
}

/// Encodes a record for a column: the line of the run's file, without its checksum (the database's pages have their
/// own protection, and SQL can query JSON).
pub(super) fn to_text<T: Serialize>(record: &T) -> String {
    let mut line = record::encode(record);
    let end = line.iter().position(|&byte| byte == b'\n').unwrap_or(line.len());
    line.truncate(end);
    String::from_utf8(line).expect("JSON is UTF-8")
}

/// Decodes the record of a column, by the same rules as the file's.
pub(super) fn from_text<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, record::BadRecord> {
    let sum = hash::fnv64(text.as_bytes());
    record::decode(format!("{text}\n{sum:016x}\n").as_bytes())
}

/// Returns the frozen word of an enumeration's value.
pub(super) fn word<T: Serialize>(value: T) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => word,
        other => unreachable!("a word is stored as a string: {other:?}"),
    }
}

pub(super) fn from_word<'a, T: Deserialize<'a>>(word: &'a str) -> Result<T, BadWord> {
    let words: StrDeserializer<'a, BadWord> = word.into_deserializer();
    T::deserialize(words)
}

/// The columns of a [`RunRow`], for a query over `runs r` joined with its owner `instances i`.
pub(super) const RUN: &str = "r.run_id, r.ticket, r.directory, r.asked_by, r.owner, r.epoch, i.expires_at_ms, \
     r.state, r.cause, r.note, r.ending, r.hidden, r.updated_at_ms";

/// Reads a row, or the reason why it cannot be read, such as a newer version. That is no reason not to read the
/// others.
pub(super) fn readable(row: &Row<'_>) -> Result<Result<RunRow, Unreadable>, Trouble> {
    Ok(match run_row(row) {
        Ok(run) => Ok(run),
        Err(trouble) => Err(Unreadable { run: row.get(0)?, why: Failed::from(trouble).to_string() }),
    })
}

/// Reads the columns of [`RUN`].
pub(super) fn run_row(row: &Row<'_>) -> Result<RunRow, Trouble> {
    let id: String = row.get(0)?;
    let text = |at: usize| row.get_ref(at).map_err(Trouble::from)?.as_str().map_err(|e| unreadable(&id, e));
    let maybe =
        |at: usize| row.get_ref(at).map_err(Trouble::from)?.as_str_or_null().map_err(|e| unreadable(&id, e));
    let note = maybe(9)?.map(from_text).transpose().map_err(|e| unreadable(&id, e))?;
    let ending = maybe(10)?.map(from_text).transpose().map_err(|e| unreadable(&id, e))?;
    Ok(RunRow {
        ticket: from_text(text(1)?).map_err(|e| unreadable(&id, e))?,
        directory: text(2)?.to_owned(),
        asked_by: text(3)?.to_owned(),
        hold: Hold { instance: parsed(text(4)?)?, epoch: number(row.get(5)?) },
        expires_at_ms: number(row.get(6)?),
        state: from_word(text(7)?).map_err(|e| unreadable(&id, e))?,
        cause: maybe(8)?.map(from_word).transpose().map_err(|e| unreadable(&id, e))?,
        note,
        ending,
        hidden: row.get(11)?,
        updated_at_ms: number(row.get(12)?),
        foreign: false,
    })
}

pub(super) fn unreadable(run: &str, error: impl std::fmt::Display) -> Trouble {
    Trouble::Answer(Failed::Unavailable(format!("the record of run {run} cannot be read: {error}")))
}

/// Parses an id of a column.
pub(super) fn parsed<T: FromStr<Err: std::fmt::Display>>(text: &str) -> Result<T, Trouble> {
    text.parse().map_err(|error| Trouble::Answer(Failed::Unavailable(format!("{error}"))))
}

/// Returns the name and label under which a counter is stored. Frozen.
pub(super) fn count_name(count: Count) -> (&'static str, String) {
    match count {
        Count::Spawn => ("spawn", String::new()),
        Count::Exit(reason) => ("exit", reason.to_string()),
        Count::TimeoutNoOutput => ("timeout", "no-output".to_owned()),
        Count::TimeoutOverall => ("timeout", "overall".to_owned()),
        Count::KillPid => ("kill", "pid".to_owned()),
        Count::KillGroup => ("kill", "group".to_owned()),
        Count::KillCgroup => ("kill", "cgroup".to_owned()),
        Count::KillJob => ("kill", "job".to_owned()),
        Count::Orphan => ("orphan", String::new()),
        Count::Steal => ("steal", String::new()),
        Count::Escape => ("escape", String::new()),
    }
}

/// Returns the counter of a name and label; `None` for one that this Tenure does not know.
pub(super) fn count_of(name: &str, label: &str) -> Option<Count> {
    Some(match (name, label) {
        ("spawn", _) => Count::Spawn,
        ("exit", reason) => Count::Exit(from_word::<Reason>(reason).ok()?),
        ("timeout", "no-output") => Count::TimeoutNoOutput,
        ("timeout", "overall") => Count::TimeoutOverall,
        ("kill", "pid") => Count::KillPid,
        ("kill", "group") => Count::KillGroup,
        ("kill", "cgroup") => Count::KillCgroup,
        ("kill", "job") => Count::KillJob,
        ("orphan", _) => Count::Orphan,
        ("steal", _) => Count::Steal,
        ("escape", _) => Count::Escape,
        _ => return None,
    })
}
