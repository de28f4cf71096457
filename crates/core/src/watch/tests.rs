//! Scripts for the decider: sightings with their times, and the steps that must follow.

mod escapes;
mod limits;
mod owners;
mod starting;
mod stopping;
mod worlds;

use super::{LeftBehind, Sighting, Step, StopScope, Usage, Watch};
use crate::ending::{Cause, Exit, ProcessNote, Reason, SpawnError, Termination};
use crate::limits::{Activity, Limits};
use crate::spec::{OnEscape, Orphan, RunOptions};
use crate::state::State;
use std::time::Duration;

/// A grace of 5 s, 10 s to give up, an orphan grace of 60 s, no limits.
fn unlimited() -> RunOptions {
    RunOptions {
        limits: Limits {
            overall: None,
            no_output: None,
            activity: Activity::Output,
            grace: seconds(5),
            give_up: seconds(10),
            orphan_grace: seconds(60),
        },
        ..RunOptions::default()
    }
}

fn limited(edit: impl FnOnce(&mut Limits)) -> RunOptions {
    let mut options = unlimited();
    edit(&mut options.limits);
    options
}

fn seconds(n: u64) -> Duration {
    Duration::from_secs(n)
}

/// Feeds a script, each sighting with its time in milliseconds, to a new watch.
fn play<const N: usize>(options: RunOptions, script: [(u64, Sighting); N]) -> (Watch, [Step; N]) {
    let mut watch = Watch::new(options);
    let due = script.map(|(at, seen)| watch.see(seen, Duration::from_millis(at)));
    (watch, due)
}

/// Returns the ending of a script, which must come with its last sighting and not before.
fn ending<const N: usize>(options: RunOptions, script: [(u64, Sighting); N]) -> Termination {
    let (watch, due) = play(options, script);
    let finishes = due.iter().filter(|due| matches!(due, Step::Finish(_))).count();
    assert_eq!((watch.state(), finishes, watch.wake_at()), (State::Exited, 1, None));
    match due.into_iter().next_back() {
        Some(Step::Finish(termination)) => *termination,
        other => panic!("the last sighting led to {other:?}"),
    }
}

fn process(pid: i32) -> ProcessNote {
    ProcessNote { pid, exe: None }
}

/// The exit of the root with so many leftovers and these escapees.
fn left(leftovers: u32, escapees: &[i32]) -> Sighting {
    let escapees = escapees.iter().copied().map(process).collect();
    Sighting::RootExited {
        exit: Exit::Code(0),
        left: LeftBehind { leftovers, escapees, ..LeftBehind::default() },
    }
}

fn exits(exit: Exit) -> Sighting {
    Sighting::RootExited { exit, left: LeftBehind::default() }
}

fn not_found() -> Sighting {
    Sighting::NotStarted(SpawnError { detail: "no such program".into(), not_found: true })
}

fn used(cpu_ms: u64, io_bytes: u64) -> Sighting {
    Sighting::Sampled(Usage { cpu: Duration::from_millis(cpu_ms), io_bytes })
}

const CANCEL: Sighting = Sighting::Cancel { now: false };
const CANCEL_NOW: Sighting = Sighting::Cancel { now: true };
const TERM: Step = Step::Term(StopScope::All);
const KILL: Step = Step::Kill(StopScope::All);
