//! The rows that are made of records.

use super::*;
use crate::session::{Disagreement, Interaction};

fn row(record: &LegacyRecord, parent: Option<&SessionRow>) -> Result<SessionRow, Refused> {
    record.row(parent, InstanceId::from_random([7; 12]), 1000)
}

#[test]
fn an_open_record_becomes_an_idle_session_and_a_closed_one_a_closed_session() {
    let made = row(&plain(r#", "createdAtMs": 5, "cwd": "/w""#), None).unwrap();
    assert_eq!((made.state, made.created_at_ms, made.closed_at_ms), (SessionState::Idle, 5, None));
    assert_eq!((made.work.cwd.as_deref(), made.interaction), (Some("/w"), Interaction::Interactive));
    for (more, at) in [("", 1000), (r#", "closedAtMs": 9"#, 9), (r#", "closedAtMs": 1"#, 5)] {
        let made = row(&plain(&format!(r#", "createdAtMs": 5, "closed": true{more}"#)), None).unwrap();
        assert_eq!(
            (made.state, made.closed_at_ms, made.updated_at_ms),
            (SessionState::Closed, Some(at), at),
            "{more}"
        );
    }
}

#[test]
fn a_moment_that_is_still_to_come_is_now() {
    let made = row(&plain(r#", "createdAtMs": 5000, "closed": true, "closedAtMs": 9000"#), None).unwrap();
    assert_eq!((made.created_at_ms, made.closed_at_ms), (1000, Some(1000)));
}

#[test]
fn a_child_belongs_to_its_parent_as_any_session_does() {
    let above = row(&one(r#"{"key": "agent:a:main"}"#).unwrap(), None).unwrap();
    let parent = row(&one(r#"{"key": "p", "parent": "agent:a:main"}"#).unwrap(), Some(&above)).unwrap();
    let child = row(&plain(""), Some(&parent)).unwrap();
    assert_eq!(child.agrees_with_parent(&parent), Ok(()));
    assert_eq!(child.agrees(), Ok::<(), Disagreement>(()));
    assert_eq!((child.owner.unwrap().as_str(), child.lineage.len()), ("p", 2));
}

#[test]
fn below_a_closed_session_only_a_closed_one_is_taken_in() {
    let parent = row(&one(r#"{"key": "p", "closed": true}"#).unwrap(), None).unwrap();
    assert!(matches!(row(&plain(""), Some(&parent)), Err(Refused::ParentClosed { .. })));
    let child = row(&plain(r#", "closed": true"#), Some(&parent)).unwrap();
    assert_eq!((child.state, child.agrees_with_parent(&parent)), (SessionState::Closed, Ok(())));
}

#[test]
fn a_key_of_another_agent_is_refused() {
    let record = one(r#"{"key": "agent:a:1", "agent": "b"}"#).unwrap();
    assert!(matches!(row(&record, None), Err(Refused::OtherAgent { .. })));
}
