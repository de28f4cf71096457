//! Basic verbs of a single process: sleep, exit, stop, crash.

use crate::args::{Args, VerbError, VerbResult};
use crate::context::{ActorContext, say};
use crate::signals;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::{NanosleepRelativeResult, Timespec, nanosleep};
use std::time::Duration;

pub(crate) fn sleep(context: &mut ActorContext, mut words: Args) -> VerbResult {
    let limit = if words.is_empty() { None } else { Some(seconds(&mut words)?) };
    words.end()?;
    context.ready("sleep")?;
    match limit {
        Some(limit) => nap(limit),
        None => pause_for_ever(),
    }
    Ok(0)
}

pub(crate) fn exit(context: &mut ActorContext, mut words: Args) -> VerbResult {
    let code: u8 = words.next("CODE")?;
    words.end()?;
    context.ready("exit")?;
    Ok(code.into())
}

pub(crate) fn die(context: &mut ActorContext, mut words: Args) -> VerbResult {
    let name: String = words.next("SIGNAL")?;
    words.end()?;
    let signal =
        tenure_core::signal::number(&name).ok_or_else(|| VerbError::Usage(format!("{name} is no SIGNAL")))?;
    let no_core = Rlimit { current: Some(0), ..getrlimit(Resource::Core) };
    setrlimit(Resource::Core, no_core)?;
    context.ready("die")?;
    signals::raise_by_default(signal)?;
    Err(VerbError::Failed(format!("alive after {name}")))
}

/// Prints `continued` when it gets SIGCONT.
pub(crate) fn stop(context: &mut ActorContext, words: Args) -> VerbResult {
    words.end()?;
    context.ready("stop")?;
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

/// Takes the next word, SECONDS, which may have a fraction.
pub(crate) fn seconds(words: &mut Args) -> Result<Duration, VerbError> {
    Duration::try_from_secs_f64(words.next("SECONDS")?).map_err(|error| VerbError::Usage(error.to_string()))
}
