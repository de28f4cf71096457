//! The plain ways to live and to die, alone.

use crate::signals;
use crate::stage::{Stage, say};
use crate::words::{Fault, Outcome, Words};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::{NanosleepRelativeResult, Timespec, nanosleep};
use std::time::Duration;

pub(crate) fn sleep(stage: &mut Stage, mut words: Words) -> Outcome {
    let limit = if words.is_empty() { None } else { Some(seconds(&mut words)?) };
    words.end()?;
    stage.ready("sleep")?;
    match limit {
        Some(limit) => nap(limit),
        None => pause_for_ever(),
    }
    Ok(0)
}

pub(crate) fn exit(stage: &mut Stage, mut words: Words) -> Outcome {
    let code: u8 = words.next("CODE")?;
    words.end()?;
    stage.ready("exit")?;
    Ok(code.into())
}

pub(crate) fn die(stage: &mut Stage, mut words: Words) -> Outcome {
    let name: String = words.next("SIGNAL")?;
    words.end()?;
    let signal =
        tenure_core::signal::number(&name).ok_or_else(|| Fault::Usage(format!("{name} is no SIGNAL")))?;
    let no_core = Rlimit { current: Some(0), ..getrlimit(Resource::Core) };
    setrlimit(Resource::Core, no_core)?;
    stage.ready("die")?;
    signals::raise_by_default(signal)?;
    Err(Fault::Failed(format!("alive after {name}")))
}

/// Whoever continues it gets the line `continued`.
pub(crate) fn stop(stage: &mut Stage, words: Words) -> Outcome {
    words.end()?;
    stage.ready("stop")?;
    signals::raise_by_default(libc::SIGSTOP)?;
    say("continued\n")?;
    pause_for_ever()
}

pub(crate) fn pause_for_ever() -> ! {
    loop {
        rustix::event::pause();
    }
}

pub(crate) fn nap(time: Duration) {
    let mut left = Timespec::try_from(time).unwrap_or(Timespec { tv_sec: i64::MAX, tv_nsec: 0 });
    while let NanosleepRelativeResult::Interrupted(rest) = nanosleep(&left) {
        left = rest;
    }
}

/// The next word, SECONDS, which may have a fraction.
pub(crate) fn seconds(words: &mut Words) -> Result<Duration, Fault> {
    Duration::try_from_secs_f64(words.next("SECONDS")?).map_err(|error| Fault::Usage(error.to_string()))
}
