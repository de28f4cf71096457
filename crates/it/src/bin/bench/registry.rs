//! Registries with many records, and their cost: the time until a daemon is ready, and a page of `ps`. The rows are
//! copies of a real record, inserted straight into the tables: a million runs would take hours.

use crate::bench_daemon::{BenchDaemon, request};
use crate::samples::in_turns;
use crate::subject::Subject;
use crate::table::Row;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

const LIVE: usize = 1000;
const ENDED: u64 = 100_000;
const KILLS: usize = 5;
const READY: Duration = Duration::from_secs(1);

const RECORDS: u64 = 1_000_000;
const PAGES: usize = 1000;
const PAGE: Duration = Duration::from_millis(5);

pub(crate) fn measure_ready(subject: &Subject) -> io::Result<Vec<Row>> {
    let state = subject.dir().join("ready");
    fill(subject, &state, ENDED)?;
    let mut daemon = BenchDaemon::start(&state, false)?;
    let request = request(subject, &["idle"]);
    let mut talk = daemon.talk()?;
    for _ in 0..LIVE {
        talk.start(&request)?;
    }
    drop(talk);
    let [ready] = in_turns(KILLS, [&mut || daemon.kill_and_restart()])?;
    let what = format!("kill -9 to ready: {ENDED} ended, {LIVE} live");
    Ok(vec![Row::within(&what, None, &ready, Some(READY))])
}

pub(crate) fn measure_page(subject: &Subject) -> io::Result<Vec<Row>> {
    let state = subject.dir().join("page");
    fill(subject, &state, RECORDS)?;
    let daemon = BenchDaemon::start(&state, false)?;
    let mut rows = Vec::new();
    for (limit, bar) in [(50, Some(PAGE)), (200, Some(PAGE))] {
        let mut talk = daemon.talk()?;
        let mut after = String::new();
        let mut next_page = || {
            let path = format!("/v1/runs?all=true&limit={limit}{after}");
            let from = Instant::now();
            let page = talk.call("GET", &path, "")?;
            let took = from.elapsed();
            let page: serde_json::Value = serde_json::from_slice(&page)?;
            let next = page["next"].as_str().ok_or_else(|| io::Error::other("the pages have an end"))?;
            after = format!("&after={next}");
            Ok(took)
        };
        let [pages] = in_turns(PAGES, [&mut next_page])?;
        let what = format!("a page of {limit} of {RECORDS} records, p99");
        rows.push(Row::within_p99(&what, None, &pages, bar));
    }
    Ok(rows)
}

/// Makes a registry with this many records of ended runs.
fn fill(subject: &Subject, state: &Path, records: u64) -> io::Result<()> {
    let daemon = BenchDaemon::start(state, false)?;
    let mut talk = daemon.talk()?;
    let run = talk.start(&request(subject, &["nothing"]))?;
    talk.wait(&run)?;
    drop(talk);
    daemon.leave()?;
    copy(&state.join("tenure.db"), records).map_err(io::Error::other)
}

fn copy(registry: &Path, records: u64) -> rusqlite::Result<()> {
    let db = rusqlite::Connection::open(registry)?;
    db.execute_batch("PRAGMA synchronous = OFF; PRAGMA cache_size = -200000; BEGIN")?;
    // Real ids are random, not in the order of time.
    db.execute(
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1),
              new AS MATERIALIZED (SELECT i, lower(hex(randomblob(length(run_id) / 2))) AS id, runs.*
                                   FROM n CROSS JOIN runs)
         INSERT INTO runs (run_id, created_at_ms, session, scope, agent, state, owner, epoch, ended_at_ms,
                           kept_bytes, updated_at_ms, directory, asked_by, ticket, note, ending)
         SELECT id, created_at_ms - i, session, scope, agent, state, owner, epoch, ended_at_ms - i, kept_bytes,
                updated_at_ms - i, replace(directory, run_id, id), asked_by,
                json_set(ticket, '$.runId', id, '$.createdAtMs', created_at_ms - i), note,
                json_set(ending, '$.runId', id)
         FROM new",
        [records.cast_signed()],
    )?;
    db.execute_batch("COMMIT; PRAGMA wal_checkpoint(TRUNCATE)")
}
