//! Runs per second of a command that does nothing, two in flight: each is started, ends, and its ending is recorded
//! before the next.

use crate::bench_daemon::{BenchDaemon, request};
use crate::raw::Spawner;
use crate::samples::{TimedStep, in_turns};
use crate::subject::Subject;
use crate::table::Row;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

const ROUNDS: usize = 9;
const IN_FLIGHT: usize = 2;
/// Runs per lane in a round.
const RUNS: usize = 100;
const FLUSHES: usize = 50;

pub(crate) fn measure(subject: &Subject) -> io::Result<Vec<Row>> {
    let spawner = Spawner::new(subject, &["nothing"])?;
    let request = request(subject, &["nothing"]);
    let memory = tempfile::Builder::new().prefix("bench-").tempdir_in("/dev/shm")?;
    let (fast, slow) = (memory.path().join("state"), subject.dir().join("throughput"));
    let (in_memory, on_disk) = (BenchDaemon::start(&fast, false)?, BenchDaemon::start(&slow, false)?);
    let mut raw = || lanes(|| (0..RUNS).try_for_each(|_| spawner.spawn(None)?.wait()));
    let kept = |daemon: &BenchDaemon| {
        lanes(|| {
            let mut talk = daemon.talk()?;
            (0..RUNS).try_for_each(|_| {
                let run = talk.start(&request)?;
                talk.wait(&run)
            })
        })
    };
    let (mut fast, mut slow) = (|| kept(&in_memory), || kept(&on_disk));
    let ways: [TimedStep<'_>; 3] = [&mut raw, &mut fast, &mut slow];
    let [raw, fast, slow] = in_turns(ROUNDS, ways)?;
    let runs = IN_FLIGHT * RUNS;
    let mut flush = || flush(subject.dir());
    let [flush] = in_turns(FLUSHES, [&mut flush])?;
    Ok(vec![
        Row::rate("runs/s, two in flight, state on tmpfs", runs, &raw, &fast, Some(50)),
        Row::rate("runs/s, two in flight, state on disk", runs, &raw, &slow, None),
        Row::within("a flush of 4 KiB to that disk", None, &flush, None),
    ])
}

/// Time that all lanes take together.
fn lanes(lane: impl Fn() -> io::Result<()> + Sync) -> io::Result<Duration> {
    let from = Instant::now();
    thread::scope(|scope| {
        let lanes: Vec<_> = (0..IN_FLIGHT).map(|_| scope.spawn(&lane)).collect();
        lanes.into_iter().try_for_each(|lane| lane.join().map_err(|_| io::Error::other("a lane panicked"))?)
    })?;
    Ok(from.elapsed())
}

/// The flush to disk that each ending's record waits for.
fn flush(dir: &Path) -> io::Result<Duration> {
    let mut file = File::options().create(true).append(true).open(dir.join("flush"))?;
    file.write_all(&[0; 4096])?;
    let from = Instant::now();
    file.sync_data()?;
    Ok(from.elapsed())
}
