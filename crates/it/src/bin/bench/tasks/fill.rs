//! Registries with many tasks: copies of a real one, with its events and notices, inserted straight into the tables. A
//! million of them through the API would take an hour.

use crate::bench_daemon::{BenchDaemon, request};
use crate::subject::Subject;
use rusqlite::Connection;
use std::io;
use std::path::Path;

/// The session that owns every third task.
pub(super) const BUSY_SESSION: &str = "agent:big:main";
/// A session of the same agent that owns the first task alone.
pub(super) const QUIET_SESSION: &str = "agent:big:little";
/// Number of sessions that share the rest.
pub(super) const OTHER_SESSIONS: usize = 200;
/// Number of tasks in the sample.
const SAMPLED: u64 = 2000;

/// The names of one of the tasks.
pub(super) struct TaskNames {
    pub(super) task: String,
    pub(super) run: String,
    pub(super) child: Option<String>,
    pub(super) at_ms: i64,
}

/// A session that owns a part of the rest.
pub(super) fn other(n: usize) -> String {
    format!("agent:team:{}", n % OTHER_SESSIONS)
}

/// Makes a registry with this many tasks; returns the names of some.
pub(super) fn fill(subject: &Subject, state: &Path, tasks: u64) -> io::Result<Vec<TaskNames>> {
    let daemon = BenchDaemon::start(state, false)?;
    let mut talk = daemon.talk()?;
    let sessions = (0..OTHER_SESSIONS).map(other).chain([QUIET_SESSION, BUSY_SESSION].map(str::to_owned));
    for session in sessions {
        let mut body: serde_json::Value = serde_json::from_str(&request(subject, &["nothing"]))?;
        body["session"] = session.into();
        let run = talk.start(&body.to_string())?;
        talk.wait(&run)?;
    }
    drop(talk);
    daemon.leave()?;
    let db = Connection::open(state.join("tenure.db")).map_err(io::Error::other)?;
    copy(&db, tasks).and_then(|()| sample(&db)).map_err(io::Error::other)
}

/// The mixture: nine in ten succeeded, one in a thousand is running, some have a failed or queued notice. Ids
/// are random, not in the order of time; rows that are kept for a week were made in the last six days.
const TASKS: &str = "
    CREATE TEMP TABLE pattern AS SELECT * FROM tasks WHERE owner = 'agent:big:main';
    WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < TASKS),
         new AS MATERIALIZED (
             SELECT i, i % 1000 = 7 AS lives, p.created_at_ms - i * (6 * 86400000 / TASKS) AS at,
                 CASE WHEN i % 20 < 12 THEN 'run' WHEN i % 20 < 15 THEN 'acp' WHEN i % 20 < 18 THEN 'subagent'
                      ELSE 'cli' END AS sort, p.*
             FROM n CROSS JOIN pattern p)
    INSERT INTO tasks (task_id, created_at_ms, kind, status, delivery, policy, tells_quiet_success, run_id, turn_id,
        owner, child, instance, interaction, origin, label, terminal_summary, outcome, started_at_ms, ended_at_ms,
        last_event_at_ms, cleanup_after_ms)
    SELECT lower(hex(randomblob(12))), at, sort,
        CASE WHEN lives AND i % 10000 = 7 THEN 'queued' WHEN lives THEN 'running' WHEN i % 100 < 90 THEN 'succeeded'
             WHEN i % 100 < 96 THEN 'failed' WHEN i % 100 < 98 THEN 'timed_out' ELSE 'cancelled' END,
        CASE WHEN lives THEN 'pending' WHEN i % 3000 = 30 THEN 'failed' WHEN i % 1000 = 31 THEN 'session_queued'
             ELSE 'delivered' END,
        policy, tells_quiet_success, lower(hex(randomblob(12))),
        CASE WHEN sort = 'run' THEN NULL ELSE lower(hex(randomblob(12))) END,
        CASE WHEN i % 3 = 0 THEN owner ELSE 'agent:team:' || (i % 200) END,
        CASE WHEN sort = 'run' THEN NULL ELSE 'agent:work:' || (i % 40000) END,
        instance, interaction, origin, 'job ' || i, terminal_summary, outcome,
        CASE WHEN lives AND i % 10000 = 7 THEN NULL ELSE at + 2 END, CASE WHEN lives THEN NULL ELSE at + 9 END,
        CASE WHEN lives THEN created_at_ms + 86400000 ELSE at + 9 END,
        CASE WHEN lives THEN NULL ELSE at + 9 + 7 * 86400000 END
    FROM new";

/// The events of each task, and the notices of the latest tenth.
const REST: &str = "
    INSERT OR IGNORE INTO task_events (task_id, number, at_ms, kind, summary)
    SELECT t.task_id, e.number, t.created_at_ms + e.number, e.kind, e.summary
    FROM tasks t INDEXED BY sqlite_autoindex_tasks_1 CROSS JOIN task_events e
    WHERE e.task_id = (SELECT task_id FROM pattern) AND (t.ended_at_ms IS NOT NULL OR e.number = 0)
    ORDER BY t.task_id;
    INSERT OR IGNORE INTO outbox (key, task_id, purpose, channel, session, state, created_at_ms, next_at_ms, attempts,
        tries, settled_at_ms, last_error, payload)
    SELECT 'task-' || t.task_id || '-terminal', t.task_id, o.purpose, 'slack', t.owner,
        CASE t.delivery WHEN 'session_queued' THEN 'queued' ELSE t.delivery END, t.ended_at_ms, t.ended_at_ms, 1, 1,
        t.ended_at_ms, CASE t.delivery WHEN 'delivered' THEN NULL ELSE 'no answer' END,
        replace(o.payload, o.task_id, t.task_id)
    FROM (SELECT * FROM tasks INDEXED BY tasks_all ORDER BY created_at_ms DESC, task_id DESC LIMIT TASKS / 10) t
    CROSS JOIN outbox o
    WHERE o.task_id = (SELECT task_id FROM pattern) AND t.ended_at_ms IS NOT NULL
        AND t.delivery IN ('delivered', 'session_queued', 'failed')
    ORDER BY t.created_at_ms";

fn copy(db: &Connection, tasks: u64) -> rusqlite::Result<()> {
    db.execute_batch("PRAGMA synchronous = OFF; PRAGMA cache_size = -400000; BEGIN")?;
    for sql in [TASKS, REST] {
        db.execute_batch(&sql.replace("TASKS", &tasks.to_string()))?;
    }
    db.execute_batch("COMMIT; PRAGMA wal_checkpoint(TRUNCATE)")
}

fn sample(db: &Connection) -> rusqlite::Result<Vec<TaskNames>> {
    let mut some = db.prepare(
        "SELECT task_id, run_id, child, created_at_ms FROM tasks
         WHERE rowid IN (SELECT abs(random()) % (SELECT max(rowid) FROM tasks) + 1
                         FROM tasks LIMIT ?1)",
    )?;
    let names = some.query_map([SAMPLED.cast_signed()], |row| {
        Ok(TaskNames { task: row.get(0)?, run: row.get(1)?, child: row.get(2)?, at_ms: row.get(3)? })
    })?;
    names.collect()
}
