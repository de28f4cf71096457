//! A registry with a million tasks, queried over its socket: a page of each list, one task by each of its names, and
//! the scan of maintenance. Each query runs in turns with a registry of a thousand, which stands in for the raw side.

mod fill;

use crate::api_client::ApiClient;
use crate::bench_daemon::BenchDaemon;
use crate::raw;
use crate::samples::{Samples, in_turns};
use crate::subject::Subject;
use crate::table::Row;
use fill::{BUSY_SESSION, QUIET_SESSION, TaskNames, fill, other};
use std::io;
use std::time::{Duration, Instant};

const FEW: u64 = 1_000;
const MANY: u64 = 1_000_000;
const ROUNDS: usize = 500;
const BAR: Duration = Duration::from_millis(5);

/// A query of a registry: a method, a path made from the number of the round and the names of a task, and
/// whether the bar applies.
struct Query {
    what: &'static str,
    method: &'static str,
    path: fn(usize, &TaskNames) -> String,
    bar: Option<Duration>,
}

const fn get(what: &'static str, path: fn(usize, &TaskNames) -> String) -> Query {
    Query { what, method: "GET", path, bar: Some(BAR) }
}

/// The cursor of a task in the list.
fn after(it: &TaskNames) -> String {
    format!("after={}:{}", it.at_ms, it.task)
}

const QUERIES: [Query; 28] = [
    get("list", |_, _| "/v1/tasks".to_owned()),
    get("list, anywhere", |_, it| format!("/v1/tasks?{}", after(it))),
    Query { bar: None, ..get("list, 500 at once", |_, it| format!("/v1/tasks?limit=500&{}", after(it))) },
    get("list by status", |_, _| "/v1/tasks?status=failed".to_owned()),
    get("list by status, few", |_, _| "/v1/tasks?status=running".to_owned()),
    get("list by status, none", |_, _| "/v1/tasks?status=lost".to_owned()),
    get("list by kind, anywhere", |_, it| format!("/v1/tasks?kind=acp&{}", after(it))),
    get("list by both, anywhere", |_, it| {
        format!("/v1/tasks?kind=run&status=failed,cancelled&{}", after(it))
    }),
    get("list by owner", |n, _| format!("/v1/tasks?owner={}", other(n))),
    get("list by owner of a third, anywhere", |_, it| {
        format!("/v1/tasks?owner={BUSY_SESSION}&{}", after(it))
    }),
    get("list by owner of a third and status", |_, _| {
        format!("/v1/tasks?owner={BUSY_SESSION}&status=running")
    }),
    get("list by owner of a third and status, none", |_, _| {
        format!("/v1/tasks?owner={BUSY_SESSION}&status=lost")
    }),
    get("list by owner of a third, status and kind", |_, it| {
        format!("/v1/tasks?owner={BUSY_SESSION}&status=timed_out&kind=cli&{}", after(it))
    }),
    get("list as a session, self", |n, _| format!("/v1/tasks?as={}&visibility=self", other(n))),
    get("list as a session, tree", |n, _| format!("/v1/tasks?as={}&visibility=tree", other(n))),
    get("list as a session, agent", |n, _| format!("/v1/tasks?as={}&visibility=agent", other(n))),
    get("list as a session, all", |n, _| format!("/v1/tasks?as={}&visibility=all", other(n))),
    get("list as the owner of a third and status, none", |_, _| {
        format!("/v1/tasks?as={BUSY_SESSION}&status=lost")
    }),
    get("list as a session with one task", |_, _| format!("/v1/tasks?as={QUIET_SESSION}&visibility=all")),
    get("show by id", |_, it| format!("/v1/tasks/{}", it.task)),
    get("show by the beginning of an id", |_, it| format!("/v1/tasks/{}", &it.task[..12])),
    get("show by run", |_, it| format!("/v1/tasks/{}", it.run)),
    get("show by the beginning of a run", |_, it| format!("/v1/tasks/{}", &it.run[..12])),
    get("show by session", |_, it| format!("/v1/tasks/{}", it.child.as_deref().unwrap_or("agent:work:19"))),
    get("show by id as a session", |_, it| format!("/v1/tasks/{}?as={BUSY_SESSION}&visibility=all", it.task)),
    Query { bar: None, ..get("audit", |_, _| "/v1/tasks/audit".to_owned()) },
    Query { method: "POST", ..get("sweep, previewed", |_, _| "/v1/tasks/maintenance".to_owned()) },
    Query { bar: None, ..get("GET /v1/health", |_, _| "/v1/health".to_owned()) },
];

pub(crate) fn measure(subject: &Subject) -> io::Result<Vec<Row>> {
    let (small, large) = (subject.dir().join("tasks-few"), subject.dir().join("tasks-many"));
    let (few, many) = (fill(subject, &small, FEW)?, fill(subject, &large, MANY)?);
    raw::ahead_of_neighbours(true);
    let (small, large) = (BenchDaemon::start(&small, false)?, BenchDaemon::start(&large, false)?);
    let (mut short, mut long) = (small.talk()?, large.talk()?);
    QUERIES
        .iter()
        .map(|ask| {
            let [raw, kept] =
                in_turns(ROUNDS, [&mut one(ask, &mut short, &few), &mut one(ask, &mut long, &many)])?;
            Ok(row(ask, &raw, &kept))
        })
        .collect()
}

/// Sends one query, each time for another task.
fn one<'a>(
    ask: &'a Query,
    talk: &'a mut ApiClient,
    names: &'a [TaskNames],
) -> impl FnMut() -> io::Result<Duration> + 'a {
    let mut round = 0;
    move || {
        let it = names.get(round % names.len().max(1)).ok_or_else(|| io::Error::other("no tasks"))?;
        let path = (ask.path)(round, it);
        round += 1;
        let from = Instant::now();
        match talk.call(ask.method, &path, if ask.method == "POST" { "{}" } else { "" }) {
            Ok(_) => Ok(from.elapsed()),
            // Not every session may see every task, and a refusal takes as long.
            Err(error) if error.to_string().starts_with("http/1.1 403") => Ok(from.elapsed()),
            Err(error) => Err(io::Error::other(format!("{path}: {error}"))),
        }
    }
}

fn row(ask: &Query, raw: &Samples, kept: &Samples) -> Row {
    let what = format!("{}: {MANY} tasks, raw {FEW}, p99", ask.what);
    Row::within_p99(&what, Some(raw), kept, ask.bar)
}
