//! Tasks that ended while no notice could be sent, 10,000 of them for `just test-all`. They drain through a webhook,
//! and the daemon's memory does not grow.

use rusqlite::Connection;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};
use tenure_core::ids::{RunId, TaskId};
use tenure_core::record::{Ending, KeeperNote, Ticket};
use tenure_core::task::NotifyPolicy;
use tenure_it::notify_fixture::{NotifyFixture, open, webhook};
use tenure_it::webhook_receiver::{Answer, WebhookReceiver};
use tenure_it::{eventually, is_whole_range};
use tenure_keeper::rundir::RunDir;
use tenure_os::{clock, random};
use tenure_store::sqlite::Sqlite;
use tenure_store::{Change, Hold, NewRun, NewTask, Registry, Reply, TaskRegistry};

/// Tasks with a change in delivery when their daemon died.
const CHANGED: usize = 500;
/// Notices before the daemon is measured: its caches are full then.
const FIRST: usize = 1_000;
/// The growth that the other notices may cause, in KiB: 1 for each of 10,000, or 4 of 3,000, would show.
/// Freed memory that the allocator keeps is within.
const GROWTH: u64 = 8 << 10;

fn task_count() -> usize {
    if is_whole_range() { 10_000 } else { 3_000 }
}

/// Every seventh notice is refused at first.
fn behaviour(_: &str, earlier: usize) -> Answer {
    static KEYS: AtomicUsize = AtomicUsize::new(0);
    let busy = earlier == 0 && KEYS.fetch_add(1, Ordering::Relaxed).is_multiple_of(7);
    Answer::Status(if busy { 500 } else { 204 })
}

fn resident_kib(pid: i32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("a live process");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("its memory");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

/// Waits for the registry's reply. The request alone already has its effect.
#[track_caller]
fn answer<T>(mut reply: Reply<T>) -> T {
    let mut context = Context::from_waker(Waker::noop());
    eventually("an answer of the registry", || match reply.as_mut().poll(&mut context) {
        Poll::Ready(answer) => Some(answer.expect("the registry does it")),
        Poll::Pending => None,
    })
}

/// A real run, and copies of it.
struct Model {
    ticket: Ticket,
    note: KeeperNote,
    ending: Ending,
}

impl Model {
    #[track_caller]
    fn of(fixture: &NotifyFixture, run: &str) -> Self {
        let dir = RunDir::open(&fixture.run_path(run)).expect("a run");
        let note = dir.note().expect("a record").expect("a note");
        let ending = dir.ending().expect("a record").expect("an ending");
        Self { ticket: dir.ticket().expect("a ticket"), note, ending }
    }

    fn hold(&self) -> Hold {
        Hold { instance: self.ticket.owner_instance_id.clone(), epoch: self.ticket.lease_epoch }
    }

    /// Starts another tracked run; returns its id.
    fn begin(&self, registry: &Sqlite, policy: NotifyPolicy) -> RunId {
        let id = || random::bytes().expect("random bytes");
        let (run_id, now_ms) = (RunId::from_random(id()), clock::unix_ms());
        let ticket = Ticket { run_id: run_id.clone(), created_at_ms: now_ms, ..self.ticket.clone() };
        let task = NewTask {
            id: TaskId::from_random(id()),
            policy,
            tells_quiet_success: true,
            owner: None,
            origin: None,
            label: None,
        };
        drop(registry.create(NewRun {
            ticket,
            directory: format!("/nowhere/{run_id}"),
            asked_by: "a test".to_owned(),
            exec: None,
            session_parent: None,
            is_started: false,
            task: Some(task),
        }));
        let note = KeeperNote { started_at_ms: now_ms, ..self.note.clone() };
        drop(registry.record(run_id.clone(), self.hold(), Change::Started(Box::new(note)), now_ms));
        run_id
    }

    fn end(&self, registry: &Sqlite, run_id: RunId) -> Reply<bool> {
        let now_ms = clock::unix_ms();
        let ending = Ending { run_id: run_id.clone(), ended_at_ms: now_ms, ..self.ending.clone() };
        registry.record(run_id, self.hold(), Change::Ended(Box::new(ending)), now_ms)
    }
}

/// Fills the registry like a daemon that dies before any notice: with a task that had a change in delivery,
/// one without, and copies of both. To make each by itself would take longer than all the rest.
#[track_caller]
fn fill(fixture: &NotifyFixture, model: &Model) -> BTreeSet<String> {
    let path = fixture.state().join("tenure.db");
    let registry = Sqlite::open(&path).expect("a registry");
    let changed = model.begin(&registry, NotifyPolicy::StateChanges);
    let (channel, now_ms) = ("desk".to_owned(), clock::unix_ms());
    let until_ms = now_ms + 600_000;
    let under_way = registry.claim_notices(channel, model.hold().instance, now_ms, until_ms, 1);
    assert_eq!(answer(under_way).len(), 1);
    let other = model.begin(&registry, NotifyPolicy::DoneOnly);
    for run in [&changed, &other] {
        assert!(answer(model.end(&registry, run.clone())), "it has ended");
    }
    drop(registry);
    let mut db = Connection::open(&path).expect("a registry");
    let copied = db.transaction().and_then(|db| {
        let copied =
            [copy(&db, &changed, CHANGED - 1)?, copy(&db, &other, task_count() - CHANGED - 2)?].concat();
        db.commit().map(|()| copied)
    });
    let own = [changed, other].map(String::from);
    copied.expect("copies").into_iter().chain(own).collect()
}

/// Copies all rows of a run, under other ids; returns the ids of the runs.
fn copy(db: &Connection, run: &RunId, times: usize) -> rusqlite::Result<Vec<String>> {
    let task: String =
        db.query_row("SELECT task_id FROM tasks WHERE run_id = ?1", [run.as_str()], |row| row.get(0))?;
    let id = || random::bytes().map(RunId::from_random).expect("random bytes");
    let ids: Vec<[RunId; 2]> = (0..times).map(|_| [id(), id()]).collect();
    for table in ["runs", "tasks", "outbox"] {
        let name = if table == "outbox" { "task_id" } else { "run_id" };
        let columns: Vec<(String, bool)> = db
            .prepare(&format!(
                "SELECT name, type = 'TEXT' FROM pragma_table_info('{table}') WHERE name <> 'seq'"
            ))?
            .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
            .collect::<Result<_, _>>()?;
        let names: Vec<&str> = columns.iter().map(|(name, _)| name.as_str()).collect();
        let values: Vec<String> =
            columns
                .iter()
                .map(|(name, is_text)| {
                    if *is_text { format!("replace(replace({name}, ?1, ?3), ?2, ?4)") } else { name.clone() }
                })
                .collect();
        let mut insert = db.prepare(&format!(
            "INSERT INTO {table} ({}) SELECT {} FROM {table} WHERE {name} = {}",
            names.join(", "),
            values.join(", "),
            if table == "outbox" { "?2" } else { "?1" },
        ))?;
        for [new_run, new_task] in &ids {
            insert.execute((run.as_str(), &task, new_run.as_str(), new_task.as_str()))?;
        }
    }
    Ok(ids.into_iter().map(|[run, _]| run.into()).collect())
}

#[test]
fn a_swarm_of_tasks_drains_in_order_without_growing_memory() {
    let tasks = task_count();
    let receiver = WebhookReceiver::new(behaviour);
    let fixture = NotifyFixture::new(&webhook("desk", &receiver, "/desk"));
    fixture.owner("owner", "desk");
    let run = fixture.task("owner", "echo word; exit 3");
    fixture.wait_delivery(&run, "delivered");
    let stopped = fixture.tenure(&["daemon", "stop"]);
    assert!(stopped.status.success(), "{stopped:?}");
    let mut runs = fill(&fixture, &Model::of(&fixture, &run));
    runs.insert(run);
    assert_eq!((runs.len(), open(&fixture)), (tasks, tasks as u64 - 1));

    let pid = fixture.start_daemon().pid;
    let drained = |count: usize| {
        eventually(&format!("{count} are accepted"), || (receiver.taken() >= count).then_some(()));
    };
    drained(FIRST);
    let before = resident_kib(pid);
    (FIRST..tasks).step_by(FIRST).for_each(drained);
    drained(tasks + CHANGED);
    fixture.check(&receiver, &runs);
    let after = resident_kib(pid);
    eprintln!("{before} KiB after {FIRST} notices, {after} KiB after {}", tasks + CHANGED);
    assert!(after < before + GROWTH, "{before} KiB grew to {after} KiB");

    let accepted = receiver.accepted();
    assert_eq!(accepted.len(), tasks + CHANGED);
    assert!(accepted.values().all(|&times| times == 1), "no notice is repeated");
    let mut of_task: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for call in receiver.calls().iter().filter(|call| call.accepted()) {
        of_task.entry(call.task().to_owned()).or_default().push(call.purpose().to_owned());
    }
    let in_order = of_task.values().filter(|purposes| **purposes == ["change", "terminal"]).count();
    assert_eq!(in_order, CHANGED);
    assert!(
        of_task
            .values()
            .all(|purposes| purposes.len() <= 2 && purposes.last().is_some_and(|it| it == "terminal"))
    );
    // The copies have no directories, and no events.
    let stopped = fixture.tenure(&["daemon", "stop"]);
    assert!(stopped.status.success(), "{stopped:?}");
    fixture.assert_nothing_left();
}
