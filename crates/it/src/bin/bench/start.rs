//! From the call to `main` of the command.

use crate::kept::{self, How, Kept};
use crate::raw::Spawner;
use crate::samples::in_turns;
use crate::subject::{Fifo, Subject};
use crate::table::Row;
use std::io::{self, Read};
use std::time::Duration;
use tenure_os::clock;

const ROUNDS: usize = 300;

pub(crate) fn measure(subject: &Subject) -> io::Result<Vec<Row>> {
    let fifo = Fifo::make(subject.dir(), "stamp", true)?;
    let args = ["stamp", fifo.path.as_str()];
    let spawner = Spawner::new(subject, &args)?;
    let nursery = Kept::open(&subject.dir().join("start"))?;
    let mut raw = || {
        let from = clock::awake();
        let child = spawner.spawn(None)?;
        let to = stamp(&fifo)?;
        child.wait()?;
        Ok(to.saturating_sub(from))
    };
    let kept = |cgroup| {
        let how = How { cgroup, ..How::plain() };
        let spec = kept::spec(subject, &args, how);
        let (nursery, fifo) = (&nursery, &fifo);
        move || {
            let spec = spec.as_ref().map_err(|error| io::Error::other(error.to_string()))?;
            let from = clock::awake();
            let mut run = nursery.launch(spec, how)?;
            let to = stamp(fifo)?;
            run.wait()?;
            Ok(to.saturating_sub(from))
        }
    };
    let [raw, plain, cgroup] = in_turns(ROUNDS, [&mut raw, &mut kept(false), &mut kept(true)])?;
    Ok(vec![
        Row::ratio("start to main", &raw, &plain, Some(2.0)),
        Row::ratio("start to main, cgroup", &raw, &cgroup, Some(2.5)),
    ])
}

/// The moment that the command wrote down first of all.
fn stamp(fifo: &Fifo) -> io::Result<Duration> {
    let mut bytes = [0; 16];
    (&fifo.end).read_exact(&mut bytes)?;
    let word = |at: usize| bytes[at..at + 8].try_into().map(u64::from_ne_bytes).map_err(io::Error::other);
    Ok(Duration::from_secs(word(0)?) + Duration::from_nanos(word(8)?))
}
