//! Time from the request to cancel a tree of three processes to the death of the last.

use crate::bench_daemon::{BenchDaemon, request};
use crate::raw::Spawner;
use crate::samples::{TimedStep, in_turns};
use crate::stop::{all_dead, all_there, stop_raw};
use crate::subject::{Fifo, Subject};
use crate::table::Row;
use std::io;
use std::time::{Duration, Instant};
use tenure_os::reaper;

const ROUNDS: usize = 200;
const BAR: Duration = Duration::from_millis(2);

pub(crate) fn measure(subject: &Subject) -> io::Result<Vec<Row>> {
    reaper::become_subreaper()?;
    let fifo = Fifo::make(subject.dir(), "api-witness", false)?;
    let args = ["tree", fifo.path.as_str()];
    let spawner = Spawner::new(subject, &args)?;
    let request = request(subject, &args);
    let kept = |cgroup: bool| {
        let daemon = BenchDaemon::start(&subject.dir().join(format!("cancel-{cgroup}")), cgroup)?;
        let mut talk = daemon.talk()?;
        let (fifo, request) = (&fifo, &request);
        io::Result::Ok(move || {
            let _alive = &daemon;
            let run = talk.start(request)?;
            all_there(fifo)?;
            let from = Instant::now();
            talk.ask("POST", &format!("/v1/runs/{run}/cancel"), "{}")?;
            all_dead(fifo)?;
            let took = from.elapsed();
            talk.answer()?;
            talk.wait(&run)?;
            Ok(took)
        })
    };
    let mut raw = || stop_raw(&spawner, &fifo, libc::SIGTERM);
    let (mut plain, mut cgroup) = (kept(false)?, kept(true)?);
    let ways: [TimedStep<'_>; 3] = [&mut raw, &mut plain, &mut cgroup];
    let [raw, plain, cgroup] = in_turns(ROUNDS, ways)?;
    Ok(vec![
        Row::within("API cancel to a tree of three dead", Some(&raw), &plain, Some(BAR)),
        Row::within("the same, cgroup", Some(&raw), &cgroup, Some(BAR)),
    ])
}
