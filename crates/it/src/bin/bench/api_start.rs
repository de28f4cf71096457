//! Time from a request to `main` of the command, and to the response: by then the run, and that it executes, are
//! committed.

use crate::bench_daemon::{BenchDaemon, request};
use crate::raw::Spawner;
use crate::samples::{Samples, TimedStep, in_turns};
use crate::start::stamp;
use crate::subject::{Fifo, Subject};
use crate::table::Row;
use std::cell::RefCell;
use std::io;
use tenure_os::clock;

const ROUNDS: usize = 300;

pub(crate) fn measure(subject: &Subject) -> io::Result<Vec<Row>> {
    let fifo = Fifo::make(subject.dir(), "api-stamp", true)?;
    let args = ["stamp", fifo.path.as_str()];
    let spawner = Spawner::new(subject, &args)?;
    let request = request(subject, &args);
    let memory = tempfile::Builder::new().prefix("bench-").tempdir_in("/dev/shm")?;
    let mut raw = || {
        let from = clock::awake();
        let child = spawner.spawn(None)?;
        let to = stamp(&fifo)?;
        child.wait()?;
        Ok(to.saturating_sub(from))
    };
    let answers = RefCell::new([const { Vec::new() }; 4]);
    let way = |at: usize| {
        let (place, cgroup) = (if at < 2 { memory.path() } else { subject.dir() }, at % 2 == 1);
        let daemon = BenchDaemon::start(&place.join(format!("api{at}")), cgroup)?;
        let mut talk = daemon.talk()?;
        let (fifo, request, answers) = (&fifo, &request, &answers);
        io::Result::Ok(move || {
            let _alive = &daemon;
            let from = clock::awake();
            talk.ask("POST", "/v1/runs", request)?;
            let to = stamp(fifo)?;
            let run = talk.started()?;
            answers.borrow_mut()[at].push(clock::awake().saturating_sub(from));
            talk.wait(&run)?;
            io::Result::Ok(to.saturating_sub(from))
        })
    };
    let (mut plain, mut cgroup, mut on_disk, mut cgroup_on_disk) = (way(0)?, way(1)?, way(2)?, way(3)?);
    let ways: [TimedStep<'_>; 5] = [&mut raw, &mut plain, &mut cgroup, &mut on_disk, &mut cgroup_on_disk];
    let [raw, mains @ ..] = in_turns(ROUNDS, ways)?;
    let answers = answers.into_inner().map(|all: Vec<_>| Samples::new(all.into_iter().skip(1).collect()));
    let names = ["state on tmpfs", "state on tmpfs, cgroup", "state on disk", "state on disk, cgroup"];
    let bars = [2.0, 2.5, 2.0, 2.5];
    let mut rows = Vec::new();
    for (((name, bar), main), answer) in names.into_iter().zip(bars).zip(mains).zip(answers) {
        rows.push(Row::ratio(&format!("API start to main, {name}"), &raw, &main, Some(bar)));
        rows.push(Row::ratio(&format!("API start to answer, {name}"), &raw, &answer, Some(bar)));
    }
    Ok(rows)
}
