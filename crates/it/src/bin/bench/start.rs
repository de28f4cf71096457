//! Time from the call to `main` of the command. Five files and directories are made on the way, so the rows on tmpfs
//! show the cost of Tenure, and those on disk the cost that the disk adds: ext4 without a journal checks every file
//! that was removed in the last minutes before it makes one.

use crate::raw::Spawner;
use crate::samples::{TimedStep, in_turns};
use crate::subject::{Fifo, Subject};
use crate::table::Row;
use crate::tenure_runs::{self, LaunchOptions, TenureRuns};
use std::io::{self, Read};
use std::time::Duration;
use tenure_os::clock;

const ROUNDS: usize = 300;

pub(crate) fn measure(subject: &Subject) -> io::Result<Vec<Row>> {
    let fifo = Fifo::make(subject.dir(), "stamp", true)?;
    let args = ["stamp", fifo.path.as_str()];
    let spawner = Spawner::new(subject, &args)?;
    let disk = TenureRuns::open(&subject.dir().join("start"))?;
    let memory = tempfile::Builder::new().prefix("bench-").tempdir_in("/dev/shm")?;
    let in_memory = TenureRuns::open(memory.path())?;
    let mut raw = || {
        let from = clock::awake();
        let child = spawner.spawn(None)?;
        let to = stamp(&fifo)?;
        child.wait()?;
        Ok(to.saturating_sub(from))
    };
    let kept = |nursery, cgroup| {
        let how = LaunchOptions { cgroup, ..LaunchOptions::plain() };
        let spec = tenure_runs::spec(subject, &args, how);
        let (nursery, fifo): (&TenureRuns, _) = (nursery, &fifo);
        move || {
            let spec = spec.as_ref().map_err(|error| io::Error::other(error.to_string()))?;
            let from = clock::awake();
            let mut run = nursery.launch(spec)?;
            let to = stamp(fifo)?;
            run.wait()?;
            Ok(to.saturating_sub(from))
        }
    };
    let (mut plain, mut cgroup) = (kept(&disk, false), kept(&disk, true));
    let (mut plain_memory, mut cgroup_memory) = (kept(&in_memory, false), kept(&in_memory, true));
    let ways: [TimedStep<'_>; 5] = [&mut raw, &mut plain, &mut cgroup, &mut plain_memory, &mut cgroup_memory];
    let [raw, plain, cgroup, plain_memory, cgroup_memory] = in_turns(ROUNDS, ways)?;
    Ok(vec![
        Row::ratio("start to main", &raw, &plain, Some(2.0)),
        Row::ratio("the same, cgroup", &raw, &cgroup, Some(2.5)),
        Row::ratio("the same, state on tmpfs", &raw, &plain_memory, Some(2.0)),
        Row::ratio("the same, state on tmpfs, cgroup", &raw, &cgroup_memory, Some(2.5)),
    ])
}

/// Reads the time that the command wrote first of all.
pub(crate) fn stamp(fifo: &Fifo) -> io::Result<Duration> {
    let mut bytes = [0; 16];
    (&fifo.end).read_exact(&mut bytes)?;
    let word = |at: usize| bytes[at..at + 8].try_into().map(u64::from_ne_bytes).map_err(io::Error::other);
    Ok(Duration::from_secs(word(0)?) + Duration::from_nanos(word(8)?))
}
