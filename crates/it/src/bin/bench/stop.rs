//! Time from the request to end a tree of three processes to the death of the last: each holds a FIFO open, which hangs
//! up at that very moment.

use crate::raw::Spawner;
use crate::samples::in_turns;
use crate::subject::{Fifo, Subject};
use crate::table::Row;
use crate::tenure_runs::{self, LaunchOptions, Run, TenureRuns};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{self, Read};
use std::time::{Duration, Instant};
use tenure_os::reaper;

const ROUNDS: usize = 200;
const DEAF_ROUNDS: usize = 40;
const GRACE: Duration = Duration::from_millis(60);
const PROCESSES: usize = 3;

const BAR: Duration = Duration::from_millis(1);
const DEAF_BAR: Duration = Duration::from_millis(5);

pub(crate) fn measure(subject: &Subject) -> io::Result<Vec<Row>> {
    // Children of the raw tree come back to us, and not to a reaper that takes its time.
    reaper::become_subreaper()?;
    let fifo = Fifo::make(subject.dir(), "witness", false)?;
    let nursery = TenureRuns::open(&subject.dir().join("stop"))?;
    let (tree, deaf) = (["tree", fifo.path.as_str()], ["deaf-tree", fifo.path.as_str()]);
    let how = |cgroup, grace| LaunchOptions { cgroup, grace, ..LaunchOptions::plain() };
    let kept = |args: [&str; 2], cgroup, grace| {
        let how = how(cgroup, grace);
        let run = nursery.launch(&tenure_runs::spec(subject, &args, how)?)?;
        stop_kept(run, &fifo)
    };
    let long = Duration::from_secs(10);
    let polite = Spawner::new(subject, &tree)?;
    let [raw, plain, cgroup] = in_turns(
        ROUNDS,
        [&mut || stop_raw(&polite, &fifo, libc::SIGTERM), &mut || kept(tree, false, long), &mut || {
            kept(tree, true, long)
        }],
    )?;
    let stubborn = Spawner::new(subject, &deaf)?;
    let after_grace = |cgroup| kept(deaf, cgroup, GRACE).map(|took| took.saturating_sub(GRACE));
    let [deaf_raw, deaf_plain, deaf_cgroup] = in_turns(
        DEAF_ROUNDS,
        [&mut || stop_raw(&stubborn, &fifo, libc::SIGKILL), &mut || after_grace(false), &mut || {
            after_grace(true)
        }],
    )?;
    Ok(vec![
        Row::beyond("stop of a tree of three", &raw, &plain, BAR),
        Row::beyond("the same, cgroup", &raw, &cgroup, BAR),
        Row::beyond("deaf to TERM, after the grace", &deaf_raw, &deaf_plain, DEAF_BAR),
        Row::beyond("the same, cgroup", &deaf_raw, &deaf_cgroup, DEAF_BAR),
    ])
}

pub(crate) fn stop_raw(spawner: &Spawner, fifo: &Fifo, signal: i32) -> io::Result<Duration> {
    let child = spawner.spawn(None)?;
    all_there(fifo)?;
    let from = Instant::now();
    child.signal_group(signal);
    all_dead(fifo)?;
    let took = from.elapsed();
    child.wait()?;
    // The processes below it came to us with its death; the nursery, the only other child, lives.
    reaper::reap_now();
    Ok(took)
}

fn stop_kept(mut run: Run, fifo: &Fifo) -> io::Result<Duration> {
    run.started()?;
    all_there(fifo)?;
    let from = Instant::now();
    run.cancel();
    all_dead(fifo)?;
    let took = from.elapsed();
    let ending = run.wait()?;
    if ending.termination.confirmed {
        Ok(took)
    } else {
        Err(io::Error::other("the keeper does not know that all are dead"))
    }
}

/// Waits until each process of the tree has written its byte.
pub(crate) fn all_there(fifo: &Fifo) -> io::Result<()> {
    let mut there = 0;
    while there < PROCESSES {
        wait_for(fifo, PollFlags::IN)?;
        let mut bytes = [0; PROCESSES];
        there += (&fifo.end).read(&mut bytes)?;
    }
    Ok(())
}

pub(crate) fn all_dead(fifo: &Fifo) -> io::Result<()> {
    wait_for(fifo, PollFlags::HUP)
}

fn wait_for(fifo: &Fifo, flags: PollFlags) -> io::Result<()> {
    let patience = Timespec { tv_sec: 30, tv_nsec: 0 };
    let mut fds = [PollFd::new(&fifo.end, flags.difference(PollFlags::HUP))];
    loop {
        match poll(&mut fds, Some(&patience)) {
            Ok(0) => {
                return Err(io::Error::new(io::ErrorKind::TimedOut, "the tree does not do as it should"));
            }
            Ok(_) if fds[0].revents().contains(flags) => return Ok(()),
            // A hang-up from before the tree started.
            Ok(_) => std::thread::yield_now(),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}
