//! The row on disk, and its transitions.

use super::*;
use crate::record::{self, BadRecord};
use SessionState::{Busy, Closed, Closing as Ending, Idle};

fn full() -> SessionRow {
    let parent = root("agent:main:main");
    let mut row = child(&parent, "agent:codex:acp:1");
    row.origin = Some(Origin { channel: "slack".into(), to: Some("C1".into()), thread: Some("17.2".into()) });
    row
}

#[test]
fn a_row_reads_back_as_written() {
    for row in [root("cli:1"), full()] {
        assert_eq!(record::decode::<SessionRow>(&record::encode(&row)).unwrap(), row);
    }
}

// The first version ever shipped. The file is never edited.
#[test]
fn the_row_of_version_one_is_still_read() {
    let row: SessionRow = record::decode(include_bytes!("../../../fixtures/session-v1")).unwrap();
    assert_eq!(row, full());
}

#[test]
fn a_rows_names_and_words_are_frozen() {
    let json = serde_json::to_value(full()).unwrap();
    assert_eq!(
        json,
        serde_json::json!({
            "key": "agent:codex:acp:1", "agentId": "codex", "kind": "acp", "mode": "persistent",
            "spawnedBy": "agent:main:main", "parentSessionKey": "agent:main:main",
            "ownerSessionKey": "agent:main:main", "lineage": ["agent:main:main"], "backendId": "acp",
            "instanceId": "070707070707070707070707",
            "origin": {"channel": "slack", "to": "C1", "thread": "17.2"},
            "interaction": "parent-owned-background", "state": "idle", "createdAtMs": 1, "updatedAtMs": 1,
        })
    );
}

#[test]
fn a_row_of_a_later_version_or_with_a_path_for_a_key_is_refused() {
    let line = String::from_utf8(record::encode(&full())).unwrap();
    let line = line.lines().next().unwrap();
    let read = |line: String| {
        let sum = crate::hash::fnv64(line.as_bytes());
        record::decode::<SessionRow>(format!("{line}\n{sum:016x}\n").as_bytes())
    };
    assert!(read(line.to_owned()).is_ok());
    let newer = read(line.replace("\"version\":1", "\"version\":2"));
    assert!(matches!(newer, Err(BadRecord::Newer { found: 2 })));
    let path = read(line.replace("agent:codex:acp:1", "agent:codex:../1"));
    assert!(matches!(path, Err(BadRecord::Malformed(_))));
}

#[test]
fn words_read_back_and_are_the_same_in_json() {
    fn check<T>(all: &[T], word: fn(T) -> &'static str)
    where
        T: Copy + PartialEq + std::fmt::Display + std::fmt::Debug + serde::Serialize,
        T: std::str::FromStr<Err = BadWord>,
    {
        for &it in all {
            assert_eq!(it.to_string().parse(), Ok(it));
            assert_eq!(serde_json::to_value(it).unwrap(), word(it));
        }
        let bad = "ALL".parse::<T>().unwrap_err().to_string();
        assert!(all.iter().all(|&it| bad.contains(word(it))), "{bad}");
    }
    check(Kind::ALL, Kind::word);
    check(Mode::ALL, Mode::word);
    check(Backend::ALL, Backend::word);
    check(Interaction::ALL, Interaction::word);
    check(SessionState::ALL, SessionState::word);
    check(Visibility::ALL, Visibility::word);
    check(Action::ALL, Action::word);
}

/// A line per state: true for each of idle, busy, closing and closed that may follow it.
const LIFE: [(SessionState, [bool; 4]); 4] = [
    (Idle, [false, true, true, false]),
    (Busy, [true, false, true, false]),
    (Ending, [false, false, false, true]),
    (Closed, [false, false, false, false]),
];

#[test]
fn a_session_lives_as_the_table_says() {
    for (from, may) in LIFE {
        for (&to, may) in SessionState::ALL.iter().zip(may) {
            assert_eq!(from.advance(to).is_ok(), may, "{from} → {to}");
        }
    }
}

#[test]
fn a_closed_session_says_when_and_stays_closed() {
    let mut row = root("cli:1");
    for (to, now) in [(Busy, 5), (Ending, 6), (Closed, 7)] {
        assert_eq!(row.closed_at_ms, None);
        row.advance(to, now).unwrap();
        assert_eq!((row.state, row.updated_at_ms), (to, now));
    }
    let before = row.clone();
    assert_eq!(row.advance(Idle, 8), Err(IllegalSessionMove { from: Closed, to: Idle }));
    assert_eq!((row.closed_at_ms, &row), (Some(7), &before));
}
