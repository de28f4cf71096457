//! Memory and wake-ups of a daemon while a thousand runs are idle.

use crate::bench_daemon::{BenchDaemon, request};
use crate::memory::{field, pss_kib, wait};
use crate::subject::Subject;
use crate::table::Row;
use std::fs;
use std::io;
use std::time::{Duration, Instant};

const RUNS: usize = 1000;
/// Time after which an idle daemon has nothing due: it cleans up once after its start, and closes unused
/// connections.
const SETTLE: Duration = Duration::from_secs(25);
/// Time for which the idle daemon is measured.
const SAMPLE_TIME: Duration = Duration::from_secs(20);
/// Interval of the heartbeat, the only thing that may wake the daemon.
const HEARTBEAT: Duration = Duration::from_secs(5);
/// Threads that wake each other within this time count as one wake-up.
const WAKE_WINDOW: Duration = Duration::from_millis(50);

pub(crate) fn measure(subject: &Subject) -> io::Result<Vec<Row>> {
    let daemon = BenchDaemon::start(&subject.dir().join("daemon-memory"), false)?;
    let request = request(subject, &["idle"]);
    let empty = pss_kib(daemon.pid())?;
    let mut connection = daemon.talk()?;
    for _ in 0..RUNS {
        connection.start(&request)?;
    }
    drop(connection);
    let busy = pss_kib(daemon.pid())?;
    wait(SETTLE);
    let idle = pss_kib(daemon.pid())?;
    let before = switches(daemon.pid())?;
    let wake_ups = count_wake_ups(daemon.pid())?;
    let switches = switches(daemon.pid())? - before;
    let heartbeats = SAMPLE_TIME.as_secs() / HEARTBEAT.as_secs();
    Ok(vec![
        Row::amount("PSS of a daemon without a run", empty, "KiB", None),
        Row::amount(&format!("PSS of a daemon after {RUNS} starts"), busy, "KiB", Some(20 << 10)),
        Row::amount(&format!("PSS of a daemon with {RUNS} idle runs"), idle, "KiB", Some(20 << 10)),
        Row::amount("wake-ups of this daemon in 20 s", wake_ups, "wake-ups", Some(heartbeats)),
        Row::amount("context switches of its threads in 20 s", switches, "switches", None),
    ])
}

/// Number of voluntary context switches of all threads.
fn switches(pid: i32) -> io::Result<u64> {
    let mut all = 0;
    for task in fs::read_dir(format!("/proc/{pid}/task"))? {
        let status = fs::read_to_string(task?.path().join("status"))?;
        all += field(&status, "voluntary_ctxt_switches");
    }
    Ok(all)
}

fn count_wake_ups(pid: i32) -> io::Result<u64> {
    let until = Instant::now() + SAMPLE_TIME;
    let (mut last, mut awake, mut wake_ups) = (switches(pid)?, false, 0);
    while Instant::now() < until {
        wait(WAKE_WINDOW);
        let now = switches(pid)?;
        wake_ups += u64::from(now != last && !awake);
        awake = now != last;
        last = now;
    }
    Ok(wake_ups)
}
