//! Tests that need internals: every statement is served by its index, and inconsistent rows are handled.

use super::lists::{Sql, page, statements};
use super::{outbox, rows, sweep};
use crate::sqlite::Trouble;
use crate::tasks::{Sweep, TaskCursor, TaskQuery};
use rusqlite::{Connection, params_from_iter};
use tenure_core::ids::{InstanceId, RunId, TaskId};
use tenure_core::session::Interaction;
use tenure_core::task::{DeliveryStatus, FindingCode, Kind, NotifyPolicy, Status, TaskRow};

fn database() -> Connection {
    let db = Connection::open_in_memory().unwrap();
    for text in [
        include_str!("../../../migrations/0001.sql"),
        include_str!("../../../migrations/0002.sql"),
        include_str!("../../../migrations/0003.sql"),
        include_str!("../../../migrations/0004.sql"),
    ] {
        db.execute_batch(text).unwrap();
    }
    db
}

fn plan(db: &Connection, (sql, values): &Sql) -> String {
    let mut statement = db.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
    let steps = statement.query_map(params_from_iter(values), |row| row.get::<_, String>(3)).unwrap();
    steps.collect::<Result<Vec<_>, _>>().unwrap().join("; ")
}

/// Makes a query with or without each of its parts.
fn query(mask: u32) -> TaskQuery {
    let has = |bit: u32| mask & (1 << bit) != 0;
    let key = |text: &str| text.parse().unwrap();
    TaskQuery {
        statuses: if has(0) { vec![Status::Running, Status::Lost] } else { Vec::new() },
        kinds: if has(1) { vec![Kind::Acp] } else { Vec::new() },
        owner: has(2).then(|| key("a")),
        child: has(3).then(|| key("b")),
        of: has(5).then(|| key("c")),
        after: has(4).then(|| TaskCursor { created_at_ms: 5, task_id: TaskId::from_random([1; 12]) }),
        limit: 50,
    }
}

#[test]
fn a_page_is_read_from_an_index_in_its_order() {
    let db = database();
    for mask in 0..64 {
        let query = query(mask);
        for (sql, mut values) in statements(&query) {
            values.extend([1_i64.into(), 51_i64.into()]);
            let plan = plan(&db, &(sql, values));
            assert!(plan.starts_with("SEARCH tasks USING COVERING INDEX tasks_"), "{mask}: {plan}");
            assert!(!plan.contains("TEMP B-TREE"), "{mask}: {plan}");
            assert!(plan.contains("created_at_ms>?"), "no more than a page of others: {mask}: {plan}");
            assert_eq!(plan.contains("<(?,?)"), query.after.is_some(), "{mask}: {plan}");
            let all = plan.contains("tasks_all (");
            assert!(
                all || plan.contains("status=? AND kind=?"),
                "what is not asked for is read: {mask}: {plan}"
            );
        }
    }
    assert_eq!(statements(&query(0)).len(), 1);
    assert_eq!(statements(&query(1)).len(), 2 * Kind::ALL.len());
}

/// Tasks of several sessions, kinds and statuses, two of each moment.
fn mixture() -> Vec<TaskRow> {
    let session = |n: usize| ["a", "b", "c"].get(n % 4).map(|it| it.parse().unwrap());
    let row = |n: u8| {
        let of = usize::from(n).wrapping_mul(7) ^ (usize::from(n) >> 3);
        TaskRow {
            kind: Kind::ALL[of % Kind::ALL.len()],
            status: Status::ALL[(of / 5) % Status::ALL.len()],
            owner: session(of / 3),
            child: session(of / 11),
            created_at_ms: u64::from(n / 2),
            ..over(n)
        }
    };
    (0..=u8::MAX).map(row).collect()
}

fn is_asked_for(query: &TaskQuery, row: &TaskRow) -> bool {
    (query.statuses.is_empty() || query.statuses.contains(&row.status))
        && (query.kinds.is_empty() || query.kinds.contains(&row.kind))
        && (query.owner.is_none() || row.owner == query.owner)
        && (query.child.is_none() || row.child == query.child)
        && (query.of.is_none() || row.owner == query.of || row.child == query.of)
}

/// With a session, only tasks that it owns or worked on are listed, whatever else there is.
#[test]
fn the_pages_of_a_list_are_all_that_is_asked_for() {
    let db = database();
    let mut rows = mixture();
    for row in &rows {
        assert!(put(&db, row).is_ok());
    }
    rows.sort_by(|a, b| (b.created_at_ms, &b.id).cmp(&(a.created_at_ms, &a.id)));
    // A query names sessions in one way only.
    let masks = (0..64).filter(|mask| mask & 0b10_0000 == 0 || mask & 0b1100 == 0);
    for (mask, limit) in masks.flat_map(|mask| [7, 300].map(|limit| (mask, limit))) {
        let mut query = TaskQuery { after: None, limit, ..query(mask) };
        let expected: Vec<_> =
            rows.iter().filter(|row| is_asked_for(&query, row)).map(|row| row.id.clone()).collect();
        let mut found = Vec::new();
        loop {
            let page = page(&db, &query).unwrap();
            assert!(page.tasks.len() <= limit, "{query:?}");
            found.extend(page.tasks.into_iter().map(|task| task.id));
            query.after = page.next;
            if query.after.is_none() {
                break;
            }
        }
        assert_eq!(found, expected, "{query:?}");
        assert!(
            !expected.is_empty() || mask & 0b11 != 0 || mask & 0b1100 == 0b1100,
            "{mask}: nothing to go by"
        );
    }
}

#[test]
fn what_is_due_and_what_is_swept_is_found_by_its_index() {
    let db = database();
    let plans = [
        (outbox::CLAIMABLE.to_owned(), "SEARCH o USING INDEX outbox_due (channel=? AND next_at_ms<?)"),
        (outbox::NEXT.to_owned(), "SEARCH outbox USING COVERING INDEX outbox_due (channel>?)"),
        (sweep::OUTLIVED.to_owned(), "SEARCH t USING COVERING INDEX tasks_cleanup"),
        (sweep::endless(), "SCAN tasks USING INDEX tasks_suspect"),
        (
            format!("SELECT * FROM tasks t {}", sweep::SILENT),
            "SEARCH t USING INDEX tasks_active (last_event_at_ms<?)",
        ),
    ];
    for (sql, expected) in plans {
        let values = vec![1_i64.into(); sql.matches('?').count().min(3)];
        let values =
            values.into_iter().take(["?1", "?2", "?3"].iter().filter(|it| sql.contains(**it)).count());
        let plan = plan(&db, &(sql, values.collect()));
        assert!(plan.starts_with(expected), "{plan}");
        assert!(!plan.contains("TEMP B-TREE"), "{plan}");
        assert!(!plan.contains("SCAN e") && !plan.contains("SCAN o"), "{plan}");
    }
}

fn over(number: u8) -> TaskRow {
    TaskRow {
        id: TaskId::from_random([number; 12]),
        kind: Kind::Run,
        status: Status::Succeeded,
        delivery: DeliveryStatus::Delivered,
        policy: NotifyPolicy::DoneOnly,
        tells_quiet_success: true,
        run: Some(RunId::from_random([number; 12])),
        turn: None,
        owner: None,
        child: None,
        instance: InstanceId::from_random([7; 12]),
        origin: None,
        interaction: Interaction::Interactive,
        label: None,
        progress_summary: None,
        terminal_summary: None,
        error: None,
        outcome: None,
        recent_events: Vec::new(),
        created_at_ms: 1_000,
        started_at_ms: Some(1_001),
        cancel_asked_at_ms: None,
        ended_at_ms: Some(1_002),
        last_event_at_ms: 1_002,
        cleanup_after_ms: Some(9_000),
        changes_told: 0,
        change_told_at_ms: None,
        steps: None,
    }
}

fn put(db: &Connection, row: &TaskRow) -> Result<(), Trouble> {
    rows::insert(db, row)?;
    rows::update(db, row)
}

#[test]
fn a_row_reads_back_as_written() {
    let db = database();
    let row = TaskRow {
        turn: Some(tenure_core::ids::TurnId::from_random([9; 12])),
        owner: Some("a".parse().unwrap()),
        child: Some("b".parse().unwrap()),
        origin: Some(tenure_core::session::Origin {
            channel: "slack".into(),
            to: None,
            thread: Some("t".into()),
        }),
        label: Some("l".into()),
        progress_summary: Some("p".into()),
        terminal_summary: Some("s".into()),
        error: Some("e".into()),
        outcome: Some(tenure_core::task::Outcome { exit_code: Some(3), ..Default::default() }),
        cancel_asked_at_ms: Some(1_001),
        changes_told: 4,
        change_told_at_ms: Some(1_001),
        steps: None,
        ..over(1)
    };
    put(&db, &row).ok().unwrap();
    assert_eq!(rows::by_id(&db, &row.id).ok().unwrap(), Some(row));
}

/// An inconsistent row, and the finding about it.
type Break = (fn(&mut TaskRow), FindingCode);

#[test]
fn rows_that_are_not_as_they_should_be_are_found_among_those_that_are() {
    use FindingCode::{DeliveryFailed, InconsistentTimes, MissingCleanup};
    let breaks: [Break; 6] = [
        (|row| row.delivery = DeliveryStatus::Failed, DeliveryFailed),
        (|row| row.cleanup_after_ms = None, MissingCleanup),
        (|row| row.ended_at_ms = None, InconsistentTimes),
        (|row| row.started_at_ms = Some(999), InconsistentTimes),
        (|row| row.ended_at_ms = Some(1_000), InconsistentTimes),
        (|row| row.cleanup_after_ms = Some(1), InconsistentTimes),
    ];
    let db = database();
    for number in 100..110 {
        put(&db, &over(number)).ok().unwrap();
    }
    let mut expected = Vec::new();
    for (number, (spoil, code)) in (1..).zip(breaks) {
        let mut row = over(number);
        spoil(&mut row);
        put(&db, &row).ok().unwrap();
        expected.push((row.id, code));
    }
    let found = sweep::audit(&db, 5_000, 99).ok().unwrap();
    let found: Vec<_> = found.into_iter().map(|it| (it.task.id, it.findings[0].code)).collect();
    assert_eq!(found, expected);
    let sweep = Sweep { now_ms: 5_000, grace_ms: 0, limit: 99, removes: true };
    let swept = sweep::apply(&db, sweep).ok().unwrap();
    assert_eq!(swept.stamped, [expected[1].0.clone()], "what would never go will");
    assert_eq!(swept.removed, [expected[5].0.clone()]);
    let week = 7 * 86_400_000;
    let stamped = rows::by_id(&db, &expected[1].0).ok().unwrap().unwrap();
    assert_eq!(stamped.cleanup_after_ms, Some(1_002 + week));
}

#[test]
fn a_second_notice_of_one_end_cannot_be() {
    let db = database();
    put(&db, &over(1)).ok().unwrap();
    let insert = |key: &str, purpose: &str| {
        db.execute(
            "INSERT INTO outbox (key, task_id, purpose, channel, state, created_at_ms, next_at_ms, payload)
             VALUES (?1, ?2, ?3, 'slack', 'due', 0, 0, '{}')",
            (key, over(1).id.as_str(), purpose),
        )
    };
    for (key, purpose, is_new) in [
        ("a", "terminal", true),
        ("b", "terminal", false),
        ("a", "correction", false),
        ("c", "correction", true),
        ("d", "correction", false),
        ("e", "change", true),
        ("f", "change", true),
        ("f", "change", false),
    ] {
        assert_eq!(insert(key, purpose).is_ok(), is_new, "{key} {purpose}");
    }
}
