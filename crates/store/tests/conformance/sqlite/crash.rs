//! A writing process is killed at any moment: the file stays sound, and every acknowledged change is there.

use super::helper::{Helper, expected_ending};
use crate::chores::{claimed, key_of};
use crate::sample::{NOW, hold, instance, run_id};
use crate::store::block_on;
use crate::talk::key;
use rusqlite::Connection;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use tempfile::TempDir;
use tenure_core::ending::Reason;
use tenure_core::session::SessionState;
use tenure_core::state::State;
use tenure_core::task::Status;
use tenure_store::sqlite::Sqlite;
use tenure_store::{
    Change, Count, Query, Registry, SessionRegistry, Side, TaskRegistry, Tracked, Tried, TurnState, kind,
};

const ROUNDS: u64 = 12;
/// More runs than a round can create.
const APART: u64 = 1_000_000;

#[test]
fn what_was_answered_outlives_a_kill_at_any_moment() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("tenure.db");
    let mut answered: BTreeMap<u64, State> = BTreeMap::new();
    for round in 0..ROUNDS {
        for line in killed(&format!("live {}", round * APART), &path) {
            let (what, number) = line.split_once(' ').unwrap();
            let number = number.parse().unwrap();
            let state = match what {
                "created" => State::Starting,
                "started" => State::Running,
                "ended" => State::Exited,
                other => panic!("{other}"),
            };
            answered.insert(number, state);
        }
        block_on(check(&Sqlite::open(&path).unwrap(), &answered));
    }
}

/// Kills a process at a random moment and returns its output, which never claims more than the file has.
fn killed(job: &str, path: &Path) -> Vec<String> {
    let mut helper = Helper::start(job, path);
    let random = u64::from_ne_bytes(tenure_os::random::bytes().unwrap());
    let moment = usize::try_from(random % 200).unwrap();
    let mut said: Vec<_> = helper.by_ref().take(moment + 1).collect();
    assert_eq!(said.len(), moment + 1, "it ended by itself");
    said.extend(helper.kill());
    // The last line may be cut off: only lines with a full stop count.
    said.into_iter().filter_map(|line| line.strip_suffix('.').map(Into::into)).collect()
}

async fn check(registry: &Sqlite, answered: &BTreeMap<u64, State>) {
    assert_eq!(registry.check().await.unwrap(), None);
    for (&number, &state) in answered {
        let row = registry.run(run_id(number)).await.unwrap();
        let row = row.unwrap_or_else(|| panic!("run {number} was answered as {state}, and is gone"));
        assert!(row.state >= state, "run {number} was answered as {state}, and is {}", row.state);
        assert_eq!(row.hold, hold(1));
        if let Some(ending) = row.ending {
            assert_eq!(Change::Ended(Box::new(ending)), expected_ending(number));
        }
    }
    // Row, event and counter are one: none is ahead of the others.
    let ended = Query { states: vec![State::Exited], limit: usize::MAX >> 1, ..Query::default() };
    let exited = registry.runs(ended).await.unwrap().runs.len() as u64;
    let events = registry.events(0, None, usize::MAX).await.unwrap();
    let told = events.iter().filter(|row| row.event.kind == kind::RUN_ENDED).count() as u64;
    let counts = registry.counts(instance(1)).await.unwrap();
    let counted = counts.iter().find(|(count, _)| *count == Count::Exit(Reason::Exit)).map_or(0, |(_, n)| *n);
    assert_eq!((told, counted), (exited, exited));
}

/// Every acknowledged message is there once: queued or as a turn, and the turns are in the order of sending.
#[test]
fn no_message_is_lost_or_doubled_by_a_kill_at_any_moment() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("tenure.db");
    let mut queued: Vec<u64> = Vec::new();
    let mut ended: Vec<u64> = Vec::new();
    for round in 0..ROUNDS {
        for line in killed(&format!("talk {}", round * APART), &path) {
            let number = line.rsplit_once(' ').unwrap().1.parse().unwrap();
            match line.split_once(' ').unwrap().0 {
                "queued" => queued.push(number),
                "ended" => ended.push(number),
                _ => {}
            }
        }
        block_on(check_talk(&Sqlite::open(&path).unwrap(), &queued, &ended));
    }
    assert!(ended.len() > 100, "{} is little to go by", ended.len());
}

/// Each task that ended has its one notice, and each notice reaches the channel under its one key until it is
/// settled: then never again (I10).
#[test]
fn every_end_is_told_once_by_its_key_whatever_is_killed_when() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("tenure.db");
    let (mut ended, mut accepted, mut settled) = (Vec::new(), Vec::new(), BTreeSet::new());
    for round in 0..ROUNDS {
        for line in killed(&format!("tasks {}", round * APART), &path) {
            let (what, which) = line.split_once(' ').unwrap();
            match what {
                "ended" => ended.push(which.parse::<u64>().unwrap()),
                "accepted" => {
                    assert!(!settled.contains(which), "{which} was told after it was settled");
                    accepted.push(which.to_owned());
                }
                "settled" => assert!(settled.insert(which.to_owned()), "{which} was settled twice"),
                other => panic!("{other}"),
            }
        }
        check_told(&path, &ended, &settled);
    }
    assert!(
        ended.len() > 50 && settled.len() > 50,
        "{} and {} are little to go by",
        ended.len(),
        settled.len()
    );
    block_on(drain(&Arc::new(Sqlite::open(&path).unwrap()), &mut accepted, &mut settled));
    check_told(&path, &ended, &settled);
    // A process may have settled a notice and been killed before it could print so. It printed the channel's
    // acceptance before that, so acceptance is the criterion.
    let accepted: BTreeSet<_> = accepted.into_iter().collect();
    assert!(ended.iter().all(|number| accepted.contains(&key_of(*number, "terminal"))), "one was not told");
    assert_eq!(accepted.len(), number(&path, "SELECT count(*) FROM tasks WHERE delivery = 'delivered'"));
    assert_eq!(accepted.len(), number(&path, "SELECT count(*) FROM tasks WHERE ended_at_ms IS NOT NULL"));
    assert!(settled.is_subset(&accepted));
}

/// Delivers the remaining notices.
async fn drain(registry: &Arc<Sqlite>, accepted: &mut Vec<String>, settled: &mut BTreeSet<String>) {
    let registry: Arc<dyn Registry> = registry.clone();
    registry.release_notices(instance(1), NOW).await.unwrap();
    loop {
        let due = claimed(&registry, NOW).await;
        if due.is_empty() {
            return;
        }
        for it in due {
            let key = it.claim.key.to_string();
            assert!(registry.settle_notice(it.claim, Tried::Delivered, NOW).await.unwrap());
            accepted.push(key.clone());
            assert!(settled.insert(key.clone()), "{key} was settled twice");
        }
    }
}

fn number(path: &Path, sql: &str) -> usize {
    let number: i64 = Connection::open(path).unwrap().query_row(sql, [], |row| row.get(0)).unwrap();
    usize::try_from(number).unwrap()
}

/// Checks that ending, task and notice are one: none is ahead of the others.
fn check_told(path: &Path, ended: &[u64], settled: &BTreeSet<String>) {
    let registry = Sqlite::open(path).unwrap();
    block_on(async {
        assert_eq!(registry.check().await.unwrap(), None);
        for &number in ended {
            let row = registry.task(Tracked::Run(run_id(number))).await.unwrap().unwrap();
            assert_eq!(row.status, Status::Succeeded, "task {number}");
        }
    });
    drop(registry);
    let exited = number(path, "SELECT count(*) FROM runs WHERE state = 'exited'");
    let over = number(path, "SELECT count(*) FROM tasks WHERE ended_at_ms IS NOT NULL");
    let notices = number(path, "SELECT count(*) FROM outbox WHERE purpose = 'terminal'");
    let of_tasks = number(path, "SELECT count(DISTINCT task_id) FROM outbox");
    assert_eq!((over, notices, of_tasks), (exited, exited, exited));
    let delivered = number(path, "SELECT count(*) FROM outbox WHERE state = 'delivered'");
    let tasks = number(path, "SELECT count(*) FROM tasks WHERE delivery = 'delivered'");
    assert_eq!(delivered, tasks);
    assert!(delivered >= settled.len(), "what was settled is not settled any more");
}

async fn check_talk(registry: &Sqlite, queued: &[u64], ended: &[u64]) {
    assert_eq!(registry.check().await.unwrap(), None);
    let number = |message: &str| message.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap();
    let page = registry.turns(key("talk"), Side::After(0), usize::MAX, u64::MAX).await.unwrap();
    let turns: Vec<_> = page.turns.iter().map(|turn| number(&turn.asked.message)).collect();
    let waiting = registry.messages(key("talk")).await.unwrap();
    let sent: Vec<_> =
        turns.iter().copied().chain(waiting.iter().map(|it| number(&it.turn.message))).collect();
    assert!(sent.is_sorted_by(|a, b| a < b), "in their order, once each: {sent:?}");
    assert!(queued.iter().all(|it| sent.contains(it)), "one is lost");
    assert!(page.turns.iter().map(|turn| turn.number).eq(1..=turns.len() as u64));
    let state = |it: &u64| page.turns[turns.iter().position(|turn| turn == it).unwrap()].state;
    assert!(ended.iter().all(|it| state(it) == TurnState::Done), "an end is lost");
    // The session is busy exactly while a turn is running, and events match the records.
    let session = registry.session(key("talk")).await.unwrap().unwrap();
    let running = registry.running_turns(instance(1)).await.unwrap().len();
    assert_eq!(running, usize::from(session.row.state == SessionState::Busy));
    assert_eq!((session.turns, session.queued), (turns.len() as u64, waiting.len() as u64));
    let events = registry.events(0, None, usize::MAX).await.unwrap();
    let told = |kind: &str| events.iter().filter(|row| row.event.kind == kind).count();
    assert_eq!(
        (told(kind::MESSAGE_QUEUED), told(kind::TURN_STARTED), told(kind::TURN_ENDED)),
        (sent.len(), turns.len(), turns.len() - running)
    );
}
